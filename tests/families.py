"""Families of seeded problems small enough for the oracle, each with one difficulty of its own.

``FAMILIES[name](seed)`` is one member. ``FULL_RANK`` names the families whose columns are independent whatever the
seed, ``DEPENDENT`` those in which some column repeats others (or the intercept), so that optima are not unique.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from formulations import subset_sum
from tests.strategies import Tiny

Rng = np.random.Generator
Family = Callable[[int], Tiny]


def split(rng: Rng, n_columns: int, n_groups: int) -> tuple[int, ...]:
    """Return labels in which each of 0, ..., K - 1 occurs, in random places."""
    n_groups = min(n_groups, n_columns)
    labels = np.append(np.arange(n_groups), rng.integers(0, n_groups, n_columns - n_groups))
    return tuple(rng.permutation(labels).tolist())


def mixed_target(rng: Rng, X: np.ndarray, noise: float = 1.0) -> np.ndarray:
    """Return a target whose true coefficients have both signs in every group: the groups bind."""
    return X @ rng.normal(size=X.shape[1]) + noise * rng.normal(size=len(X)) + rng.normal()


def overdetermined(seed: int, *, n_rows: int | None = None, n_columns: int | None = None, n_groups: int | None = None
                   ) -> Tiny:
    rng = np.random.default_rng([1, seed])
    m = n_columns or int(rng.integers(3, 13))
    X = rng.normal(size=(n_rows or m + int(rng.integers(5, 25)), m))
    return Tiny(X, mixed_target(rng, X), split(rng, m, n_groups or int(rng.integers(1, 6))))


def correlated(seed: int, *, n_rows: int | None = None, n_columns: int | None = None, n_groups: int | None = None,
               corr: float | None = None) -> Tiny:
    """Columns share a common factor, which makes trees large."""
    rng = np.random.default_rng([2, seed])
    m = n_columns or int(rng.integers(4, 13))
    n = n_rows or m + int(rng.integers(4, 15))
    corr = float(rng.choice([0.5, 0.9, 0.99])) if corr is None else corr
    X = np.sqrt(1 - corr) * rng.normal(size=(n, m)) + np.sqrt(corr) * rng.normal(size=(n, 1))
    return Tiny(X, mixed_target(rng, X), split(rng, m, n_groups or int(rng.integers(2, 6))))


def integers(seed: int) -> Tiny:
    """Small whole numbers: ties, zero columns and exact dependence by accident."""
    rng = np.random.default_rng([3, seed])
    m = int(rng.integers(2, 9))
    X = rng.integers(-2, 3, size=(int(rng.integers(2, 13)), m)).astype(float)
    return Tiny(X, rng.integers(-4, 5, size=len(X)).astype(float), split(rng, m, int(rng.integers(1, 6))))


def duplicates(seed: int) -> Tiny:
    """Some columns stand in several groups, some of them negated."""
    rng = np.random.default_rng([4, seed])
    base = rng.normal(size=(int(rng.integers(8, 16)), int(rng.integers(2, 5))))
    copies = rng.integers(0, base.shape[1], size=int(rng.integers(1, 5)))
    X = np.column_stack([base, base[:, copies] * rng.choice([-1.0, 1.0, 2.0], size=len(copies))])
    return Tiny(X, mixed_target(rng, X), split(rng, X.shape[1], int(rng.integers(2, 6))))


def constants(seed: int) -> Tiny:
    """Columns that repeat the intercept."""
    rng = np.random.default_rng([5, seed])
    m = int(rng.integers(3, 9))
    X = rng.normal(size=(m + 6, m))
    X[:, rng.choice(m, size=int(rng.integers(1, 3)), replace=False)] = rng.choice([1.0, -3.0, 1e3])
    return Tiny(X, mixed_target(rng, X), split(rng, m, int(rng.integers(1, 5))))


def one_hot(seed: int) -> Tiny:
    """Blocks of indicators that sum to one, within a group or across groups, and one real column."""
    rng = np.random.default_rng([6, seed])
    n = int(rng.integers(12, 25))
    blocks = [np.eye(levels)[rng.permutation(np.arange(n) % levels)] for levels in rng.integers(2, 5, size=2)]
    X = np.column_stack([*blocks, rng.normal(size=n)])
    whole = [0] * blocks[0].shape[1] + [1] * blocks[1].shape[1] + [2]
    labels = whole if rng.integers(2) else split(rng, X.shape[1], 4)
    return Tiny(X, mixed_target(rng, X), tuple(labels))


def reachable(seed: int, *, n_rows: int | None = None, n_columns: int | None = None, n_groups: int | None = None
              ) -> Tiny:
    """Fewer rows than columns and an optimum of zero."""
    rng = np.random.default_rng([7, seed])
    n = n_rows or int(rng.integers(3, 8))
    X = rng.normal(size=(n, n_columns or 2 * n + int(rng.integers(1, 6))))
    labels = split(rng, X.shape[1], n_groups or int(rng.integers(1, 5)))
    signs = rng.choice([-1.0, 1.0], size=max(labels) + 1)
    coef = signs[list(labels)] * rng.uniform(0.1, 1.0, size=len(labels))
    return Tiny(X, X @ coef + 1.0, labels)


def underdetermined(seed: int) -> Tiny:
    """N < M < 2N with few groups: a residual that no sign pattern brings to zero, or only some do."""
    rng = np.random.default_rng([8, seed])
    n = int(rng.integers(5, 11))
    X = rng.normal(size=(n, n + int(rng.integers(1, 4))))
    return Tiny(X, rng.normal(size=n), split(rng, X.shape[1], int(rng.integers(1, 4))))


def balanced_sums(seed: int) -> Tiny:
    """PARTITION: a worst case by construction, whose sign patterns nearly tie."""
    rng = np.random.default_rng([9, seed])
    instance = subset_sum(rng.integers(1, 12, size=int(rng.integers(2, 6))).tolist(), float(rng.choice([0.1, 1.0])))
    return Tiny(instance.X, instance.y, tuple(instance.partition.labels.tolist()), {"fit_intercept": False})


def polynomial(seed: int) -> Tiny:
    """Powers of one variable: nearly collinear, the more so the farther the variable is from zero."""
    rng = np.random.default_rng([10, seed])
    x = rng.uniform(0.5, 1.0, size=int(rng.integers(15, 30)))
    X = x[:, None] ** np.arange(1, int(rng.integers(4, 7)))
    target = np.sin(6.0 * x) + 0.1 * rng.normal(size=len(x))
    return Tiny(X, target, split(rng, X.shape[1], int(rng.integers(1, 4))))


def conditioned(seed: int, *, condition: float | None = None, n_columns: int = 8, n_groups: int = 3) -> Tiny:
    """Centred columns of norm one with a given condition number (to a percent) and a target along every direction."""
    rng = np.random.default_rng([11, seed])
    condition = 10.0 ** rng.integers(4, 7) if condition is None else condition
    U = rng.normal(size=(30, n_columns + 1))
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    V = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))[0]
    aim = condition
    for _ in range(6):  # scaling the columns changes the condition number
        X = U[:, :n_columns] * np.geomspace(1.0, 1.0 / aim, n_columns) @ V.T
        X = X / np.linalg.norm(X, axis=0)
        aim *= condition / np.linalg.cond(X)
    return Tiny(X, U @ rng.normal(size=n_columns + 1), split(rng, n_columns, n_groups))


def with_options(base: Family, options: Callable[[Rng, Tiny], dict[str, object]], tag: int) -> Family:
    """Return the family with options drawn for each member."""

    def member(seed: int) -> Tiny:
        case = base(seed)
        return replace(case, options={**case.options, **options(np.random.default_rng([tag, seed]), case)})

    return member


def penalised(penalty: str, **more: object) -> Callable[[Rng, Tiny], dict[str, object]]:
    return lambda rng, case: {"eta": float(rng.choice([0.1, 1.0, 10.0])), "penalty": penalty, **more}


def weights(rng: Rng, case: Tiny) -> dict[str, object]:
    return {"sample_weight": rng.choice([0.0, 0.5, 1.0, 3.0], size=len(case.y), p=[0.1, 0.3, 0.3, 0.3])}


def free_columns(seed: int) -> Tiny:
    case = overdetermined(seed)
    rng = np.random.default_rng([12, seed])
    extra = rng.normal(size=(len(case.y), 2)) + case.X[:, :1]
    return Tiny(np.column_stack([extra, case.X]), case.y, (-1, -1, *case.labels), {"eta": float(rng.integers(0, 2))})


def big_groups(seed: int) -> Tiny:
    """One group so large that fixing its sign takes more pivots than a trial may hold."""
    rng = np.random.default_rng([13, seed])
    X = rng.normal(size=(150, 116)) + 0.5 * rng.normal(size=(150, 1))
    return Tiny(X, mixed_target(rng, X), tuple([0] * 110 + [1] * 4 + [2] * 2))


def singletons(seed: int) -> Tiny:
    """Groups of one column, which never bind, beside one group that does."""
    rng = np.random.default_rng([14, seed])
    X = rng.normal(size=(20, 8)) + rng.normal(size=(20, 1))
    return Tiny(X, mixed_target(rng, X), (0, 0, 0, 1, 2, 3, 4, 5))


FAMILIES: dict[str, Family] = {
    "overdetermined": overdetermined,
    "correlated": correlated,
    "integers": integers,
    "duplicates": duplicates,
    "constants": constants,
    "one-hot": one_hot,
    "reachable": reachable,
    "underdetermined": underdetermined,
    "subset sum": balanced_sums,
    "polynomial": polynomial,
    "conditioned": conditioned,
    "l2": with_options(correlated, penalised("l2"), 20),
    "l2, dependent": with_options(duplicates, penalised("l2"), 21),
    "l1": with_options(overdetermined, penalised("l1"), 22),
    "l1, dependent": with_options(integers, penalised("l1"), 23),
    "weights": with_options(overdetermined, weights, 24),
    "no intercept": with_options(correlated, lambda rng, case: {"fit_intercept": False}, 25),
    "l2 intercept": with_options(overdetermined, penalised("l2", penalize_intercept=True), 26),
    "l1 intercept": with_options(overdetermined, penalised("l1", penalize_intercept=True), 27),
    "free columns": free_columns,
    "singletons": singletons,
}
FULL_RANK = (
    "overdetermined", "correlated", "subset sum", "l2", "weights", "no intercept", "l2 intercept", "singletons",
)
DEPENDENT = (
    "integers", "duplicates", "constants", "one-hot", "reachable", "underdetermined", "l2, dependent", "l1, dependent",
)
