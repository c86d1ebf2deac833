"""Bounds on the variables of a cone program that hold for every feasible point no worse than a given value.

Each equation or inequality bounds each of its variables by the bounds of the others; the radius of a second-order cone
bounds its entries; the diagonal of a semidefinite matrix bounds the rest; and the objective, which is at most the given
value, bounds each of its terms by the least that the others can be. In constraint programming this is called bound
propagation. Every bound is widened by more than its rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky

from formulations.builders.coefficient_bounds import level_set_bounds
from formulations.data import Floats
from relaxations.safe.cone_program import ConeProgram

_ROUNDS = 25  # passes through the rows: bounds travel one row a pass
_WIDER = 1e-12  # of the terms of a sum: far above its rounding
_DEFINITE = 1e-9  # least eigenvalue of a matrix with unit diagonal from which it counts as definite
_WORTHWHILE = 1e-2  # of a bound: a smaller gain needs no further pass

Interval = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Known:
    """What is known beside the program itself.

    Attributes
    ----------
    lower, upper
        Bounds on each variable.
    rows, least, most
        ``least <= rows x <= most`` for further rows.
    lifts
        Matrices of variables, by their place, in which (0, 0) is 1 and (i, j) the product of (0, i) and (0, j).
    value
        The objective is at most this.
    """

    lower: Floats
    upper: Floats
    rows: Any
    least: Floats
    most: Floats
    lifts: tuple[NDArray[np.intp], ...]
    value: float


def box_of(program: ConeProgram, known: Known) -> Interval:
    """Return bounds on each variable over the feasible points of which ``known`` is true."""
    lower = np.maximum(known.lower, program.lower)
    upper = np.minimum(known.upper, program.upper)
    rows = _Rows.of(sparse.vstack([program.A, known.rows], format="csr"))
    m = len(program.b)
    least, most = np.append(np.full(m, -inf), known.least), np.append(np.full(m, inf), known.most)
    for _ in range(_ROUNDS):
        before = lower.copy(), upper.copy()
        lowest, highest = rows.sums(lower, upper)
        s_least, s_most = _slack(program, program.b - highest[:m], program.b - lowest[:m])
        least[:m], most[:m] = program.b - s_most, program.b - s_least
        rows.tighten(lower, upper, least, most)
        _tighten_by_objective(program, known.value, lower, upper)
        for lift in known.lifts:
            _tighten_lift(lift, lower, upper)
        lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)  # crossed by rounding
        if not _gained(before, (lower, upper)):
            break
    return lower, upper


def _gained(before: Interval, now: Interval) -> bool:
    for old, new in zip(before, now, strict=True):
        if (np.isfinite(new) & ~np.isfinite(old)).any():
            return True
        both = np.isfinite(old)
        if (np.abs(new[both] - old[both]) > _WORTHWHILE * np.abs(old[both])).any():
            return True
    return False


@dataclass(frozen=True, eq=False)
class _Rows:
    """A sparse matrix, entry by entry."""

    row: NDArray[np.intp]
    column: NDArray[np.intp]
    entry: Floats
    n_rows: int

    @classmethod
    def of(cls, matrix: Any) -> _Rows:
        entries = matrix.tocoo()
        there = entries.data != 0
        return cls(entries.row[there], entries.col[there], entries.data[there], matrix.shape[0])

    def _terms(self, lower: Floats, upper: Floats) -> Interval:
        """Return the least and the most that each entry times its variable can be."""
        ends = self.entry * lower[self.column], self.entry * upper[self.column]
        return np.minimum(*ends), np.maximum(*ends)

    def _totals(self, terms: Floats) -> tuple[Floats, Floats, Floats]:
        """Return, for each row, the sum of its finite terms, the number of others, and the sum of absolute values."""
        finite = np.where(np.isfinite(terms), terms, 0.0)
        infinite = np.where(np.isfinite(terms), 0.0, 1.0)
        sums = [np.bincount(self.row, part, self.n_rows).astype(np.float64) for part in (finite, infinite, abs(finite))]
        return sums[0], sums[1], sums[2]

    def sums(self, lower: Floats, upper: Floats) -> Interval:
        """Return the least and the most that each row can be."""
        below, above = (self._totals(terms) for terms in self._terms(lower, upper))
        return (
            np.where(below[1] == 0, below[0] - _WIDER * below[2], -inf),
            np.where(above[1] == 0, above[0] + _WIDER * above[2], inf),
        )

    def tighten(self, lower: Floats, upper: Floats, least: Floats, most: Floats) -> None:
        """Bound each variable of each row by the row's own bounds and the other variables, in place."""
        terms = self._terms(lower, upper)
        room = []
        for own, limits, side in ((terms[0], most, 1.0), (terms[1], least, -1.0)):
            total, missing, size = (values[self.row] for values in self._totals(own))
            infinite = ~np.isfinite(own)
            others = np.where(missing - infinite == 0, total - np.where(infinite, 0.0, own), -side * inf)
            limit = limits[self.row]
            margin = _WIDER * (size + np.where(np.isfinite(limit), np.abs(limit), 0.0))
            room.append(limit - others + side * margin)
        highest, lowest = room  # of the entry times its variable
        with np.errstate(invalid="ignore"):
            ends = lowest / self.entry, highest / self.entry
        np.fmax.at(lower, self.column, np.fmin(*ends))
        np.fmin.at(upper, self.column, np.fmax(*ends))


def _slack(program: ConeProgram, least: Floats, most: Floats) -> Interval:
    """Return bounds on ``b - A x`` given what its rows allow and its cones ask."""
    cones = program.cones
    least[: cones.zero], most[: cones.zero] = 0.0, 0.0
    linear = slice(cones.zero, cones.zero + cones.nonnegative)
    least[linear] = np.maximum(least[linear], 0.0)
    for rows in cones.second_order_rows:
        least[rows[0]] = max(least[rows[0]], 0.0)
        radius = max(most[rows[0]], 0.0)
        least[rows[1:]] = np.maximum(least[rows[1:]], -radius)
        most[rows[1:]] = np.minimum(most[rows[1:]], radius)
    for rows, order in zip(cones.semidefinite_rows, cones.semidefinite, strict=True):
        i, j = cones.places(order)
        diagonal = np.zeros(order)
        diagonal[i[i == j]] = np.maximum(most[rows[i == j]], 0.0)
        with np.errstate(invalid="ignore"):
            reach = np.where(i == j, diagonal[i], sqrt(2.0) * np.sqrt(diagonal[i] * diagonal[j]) * (1 + _WIDER))
        reach = np.where(np.isnan(reach), inf, reach)  # zero times infinity
        most[rows] = np.minimum(most[rows], reach)
        least[rows] = np.maximum(least[rows], np.where(i == j, 0.0, -reach))
    return least, most


def _tighten_by_objective(program: ConeProgram, value: float, lower: Floats, upper: Floats) -> None:
    """Bound each term of the objective by what the others leave of its value, in place."""
    if not value < inf:
        return
    p = np.zeros(len(program.c))
    p[program.curved] = np.diag(program.curvature) if program.is_diagonal else 0.0
    single = np.ones(len(p), bool)
    rest = program.d
    if not program.is_diagonal:  # the variables that P ties together are taken as one term
        single[program.curved] = False
    terms = np.where(single, _least_terms(p, program.c, lower, upper), 0.0)
    infinite = ~np.isfinite(terms)
    if not program.is_diagonal:
        if not infinite.any():
            left = value - rest - float(terms.sum()) + _WIDER * float(np.abs(terms).sum())
            _tighten_block(program, left, lower, upper)
        rest += _least_of_block(program, lower, upper)
    if not np.isfinite(rest) or infinite.sum() > 1:
        return
    total = float(terms[~infinite].sum()) + rest
    size = float(np.abs(terms[~infinite]).sum()) + abs(rest) + abs(value)
    others = total - np.where(infinite, 0.0, terms)
    room = value - others + 4 * _WIDER * size
    open_ = single & ((np.full(len(p), infinite.sum()) - infinite) == 0)
    for j in np.flatnonzero(open_ & ((p > 0) | (program.c != 0))):
        least, most = _level_set(p[j], program.c[j], float(room[j]))
        lower[j], upper[j] = max(lower[j], least), min(upper[j], most)


def _least_terms(p: Floats, c: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return the least of ``p x^2 / 2 + c x`` between the bounds, for each variable."""
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where(p > 0, np.clip(-c / np.where(p > 0, p, 1.0), lower, upper), np.where(c > 0, lower, upper))
        return np.where((p == 0) & (c == 0), 0.0, p / 2 * x * x + c * x)


def _level_set(p: float, c: float, room: float) -> tuple[float, float]:
    """Return the interval in which ``p x^2 / 2 + c x <= room``."""
    if p > 0:
        root = sqrt(max(c * c + 2 * p * max(room, 0.0), 0.0)) * (1 + _WIDER)
        centre, reach = -c / p, root / p
        wider = _WIDER * (abs(centre) + reach)
        return centre - reach - wider, centre + reach + wider
    bound = room / c
    bound += np.sign(c) * _WIDER * abs(bound)
    return (-inf, bound) if c > 0 else (bound, inf)


def _tighten_block(program: ConeProgram, room: float, lower: Floats, upper: Floats) -> None:
    """Bound the variables that P ties together, if it is definite on them, by ``x'Px / 2 + c'x <= room``, in place."""
    Q, c = program.curvature, program.c[program.curved]
    lengths = np.sqrt(np.diag(Q))
    if not (lengths > 0).all():
        return
    unit = Q / np.multiply.outer(lengths, lengths)
    if np.linalg.eigvalsh(unit)[0] < _DEFINITE:  # the bounds below are a thousandth wider than rounding needs
        return
    R = cholesky(unit / 2)  # ||R v - z||^2 = v'unit v / 2 - 2 z'R v + z'z  with  v = lengths * x
    z = np.linalg.solve(R.T, -c / lengths / 2)
    rest = max(0.0, -room)  # a sum of squares has no negative value: shift both sides
    sizes = level_set_bounds(R, z, rest, room + float(z @ z) + rest) / lengths
    lower[program.curved] = np.maximum(lower[program.curved], -sizes)
    upper[program.curved] = np.minimum(upper[program.curved], sizes)


def _least_of_block(program: ConeProgram, lower: Floats, upper: Floats) -> float:
    """Return a number not above ``x'Px / 2 + c'x`` on the variables that P ties together."""
    Q, c, low, high = program.curvature, program.c[program.curved], lower[program.curved], upper[program.curved]
    best = -inf
    for u in (np.zeros_like(c), np.linalg.lstsq(Q, -c, rcond=None)[0]):  # as in the dual bound, any u will do
        r = c + Q @ u
        slack = _WIDER * (np.abs(c) + np.abs(Q) @ np.abs(u))
        reach = np.maximum(np.abs(low), np.abs(high))
        with np.errstate(invalid="ignore"):
            ends = np.where(np.abs(r) + slack == 0, 0.0, -(np.abs(r) + slack) * reach)
        value = float(ends.sum()) - float(u @ Q @ u) / 2 * (1 + _WIDER)
        if program.least_curvature < 0:
            value += program.least_curvature / 2 * float(np.square(reach + np.abs(u)).sum())
        best = max(best, value)
    return best


def _tighten_lift(lift: NDArray[np.intp], lower: Floats, upper: Floats) -> None:
    """Bound each entry of a lift by the product of its first row's, in place."""
    low, high = lower[lift[0]].copy(), upper[lift[0]].copy()
    low[0] = high[0] = 1.0
    with np.errstate(invalid="ignore"):
        products = [np.multiply.outer(a, b) for a in (low, high) for b in (low, high)]
    products = [np.where(np.isnan(p), 0.0, p) for p in products]  # zero times infinity: the factor is zero
    least, most = np.minimum.reduce(products), np.maximum.reduce(products)
    square = np.arange(len(lift))
    least[square, square] = np.maximum(least[square, square], 0.0)
    wider = _WIDER * np.where(np.isfinite(most - least), np.abs(most) + np.abs(least), 0.0)
    np.maximum.at(lower, lift, least - wider)
    np.minimum.at(upper, lift, most + wider)
