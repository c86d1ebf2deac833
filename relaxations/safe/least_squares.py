"""Safe lower bounds from approximate dual vectors, recomputed from the reduced data with NumPy alone.

For any vector r,  ``||R v - z||^2 >= 2 r'z - r'r - 2 (R'r)'v``.  Under the signs s, the linear term is at most
zero where ``R'r`` vanishes (undecided columns) or has ``s_j (R'r)_j <= l1_j / 2`` (decided ones). What an
approximate r lacks, e = the infeasible part of R'r, is priced over the solutions that can still improve.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from formulations.data import Floats
from formulations.rows.reduction import Reduction
from formulations.tolerances import DEPENDENT, ROUNDING
from relaxations.clock import check, factorisation

DEPENDENT_BOUND = 1e3  # times the target's norm: the coefficients considered when columns are dependent
_COSTLY = 1e-11  # relative price of the infeasible part above which a point is refined
_REFINEMENTS = 3
# Of the target's norm: a solver's coefficient (columns have norm about 1) at its bound. Which are, the solver leaves
# open: each reading of its point proves something, and the best proof counts.
_ZEROS = (1e-8, 1e-6, 1e-5, 1e-4)


@dataclass(frozen=True, eq=False)
class SafeBound:
    """Safe bounds for one reduced problem.

    With independent columns the price of a residual e is exact: ``|e'v| <= |e'v_ls| + ||R^-T e|| sqrt(excess)``
    for every v whose error is within ``excess`` of the unconstrained one. With dependent columns coefficients
    are unbounded in principle, and the proof covers those up to ``DEPENDENT_BOUND`` times the target's norm, or
    times the largest of the point at hand.
    """

    reduction: Reduction

    @cached_property
    def _factor(self) -> tuple[Floats, NDArray[np.intp], int]:
        check(factorisation(*self.reduction.R.shape))
        T, pivots = qr(self.reduction.R, mode="r", pivoting=True)
        diagonal = np.abs(np.diag(T))
        return T, pivots, int((diagonal > DEPENDENT).sum())

    @property
    def rank(self) -> int:
        """Numerical rank of the reduced columns."""
        return self._factor[2]

    @cached_property
    def least_squares(self) -> Floats:
        """The unconstrained solution."""
        check(factorisation(*self.reduction.R.shape))
        return np.asarray(np.linalg.lstsq(self.reduction.R, self.reduction.z, rcond=None)[0])

    def value(self, v: Floats, column_signs: NDArray[np.int8], upper: float) -> float:
        """Return a lower bound (reduced units) on every v' under the signs whose objective is at most ``upper``.

        Where rounding makes the bound loose, the residual of v is refined in extended precision as a dual vector of
        its own, and the better bound returned.
        """
        red, largest = self.reduction, float(np.abs(v).max(initial=0.0))
        value, price = self._evaluate(red.z - red.R @ v, column_signs, upper, largest)
        if price > _COSTLY * abs(value):
            value = max(value, self._evaluate(self._refine(v), column_signs, upper, largest)[0])
        return value

    def around(self, v: Floats, column_signs: NDArray[np.int8], upper: float) -> float:
        """Return the best lower bound that a solver's point proves, whichever of its coefficients are meant as zero."""
        size = float(np.sqrt(self.reduction.z @ self.reduction.z + self.reduction.rest))
        decided = column_signs != 0

        def proved(tiny: float) -> float:
            at_zero = np.where(decided, column_signs * v <= tiny, (np.abs(v) <= tiny) & (self.reduction.l1 > 0))
            return self.value(np.where(at_zero, 0.0, v), column_signs, upper)

        return max(proved(zero * size) for zero in _ZEROS)

    def _evaluate(self, r: Any, signs: NDArray[np.int8], upper: float, largest: float) -> tuple[float, float]:
        """Return (safe bound, price of the infeasible part) of the dual vector r, in the precision of r."""
        red, R = self.reduction, self.reduction.R if r.dtype == np.float64 else self._extended
        price = self._price(infeasible_part(R.T @ r, signs, red.l1).astype(np.float64), upper, largest)
        square = float(r @ r) + red.rest
        size = float(red.z @ red.z) + red.rest
        value = float(r @ (2 * red.z - r)) + red.rest
        return value - 2.0 * price - ROUNDING * float(np.sqrt(square * size)), price

    def _refine(self, v: Floats) -> Any:
        """Return the residual of v in extended precision, corrected to vanishing slope where v is nonzero.

        The correction is along the columns themselves, ``r - Q T^-T slope``: unlike a correction of v, it rounds
        relative to the residual and not to the coefficients, which ill-conditioned data make large.
        """
        red = self.reduction
        check(factorisation(*red.R.shape))
        r = red.z - self._extended @ v.astype(np.longdouble)
        support = np.flatnonzero(v)
        Q, T = qr(red.R[:, support], mode="economic")
        if T.shape[0] < len(support) or not np.diag(T).all():
            return r
        columns = self._extended[:, support]
        for _ in range(_REFINEMENTS):
            slope = columns.T @ r - (np.sign(v) * red.l1 / 2)[support]
            r = r - Q @ solve_triangular(T, slope.astype(np.float64), trans="T", check_finite=False)
        return r

    @cached_property
    def _extended(self) -> Any:
        return self.reduction.R.astype(np.longdouble)

    def _price(self, e: Floats, upper: float, largest: float) -> float:
        """Return an upper bound on |e'v| over the improving solutions; ``largest`` is a coefficient already met."""
        if not e.any():
            return 0.0
        red = self.reduction
        T, pivots, rank = self._factor
        if rank < red.n_columns:
            return DEPENDENT_BOUND * max(float(np.linalg.norm(red.z)), largest) * float(np.abs(e).sum())
        least = self.least_squares
        floor = float(np.sum((red.R @ least - red.z) ** 2)) + red.rest
        reach = solve_triangular(T[:rank], e[pivots], trans="T", check_finite=False)
        return abs(float(e @ least)) + float(np.linalg.norm(reach) * np.sqrt(max(upper - floor, 0.0)))

    def coef_bounds(self, upper: float) -> Floats:
        """Return a bound on each |v_j| over the one-signed solutions whose objective is at most ``upper``."""
        red = self.reduction
        T, pivots, rank = self._factor
        coef_bounds = np.full(red.n_columns, DEPENDENT_BOUND * np.linalg.norm(red.z))
        if rank == red.n_columns:
            least = self.least_squares
            floor = float(np.sum((red.R @ least - red.z) ** 2)) + red.rest
            coef_bounds[pivots] = np.linalg.norm(solve_triangular(T[:rank], np.eye(rank), check_finite=False), axis=1)
            coef_bounds = np.abs(least) + coef_bounds * np.sqrt(max(upper - floor, 0.0))
        # The penalty alone is at most ``upper``, and a one-signed group's sum bounds each of its members.
        weight = np.maximum(red.l1 / upper, red.penalty_rows.sum(axis=0) / np.sqrt(upper)) if upper > 0 else red.l1
        by_penalty = np.divide(1.0, weight, out=np.full_like(coef_bounds, np.inf), where=weight > 0)
        return np.minimum(coef_bounds, by_penalty) * (1 + 1e-9)


def infeasible_part(gradient: Any, signs: NDArray[np.int8], l1: Floats) -> Any:
    """Return the part of R'r that breaks dual feasibility: beyond [-l1/2, l1/2], one-sided where a sign is decided."""
    above = np.maximum(gradient - l1 / 2, 0)
    below = np.minimum(gradient + l1 / 2, 0)
    return np.where(signs >= 0, above, 0) + np.where(signs <= 0, below, 0)
