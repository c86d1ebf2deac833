"""The perspective bound of a diagonal D without a conic solver: Newton's method for D, quasi-Newton for the point.

For diagonal D the hull of ``w_k'D_k w_k`` over the two orthants of an undecided group is ``(p_k + q_k)^2`` with
``p_k^2 = sum_{w_j > 0} d_j w_j^2`` and ``q_k^2 = sum_{w_j < 0} d_j w_j^2``: a function of w alone. Any w proves a bound
(:mod:`relaxations.safe.perspective`), a good one a high bound.
"""

from __future__ import annotations

import time
from math import inf

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from relaxations.active_set import ActiveSetBounder, GroupedProblem, group_columns
from relaxations.clock import check, factorisation
from relaxations.diagonal import optimal_diagonal, reweighted_diagonal, scale_below
from relaxations.protocol import Bound, Bounder, BoundStatus
from relaxations.safe.perspective import PerspectiveSafeBound

_CAUTION = 2.0  # the k-th step towards the steepest diagonal is the share 1 / (k + 2): the bound is concave in D
_EVENLY = 0.01  # of D: bounds divide what the point lacks by its entries
_ROUNDS = 4  # how often D is chosen again for the point that it leads to
_ITERATIONS, _MEMORY, _ACCURACY = 300, 20, 1e-9  # of L-BFGS; relative decrease at which it ends
_APART = 1e-24  # of the target's square: keeps p_k and q_k from zero, where their roots have no slope


def native_bounder(reduction: Reduction) -> Bounder:
    """Return the bounder of a problem; without curvature to give, or with an L1 penalty, that of "active-set"."""
    grouped = group_columns(reduction)
    applies = grouped.reliable and bool(grouped.passive.all()) and not reduction.l1.any()
    return DiagonalPerspectiveBounder(grouped) if applies else ActiveSetBounder(reduction)


class DiagonalPerspectiveBounder:
    """The bounds of nodes in any order, on one D; never below "active-set", nor below a parent's asked for before."""

    def __init__(self, grouped: GroupedProblem) -> None:
        self._reduction = reduction = grouped.reduction
        self._cheap = ActiveSetBounder(reduction)
        self._Q, self._c, self._size = grouped.R.T @ grouped.R, grouped.R.T @ grouped.z, grouped.size
        self._n_groups = reduction.n_groups
        free = np.zeros(reduction.n_columns, np.int8)
        check(factorisation(*grouped.T.shape))
        self.D = optimal_diagonal(self._Q, -grouped.T, grouped.point, reduction.labels)
        point, value = self._point(free, grouped.point)
        for k in range(_ROUNDS):
            check(factorisation(*grouped.T.shape))
            before, steepest = self.D, reweighted_diagonal(self._Q, -grouped.T, self.D, self._slopes(point))
            self.D = before + (steepest - before) / (k + _CAUTION)
            moved, higher = self._point(free, point)
            if higher > value:
                point, value = moved, higher
            else:
                self.D = before  # the next step is shorter
        even = scale_below(-1.0 / grouped.T.diagonal(), -grouped.T)
        self.D = (1.0 - _EVENLY) * self.D + _EVENLY * even
        self._safe = PerspectiveSafeBound(reduction, np.diag(self.D))
        self._proved: dict[SignPattern, float] = {}

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        """Return the bound of one node; the cheap bound alone where that reaches the cutoff."""
        began = time.perf_counter()
        cheap = self._cheap.bound(signs, cutoff=cutoff)
        if cheap.value >= cutoff or signs.is_complete or cheap.coef is None:
            return cheap
        column_signs, scale = self._reduction.column_signs(signs), self._reduction.scale
        v, value = self._point(column_signs, cheap.coef)
        own = self._safe.value(v, column_signs) * scale
        safe = max([own, cheap.value, *(self._proved.get(parent, -inf) for parent in signs.parents)])
        self._proved[signs] = safe
        status = BoundStatus.CUTOFF if safe >= cutoff else BoundStatus.OPTIMAL
        return Bound(safe, max(value * scale, safe), v, status, time.perf_counter() - began)

    def _point(self, signs: NDArray[np.int8], start: Floats) -> tuple[Floats, float]:
        """Return (nearly) the relaxation's solution under the column signs, and its value."""
        from scipy.optimize import minimize  # a slow import that most fits do without

        limits = np.where(signs > 0, 0.0, -inf), np.where(signs < 0, 0.0, inf)
        found = minimize(
            self._value, np.clip(start, *limits), jac=True, method="L-BFGS-B", bounds=np.column_stack(limits),
            options={"maxiter": _ITERATIONS, "maxcor": _MEMORY, "ftol": _ACCURACY * 1e-3, "gtol": 0.0},
        )
        return np.asarray(found.x), float(found.fun) + self._size

    def _sides(self, w: Floats) -> tuple[Floats, Floats]:
        """Return p and q of each group."""
        square, labels = self.D * w * w, self._reduction.labels
        tiny = _APART * self._size
        p = np.bincount(labels, np.where(w > 0, square, 0.0), self._n_groups)
        q = np.bincount(labels, np.where(w < 0, square, 0.0), self._n_groups)
        return np.sqrt(p + tiny), np.sqrt(q + tiny)

    def _value(self, w: Floats) -> tuple[float, Floats]:
        """Return the relaxation's objective at w, less the target's square, and its slope."""
        p, q = self._sides(w)
        Qw, Dw, labels = self._Q @ w, self.D * w, self._reduction.labels
        value = w @ (Qw - 2.0 * self._c) + 2.0 * (p @ q)
        other = np.where(w > 0, (q / p)[labels], (p / q)[labels])
        return float(value), np.asarray(2.0 * (Qw - self._c + other * Dw))

    def _slopes(self, w: Floats) -> Floats:
        """Return how fast the bound rises with each entry of D at the point w."""
        p, q = self._sides(w)
        labels = self._reduction.labels
        return np.asarray(np.where(w > 0, (q / p)[labels], (p / q)[labels]) * w * w)
