"""Seeded problems in which presolve finds something to settle, small enough for the oracle.

``problem(kind, seed)`` is one. Each has ordinary columns beside what its kind adds, a target that binds the groups, and
at random weights, penalties, given signs and standardised columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.oracles import brute_force
from tests.strategies import Tiny

Rng = np.random.Generator
Block = tuple[np.ndarray, list[int]]  # columns and their group, counted from 0


def codes(rng: Rng, n_rows: int, n_levels: int) -> np.ndarray:
    """Return the level of each row, every level somewhere."""
    levels = np.append(np.arange(n_levels), rng.integers(0, n_levels, max(n_rows - n_levels, 0)))[:n_rows]
    return rng.permutation(levels)


def one_hot(levels: np.ndarray) -> np.ndarray:
    return (levels[:, None] == np.unique(levels)).astype(float)


def one_text_column(rng: Rng, n: int) -> Block:
    X = one_hot(codes(rng, n, 3))
    return X, [0] * X.shape[1]


def nested_text_columns(rng: Rng, n: int) -> Block:
    coarse = codes(rng, n, 2)
    A, B = one_hot(coarse), one_hot(2 * coarse + rng.integers(0, 2, n))
    return np.hstack([A, B]), [0] * A.shape[1] + [1] * B.shape[1]


def shares(rng: Rng, n: int) -> Block:
    return rng.dirichlet(np.ones(3), n) * 100.0, [0, 0, 0]


def a_whole_in_parts(rng: Rng, n: int) -> Block:
    """Parts that sum to a column of another group: arbitrary once that one is free, else not."""
    A = one_hot(codes(rng, n, 2))
    parts = A[:, :1] * np.array([[0.25, 0.75]]) + np.outer(rng.normal(size=n), [1.0, -1.0])
    return np.hstack([A, parts]), [0, 0, 1, 1]


def a_group_twice(rng: Rng, n: int) -> Block:
    X = rng.normal(size=(n, 2))
    return np.hstack([X, X]), [0, 0, 1, 1]


def a_sum_inside_a_group(rng: Rng, n: int) -> Block:
    X = rng.normal(size=(n, 2))
    return np.column_stack([X, X @ [1.0, 2.0], 3.0 * X[:, 0]]), [0] * 4


def opposites(rng: Rng, n: int) -> Block:
    X = rng.normal(size=(n, 1))
    return np.hstack([X, -2.0 * X]), [0, 0]


def orthogonal_blocks(rng: Rng, n: int) -> Block:
    """Columns of two groups that are orthogonal to each other, in whole numbers, beside an intercept."""
    half = np.array([[1, 1, -1, -1, 0, 0, 0, 0], [1, -1, 1, -1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, -1, -1],
                     [0, 0, 0, 0, 1, 0, -1, 0]], float).T
    return np.tile(half, (-(-n // 8), 1))[: 8 * (n // 8)], [0, 0, 1, 1]


def two_text_columns_in_one_group(rng: Rng, n: int) -> Block:
    X = np.hstack([one_hot(codes(rng, n, 2)), one_hot(codes(rng, n, 3))])
    return X, [0] * X.shape[1]


KINDS: dict[str, Callable[[Rng, int], Block]] = {
    make.__name__: make
    for make in (
        one_text_column, nested_text_columns, shares, a_whole_in_parts, a_group_twice, a_sum_inside_a_group, opposites,
        orthogonal_blocks, two_text_columns_in_one_group,
    )
}


@dataclass(frozen=True, eq=False)
class Case:
    """A problem with the signs given for some of its groups, and a name to find it by."""

    tiny: Tiny
    signs: tuple[int, ...]
    name: str

    def optimum(self) -> float:
        """Return the optimum by brute force."""
        oracle = brute_force(self.tiny.X, self.tiny.y, self.tiny.labels, **self.tiny.options)
        return min(
            value for pattern, value in oracle.objectives.items()
            if all(given in (0, sign) for given, sign in zip(self.signs, pattern, strict=True))
        )


def problem(kind: str, seed: int) -> Case:
    """Return the problem of a kind and a seed."""
    rng = np.random.default_rng([17, list(KINDS).index(kind), seed])
    n = int(rng.integers(8, 20))
    X, labels = KINDS[kind](rng, n)
    n = len(X)
    plain = 0 if kind == "orthogonal_blocks" and rng.random() < 0.5 else int(rng.integers(1, 4))
    others = rng.normal(size=(n, plain))
    labels = [*labels, *(max(labels) + 1 + rng.integers(0, 2, plain)).tolist()]
    X = np.hstack([X, others]) * np.exp2(rng.integers(-2, 3, X.shape[1] + plain))
    labels = np.unique(labels, return_inverse=True)[1].tolist()
    X, options = _spoiled(rng, X, max(labels) + 1)
    y = X @ rng.normal(size=X.shape[1]) + rng.normal(size=n) + 3.0
    order = rng.permutation(X.shape[1])
    K = max(labels) + 1
    signs = tuple(rng.choice([-1, 0, 1], p=[0.1, 0.8, 0.1], size=K).tolist()) if rng.random() < 0.3 else (0,) * K
    return Case(Tiny(X[:, order], y, tuple(labels[j] for j in order), options), signs, f"{kind} {seed}")


def _spoiled(rng: Rng, X: np.ndarray, n_groups: int) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the columns, standardised at random, and options that leave the rules something to get wrong."""
    if rng.random() < 0.3:
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    options: dict[str, Any] = {}
    if rng.random() < 0.25:
        options["sample_weight"] = rng.integers(0, 4, len(X)) / 3.0 + (rng.random() < 0.5) * 0.1
    if rng.random() < 0.15:
        options["fit_intercept"] = False
    if rng.random() < 0.2:
        options |= {"eta": float(rng.choice([0.1, 2.0])), "penalty": str(rng.choice(["l1", "l2"]))}
        options["penalize_intercept"] = bool(options.get("fit_intercept", True) and rng.random() < 0.5)
    elif rng.random() < 0.15:  # some groups without a penalty
        options |= {"eta": (rng.integers(0, 2, n_groups) * 0.7).tolist(), "penalty": str(rng.choice(["l1", "l2"]))}
    if rng.random() < 0.1:
        options["ridge"] = 0.3
    return X, options


def problems(count: int, first: int = 0) -> Iterator[Case]:
    """Yield problems of every kind in turn."""
    kinds = list(KINDS)
    for i in range(first, first + count):
        yield problem(kinds[i % len(kinds)], i // len(kinds))
