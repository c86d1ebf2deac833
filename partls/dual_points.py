"""Points at which the slope of the objective vanishes on a support, as rationals far more accurate than floats.

A point of a box's relaxation satisfies ``Q_SS u_S = c_S - h_S`` on its support S, h being half the L1 cost with the
sign of u. What a floating-point solution misses is computed exactly, solved for in floating point, and added as an
integer: each step gains the digits that the condition number leaves. Small systems are solved in rationals outright,
which makes the slope vanish exactly, on all columns that depend on the support too.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from formulations.data import Floats
from formulations.instance import Instance
from partls.exact_integers import Integers
from partls.verify import Checker

_STEPS = 30  # of refinement, at most
_SMALL = 4000  # bits of a determinant up to which a system is solved in rationals

Point = tuple[list[int], int]


class DualPoints:
    """Refines float solutions of one problem into points n / d."""

    def __init__(self, instance: Instance, checker: Checker) -> None:
        self._instance, self._checker = instance, checker
        self._shift = np.append(instance._x_shift, [0.0] * instance.fit_intercept)

    def dyadic(self, u: Floats, bits: int) -> Point:
        """Return the point of u's support to so many bits, relative to the target, or as accurately as is reached."""
        checker, support = self._checker, self._support(u)
        widest = max(int(entry).bit_length() for entry in np.diag(checker.Q))
        precision = max(bits + (widest - int(checker.bb).bit_length()) // 2, 0)
        factor = qr(self._triangle[:, support], mode="economic", check_finite=False)[1]
        n = np.array([_scaled(float(value), precision) for value in u], dtype=object)
        best, smallest = n, math.inf
        for _ in range(_STEPS):
            residual = self._right(u, support) * 2**precision - checker.Q[np.ix_(support, support)] @ n[support]
            power = max((int(entry).bit_length() for entry in residual), default=0)
            size = math.ldexp(1.0, power - precision - checker.unit) if power else 0.0
            if size < smallest:
                best = n
            if power == 0 or size > smallest / 2 or not self._regular(factor):
                break
            smallest = size
            step = self._solve(factor, support, np.asarray(residual / 2**power, dtype=np.float64))
            n = n.copy()
            n[support] += np.array([_scaled(float(x), power - checker.unit) for x in step], dtype=object)
        return [int(entry) for entry in best], 2**precision

    def rational(self, u: Floats) -> Point | None:
        """Return the point of u's support exactly, or None if its numbers would be too long."""
        checker, support = self._checker, self._support(u)
        n = [0] * len(u)
        if not len(support):
            return n, 1
        rows = np.column_stack([checker.Q[np.ix_(support, support)], self._right(u, support)])
        rows = rows // math.gcd(*rows.flat)
        if len(support) * max(int(entry).bit_length() for entry in rows.flat) > _SMALL:
            return None
        previous = 1
        for k in range(len(rows)):  # fraction-free elimination, above the diagonal too
            pivot = rows[k, k]
            if pivot <= 0:
                return None
            reduced = (rows * pivot - np.outer(rows[:, k], rows[k])) // previous
            reduced[k] = rows[k]
            rows, previous = reduced, pivot
        common = math.gcd(previous, *rows[:, -1])
        for j, entry in zip(support, rows[:, -1], strict=True):
            n[j] = int(entry // common)
        return n, int(previous // common)

    def _support(self, u: Floats) -> NDArray[np.intp]:
        inside = u != 0
        if self._instance.fit_intercept and not self._checker.half[-1]:
            inside[-1] = True
        return np.flatnonzero(inside & (np.diag(self._checker.Q) != 0))

    def _right(self, u: Floats, support: NDArray[np.intp]) -> Integers:
        checker = self._checker
        return np.asarray((checker.c - checker.half * np.sign(u).astype(int).astype(object))[support])

    @staticmethod
    def _regular(factor: Floats) -> bool:
        return factor.shape[0] == factor.shape[1] and bool(np.diag(factor).all())

    def _solve(self, factor: Floats, support: NDArray[np.intp], residual: Floats) -> Floats:
        """Return the float solution of the normal equations, by way of centred columns where there is an intercept."""
        has_intercept = self._instance.fit_intercept and support[-1] == len(self._shift) - 1
        shift = self._shift[support] if has_intercept else np.zeros(len(support))
        centred = residual - shift * residual[-1]
        step = solve_triangular(factor, solve_triangular(factor, centred, trans="T", check_finite=False),
                                check_finite=False)
        if has_intercept:
            step[-1] -= shift @ step
        return np.asarray(step)

    @cached_property
    def _triangle(self) -> Floats:
        """A triangular factor of the augmented rows, their columns centred."""
        instance = self._instance
        n, shift = instance.n_columns, self._shift
        weights = np.ones(instance.n_rows) if instance.sample_weight is None else instance.sample_weight
        ones = [np.ones(instance.n_rows)] * instance.fit_intercept
        blocks = [np.sqrt(weights)[:, None] * (np.column_stack([instance.X, *ones]) - shift)]
        if instance.eta > 0 and instance.penalty == "l2":
            sums = np.zeros((instance.n_groups + 1, len(shift)))
            sums[:-1, :n] = instance.partition.indicator().T
            if instance.fit_intercept and instance.penalize_intercept:
                sums[-1] = -shift
                sums[-1, -1] = 1.0
            blocks.append(math.sqrt(instance.eta) * sums)
        return np.asarray(qr(np.vstack(blocks), mode="r", check_finite=False)[0])[: len(shift)]


def _scaled(value: float, power: int) -> int:
    """Return ``value * 2^power``, rounded to an integer."""
    numerator, denominator = value.as_integer_ratio()
    numerator, denominator = numerator << max(power, 0), denominator << max(-power, 0)
    return (2 * numerator + denominator) // (2 * denominator)
