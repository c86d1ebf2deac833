"""Columns that repeat others up to noise of 1e-6 to 1e-14, and their optimum in rational arithmetic.

The optimum is the least value over all supports: some optimum has independent columns and is stationary on its
support, and a point that is stationary on its support and of one sign in each group is feasible, so that its value is
no lower. Floating-point numbers are rationals, so nothing is rounded. Nothing of the toolkit is imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, product
from math import gcd

import numpy as np

from tests.strategies import Tiny

MAX_ROWS, MAX_COLUMNS = 9, 6

Integers = list[list[int]]


@dataclass(frozen=True)
class Hostile:
    """A problem with nearly dependent columns, the signs given beforehand, and the size of the noise."""

    case: Tiny
    signs: tuple[int, ...]
    noise: float


def hostile(seed: int) -> Hostile:
    """Return one problem; columns equal another one, or a sum or difference of two, up to noise of their size."""
    rng = np.random.default_rng([71, seed])
    n, m = int(rng.integers(3, MAX_ROWS + 1)), int(rng.integers(2, MAX_COLUMNS + 1))
    noise = 10.0 ** rng.uniform(-14, -6)
    offset = rng.choice([0.0, 0.0, 0.0, 1.0, 10.0, 1e3])
    X = rng.normal(size=(n, m)) + offset * (rng.random(m) < 0.5)
    repeated = int(rng.integers(1, max(m - 1, 1) + 1))
    for j in rng.permutation(m)[:repeated]:
        others = rng.permutation(np.delete(np.arange(m), j))[: int(rng.integers(1, 3))]
        spread = noise * max(offset, 1.0)  # less would be rounding of the entries
        X[:, j] = X[:, others] @ rng.choice([1.0, -1.0], size=len(others)) + spread * rng.normal(size=n)
    y = rng.normal(size=n) + rng.choice([0.0, 0.0, 1.0, 100.0])
    n_groups = int(rng.integers(1, m + 1))
    labels = rng.permutation(np.append(np.arange(n_groups), rng.integers(0, n_groups, m - n_groups)))
    if rng.random() < 0.3 and m > n_groups:
        spare = [j for j in range(m) if (labels == labels[j]).sum() > 1]
        labels[spare[0]] = -1
    options: dict[str, object] = {"fit_intercept": bool(rng.random() < 0.6)}
    if rng.random() < 0.4:
        options |= {"eta": 10.0 ** rng.uniform(-4, 1), "penalty": str(rng.choice(["l1", "l2"]))}
        options |= {"penalize_intercept": bool(rng.random() < 0.3)}
    if rng.random() < 0.3:
        options["sample_weight"] = rng.choice([0.0, 0.5, 1.0, 3.0], size=n, p=[0.1, 0.3, 0.3, 0.3])
        options["sample_weight"][0] = 1.0
    given = rng.choice([-1, 0, 1], size=n_groups, p=[0.1, 0.8, 0.1])
    return Hostile(Tiny(X, y, tuple(labels.tolist()), options), tuple(given.tolist()), noise)


@dataclass(frozen=True)
class Exact:
    """The problem in integers: minimise ``u'Qu - 2 c'u + 2 half'|u| + b``, all in units of ``1 / unit``."""

    Q: Integers
    c: list[int]
    b: int
    half: list[int]
    unit: int
    labels: tuple[int, ...]  # of each column, the intercept among them

    @classmethod
    def of(cls, case: Tiny) -> Exact:
        options = {"eta": 0.0, "penalty": "l2", "fit_intercept": True, "penalize_intercept": False, **case.options}
        n, labels = len(case.y), tuple(case.labels)
        weights = options.get("sample_weight", np.ones(n))
        rows = [[Fraction(v) for v in row] for row in case.X.tolist()]
        if options["fit_intercept"]:
            rows = [[*row, Fraction(1)] for row in rows]
            labels = (*labels, case.n_groups if options["penalize_intercept"] else -1)
        rows = [[*row, Fraction(v)] for row, v in zip(rows, case.y.tolist(), strict=True)]
        width = len(labels)
        counted = [(Fraction(w), row) for w, row in zip(weights.tolist(), rows, strict=True)]
        G = [[sum(w * row[i] * row[j] for w, row in counted) for j in range(width + 1)] for i in range(width + 1)]
        eta, half = Fraction(options["eta"]), [Fraction(0)] * width
        for i, j in product(range(width), repeat=2):
            if options["penalty"] == "l2" and labels[i] == labels[j] >= 0:
                G[i][j] += eta
        if options["penalty"] == "l1":
            half = [eta / 2 if label >= 0 else Fraction(0) for label in labels]
        unit = max(v.denominator for v in chain(*G, half))  # powers of two
        whole = [[int(v * unit) for v in row] for row in G]
        return cls([row[:-1] for row in whole[:-1]], [row[-1] for row in whole[:-1]], whole[-1][-1],
                   [int(v * unit) for v in half], unit, labels)

    def value(self, u: list[Fraction]) -> Fraction:
        """Return the objective of a point."""
        quadratic = sum(self.Q[i][j] * u[i] * u[j] for i in range(len(u)) for j in range(len(u)) if u[i] and u[j])
        linear = sum(2 * h * abs(v) - 2 * c * v for h, c, v in zip(self.half, self.c, u, strict=True))
        return (quadratic + linear + self.b) / self.unit


def optimum(problem: Exact, given: tuple[int, ...]) -> Fraction:
    """Return the least objective of all models with one sign in each group, and the given one where there is one."""
    return min(_stationary_values(problem, given))[0]


def rounding_at_optimum(problem: Exact, given: tuple[int, ...]) -> float:
    """Return how much worse a model may be whose coefficients are those of some optimum with the last digit rounded."""
    values = list(_stationary_values(problem, given))
    best = min(values)[0]
    return max(rounding for value, rounding in values if value == best)


def _stationary_values(problem: Exact, given: tuple[int, ...]) -> Iterator[tuple[Fraction, float]]:
    width = len(problem.labels)
    signs = {k: given[k] if k < len(given) else 0 for k in problem.labels if k >= 0}
    yield Fraction(problem.b, problem.unit), 0.0
    for size in range(1, width + 1):
        for support in combinations(range(width), size):
            present = sorted({problem.labels[j] for j in support if problem.labels[j] >= 0})
            choices = [(signs[k],) if signs[k] else (1, -1) for k in present] if any(problem.half) else [()]
            for chosen in product(*choices) if choices != [()] else [()]:
                wanted = dict(zip(present, chosen, strict=True)) if chosen else signs
                value = _stationary_value(problem, support, wanted)
                if value is not None:
                    yield value


def _stationary_value(problem: Exact, support: tuple[int, ...], wanted: dict[int, int]
                      ) -> tuple[Fraction, float] | None:
    """Return the objective at the stationary point of a support, None if it has the wrong signs or is not unique.

    With it comes what rounding the last digit of each coefficient may add.
    """
    price = [problem.half[j] * wanted.get(problem.labels[j], 0) for j in support]
    right = [problem.c[j] - p for j, p in zip(support, price, strict=True)]
    solved = solve([[problem.Q[i][j] for j in support] for i in support], right)
    if solved is None:
        return None
    n, d = solved
    found = {k: s for k, s in wanted.items() if s}
    for j, v in zip(support, n, strict=True):
        k = problem.labels[j]
        if k >= 0 and v and found.setdefault(k, 1 if v > 0 else -1) != (1 if v > 0 else -1):
            return None
    gained = sum(v * r for v, r in zip(n, right, strict=True))
    lengths = [float(Fraction(problem.Q[j][j], problem.unit)) ** 0.5 for j in support]
    moved = sum(np.spacing(abs(v / d)) * length for v, length in zip(n, lengths, strict=True))
    return Fraction(problem.b * d - gained, d * problem.unit), float(moved**2)


def solve(rows: Integers, right: list[int]) -> tuple[list[int], int] | None:
    """Return (n, d), d > 0, with ``rows n = d right`` for a positive definite matrix of integers; None if singular."""
    A = [[*row, value] for row, value in zip(rows, right, strict=True)]
    size, previous = len(A), 1
    for k in range(size):
        pivot = A[k][k]
        if pivot <= 0:
            return None
        for i in range(size):
            if i != k:
                factor = A[i][k]
                A[i] = [(a * pivot - factor * b) // previous for a, b in zip(A[i], A[k], strict=True)]
        previous = pivot
    common = gcd(previous, *(row[-1] for row in A))
    return [row[-1] // common for row in A], previous // common

