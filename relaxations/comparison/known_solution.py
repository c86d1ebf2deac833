"""A good solution of a node for little time: all its patterns where they are few, else rounding and flips of signs.

The search of the toolkit is a layer above and proves the optimum. This serves to measure bounds against something
where nobody has run it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf, sqrt

import numpy as np

from formulations.data import Floats
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from formulations.tolerances import PROVED, ZERO
from relaxations.active_set import ActiveSetBounder
from relaxations.clock import OutOfTime, is_over, stop_flag, until
from relaxations.comparison.reference import Reference
from relaxations.interpreter import kernel
from relaxations.sign_constrained import solve_signed

_FEW = 8  # undecided groups: at most 256 patterns, each solved
_SECONDS = 3.0  # for one node
_ROUNDS, _PAIRED = 20, 3  # of flips in the kernel


def known_solution(reduction: Reduction, node: SignPattern, points: Iterable[Floats | None] = ()) -> Reference:
    """Return the best solution found under the signs of ``node`` within a few seconds.

    ``points`` are relaxed solutions, rounded to signs to start from.
    """
    search = _Search(reduction, node)
    with until(time.perf_counter() + _SECONDS):
        try:
            bounder = ActiveSetBounder(reduction)
            if len(node.undecided) <= _FEW and search.all_patterns(bounder):
                return search.reference(is_optimum=True, source="every pattern solved")
            relaxed = bounder.bound(node).coef
            search.descend(bounder, [v for v in (relaxed, *points) if v is not None and _is_point(v, reduction)])
        except OutOfTime:
            pass
    return search.reference(is_optimum=False, source="by rounding and descent")


@dataclass(eq=False)
class _Search:
    """The best solution so far of one node, in original units; zero coefficients are one, whatever the signs."""

    reduction: Reduction
    node: SignPattern
    best: float = inf
    _tried: set[SignPattern] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.best = self.reduction.objective(np.zeros(self.reduction.n_columns))

    def reference(self, *, is_optimum: bool, source: str) -> Reference:
        return Reference(self.best, is_optimum, source)

    def all_patterns(self, bounder: ActiveSetBounder) -> bool:
        """Solve every pattern; return whether their bounds prove that nothing is better than the best of them."""
        lowest = inf
        for signs in product((1, -1), repeat=len(self.node.undecided)):
            drawn = dict(zip(self.node.undecided, signs, strict=True))
            pattern = SignPattern(tuple(drawn.get(k, s) for k, s in enumerate(self.node)))
            bound = bounder.bound(pattern)
            lowest = min(lowest, bound.value)
            if bound.estimate < self.best * (1 + 1e-6):
                self.solve(pattern, bound.coef)
        size = float(self.reduction.z @ self.reduction.z + self.reduction.rest) * self.reduction.scale
        rounding = PROVED * self.best + sqrt(ZERO * size * self.best) + ZERO * size
        return lowest >= self.best - 10 * rounding

    def solve(self, pattern: SignPattern, near: Floats | None = None) -> float:
        """Solve a complete pattern by factorisation; return its value."""
        self._tried.add(pattern)
        value = self.reduction.objective(solve_signed(self.reduction, self.reduction.column_signs(pattern), near))
        self.best = min(self.best, value)
        return value

    def descend(self, bounder: ActiveSetBounder, points: Sequence[Floats]) -> None:
        """Flip the sign of one group after another while that pays, from each point rounded to signs."""
        for point in points:
            pattern = self._rounded(point)
            if pattern in self._tried:
                continue
            self._tried.add(pattern)
            if bounder.native and not any(self.node):
                self._flip_compiled(bounder, pattern)
            else:
                self._flip(bounder, pattern)

    def _rounded(self, point: Floats) -> SignPattern:
        """Return the node's pattern, completed with the sign of each group's sum."""
        sums = np.bincount(self.reduction.labels, point, len(self.node))
        return SignPattern(tuple(s or (1 if total >= 0 else -1) for s, total in zip(self.node, sums, strict=True)))

    def _flip_compiled(self, bounder: ActiveSetBounder, pattern: SignPattern) -> None:
        grouped = bounder.grouped
        problem = grouped.kernel_problem(grouped.size)._replace(stop=stop_flag())
        v, bounds = np.zeros(self.reduction.n_columns), np.array([inf, inf])
        workspace, signs = kernel.node.make_workspace(problem, levels=1), np.array(pattern.values, np.int8)
        kernel.flips.improve(problem, workspace, signs, v, bounds, _ROUNDS, _PAIRED)
        self.solve(self._rounded(v), v)

    def _flip(self, bounder: ActiveSetBounder, pattern: SignPattern) -> None:
        value, improved = self.solve(pattern), True
        while improved and not is_over():
            improved = False
            for k in self.node.undecided:
                flipped = SignPattern((*pattern.values[:k], -pattern[k], *pattern.values[k + 1 :]))
                bound = bounder.bound(flipped, cutoff=value)
                if bound.value < value * (1 - PROVED) and (found := self.solve(flipped, bound.coef)) < value:
                    pattern, value, improved = flipped, found, True


def _is_point(point: Floats, reduction: Reduction) -> bool:
    return np.shape(point) == reduction.labels.shape and bool(np.isfinite(point).all())
