"""Safe lower bounds of the perspective relaxation from any approximate solution v, with NumPy and SciPy alone.

With ``S = Q - D`` psd, ``x'Sx >= 2 v'Sx - v'Sv`` for every x. So the objective at x is at least

    ``z'z + rest - v'Sv + sum_k (x_k'E_k x_k - g_k'x_k + l1_k'|x_k|)``,   ``g = 2 (R'(z - R v) + D v)``,

where ``E_k`` is D_k, plus the squares of the group's penalty if that is kept apart. Every solution is one-signed on
group k: the sum splits into one small problem per group and allowed sign, ``min over x >= 0 of x'Ex - h'x``. For any
w, that is at least ``-w'Ew - (h - 2Ew)+'x``, and x is bounded over the solutions that can still improve.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from formulations.data import Floats
from formulations.rows.reduction import Reduction
from formulations.tolerances import ROUNDING
from relaxations.safe.least_squares import SafeBound

_ZERO = 1e-6  # of the target's norm: a solver's coefficient (columns have norm about 1) at its bound
_RIDGE = 1e-11  # of a block's largest entry: makes a singular block invertible where a minimiser is looked for
_LOOK_AGAIN = 1e-12  # of the target's squared norm: a group's infeasible part that costs more is looked at again
_EXTENDED = float(np.finfo(np.longdouble).eps)


class _Group(NamedTuple):
    columns: NDArray[np.intp]
    E: Floats
    wide: Any  # E in extended precision
    L: Floats  # Cholesky factor of E, ridged


@dataclass(frozen=True, eq=False)
class PerspectiveSafeBound:
    """Safe bounds for one reduced problem and one D, block-diagonal with ``Q - D`` psd; D = 0 is allowed.

    With ``strengthen`` the penalty ``eta (sum_m |w_m|)^2`` stands beside D, which is then below the data part of Q.
    """

    reduction: Reduction
    D: Floats
    strengthen: bool = False

    @cached_property
    def _part(self) -> Reduction:
        return self.reduction.data_part if self.strengthen else self.reduction

    @cached_property
    def _size(self) -> float:
        return float(self.reduction.z @ self.reduction.z) + self.reduction.rest

    @cached_property
    def _box(self) -> Floats:
        return SafeBound(self.reduction).coef_bounds(self._size)

    @cached_property
    def _extended(self) -> tuple[Any, Any]:
        return self._part.R.astype(np.longdouble), self.D.astype(np.longdouble)

    @cached_property
    def _groups(self) -> list[_Group]:
        groups = []
        rows = self.reduction.penalty_rows if self.strengthen else np.zeros((0, len(self.D)))
        for k in range(self.reduction.n_groups):
            columns = np.flatnonzero(self.reduction.labels == k)
            row = rows[:, columns]
            E = self.D[np.ix_(columns, columns)] + row.T @ row
            ridge = _RIDGE * float(E.diagonal().max(initial=0.0)) or 1.0
            L = cholesky(E + ridge * np.eye(len(E)), lower=True)
            groups.append(_Group(columns, E, E.astype(np.longdouble), L))
        return groups

    def value(self, v: Floats, column_signs: NDArray[np.int8]) -> float:
        """Return a lower bound (reduced units) on every solution under the signs that is no worse than zero."""
        part, (R, D) = self._part, self._extended
        v = self._stationary(v, column_signs)
        r = part.z - R @ v.astype(np.longdouble)
        g = 2 * (R.T @ r + D @ v)
        total = r @ (2 * part.z - r) + part.rest + v @ D @ v
        for group in self._groups:
            sign = int(column_signs[group.columns[0]])
            sides = (sign,) if sign else (1, -1)
            total -= max(self._depth(group, s * g[group.columns] - self.reduction.l1[group.columns]) for s in sides)
        slack = 8 * len(v) * _EXTENDED * (np.sqrt(self._size) + 4 * np.abs(v).sum()) * self._box.sum()
        return float(total) - ROUNDING * self._size - float(slack)

    def _depth(self, group: _Group, h: Any) -> float:
        """Return a number not below ``h'x - x'Ex`` for any x >= 0 in the box."""
        guess = _minimiser(group.L, h.astype(np.float64))
        depth, infeasible = self._depth_at(group, h, guess)
        if infeasible <= _LOOK_AGAIN * self._size:
            return depth
        support = np.flatnonzero(guess > _ZERO * guess.max(initial=0.0))
        exact = np.zeros_like(guess)
        exact[support] = np.linalg.lstsq(group.E[np.ix_(support, support)], h[support].astype(float) / 2, rcond=None)[0]
        return min(depth, self._depth_at(group, h, exact)[0])

    def _depth_at(self, group: _Group, h: Any, guess: Floats) -> tuple[float, float]:
        """Return (the number of :meth:`_depth` proved by one guess of the minimiser, its infeasible part's price)."""
        slope = group.wide @ guess
        price = np.maximum(h - 2 * slope, 0) @ self._box[group.columns]
        return float(guess @ slope + price), float(price)

    def _stationary(self, v: Floats, signs: NDArray[np.int8]) -> Floats:
        """Return v with its slope made to vanish on the columns without curvature, where every bit of it is priced."""
        bare = np.ones(len(v), dtype=bool)
        for group in self._groups:
            bare[group.columns] = group.E.diagonal() == 0
        if not bare.any():
            return v
        part, l1 = self._part, self.reduction.l1
        tiny = _ZERO * np.sqrt(self._size)
        at_zero = bare & np.where(signs != 0, signs * v <= tiny, (np.abs(v) <= tiny) & (l1 > 0))
        v = np.where(at_zero, 0.0, v)
        moving = np.flatnonzero(bare & ~at_zero)
        inverse = np.linalg.pinv(part.R[:, moving])
        tilt = inverse.T @ (np.sign(v) * l1 / 2)[moving]
        for _ in range(2):
            v[moving] += inverse @ (part.z - part.R @ v - tilt)
        return v


def _minimiser(L: Floats, h: Floats) -> Floats:
    """Return the (nearly) best x >= 0 of ``x'LL'x - h'x``; any x will do for a proof."""
    try:
        x = nnls(L.T, solve_triangular(L, h / 2, lower=True))[0]
    except RuntimeError:  # it gave up
        return np.zeros_like(h)
    return np.asarray(x)
