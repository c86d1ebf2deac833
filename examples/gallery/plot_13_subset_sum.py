"""
Why no method is always fast
============================

Splitting numbers into two halves of equal sum is NP-complete, and becomes a problem of this kind with two columns per
number. On these worst cases the tree grows exponentially with the number of groups; on ordinary data of the same size
it hardly grows.
"""

import matplotlib.pyplot as plt
import numpy as np

import partls
from formulations import subset_sum

rng = np.random.default_rng(0)
sizes = np.arange(4, 17, 2)
hard, ordinary = [], []
for K in sizes:
    numbers = rng.integers(10**3, 10**4, size=K).tolist()
    hard.append(partls.solve_instance(subset_sum(numbers)).n_nodes)
    X = rng.normal(size=(3 * K + 1, 2 * K))
    y = X @ rng.normal(size=2 * K) + rng.normal(size=3 * K + 1)
    ordinary.append(partls.solve(X, y, np.arange(2 * K) // 2).n_nodes)

figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.plot(sizes, hard, marker="o", color="#b4451f", label="subset sum")
ax.plot(sizes, ordinary, marker="o", color="#0b6e4f", label="random data of the same size")
ax.plot(sizes, 2.0**sizes, color="#9aa3a0", linestyle="--", label="all sign patterns, 2^K")
ax.set(yscale="log", xlabel="groups K", ylabel="nodes")
ax.legend(frameon=False)
plt.show()
