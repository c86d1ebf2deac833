"""The penalties of a problem as exact numbers: what they add to the quadratic form, and how they bound coefficients."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from partls.verification.exact_integers import Integers, sqrt_up
from partls.verification.problem import Problem


class Penalties:
    """What each of the unknowns u = (w, t) costs beside the squared error.

    Every number here is a whole number of units of 2^-u for every u from ``unit`` on.
    """

    def __init__(self, problem: Problem, labels: NDArray[np.intp]) -> None:
        self._l1, self._labels = problem.penalty == "l1", labels
        self._groups = [Fraction(eta) for eta in problem.eta]
        ridge, own, nothing = Fraction(problem.ridge), Fraction(problem.eta_intercept), Fraction(0)
        self._eta = [self._groups[k] if k >= 0 else nothing for k in labels] + [own] * problem.fit_intercept
        self._ridge = [ridge] * len(labels) + [nothing] * problem.fit_intercept
        # A denominator of 2^p has p + 1 bits, so that half of each number is whole, too.
        self.unit = max(value.denominator.bit_length() for value in (*self._groups, own, ridge))

    def half(self, unit: int) -> Integers:
        """Return half the L1 cost of each unknown."""
        return _units([eta / 2 if self._l1 else Fraction(0) for eta in self._eta], unit)

    def row_weights(self, unit: int) -> Integers:
        """Return the L2 weight of each group's row."""
        return _units([Fraction(0) if self._l1 else eta for eta in self._groups], unit)

    def quadratic(self, unit: int) -> Integers:
        """Return what ridge and an L2 penalty add to Q."""
        total = np.diag(_units(self._ridge, unit))
        if self._l1:
            return total
        eta, n = _units(self._eta, unit), len(self._labels)
        total[:n, :n] += np.equal.outer(self._labels, self._labels) * eta[:n]  # a free column has an eta of zero
        total[n:, n:] += eta[n:]
        return total

    def reach(self, top: Fraction) -> list[Fraction | None]:
        """Return what a penalty of at most ``top`` leaves of each |u_j|; None where neither eta nor ridge counts it."""

        @cache
        def longest(eta: Fraction, ridge: Fraction) -> Fraction | None:
            alone = [top / eta if self._l1 else sqrt_up(top / eta)] if eta > 0 else []
            return min([*alone, sqrt_up(top / ridge)] if ridge > 0 else alone, default=None)

        return [longest(*costs) for costs in zip(self._eta, self._ridge, strict=True)]

    @property
    def bounded(self) -> NDArray[np.bool_]:
        """Which of the unknowns a penalty bounds."""
        return np.array([eta > 0 or ridge > 0 for eta, ridge in zip(self._eta, self._ridge, strict=True)])


def _units(values: list[Fraction], unit: int) -> Integers:
    """Return numbers as whole numbers of ``2^-unit``."""
    return np.array([int(value * 2**unit) for value in values], dtype=object)
