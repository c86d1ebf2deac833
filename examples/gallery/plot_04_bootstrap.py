"""
Do the effects survive other patients?
======================================

Resample the rows, fit each resample to proven optimality, and look at the spread of each group's effect. A histogram on
both sides of zero belongs to a sign that is not settled.
"""

import matplotlib.pyplot as plt
import pandas as pd

import partls
from partls.demo import GROUPS, diabetes

study = diabetes()
X = pd.DataFrame(study.X, columns=study.partition.columns)
model = partls.PartLSRegressor(GROUPS).fit(X, study.y)
stability = model.bootstrap(200, random_state=0)

figure, axes = plt.subplots(1, 4, figsize=(10, 2.6), layout="constrained", sharey=True)
for ax, row, betas in zip(axes, stability.rows, stability.betas.T, strict=True):
    ax.hist(betas, bins=20, color="#0b6e4f" if row.positive > row.negative else "#b4451f", alpha=0.8)
    ax.axvline(0, color="black", linewidth=1)
    ax.set(title=f"{row.group}\n{max(row.positive, row.negative):.0%} one sign", xlabel="beta")
axes[0].set_ylabel("resamples")
plt.show()
