"""Sign patterns by the compiled kernel: one walk through all completions, from each to the next by a few pivots."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from formulations.rows.reduction import Reduction
from partls.explore.subtree import Incumbent
from partls.strategies.pattern_blocks import Block
from relaxations.active_set import GroupedProblem
from relaxations.clock import stop_flag
from relaxations.interpreter import kernel

if TYPE_CHECKING:
    from relaxations.kernel.tableau import KernelProblem

_GRADIENT = 1e-15  # of the residual's norm: twice the rounding of a gradient
_WIDE = 4  # a pattern costs this many times as much with fewer rows than columns
_ROUNDING = 1e-13  # of the target's norm: a coefficient or gradient (columns have norm about 1) below this is zero


class KernelPatterns:
    """Solves blocks of patterns inside the kernel; memory O(K M^2), whatever K."""

    def __init__(self, reduction: Reduction, grouped: GroupedProblem) -> None:
        self._reduction, self._grouped = reduction, grouped
        rows, columns = reduction.R.shape
        self.work = float((_WIDE if rows < columns else 1) * columns**2)
        self.counts: Counter[str] = Counter()

    @staticmethod
    def applies(reduction: Reduction, grouped: GroupedProblem) -> bool:
        """Return whether the kernel serves this problem: enough digits, and no L1 penalty.

        A column next to others and yet independent of them may need a coefficient no box of the kernel holds.
        """
        return (grouped.reliable or bool(grouped.passive.all())) and not bool(reduction.l1.any())

    @cached_property
    def problem(self) -> KernelProblem:
        """The kernel's problem with every column held at zero."""
        return _without_columns(self._grouped)

    @cached_property
    def _workspace(self) -> Any:
        return kernel.node.make_workspace(self.problem)

    def solve(self, patterns: NDArray[np.int8], tail: NDArray[np.int64], *, coefs: bool) -> Block:
        """Return the block of these patterns."""
        M = self._reduction.n_columns
        prefix = patterns[0].copy()
        prefix[tail] = 0
        values, certified = np.empty(len(patterns)), np.empty(len(patterns))
        kept = np.zeros((len(patterns) if coefs else 0, M))
        best = np.full(1 + M, np.inf)
        kernel.patterns.complete_patterns(
            self.problem._replace(stop=stop_flag(self._grouped.work)), self._workspace, prefix, tail, values,
            certified, best, kept, np.zeros(kernel.node.N_COUNTS, np.int64),
        )
        if not self._grouped.reliable:  # what is rounded in a gradient is priced by boxes no longer small
            certified -= _GRADIENT * np.sqrt(values) * self.problem.coef_bounds.sum()
        return Block(patterns, values, certified, kept if coefs else None, Incumbent(best[0], best[1:]))


def _without_columns(grouped: GroupedProblem) -> KernelProblem:
    """Return the kernel's problem with every column held at zero, turned around as the enumeration reads it."""
    tableau = kernel.tableau
    Q = grouped.R.T @ grouped.R
    state = np.zeros((tableau.STATE_ROWS, len(Q)))
    state[tableau.DIAGONAL] = -np.diag(Q)
    state[tableau.POINT] = grouped.R.T @ grouped.z
    state[tableau.PASSIVE] = 1.0
    problem: KernelProblem = grouped.kernel_problem(grouped.size)
    R, z = np.pad(grouped.R, ((0, -len(grouped.R) % 4), (0, 0))), np.pad(grouped.z, (0, -len(grouped.R) % 4))
    return problem._replace(R=R, z=z, T=-Q, state=state, tolerance=_ROUNDING * np.sqrt(grouped.size))
