"""
Choosing eta by cross-validation
================================

``PartLSRegressorCV`` compresses the rows of each fold once and goes along the path from the largest eta to the
smallest. Every single fit is proven optimal.
"""

import matplotlib.pyplot as plt
import numpy as np

import partls

rng = np.random.default_rng(5)
X = rng.normal(size=(80, 40)) + rng.normal(size=(80, 1))
y = X @ np.repeat([0.4, -0.2, 0.0, 0.1], 10) + 3 * rng.normal(size=80)
model = partls.PartLSRegressorCV(np.repeat(["a", "b", "c", "d"], 10), etas=15, cv=5).fit(X, y)

figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
mean, spread = model.mse_path_.mean(axis=1), model.mse_path_.std(axis=1) / np.sqrt(5)
ax.fill_between(model.etas_, mean - spread, mean + spread, color="#0b6e4f", alpha=0.2, linewidth=0)
ax.plot(model.etas_, mean, color="#0b6e4f", marker=".")
ax.axvline(model.eta_, color="#b4451f", linestyle="--", label=f"chosen: {model.eta_:.3g}")
ax.set(xscale="log", xlabel="eta", ylabel="error on held-out rows")
ax.legend(frameon=False)
plt.show()
