"""Exact arithmetic on doubles: every double is a whole number over a power of two, and so are sums and products.

The oracle of ill-conditioned problems. It shares nothing with the toolkit: whole numbers of any length, the normal
equations (which lose nothing when nothing is rounded) and a textbook active-set method, whose every step is exact.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from benchmarks.contract import Problem

Rationals = list[Fraction]


def exact_objective(problem: Problem, coef: np.ndarray, intercept: float = 0.0) -> float:
    """Return ``||X w + t - y||^2 + eta ||beta||^2 + ridge ||w||^2`` of given doubles, rounded once, at the end."""
    if not np.isfinite([*coef, intercept]).all():
        return float("nan")
    w, total = [Fraction(value) for value in coef.tolist()], Fraction(0)
    for row, target in zip(problem.X.tolist(), problem.y.tolist(), strict=True):
        predicted = sum((Fraction(x) * v for x, v in zip(row, w, strict=True)), Fraction(intercept))
        total += (predicted - Fraction(target)) ** 2
    for k in range(problem.shape[2]):
        beta = sum((w[j] for j in np.flatnonzero(problem.labels == k)), Fraction(0))
        total += Fraction(problem.eta) * beta**2
    total += Fraction(problem.ridge) * sum((v**2 for v in w), Fraction(0))
    return float(total)


def normal_equations(X: np.ndarray, y: np.ndarray) -> tuple[list[Rationals], Rationals, Fraction]:
    """Return X'X, X'y and y'y without rounding."""
    columns = [[Fraction(v) for v in column] for column in [*X.T.tolist(), y.tolist()]]
    products = [[sum(map(Fraction.__mul__, a, b), Fraction(0)) for b in columns] for a in columns]
    return [row[:-1] for row in products[:-1]], [row[-1] for row in products[:-1]], products[-1][-1]


def nonnegative(Q: list[Rationals], c: Rationals) -> Rationals:
    """Return the minimiser of ``w'Q w - 2 c'w`` over ``w >= 0``, Q positive definite (Lawson and Hanson's method)."""
    M = len(c)
    w, support = [Fraction(0)] * M, []
    while True:
        descent = [c[j] - sum((Q[j][i] * w[i] for i in support), Fraction(0)) for j in range(M)]
        best = max((j for j in range(M) if j not in support), key=lambda j: descent[j] ** 2 / Q[j][j]
                   if descent[j] > 0 else Fraction(-1), default=None)
        if best is None or descent[best] <= 0:
            return w
        support.append(best)
        while True:
            target = dict(zip(support, solve([[Q[i][j] for j in support] for i in support], [c[i] for i in support]),
                              strict=True))
            below = [j for j in support if target[j] <= 0]
            step = min((w[j] / (w[j] - target[j]) for j in below), default=Fraction(1))
            w = [w[j] + step * (target[j] - w[j]) if j in target else Fraction(0) for j in range(M)]
            support = [j for j in support if w[j] > 0]
            if not below:
                break


def solve(A: list[Rationals], b: Rationals) -> Rationals:
    """Return ``A^-1 b`` of a positive definite matrix by elimination, which needs no pivoting without rounding."""
    rows = [[*row, value] for row, value in zip(A, b, strict=True)]
    n = len(rows)
    for k in range(n):
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            if factor:
                rows[i] = [u - factor * v for u, v in zip(rows[i], rows[k], strict=True)]
    x = [Fraction(0)] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum((rows[i][j] * x[j] for j in range(i + 1, n)), Fraction(0))) / rows[i][i]
    return x
