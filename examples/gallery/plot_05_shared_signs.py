"""
What shared signs buy
=====================

Eight thermometers in one room measure the same thing, with errors. Least squares gives them large coefficients of both
signs that cancel; one sign for the group gives an average that can be read, and better predictions.
"""

import matplotlib.pyplot as plt
import numpy as np

import partls

rng = np.random.default_rng(3)
warmth = rng.normal(size=400)
X = warmth[:, None] + 0.3 * rng.normal(size=(400, 8))
y = 2.0 * warmth + rng.normal(size=400)
train, test = slice(0, 30), slice(30, None)

plain = np.linalg.lstsq(X[train] - X[train].mean(0), y[train] - y[train].mean(), rcond=None)[0]
result = partls.solve(X[train], y[train], ["room"] * 8)


def error(coef: np.ndarray) -> float:
    """Return the mean squared error on the rows kept back."""
    residual = y[test] - y[train].mean() - (X[test] - X[train].mean(0)) @ coef
    return float(np.mean(residual**2))


figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
place = np.arange(8)
ax.bar(place - 0.2, plain, 0.4, label=f"least squares, test error {error(plain):.2f}", color="#9aa3a0")
ax.bar(place + 0.2, result.coef, 0.4, label=f"one sign, test error {error(result.coef):.2f}", color="#0b6e4f")
ax.axhline(0, color="black", linewidth=1)
ax.set(xlabel="thermometer", ylabel="coefficient", ylim=(-2, 1.3), title=f"beta = {result.beta[0]:.2f}, the truth is 2")
ax.legend(frameon=False, loc="lower left")
plt.show()
