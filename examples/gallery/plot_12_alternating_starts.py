"""
Alternation and its starts
==========================

Alternating least squares is quick and may end in a local optimum. More starts help; flipping single signs after each
start helps more. The proven optimum is at one.
"""

import matplotlib.pyplot as plt
import numpy as np

import partls

rng = np.random.default_rng(7)
X = rng.normal(size=(200, 140)) + rng.normal(size=(200, 1))
y = X @ rng.normal(size=140) + rng.normal(size=200)
groups = np.arange(140) % 20
optimum = partls.solve(X, y, groups).objective

figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for polish, color in (("none", "#9aa3a0"), ("flips", "#0b6e4f")):
    rough = partls.solve(X, y, groups, method="alternating", n_starts=60, starts="random", polish=polish,
                         trace=True, random_state=0)
    ends = np.array([trace.objectives[-1] for trace in rough.trace]) / optimum
    start = np.arange(1, 61)
    ax.plot(start, np.minimum.accumulate(ends), drawstyle="steps-post", color=color, label=f"polish: {polish}")
    ax.plot(start, ends, ".", color=color, alpha=0.6)
ax.axhline(1, color="black", linewidth=1)
ax.set(xlabel="start", ylabel="objective / optimum", ylim=(0.98, 1.75))
ax.legend(loc="upper center", ncols=2, framealpha=1, title="best so far (line), each start (dot)")
plt.show()
