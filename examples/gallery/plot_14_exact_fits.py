"""
When every sign pattern fits
============================

With many more columns than rows, almost every choice of signs fits the data exactly: Wendel's theorem gives the
probability that a random one fits whatever the target is. It jumps from zero to one around M = 2N. Timings on data
beyond that point measure how fast a zero is found, not a search.
"""

from fractions import Fraction
from math import comb

import matplotlib.pyplot as plt
import numpy as np

import partls

N = 20
columns = np.arange(22, 64, 4)
rng = np.random.default_rng(0)
theory, found = [], []
for M in columns:
    theory.append(float(1 - Fraction(sum(comb(int(M) - 1, i) for i in range(N)), 2 ** (int(M) - 1))))
    exact = 0
    for _ in range(40):
        X, y = rng.uniform(-10, 10, (N, M)), rng.uniform(-10, 10, N)
        fit = partls.solve(X, y, [0] * int(M), fit_intercept=False, signs=[1])  # one pattern: all nonnegative
        exact += fit.objective < 1e-12 * (y @ y)
    found.append(exact / 40)

figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.plot(columns / N, theory, color="#0b6e4f", label="fits every target (Wendel)")
ax.plot(columns / N, found, "o", color="#b4451f", label="fits this target (40 draws each)")
ax.set(xlabel="columns per row, M / N", ylabel="share of sign patterns")
ax.legend(frameon=False)
plt.show()
