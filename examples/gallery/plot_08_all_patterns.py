"""
The landscape of sign patterns
==============================

With ten groups there are 1024 ways to choose signs. Enumeration solves every one of them, each a few warm-started steps
from its neighbour. The best is far from typical, and its closest rivals differ from it in one or two groups.
"""

import matplotlib.pyplot as plt
import numpy as np

import partls

rng = np.random.default_rng(2)
X = rng.normal(size=(80, 40)) + 0.7 * rng.normal(size=(80, 1))
y = X @ rng.normal(size=40) + rng.normal(size=80)
result = partls.solve(X, y, np.arange(40) % 10, method="enumerate", keep="all")

objectives = np.array([solution.objective for solution in result.solutions])
best = np.array(list(result.solutions[0].signs))
flips = np.array([(np.array(list(solution.signs)) != best).sum() for solution in result.solutions])

figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
scatter = ax.scatter(np.arange(1, len(objectives) + 1), objectives / objectives[0], c=flips, s=12, cmap="viridis")
ax.set(xscale="log", xlabel="rank of the sign pattern", ylabel="objective / optimum")
figure.colorbar(scatter, label="groups that differ from the best")
plt.show()
