"""All sign patterns in blocks, and what rounding or a solver has left open in a block settled."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from math import inf

import numpy as np
from numpy.typing import NDArray

from formulations.instance import Instance
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from partls.explore.incumbents import solve_pattern
from partls.explore.subtree import Incumbent, Tolerances
from partls.runtime.interrupts import Keyboard
from partls.strategies.factored_patterns import FactoredPatterns
from partls.strategies.kernel_patterns import KernelPatterns
from partls.strategies.pattern_blocks import Block, PatternEngine
from relaxations.active_set import GroupedProblem, group_columns, quick_floor
from relaxations.clock import OutOfTime
from relaxations.safe.least_squares import SafeBound
from relaxations.sign_constrained import solve_signed

_BLOCK_GROUPS = 10  # patterns are solved 2^10 at a time: enough to amortise, little to hold
_BLOCK_WORK = 1e8  # multiplications in a block: Ctrl-C and the clock wait for it


class PatternSolver:
    """Solves the sign patterns of one instance in blocks: by the kernel where that serves it, else by factorisation.

    ``through_cvxpy`` takes their place: a solver of CVXPY by its name, or None for the usual ones.
    """

    def __init__(self, reduction: Reduction, root: SignPattern, keyboard: Keyboard | None = None,
                 deadline: float = inf) -> None:
        self.reduction, self.root = reduction, root
        self._keyboard, self._deadline = keyboard or Keyboard(), deadline
        self._grouped: GroupedProblem = group_columns(reduction)
        self._safe = SafeBound(reduction)
        native = KernelPatterns.applies(reduction, self._grouped)
        self.engine: PatternEngine = (
            KernelPatterns(reduction, self._grouped) if native
            else FactoredPatterns(reduction, self._safe, self._keyboard)
        )
        sizes = np.bincount(reduction.labels, minlength=reduction.n_groups)
        # Small groups last: the deepest level is visited most and small groups need the fewest pivots.
        # An L1-penalised intercept is a group beyond the instance's own: one column, which needs no sign.
        own = (k for k in root.undecided if k < reduction.n_own_groups)
        self._groups = sorted(own, key=lambda k: (-sizes[k], k))

    def through_cvxpy(self, instance: Instance, solver: str | None) -> PatternSolver:
        """Return this solver with ``partls_b`` and a solver of CVXPY in the engine's place."""
        from partls.strategies.conic_patterns import ConicPatterns

        self.engine = ConicPatterns(instance, self._safe, self._keyboard, solver)
        return self

    @property
    def distance(self) -> float:
        """About how far the nearest column is from the others, as a share of its norm."""
        return self._grouped.distance

    @property
    def n_groups(self) -> int:
        """Number of groups whose signs are enumerated."""
        return len(self._groups)

    @property
    def n_patterns(self) -> int:
        """Number of sign patterns to solve."""
        return int(2 ** len(self._groups))

    def blocks(self, *, coefs: bool = False, block_groups: int = _BLOCK_GROUPS) -> Iterator[Block]:
        """Yield blocks until every pattern is solved; ``confirm`` settles what rounding has left open in them."""
        affordable = int(np.log2(max(_BLOCK_WORK / max(self.engine.work, 1), 1.0)))
        split = max(len(self._groups) - min(block_groups, affordable), 0)
        head, tail = self._groups[:split], self._groups[split:]
        for signs in product((1, -1), repeat=split):
            prefix = list(self.root.values)
            for k, sign in zip(head, signs, strict=True):
                prefix[k] = sign
            yield self._solve(np.array(prefix, np.int8), np.array(tail, np.int64), coefs)

    def _solve(self, prefix: NDArray[np.int8], tail: NDArray[np.int64], coefs: bool) -> Block:
        count = 2 ** len(tail)
        patterns = np.tile(prefix, (count, 1))
        bits = (np.arange(count)[:, None] >> np.arange(len(tail))[::-1]) & 1
        patterns[:, tail] = 1 - 2 * bits
        return self.engine.solve(patterns, tail, coefs=coefs)

    def confirm(self, block: Block, cutoff: float = inf) -> None:
        """Solve again, by orthogonal factorisation, the patterns whose bound and value are not equal to tolerance.

        What is certified to reach the cutoff is left alone: its bound proves already that it is not wanted.
        """
        reduction = self.reduction
        points = block.coefs if not isinstance(self.engine, FactoredPatterns) else None
        near = Tolerances(1e-10, self._grouped.size)
        with np.errstate(invalid="ignore"):  # infinite where a solver failed
            slack = near.relative * block.values + near.rounding * np.sqrt(np.maximum(block.values, 0.0)) + near.zero
            tight = block.values - block.certified <= slack  # not so if a broken tableau yields NaN
        for turn, i in enumerate(np.flatnonzero(~(tight & np.isfinite(block.values)) & ~(block.certified >= cutoff))):
            if turn > 0:  # a block with one such pattern is always finished
                self.check()
            pattern = SignPattern(tuple(block.patterns[i].tolist()))
            solution = solve_pattern(reduction, pattern, None if points is None else Incumbent(inf, points[i]))
            bound = self._safe.value(solution.v, reduction.column_signs(pattern), solution.value)
            block.values[i], block.certified[i] = solution.value, max(bound, reduction.rest)
            if block.coefs is not None:
                block.coefs[i] = solution.v
            block.best = min(block.best, solution, key=by_value)

    def check(self) -> None:
        """Raise KeyboardInterrupt after Ctrl-C, TimeoutError after the deadline."""
        self._keyboard.check()
        if time.perf_counter() > self._deadline:
            raise TimeoutError

    def root_bound(self, upper: float) -> float:
        """Return a safe bound on all patterns: least squares under the signs that are given."""
        signs = self.reduction.column_signs(self.root)
        try:
            return self._safe.value(solve_signed(self.reduction, signs), signs, upper)
        except OutOfTime:
            return quick_floor(self._grouped) if self._grouped.reliable else self.reduction.rest


def by_value(incumbent: Incumbent) -> float:
    """Return what incumbents are compared by."""
    return incumbent.value
