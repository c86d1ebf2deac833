"""A safe lower bound of any convex cone program from any approximate dual vector, after Jansson.

The program is

    minimise  x'Px / 2 + c'x + d   s.t.  b - A x in K,    K: zero, nonnegative, second-order and semidefinite cones.

For any u, and any y in the dual cone of K, every feasible x has

    x'Px / 2 + c'x + d  >=  d - u'Pu / 2 - b'y + r'x,     r = c + P u + A'y,

because ``(x - u)'P(x - u) >= 0`` and ``y'(b - A x) >= 0``. A solver's y is first moved into the dual cone. Then r,
which vanishes at the exact dual optimum, is charged at its worst over a box that holds the solutions in question, as in
Jansson, Chaykin and Keil, Rigorous error bounds for the optimal value in semidefinite programming, SIAM Journal on
Numerical Analysis (2007). So is the rounding of all this. P, c, d, A and b count as exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh

from formulations.data import Floats

_UNIT = float(np.finfo(np.float64).eps)
_TIGHT = 1e-11  # of the solver's own value: a bound this near to it is not refined
_LARGEST_REFINEMENT = 4e6  # entries of the dense matrix that refining a dual vector factorises


@dataclass(frozen=True, eq=False)
class Cones:
    """The rows of a cone program in order: zero, nonnegative, second-order cones, triangles of semidefinite matrices.

    A triangle holds a symmetric matrix column by column, off-diagonal entries times the square root of 2; the upper
    triangle if ``upper``, else the lower one.
    """

    zero: int
    nonnegative: int
    second_order: tuple[int, ...] = ()
    semidefinite: tuple[int, ...] = ()
    upper: bool = True

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        linear = self.zero + self.nonnegative
        return linear + sum(self.second_order) + sum(n * (n + 1) // 2 for n in self.semidefinite)

    @cached_property
    def second_order_rows(self) -> list[NDArray[np.intp]]:
        """The rows of each second-order cone, the radius first."""
        return _ranges(self.zero + self.nonnegative, self.second_order)

    @cached_property
    def semidefinite_rows(self) -> list[NDArray[np.intp]]:
        """The rows of each semidefinite matrix."""
        start = self.zero + self.nonnegative + sum(self.second_order)
        return _ranges(start, [n * (n + 1) // 2 for n in self.semidefinite])

    def places(self, order: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return row and column of each entry of a triangle."""
        columns, rows = np.tril_indices(order) if self.upper else np.triu_indices(order)
        return rows, columns

    def matrix(self, triangle: Floats, order: int) -> Floats:
        """Return the symmetric matrix of a triangle."""
        rows, columns = self.places(order)
        full = np.zeros((order, order))
        full[rows, columns] = full[columns, rows] = np.where(rows == columns, triangle, triangle / sqrt(2.0))
        return full

    def triangle(self, matrix: Floats) -> Floats:
        """Return the triangle of a symmetric matrix."""
        rows, columns = self.places(len(matrix))
        return np.asarray(np.where(rows == columns, 1.0, sqrt(2.0)) * matrix[rows, columns])

    def into_dual(self, y: Floats) -> Floats:
        """Return a vector near y that lies in the dual cone, rounding included."""
        y = np.array(y, dtype=np.float64)
        linear = slice(self.zero, self.zero + self.nonnegative)
        y[linear] = np.maximum(y[linear], 0.0)
        for rows in self.second_order_rows:
            norm = float(np.linalg.norm(y[rows[1:]]))
            y[rows[0]] = max(y[rows[0]], norm * (1.0 + 4 * len(rows) * _UNIT))
        for rows, order in zip(self.semidefinite_rows, self.semidefinite, strict=True):
            y[rows] = self.triangle(_safely_psd(self.matrix(y[rows], order)))
        return y


def _ranges(start: int, sizes: Any) -> list[NDArray[np.intp]]:
    return [np.arange(first, last) for first, last in pairwise(start + np.cumsum([0, *sizes]))]


def _safely_psd(Z: Floats) -> Floats:
    """Return Z without its negative eigenvalues, and shifted by what rounding can do to an eigenvalue."""
    values, vectors = eigh(Z)
    if values[0] < 0:
        Z = (vectors * np.maximum(values, 0.0)) @ vectors.T
        Z = (Z + Z.T) / 2
    # The eigenvalues of a rounded product, and of its entries times and by sqrt(2), move by less than this.
    shift = 8.0 * len(Z) * _UNIT * float(np.linalg.norm(Z))
    return np.asarray(Z + shift * np.eye(len(Z)) if values[0] < 2 * shift else Z)


@dataclass(frozen=True, eq=False)
class ConeProgram:
    """minimise ``x'Px / 2 + c'x + d``  s.t.  ``b - A x`` in the cones, ``lower <= x <= upper``.

    P is symmetric and, like A, a sparse matrix.
    """

    P: Any
    c: Floats
    d: float
    A: Any
    b: Floats
    cones: Cones
    lower: Floats
    upper: Floats

    @cached_property
    def curved(self) -> NDArray[np.intp]:
        """The variables with an entry in P."""
        return np.flatnonzero(np.asarray(abs(self.P).sum(axis=0)).ravel())

    @cached_property
    def curvature(self) -> Floats:
        """The rows and columns of P that are not zero."""
        return np.asarray(self.P[self.curved][:, self.curved].todense())

    @cached_property
    def is_diagonal(self) -> bool:
        """Whether P is diagonal."""
        return not (self.curvature - np.diag(np.diag(self.curvature))).any()

    @cached_property
    def least_curvature(self) -> float:
        """A number not above the least eigenvalue of P, and at most zero."""
        Q = self.curvature
        if self.is_diagonal:
            return float(min(np.diag(Q).min(initial=0.0), 0.0))
        return float(min(eigvalsh(Q)[0] - 8.0 * len(Q) * _UNIT * np.linalg.norm(Q), 0.0))

    def dual_bound(self, y: Floats, x: Floats, lower: Floats, upper: Floats) -> DualBound:
        """Return the better of the bounds that y and y refined prove of all feasible points in a box.

        ``x`` is the solver's point; the proof does not rely on it.
        """
        y, x = (np.nan_to_num(vector, nan=0.0, posinf=0.0, neginf=0.0) for vector in (y, x))
        first = self._evaluate(y, x, lower, upper)
        primal = float(x @ (self.P @ x)) / 2 + float(self.c @ x) + self.d
        if first.value >= primal - _TIGHT * abs(primal):
            return first
        refined = self._refined(self.cones.into_dual(y), x)
        second = first if refined is None else self._evaluate(refined, x, lower, upper)
        return max((first, second), key=lambda bound: bound.value)

    def _evaluate(self, y: Floats, x: Floats, lower: Floats, upper: Floats) -> DualBound:
        """Return the bound of one dual vector, less what rounding may have added."""
        y = self.cones.into_dual(y)
        u = self._stationary(y, x)
        Pu, Ay = self.P @ u, self.A.T @ y
        r = self.c + Pu + Ay
        terms = np.abs(self.c) + abs(self.P) @ np.abs(u) + abs(self.A).T @ np.abs(y)
        slack = self._rounding * terms
        with np.errstate(invalid="ignore"):
            ends = np.minimum(_times(r - slack, lower, upper), _times(r + slack, lower, upper))
        value = self.d - float(u @ Pu) / 2 - float(self.b @ y) + float(ends.sum())
        if self.least_curvature < 0:
            away = np.maximum(np.abs(lower - u), np.abs(upper - u))[self.curved]
            value += self.least_curvature / 2 * float(away @ away)
        sizes = abs(self.d) + float(np.abs(u) @ (abs(self.P) @ np.abs(u)) + np.abs(self.b) @ np.abs(y))
        lost = self._rounding * (sizes + float(np.abs(ends[np.isfinite(ends)]).sum()))
        value = value - lost if value > -inf else -inf
        return DualBound(value, float(np.abs(ends).sum()), np.flatnonzero(ends == -inf))

    @cached_property
    def _rounding(self) -> float:
        """The share of the sum of its terms by which any sum here may be wrong."""
        return 2.0 * (len(self.b) + len(self.c) + 8) * _UNIT

    def _stationary(self, y: Floats, x: Floats) -> Floats:
        """Return the u near x that makes r vanish where P has curvature: any u proves a bound, this one the best."""
        u = np.zeros(len(self.c))
        slope = -(self.c + self.A.T @ y)[self.curved]
        if self.is_diagonal:
            u[self.curved] = slope / np.diag(self.curvature)
        else:
            near = x[self.curved]
            u[self.curved] = near + np.linalg.lstsq(self.curvature, slope - self.curvature @ near, rcond=None)[0]
        return u

    def _refined(self, y: Floats, x: Floats) -> Floats | None:
        """Return y with r made small by the rows that may move: equations, and inequalities that hold with equality.

        A row is taken to hold with equality if its multiplier is larger than its slack, each as a share of what is
        large in the problem. Other multipliers, which an interior-point method leaves everywhere, are set to zero.
        """
        zero, linear = self.cones.zero, self.cones.zero + self.cones.nonnegative
        Ax = self.A @ x
        prices = max(np.abs(part).max(initial=0.0) for part in (y, self.c, self.P @ x))
        lengths = max(np.abs(part).max(initial=0.0) for part in (self.b, Ax))
        held = y[zero:linear] * lengths > np.maximum(self.b - Ax, 0.0)[zero:linear] * prices
        y[zero:linear][~held] = 0.0
        active = np.flatnonzero(held) + zero
        rows = np.append(np.arange(zero), active)
        if not len(rows) or len(self.c) * (len(rows) + len(self.curved)) > _LARGEST_REFINEMENT:
            return None
        u = self._stationary(y, x)
        r = self.c + self.P @ u + self.A.T @ y
        moves = np.hstack([np.asarray(self.A[rows].T.todense()), np.asarray(self.P[:, self.curved].todense())])
        step = np.linalg.lstsq(moves, -r, rcond=None)[0]
        y[rows] += step[: len(rows)]
        return y


@dataclass(frozen=True, eq=False)
class DualBound:
    """A lower bound, what the remaining residual took from it, and the variables without a bound that cost it all."""

    value: float
    charge: float
    unbounded: NDArray[np.intp]


def _times(r: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return the least of ``r x`` for x between the bounds; zero where r is zero, whatever the bounds."""
    ends = np.where(r > 0, lower, upper)
    return np.where(r == 0, 0.0, r * np.where(r == 0, 0.0, ends))
