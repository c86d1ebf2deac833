"""The problem in exact arithmetic: its quadratic form, the objective of a model, and bounds on boxes of signs.

The problem has the augmented rows A (the data with weight omega, and for an L2 penalty one row of weight eta per
group sum), target b and unknowns u = (w, t):

    f(u) = ||A u - b||^2 + sum_j l1_j |u_j|,    the u_j of a group of one sign.

A box of signs comes with a vector v = n / d of rationals. Let Q = A'A, c = A'b and g = c - Q v. For every u

    f(u)  =  b'b - v'Q v - 2 g'u + (u - v)'Q (u - v) + sum_j l1_j |u_j|
          >= b'b - v'Q v - 2 sum_j |e_j| |u_j|,

where e_j is what g_j lacks of dual feasibility in the box: g_j must lie in [-l1_j/2, l1_j/2], without its lower end
where the group is >= 0, and without its upper end where it is <= 0. Q, c, b'b and g are computed without any rounding:
floating-point numbers are integers times powers of two. Where e = 0 nothing more is needed. Otherwise each |u_j| is
bounded over the solutions u that could improve on the model's objective, f(u) < F:

- a penalty alone is at most F, so that ``|u_j| <= F / eta`` (L1) or ``|u_j| <= sqrt(F / eta)`` (L2: the members of a
  group do not cancel);
- the other columns U have ``||A_U u_U|| <= rho``, with rho = sqrt(F) + ||b|| + the largest contribution of the columns
  bounded so far. If ``Q_UU - 2^-k diag(Q_UU)`` is positive definite, then ``|u_j| <= rho 2^(k/2) / sqrt(Q_jj)``. The
  certificate proposes k and the definiteness is proved here: by a floating-point Cholesky factorisation of a matrix
  made smaller by more than all rounding errors ("rounding"), or by exact elimination;
- where columns depend on each other no such k exists, and a certificate whose e is not zero has to state a limit: it
  then speaks of the solutions in which no column contributes more than 2^limit ||b||, and the model is one of them.
  The answer says so.

A box may be strengthened. Where the sign of group k is not decided, its row in A lets both signs cancel, which no
solution does: it has one sign there, and pays ``eta (sum_j |u_j|)^2 >= eta (2 s sum_j |u_j| - s^2)`` for any
number s. With this in place of the row, and s = sum_j |v_j|, everything above holds: the row leaves A and so Q, l1_j
becomes ``2 eta s``, and the bound loses ``eta s^2``.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.data import as_matrix, as_vector, column_names
from formulations.errors import InvalidInput, VerificationError
from formulations.partition import Partition
from partls.verification.document import Box, Problem
from partls.verification.exact_integers import (
    Floats,
    Integers,
    as_float,
    digit_gram,
    digit_product,
    exact_gram,
    proved_by_cholesky,
    proved_exactly,
    sqrt_up,
)

INDEPENDENT = 40  # a claim about columns as independent as 2^-40 tells has no need of a limit
VANISHING = 1e-12  # of the target's size: a tolerance below this is zero to working precision
ROUNDED = 1e-14  # of ||b||^2, which counts as size of a target that the intercept explains
SIGNS = {"+": 1, "-": -1, "0": 0}
EXACT_COLUMNS = 40  # up to which definiteness is looked for by exact elimination, too
_AT_ONCE, _BITS_AT_ONCE = 256, 2**25  # boxes, and bits of their points: more take memory


@dataclass(frozen=True, eq=False)
class Data:
    """The numbers of the problem as the user gives them."""

    X: Floats
    y: Floats
    partition: Partition
    weights: Floats | None

    @classmethod
    def read(cls, X: Any, y: Any, groups: Any, sample_weight: Any, ungrouped: str) -> Data:
        """Return the data as checked arrays."""
        names = column_names(X)
        table = as_matrix(X, names)
        partition = Partition.of(groups, n_columns=table.shape[1], columns=names, ungrouped=ungrouped)
        weights = None if sample_weight is None else as_vector(sample_weight, "sample_weight", len(table))
        if weights is not None and (weights < 0).any():
            raise InvalidInput("sample_weight has negative values: weights must be >= 0")
        return cls(table, as_vector(y, "y", len(table)), partition, weights)

    def digest(self, problem: Problem) -> str:
        """Return the SHA-256 of the problem and of every number in the data."""
        hashed = hashlib.sha256(json.dumps(vars(problem), sort_keys=True).encode())
        weights = np.ones(0) if self.weights is None else self.weights
        for array in (self.X, self.y, self.partition.labels, weights):
            kind = "<f8" if array.dtype.kind == "f" else "<i8"
            hashed.update(f"{array.shape}".encode())
            hashed.update(np.ascontiguousarray(array + 0, dtype=kind).tobytes())  # -0.0 + 0 is 0.0
        return hashed.hexdigest()


class Checker:
    """The exact quadratic form of a problem: Q, c, b'b are integers times ``2^-unit``."""

    def __init__(self, data: Data, problem: Problem, *, exact: bool) -> None:
        n, labels = data.X.shape[1], data.partition.labels
        self._labels, self._problem, self._exact = labels, problem, exact
        ones = [np.ones(len(data.y))] if problem.fit_intercept else []
        table = np.column_stack([data.X, *ones, data.y])
        gram, unit = (exact_gram if exact else digit_gram)(table, data.weights)
        eta = Fraction(problem.eta)
        finer = max(eta.denominator.bit_length() - unit, 0)  # so that eta / 2 is a whole number of units
        gram, self.unit = gram * 2**finer, unit + finer
        self.grouped = np.append(labels >= 0, np.full(len(ones), problem.penalize_intercept))
        weight = int(eta * 2**self.unit)
        self.half = self.grouped.astype(object) * (weight // 2 if problem.penalty == "l1" else 0)  # l1 / 2
        self.row_weight = weight if problem.penalty == "l2" else 0
        groups = np.arange(data.partition.n_groups)
        self.members = np.equal.outer(np.append(labels, [-1] * len(ones)), groups).astype(object)  # column, group
        if problem.penalty == "l2":
            same = np.equal.outer(labels, labels) & (labels >= 0)
            gram[:n, :n] += same.astype(object) * weight
            if ones and problem.penalize_intercept:
                gram[n, n] += weight
        self.Q, self.c, self.bb = gram[:-1, :-1], gram[:-1, -1], gram[-1, -1]

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
        penalised = self.grouped & (self._problem.eta > 0)
        return np.flatnonzero(~penalised & (np.diag(self.Q) != 0))

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
        eta, top = Fraction(self._problem.eta), Fraction(objective)
        reach: list[Fraction | None] = [None] * len(self.Q)
        rho = sqrt_up(top) + sqrt_up(self.target)
        if eta > 0:
            size = top / eta if self._problem.penalty == "l1" else sqrt_up(top / eta)
            for j in np.flatnonzero(self.grouped):
                reach[j] = size
                rho += size * sqrt_up(Fraction(self.Q[j, j], 2**self.unit))
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
        shorter = [size.denominator.bit_length() - size.numerator.bit_length() for size in reach if size]
        finer = max(0, *shorter) + 60 if shorter else 0  # whole numbers throughout, of 60 bits or more
        longest = np.array([0 if size is None else math.ceil(size * 2**finer) for size in reach], dtype=object)
        endless = np.array([size is None for size in reach], dtype=bool)
        largest = max((max(max(box.numerators), -min(box.numerators)) for box in boxes if box.numerators), default=0)
        at_once = min(max(_BITS_AT_ONCE // ((largest.bit_length() + 1) * len(self.Q)), 1), _AT_ONCE)
        for start in range(0, len(boxes), at_once):
            some = boxes[start : start + at_once]
            n = np.array([box.numerators or [0] * len(self.Q) for box in some], dtype=object)
            d = np.array([box.denominator for box in some], dtype=object)
            moved = n @ self.Q if self._exact else digit_product(n, self.Q)
            half, paid = np.outer(d, self.half), np.zeros(len(some), dtype=object)
            if any(box.strengthened for box in some):
                open_groups = np.array([[box.strengthened and sign == "0" for sign in box.signs] for box in some])
                sums, sizes = (n @ self.members) * open_groups, (abs(n) @ self.members) * open_groups
                moved = moved - self.row_weight * (sums @ self.members.T)
                half = half + self.row_weight * (sizes @ self.members.T)
                paid = self.row_weight * (sizes**2).sum(axis=1)
            values = self.bb * d * d - (n * moved).sum(axis=1) - paid
            lacking = self._lacking(np.outer(d, self.c) - moved, half, some)
            unlimited = (lacking[:, endless] != 0).any(axis=1)
            totals = values * 2**finer - 2 * d * (lacking @ longest)
            for i, box in enumerate(some):
                proved = Fraction(max(totals[i], 0), d[i] ** 2 * 2 ** (self.unit + finer))  # f >= 0 in any case
                yield Fraction(0) if box.numerators is None else -math.inf if unlimited[i] else proved

    def _lacking(self, slopes: Integers, half: Integers, boxes: list[Box]) -> Integers:
        """Return |e|: how far each slope is outside of what the signs of its box and the L1 cost allow."""
        group_signs = np.array([[*(SIGNS[sign] for sign in box.signs), 0] for box in boxes])
        signs = np.zeros(slopes.shape, dtype=int)
        signs[:, : len(self._labels)] = group_signs[:, self._labels]
        above, below = slopes - half, -slopes - half
        too_high, too_low = (signs >= 0) & (above > 0), (signs <= 0) & (below > 0)
        return np.asarray(np.where(too_high, above, 0) + np.where(too_low, below, 0))
