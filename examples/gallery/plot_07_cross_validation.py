"""
Choosing eta by cross-validation
================================

``PartLSRegressorCV`` compresses the rows of each fold once and goes along the path from the largest eta to the
smallest. Every single fit is proven optimal. It chooses ridge too, unless a single value of it is given.
"""

import matplotlib.pyplot as plt
import numpy as np

import partls

rng = np.random.default_rng(5)
X = rng.normal(size=(80, 40)) + rng.normal(size=(80, 1))
y = X @ np.repeat([0.4, -0.2, 0.0, 0.1], 10) + 3 * rng.normal(size=80)
groups = np.repeat(["a", "b", "c", "d"], 10)
model = partls.PartLSRegressorCV(groups, etas=15, ridges=[0.0], cv=5).fit(X, y)

figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
errors = model.mse_path_[:, 0]  # of the only ridge
mean, spread = errors.mean(axis=1), errors.std(axis=1) / np.sqrt(5)
ax.fill_between(model.etas_, mean - spread, mean + spread, color="#0b6e4f", alpha=0.2, linewidth=0)
ax.plot(model.etas_, mean, color="#0b6e4f", marker=".")
ax.axvline(model.eta_, color="#b4451f", linestyle="--", label=f"chosen: {model.eta_:.3g}")
ax.set_xscale("symlog", linthresh=model.etas_[-2])  # 0 is among the values
ax.set(xlim=(0, None), xlabel="eta", ylabel="error on held-out rows")
ax.legend(frameon=False)
plt.show()
