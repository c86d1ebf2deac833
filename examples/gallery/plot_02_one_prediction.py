"""
One prediction, group by group
==============================

A prediction is the intercept plus one contribution per group: a waterfall shows how they add up for one patient.
"""

import matplotlib.pyplot as plt
import pandas as pd

import partls
from partls.demo import GROUPS, diabetes

study = diabetes()
X = pd.DataFrame(study.X, columns=study.partition.columns)
model = partls.PartLSRegressor(GROUPS).fit(X, study.y)

figure, axes = plt.subplots(1, 2, figsize=(10, 3), layout="constrained", sharey=True)
for ax, patient in zip(axes, (0, 9), strict=True):
    model.plot_contributions(X.iloc[[patient]], ax=ax)
    ax.set_title(f"patient {patient}: {model.predict(X.iloc[[patient]])[0]:.0f}, measured {study.y[patient]:.0f}")
plt.show()
