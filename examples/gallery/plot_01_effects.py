"""
Effects and shares
==================

One signed effect per group, and inside a group the share of each feature. The columns of the study are standardised,
so effects compare.
"""

import matplotlib.pyplot as plt
import pandas as pd

import partls
from partls.demo import GROUPS, diabetes

study = diabetes()
X = pd.DataFrame(study.X, columns=study.partition.columns)
model = partls.PartLSRegressor(GROUPS).fit(X, study.y)

figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
model.plot_effects(ax=axes[0])
model.plot_shares("body", ax=axes[1])
plt.show()

# %%
# The same as text, with the certificate below:
print(model.summary())
