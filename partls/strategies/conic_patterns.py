"""Sign patterns through CVXPY: one ``partls_b`` with its signs as parameters, and a proof of what the solver says.

The value of a pattern is that of the solver's point moved inside the signs. Its bound is recomputed from the reduced
data with the residual of that point as dual vector; the solver is not trusted with either.
"""

from __future__ import annotations

from collections import Counter
from math import inf

import numpy as np
from numpy.typing import NDArray

from formulations.builders.partls_b import partls_b
from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.explore.subtree import Incumbent
from partls.runtime.interrupts import Keyboard
from partls.strategies.pattern_blocks import Block
from relaxations.clock import OutOfTime, in_time
from relaxations.conic.backend import Backend
from relaxations.conic.solvers import SOLVERS
from relaxations.protocol import BoundStatus
from relaxations.safe.least_squares import SafeBound

_WORK = 2e6  # multiplications in the time that CVXPY and a solver take for the smallest problem


class ConicPatterns:
    """Solves each pattern by a solver of CVXPY; what it leaves open is for the caller to solve again."""

    def __init__(self, instance: Instance, safe: SafeBound, keyboard: Keyboard, solver: str | None) -> None:
        self._reduction, self._safe, self._keyboard = instance.reduction, safe, keyboard
        first = SignPattern((1,) * self._reduction.n_groups)
        solvers = SOLVERS if solver is None else (solver,)
        self._backend = Backend(lambda signs: partls_b(instance, signs or first), solvers)
        self.work = max(_WORK, 10 * float(self._reduction.n_columns) ** 3)
        self.counts: Counter[str] = Counter()

    def solve(self, patterns: NDArray[np.int8], tail: NDArray[np.int64], *, coefs: bool) -> Block:
        """Return the block of these patterns, with coefficients; infinite where a solver failed or the time was up."""
        reduction = self._reduction
        found = np.zeros((len(patterns), reduction.n_columns))
        values, certified = np.full(len(patterns), inf), np.full(len(patterns), -inf)
        for i, pattern in enumerate(patterns):
            self._keyboard.check()
            signs = SignPattern(tuple(pattern.tolist()))
            try:
                values[i], certified[i] = self._one(signs, found[i])
            except OutOfTime:
                break
        i = int(np.argmin(values))
        return Block(patterns, values, certified, found, Incumbent(float(values[i]), found[i]))

    def _one(self, signs: SignPattern, v: NDArray[np.float64]) -> tuple[float, float]:
        """Return (value, safe bound) of one pattern, in reduced units, and write its point to ``v``."""
        reduction = self._reduction
        solved = in_time(lambda: self._backend.solve(signs))
        self.counts[f"patterns by {solved.solver}"] += 1
        self.counts[f"pattern {solved.status.value}"] += 1
        if solved.status not in (BoundStatus.OPTIMAL, BoundStatus.INACCURATE):
            return inf, -inf
        columns = reduction.column_signs(signs)
        point = np.asarray(solved.model.coefficients.value, dtype=np.float64)
        if not np.isfinite(point).all():
            return inf, -inf
        v[:] = np.where(columns * point >= 0, point, 0.0)
        value = reduction.objective(v) / reduction.scale
        return value, max(self._safe.around(v, columns, value), reduction.rest)
