"""Least squares under signs in whole numbers: a tableau whose pivots round nothing, and the pivots that settle it.

The problem is ``minimise x'Q x - 2 c'x + b`` with ``x_k >= 0``, ``x_k <= 0``, ``x_k = 0`` or no condition, all numbers
integers and [Q c; c' b] positive semidefinite. The tableau of a passive set P is

    [Q c; c' b] swept on P, times d = det(Q_PP),

whose entries are minors and so integers, whose last column holds d times the coefficients of P and d times the slopes
of all others, and whose corner is d times the objective. Pivots follow the least-index criss-cross method, which needs
no ratio test and ends on every positive semidefinite matrix; where it ends, the optimality conditions hold exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from partls.verification.exact_integers import Integers

Signs = NDArray[np.int8]
Flags = NDArray[np.bool_]


class ExactTableau:
    """A tableau of integers; ``spend`` receives the cost of each pivot and may raise to end the work."""

    def __init__(self, matrix: Integers, spend: Callable[[float], None]) -> None:
        self.T = matrix
        self.denominator = 1
        self.passive: Flags = np.zeros(len(matrix) - 1, dtype=bool)
        self._spend = spend

    def copy(self) -> ExactTableau:
        """Return a tableau that can be pivoted on without changing this one."""
        other = ExactTableau(self.T, self._spend)
        other.denominator, other.passive = self.denominator, self.passive.copy()
        return other

    @property
    def value(self) -> Fraction:
        """The objective at the point of the tableau."""
        return Fraction(self.T[-1, -1], self.denominator)

    def coefficient(self, k: int) -> Fraction:
        """Return the coefficient of a passive column."""
        return Fraction(self.T[k, -1], self.denominator)

    def sweep(self, k: int) -> None:
        """Let column k into the passive set, or take it out."""
        self._spend(self.T.size * float(self.denominator.bit_length() + 64))
        sign, row = (-1 if self.passive[k] else 1), self.T[k]
        pivot = sign * row[k]
        T = (pivot * self.T - sign * np.outer(row, row)) // self.denominator  # divides exactly
        T[k] = T[:, k] = row
        T[k, k] = -sign * self.denominator
        self.T, self.denominator = T, pivot
        self.passive[k] = sign > 0

    def settle(self, signs: Signs, barred: Flags) -> None:
        """Pivot to the optimum under a sign per column (0: none), the barred ones held at zero."""
        while (k := self._out_of_place(signs, barred)) is not None:
            if self.T[k, k] == 0:  # it depends on the passive columns: it takes the place of one that it pushes to zero
                pushed = signs * np.sign(self.T[k, :-1] * self.T[k, -1]).astype(np.int8) > 0
                self.sweep(int(np.flatnonzero(pushed & self.passive)[0]))
            self.sweep(k)

    def _out_of_place(self, signs: Signs, barred: Flags) -> int | None:
        """Return the first column of the wrong sign or with a slope that asks it in, or None at the optimum.

        Columns without a condition come first: once passive they stay, and leave a problem of signs alone.
        """
        last = np.sign(self.T[:-1, -1]).astype(np.int8)
        leaving = self.passive & (barred | (signs * last < 0))
        entering = ~self.passive & ~barred & np.where(signs == 0, last != 0, signs * last > 0)
        free = np.flatnonzero(entering & (signs == 0))
        wrong = free if len(free) else np.flatnonzero(leaving | entering)
        return int(wrong[0]) if len(wrong) else None
