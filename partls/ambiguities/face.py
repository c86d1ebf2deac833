"""The models of one sign pattern that are as good as a given one: a polytope, mostly a single point.

Let v be optimal for its signs s, and r = z - R v. The fit ``R v`` and the penalty are the same for all models that are
optimal for s, and so is r. A column whose slope ``s_j R_j'r - l1_j / 2`` is below zero, strictly, is zero in all of
them: with a coefficient it would cost. The others, E, are all that may move, by some d in the null space of
``[R_E; l1_E s_E]`` with ``s_j d_j >= 0`` where v_j is zero. So if R_E has independent columns, the model is the only
one of its signs (strict complementarity). If not, a linear program finds which of the zero columns may move: the sum of
``t_j <= s_j d_j, 0 <= t_j <= 1`` is largest where all that can do so have t_j = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from formulations.data import Floats
from formulations.rows.reduction import Reduction
from formulations.tolerances import DEPENDENT, ZERO_COEFFICIENT

_SLOPE = 1e-9  # of the norms of column and target: a slope below this may be zero
_CLEAR = 1e-7  # of a column's norm: what is left of columns that are independent beyond doubt
_MOVES = 1e-9  # of the largest weight of a direction: a smaller one is rounding
_PROGRAM = 200_000  # entries of a linear program that takes a second or so


@dataclass(frozen=True, eq=False)
class Face:
    """The models as good as v under its signs, one per column; zero is that of an intercept with an L1 cost."""

    reduction: Reduction
    v: Floats
    signs: Floats

    @cached_property
    def slopes(self) -> Floats:
        """What each column would gain, relative: zero where it is in use, below zero where it would cost."""
        reduction = self.reduction
        residual = reduction.z - reduction.R @ self.v
        sizes = np.linalg.norm(reduction.R, axis=0) * np.sqrt(reduction.z @ reduction.z + reduction.rest)
        slopes = self.signs * (reduction.R.T @ residual) - reduction.l1 / 2
        return np.asarray(slopes / np.where(sizes > 0, sizes, 1.0))

    @cached_property
    def loose(self) -> NDArray[np.intp]:
        """E: the columns that may have a coefficient in some of these models; those without effect are left out."""
        in_use = (self.v != 0) | ((self.signs != 0) & (self.slopes >= -_SLOPE))
        return np.flatnonzero(in_use & self.reduction.R.any(axis=0))

    @cached_property
    def is_point(self) -> bool:
        """Whether v is the only one of these models, beyond doubt."""
        return bool(self._left.min(initial=1.0) > _CLEAR) or (self.is_solved and not len(self.movable))

    @cached_property
    def movable(self) -> NDArray[np.intp]:
        """The columns whose coefficients differ among these models."""
        E, Z = self.loose, self.directions
        return np.asarray(E[np.abs(Z).max(axis=1, initial=0.0) > 0]) if Z.shape[1] else np.zeros(0, np.intp)

    @cached_property
    def directions(self) -> Floats:
        """A basis of the moves inside the face, a row for each column of E.

        Where the linear program is too large, columns at zero stay there: then these are some of the moves.
        """
        E, Z = self.loose, self.null_space
        if not Z.shape[1]:
            return Z
        zero = (np.abs(self.v[E]) <= ZERO_COEFFICIENT * np.abs(self.v).max(initial=0.0)) & (self.signs[E] != 0)
        if not zero.any():
            return Z
        stuck = zero if not self.is_solved else _stuck(self.signs[E][zero, None] * Z[zero], zero)
        kept = _null_space(self._rows[:, ~stuck])[0]
        moves = np.zeros((len(E), kept.shape[1]))
        moves[~stuck] = kept
        return moves

    @cached_property
    def _rows(self) -> Floats:
        """[R_E; l1_E s_E] with columns of norm one."""
        E, reduction = self.loose, self.reduction
        rows = reduction.R[:, E]
        if reduction.l1.any():
            rows = np.vstack([rows, reduction.l1[E] * self.signs[E]])
        return np.asarray(rows / self.norms)

    @property
    def null_space(self) -> Floats:
        """A basis of the moves that change no fit, whatever the signs."""
        return self._space[0]

    @property
    def _left(self) -> Floats:
        return self._space[1]

    @cached_property
    def _space(self) -> tuple[Floats, Floats]:
        return _null_space(self._rows)

    @property
    def is_solved(self) -> bool:
        """Whether a linear program over these moves is small enough to be solved."""
        return self.null_space.size <= _PROGRAM

    @cached_property
    def norms(self) -> Floats:
        """The norms of the columns of E: moves are in contributions, and divided by these in coefficients."""
        return np.asarray(np.linalg.norm(self.reduction.R[:, self.loose], axis=0))


def _null_space(rows: Floats) -> tuple[Floats, Floats]:
    """Return a basis of the null space, in echelon form, and what is left of each column beside those before it."""
    n = rows.shape[1]
    if not n:
        return np.zeros((0, 0)), np.zeros(0)
    T, pivots = qr(rows, mode="r", pivoting=True)
    left = np.zeros(n)
    diagonal = np.abs(np.diag(T))
    left[: len(diagonal)] = diagonal
    rank = int((left > 1e2 * DEPENDENT).sum())
    Z = np.zeros((n, n - rank))
    if rank < n:
        Z[pivots[:rank]] = -solve_triangular(T[:rank, :rank], T[:rank, rank:]) if rank else 0.0
        Z[pivots[rank:]] = np.eye(n - rank)
        Z[np.abs(Z) <= _MOVES * np.abs(Z).max(axis=0)] = 0.0
    return Z, left


def _stuck(turned: Floats, zero: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which zero columns stay at zero in every move; ``turned`` is ``s_j Z_j`` of these columns."""
    from scipy.optimize import linprog  # a slow import that most results do without

    m, r = turned.shape
    cost = np.append(np.zeros(r), -np.ones(m))
    found = linprog(
        cost, A_ub=np.hstack([-turned, np.eye(m)]), b_ub=np.zeros(m), bounds=[(None, None)] * r + [(0, 1)] * m,
        method="highs",
    )
    stuck = zero.copy()
    if found.status == 0:
        stuck[zero] = found.x[r:] < 0.5
    return stuck
