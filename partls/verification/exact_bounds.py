"""The problem in exact arithmetic: its quadratic form, the objective of a model, and bounds on boxes of signs.

The problem has the augmented rows A (the data with weight omega, one row of weight gamma per coefficient for ridge,
and for an L2 penalty one row of weight eta_k per group sum, one for a penalised intercept), target b and unknowns
u = (w, t):

    f(u) = ||A u - b||^2 + sum_j l1_j |u_j|,    the u_j of a group of one sign.

A box of signs comes with a vector v = n / d of rationals. Let Q = A'A, c = A'b and g = c - Q v. For every u

    f(u)  =  b'b - v'Q v - 2 g'u + (u - v)'Q (u - v) + sum_j l1_j |u_j|
          >= b'b - v'Q v - 2 sum_j |e_j| |u_j|,

where e_j is what g_j lacks of dual feasibility in the box: g_j must lie in [-l1_j/2, l1_j/2], without its lower end
where the group is >= 0, and without its upper end where it is <= 0. Q, c, b'b and g are computed without any rounding:
floating-point numbers are integers times powers of two. Where e = 0 nothing more is needed. Otherwise each |u_j| is
bounded over the solutions u that could improve on the model's objective, f(u) < F:

- a penalty alone is at most F, so that ``|u_j| <= F / eta_k`` (L1), ``|u_j| <= sqrt(F / eta_k)`` (L2: the members of a
  group do not cancel) and ``|w_j| <= sqrt(F / gamma)`` (ridge);
- the other columns U have ``||A_U u_U|| <= rho``, with rho = sqrt(F) + ||b|| + the largest contribution of the columns
  bounded so far. If ``Q_UU - 2^-k diag(Q_UU)`` is positive definite, then ``|u_j| <= rho 2^(k/2) / sqrt(Q_jj)``. The
  certificate proposes k and the definiteness is proved here: by a floating-point Cholesky factorisation of a matrix
  made smaller by more than all rounding errors ("rounding"), or by exact elimination;
- where columns depend on each other no such k exists, and a certificate whose e is not zero has to state a limit: it
  then speaks of the solutions in which no column contributes more than 2^limit ||b||, and the model is one of them.
  The answer says so.

A box may be strengthened. Where the sign of group k is not decided, its row in A lets both signs cancel, which no
solution does: it has one sign there, and pays ``eta_k (sum_j |u_j|)^2 >= eta_k (2 s sum_j |u_j| - s^2)`` for any
number s. With this in place of the row, and s = sum_j |v_j|, everything above holds: the row leaves A and so Q, l1_j
becomes ``2 eta_k s``, and the bound loses ``eta_k s^2``. Ridge stays in Q; it lets nothing cancel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from formulations.errors import VerificationError
from partls.verification.data import Data
from partls.verification.document import Box
from partls.verification.exact_integers import (
    Integers,
    as_float,
    digit_gram,
    digit_product,
    exact_gram,
    proved_by_cholesky,
    proved_exactly,
    sqrt_up,
)
from partls.verification.exact_penalties import Penalties
from partls.verification.problem import Problem

INDEPENDENT = 40  # 2^-40: a claim about columns this independent needs no limit
VANISHING = 1e-12  # of the target's size: a tolerance below this is zero to working precision
ROUNDED = 1e-14  # of ||b||^2, which counts as size of a target that the intercept explains
SIGNS = {"+": 1, "-": -1, "0": 0}
EXACT_COLUMNS = 40  # up to which definiteness is looked for by exact elimination, too
_AT_ONCE, _BITS_AT_ONCE = 256, 2**25  # boxes, and bits of their points: more take memory


class Checker:
    """The exact quadratic form of a problem: Q, c, b'b are integers times ``2^-unit``."""

    def __init__(self, data: Data, problem: Problem, *, exact: bool) -> None:
        labels = data.partition.labels
        self._labels, self._problem, self._exact = labels, problem, exact
        ones = [np.ones(len(data.y))] if problem.fit_intercept else []
        gram, unit = (exact_gram if exact else digit_gram)(np.column_stack([data.X, *ones, data.y]), data.weights)
        self._penalties = Penalties(problem, labels)
        finer = max(self._penalties.unit - unit, 0)
        gram, self.unit = gram * 2**finer, unit + finer
        gram[:-1, :-1] += self._penalties.quadratic(self.unit)
        self.Q, self.c, self.bb = gram[:-1, :-1], gram[:-1, -1], gram[-1, -1]
        self.half, self.row_weights = self._penalties.half(self.unit), self._penalties.row_weights(self.unit)
        groups = np.arange(data.partition.n_groups)
        self.members = np.equal.outer(np.append(labels, [-1] * len(ones)), groups).astype(object)  # column, group

    @property
    def target(self) -> Fraction:
        """The squared norm of the target."""
        return Fraction(self.bb, 2**self.unit)

    @property
    def size(self) -> Fraction:
        """What the best of the columns, the intercept among them, leaves of the target's squared norm, and rounding."""
        squares = ((c**2, q * 2**self.unit) for c, q in zip(self.c, np.diag(self.Q), strict=True) if q > 0)
        explained = max((Fraction(*square) for square in squares), default=Fraction(0))
        return self.target - explained + Fraction(ROUNDED) * self.target

    def accepted(self, objective: float, gap_tol: float) -> Fraction:
        """Return the largest tolerance that counts as none: at least the smallest number that there is."""
        relative = Fraction(gap_tol) * Fraction(objective)
        return max(relative, Fraction(VANISHING) * self.size, Fraction(math.ulp(0.0)))

    def rounds_to_zero(self, objective: float) -> bool:
        """Return whether an objective is no more than what rounding leaves of an exact fit."""
        return Fraction(objective) <= Fraction(VANISHING) ** 2 * self.target

    @cached_property
    def unbounded(self) -> NDArray[np.intp]:
        """The columns U whose coefficients no penalty bounds, without those that are zero."""
        return np.flatnonzero(~self._penalties.bounded & (np.diag(self.Q) != 0))

    def objective(self, coef: list[float], intercept: float) -> float:
        """Return the objective of a model, correctly rounded; infinite if it cannot be represented."""
        if not self._problem.fit_intercept and intercept != 0:
            raise VerificationError("the model has an intercept although the problem has none")
        values = [Fraction(value) for value in (*coef, *[intercept] * self._problem.fit_intercept)]
        d = max(value.denominator for value in values)
        n = np.array([int(value * d) for value in values], dtype=object)
        total = self.bb * d * d - 2 * d * (self.c @ n) + n @ (self.Q @ n) + 2 * d * (self.half @ abs(n))
        return as_float(Fraction(total, d * d * 2**self.unit))

    def contributes_more(self, coef: list[float], intercept: float, limit: int) -> bool:
        """Return whether a column of U contributes more than ``2^limit ||b||`` to a model."""
        u = [Fraction(value) for value in (*coef, intercept)]
        most = Fraction(self.bb) * 4**limit
        return any(u[j] ** 2 * self.Q[j, j] > most for j in self.unbounded)

    @cached_property
    def independent(self) -> bool:
        """Whether the columns of U are proved to be as independent as those of ordinary data."""
        return proved_by_cholesky(self.Q[np.ix_(self.unbounded, self.unbounded)], INDEPENDENT)

    def reach(self, objective: float, eigenvalue: int | None, limit: int | None) -> list[Fraction | None]:
        """Return a bound on each |u_j| over the solutions that improve on ``objective``; None where there is none."""
        top = Fraction(objective)
        reach = self._penalties.reach(top)
        rho = sqrt_up(top) + sqrt_up(self.target)
        for size, square in zip(reach, np.diag(self.Q), strict=True):
            rho += 0 if size is None else size * sqrt_up(Fraction(square, 2**self.unit))
        if eigenvalue is not None:
            if not self.definite(eigenvalue):
                raise VerificationError("the columns are not as independent as the certificate claims")
            factor: Fraction | None = rho * sqrt_up(Fraction(2**eigenvalue))
        else:
            factor = None if limit is None else sqrt_up(self.target) * 2**limit
        if factor is not None:
            for j in self.unbounded:
                reach[j] = factor * sqrt_up(Fraction(2**self.unit, self.Q[j, j]))
        return reach

    def definite(self, eigenvalue: int) -> bool:
        """Return whether ``Q_UU - 2^-eigenvalue diag(Q_UU)`` is proved to be positive definite."""
        block = self.Q[np.ix_(self.unbounded, self.unbounded)]
        if self._exact:
            return proved_exactly(block, eigenvalue)
        small = len(block) <= EXACT_COLUMNS  # elimination of many columns would take hours
        return proved_by_cholesky(block, eigenvalue) or (small and proved_exactly(block, eigenvalue))

    def bounds(self, boxes: list[Box], reach: list[Fraction | None]) -> Iterator[Fraction | float]:
        """Yield a lower bound on the improving solutions of each box (-inf where they are not bounded)."""
        prices = _Prices(reach)
        largest = max((max(max(box.numerators), -min(box.numerators)) for box in boxes if box.numerators), default=0)
        at_once = min(max(_BITS_AT_ONCE // ((largest.bit_length() + 1) * len(self.Q)), 1), _AT_ONCE)
        for start in range(0, len(boxes), at_once):
            some = boxes[start : start + at_once]
            d = np.array([box.denominator for box in some], dtype=object)
            bounds = prices.taken_off(*self._dual_values(some, d), d, self.unit)
            for box, proved in zip(some, bounds, strict=True):
                yield Fraction(0) if box.numerators is None else proved

    def _dual_values(self, boxes: list[Box], d: Integers) -> tuple[Integers, Integers]:
        """Return ``b'b - v'Q v`` of each box, times d^2, and its |e|, times d."""
        n = np.array([box.numerators or [0] * len(self.Q) for box in boxes], dtype=object)
        moved = n @ self.Q if self._exact else digit_product(n, self.Q)
        half, paid = np.outer(d, self.half), np.zeros(len(boxes), dtype=object)
        if any(box.strengthened for box in boxes):
            turned, costs, paid = self._strengthened(boxes, n)
            moved, half = moved - turned, half + costs
        values = self.bb * d * d - (n * moved).sum(axis=1) - paid
        return values, self._lacking(np.outer(d, self.c) - moved, half, boxes)

    def _strengthened(self, boxes: list[Box], n: Integers) -> tuple[Integers, Integers, Integers]:
        """Return what the rows of undecided groups add to n Q, the L1 costs in their place, and the loss eta s^2."""
        undecided = np.array([[box.strengthened and sign == "0" for sign in box.signs] for box in boxes])
        weights = undecided * self.row_weights
        sizes = abs(n) @ self.members
        sums = n @ self.members
        return (weights * sums) @ self.members.T, (weights * sizes) @ self.members.T, (weights * sizes**2).sum(axis=1)

    def _lacking(self, slopes: Integers, half: Integers, boxes: list[Box]) -> Integers:
        """Return |e|: how far each slope is outside of what the signs of its box and the L1 cost allow."""
        group_signs = np.array([[*(SIGNS[sign] for sign in box.signs), 0] for box in boxes])
        signs = np.zeros(slopes.shape, dtype=int)
        signs[:, : len(self._labels)] = group_signs[:, self._labels]
        above, below = slopes - half, -slopes - half
        too_high, too_low = (signs >= 0) & (above > 0), (signs <= 0) & (below > 0)
        return np.asarray(np.where(too_high, above, 0) + np.where(too_low, below, 0))


class _Prices:
    """Bounds on the |u_j| as whole numbers, which put a price on what a point lacks of dual feasibility."""

    def __init__(self, reach: list[Fraction | None]) -> None:
        shorter = [size.denominator.bit_length() - size.numerator.bit_length() for size in reach if size]
        self._finer = max(0, *shorter) + 60 if shorter else 0  # whole numbers throughout, of 60 bits or more
        whole = [0 if size is None else math.ceil(size * 2**self._finer) for size in reach]
        self._longest = np.array(whole, dtype=object)
        self._endless = np.array([size is None for size in reach], dtype=bool)

    def taken_off(self, values: Integers, lacking: Integers, d: Integers, unit: int) -> Iterator[Fraction | float]:
        """Yield each value less twice the price of what is lacking; -inf where nothing bounds the coefficients."""
        unlimited = (lacking[:, self._endless] != 0).any(axis=1)
        totals = values * 2**self._finer - 2 * d * (lacking @ self._longest)
        for total, denominator, without in zip(totals, d, unlimited, strict=True):
            proved = Fraction(max(total, 0), denominator**2 * 2 ** (unit + self._finer))  # f >= 0 in any case
            yield -math.inf if without else proved
