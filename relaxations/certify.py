"""Safe lower bounds from approximate dual vectors, recomputed from the reduced data with NumPy alone.

For any vector r,  ``||R v - z||^2 >= 2 r'z - r'r - 2 (R'r)'v``.  Under the signs s, the linear term is at most
zero where ``R'r`` vanishes (undecided columns) or has ``s_j (R'r)_j <= l1_j / 2`` (decided ones). What an
approximate r lacks, e = the infeasible part of R'r, is priced over the solutions that can still improve.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from formulations.data import Floats
from formulations.reduction import Reduction

ROUNDING = 1e-14  # relative to the norms of the residual and of the data
DEPENDENT_BOX = 1e3  # times the target's norm: the coefficients considered when columns are dependent
_RANK_TOLERANCE = 1e-11


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
        """Return a lower bound (reduced units) on every v' under the signs whose objective is at most ``upper``."""
        red = self.reduction
        r = red.z - red.R @ v
        gradient = red.R.T @ r
        allowed = np.where(column_signs == 0, red.l1, np.inf) / 2
        excess_up = np.maximum(gradient - np.where(column_signs > 0, red.l1 / 2, allowed), 0.0)
        excess_down = np.minimum(gradient + np.where(column_signs < 0, red.l1 / 2, allowed), 0.0)
        e = np.where(column_signs >= 0, excess_up, 0.0) + np.where(column_signs <= 0, excess_down, 0.0)
        square = float(r @ r)
        size = float(red.z @ red.z) + red.rest
        margin = ROUNDING * np.sqrt((square + red.rest) * size)
        return square + 2.0 * float(gradient @ v) - 2.0 * self._price(e, upper) + red.rest - margin

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
        return abs(float(e @ least)) + float(np.linalg.norm(reach)) * np.sqrt(max(upper - floor, 0.0))
