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
from formulations.reduction import Reduction

ROUNDING = 1e-14  # relative to the norms of the residual and of the data
DEPENDENT_BOX = 1e3  # times the target's norm: the coefficients considered when columns are dependent
_RANK_TOLERANCE = 1e-11
_TIGHT = 1e-11  # relative price of the infeasible part above which a point is refined
_REFINEMENTS = 3


@dataclass(frozen=True, eq=False)
class SafeBound:
    """Certified bounds for one reduced problem.

    With independent columns the price of a residual e is exact: ``|e'v| <= |e'v_ls| + ||R^-T e|| sqrt(excess)``
    for every v whose error is within ``excess`` of the unconstrained one. With dependent columns coefficients
    are unbounded in principle, and the proof covers those up to ``DEPENDENT_BOX`` times the target's norm.
    """

    reduction: Reduction

    @cached_property
    def _factor(self) -> tuple[Floats, NDArray[np.intp], int]:
        T, pivots = qr(self.reduction.R, mode="r", pivoting=True)
        diagonal = np.abs(np.diag(T))
        return T, pivots, int((diagonal > _RANK_TOLERANCE).sum())

    @property
    def rank(self) -> int:
        """Numerical rank of the reduced columns."""
        return self._factor[2]

    @cached_property
    def _least_squares(self) -> Floats:
        return np.asarray(np.linalg.lstsq(self.reduction.R, self.reduction.z, rcond=None)[0])

    def value(self, v: Floats, column_signs: NDArray[np.int8], upper: float) -> float:
        """Return a lower bound (reduced units) on every v' under the signs whose objective is at most ``upper``.

        Where rounding makes the bound loose, v is refined in extended precision and the better bound returned.
        """
        value, price = self._evaluate(v, column_signs, upper)
        if price > _TIGHT * abs(value):
            refined = self._refine(v, column_signs)
            value = max(value, self._evaluate(refined, column_signs, upper)[0])
        return value

    def _evaluate(self, v: Any, signs: NDArray[np.int8], upper: float) -> tuple[float, float]:
        """Return (certified bound, price of the infeasible part), in the precision of v."""
        red, R = self.reduction, self.reduction.R if v.dtype == np.float64 else self._extended
        r = red.z - R @ v
        gradient = R.T @ r
        price = self._price(_infeasible(gradient, signs, red.l1).astype(np.float64), upper)
        square = float(r @ r) + red.rest
        size = float(red.z @ red.z) + red.rest
        value = square + 2.0 * float(gradient @ v) - 2.0 * price - ROUNDING * float(np.sqrt(square * size))
        return value, price

    def _refine(self, v: Floats, signs: NDArray[np.int8]) -> Any:
        """Return v in extended precision, corrected so that the gradient vanishes where v is nonzero or free."""
        red, point = self.reduction, v.astype(np.longdouble)
        support = np.flatnonzero(v)
        T = qr(red.R[:, support], mode="r")[0][: len(support)]
        if T.shape[0] < len(support) or not np.diag(T).all():
            return point
        for _ in range(_REFINEMENTS):
            gradient = self._extended.T @ (red.z - self._extended @ point)
            slope = (gradient - np.sign(v) * red.l1 / 2)[support].astype(np.float64)
            step = solve_triangular(T, solve_triangular(T, slope, trans="T", check_finite=False), check_finite=False)
            point[support] += step
        return point

    @cached_property
    def _extended(self) -> Any:
        return self.reduction.R.astype(np.longdouble)

    def _price(self, e: Floats, upper: float) -> float:
        """Return an upper bound on |e'v| over the improving solutions."""
        if not e.any():
            return 0.0
        red = self.reduction
        T, pivots, rank = self._factor
        if rank < red.n_columns:
            return float(DEPENDENT_BOX * np.linalg.norm(red.z) * np.abs(e).sum())
        least = self._least_squares
        floor = float(np.sum((red.R @ least - red.z) ** 2)) + red.rest
        reach = solve_triangular(T[:rank], e[pivots], trans="T", check_finite=False)
        return abs(float(e @ least)) + float(np.linalg.norm(reach) * np.sqrt(max(upper - floor, 0.0)))


def _infeasible(gradient: Any, signs: NDArray[np.int8], l1: Floats) -> Any:
    """Return the part of R'r that breaks dual feasibility: beyond [-l1/2, l1/2], one-sided where a sign is decided."""
    above = np.maximum(gradient - l1 / 2, 0)
    below = np.minimum(gradient + l1 / 2, 0)
    return np.where(signs >= 0, above, 0) + np.where(signs <= 0, below, 0)
