"""The bounder of every relaxation that goes through CVXPY: solve, bound safely what came back, keep both numbers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, nan
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from formulations.builders.model import Model
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from relaxations.conic.backend import Backend
from relaxations.protocol import Bound, BoundStatus

SafeBoundOf = Callable[[Model, NDArray[np.int8]], float]


@runtime_checkable
class Settling(Protocol):
    """A safe bound whose multipliers prove more than its value."""

    def settled(self, signs: SignPattern, cutoff: float) -> SignPattern:
        """Return the signs of the last node with those that every solution below the cutoff has (reduced units)."""
        ...


@dataclass(frozen=True, eq=False)
class ConicBounder:
    """Bounds of one relaxation of one instance: a solver's answer, and what NumPy can prove from its dual values.

    ``safe_bound`` takes the solved model and the sign of each reduced column, and returns a lower bound in reduced
    units that holds whatever the solver did; NaN or -inf if it can prove nothing. What was proved of a node holds for
    its children, so a bound is never below that of a parent asked for before. Not to be shared between threads.
    """

    reduction: Reduction
    backend: Backend
    safe_bound: SafeBoundOf
    _proved: dict[SignPattern, float] = field(default_factory=dict)

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        """Return the bound of one node, solved in full whatever the cutoff."""
        began = time.perf_counter()
        solved = self.backend.solve(signs)
        status, value, v = solved.status, -inf, None
        if status in (BoundStatus.OPTIMAL, BoundStatus.INACCURATE):
            v = np.asarray(solved.model.coefficients.value, dtype=np.float64)
            value = self.safe_bound(solved.model, self.reduction.column_signs(signs))
            if not np.isfinite(value):
                value, status = -inf, BoundStatus.FAILED
            # A sum of squares and a penalty: no safe bound needs to be below zero.
            value = max(value, 0.0) * self.reduction.scale if np.isfinite(value) else value
        if status is not BoundStatus.FAILED:
            value = max([value, *(self._proved.get(parent, -inf) for parent in signs.parents)])
            self._proved[signs] = value
        estimate = nan if status is BoundStatus.FAILED and v is None else solved.model.value
        known = None
        if status is BoundStatus.OPTIMAL and value < cutoff and isinstance(self.safe_bound, Settling):
            known = self.safe_bound.settled(signs, cutoff / self.reduction.scale)
        error = "" if status is BoundStatus.OPTIMAL else "; ".join(solved.attempts)
        return Bound(value, estimate, v, status, time.perf_counter() - began, error=error, settled=known)
