"""Points at which the slope of the objective vanishes on a support, as rationals far more accurate than floats.

A point of a box's relaxation satisfies ``Q_SS u_S = c_S - h_S`` on its support S, h being half the L1 cost with the
sign of u. What a floating-point solution misses is computed exactly, solved for in floating point, and added as an
integer: each step gains the digits that the condition number leaves. Small systems are solved in rationals outright,
which makes the slope vanish exactly, on all columns that depend on the support too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from formulations.data import Floats
from formulations.instance import Instance
from partls.exact_bounds import Checker
from partls.exact_integers import Integers, digit_product

_AT_ONCE = 256  # points
_STEPS = 100  # of refinement, at most
_SMALL = 4000  # bits of a determinant up to which a system is solved in rationals

Point = tuple[list[int], int]


class DualPoints:
    """Refines float solutions of one problem into points n / d."""

    def __init__(self, instance: Instance, checker: Checker) -> None:
        self._instance, self._checker = instance, checker
        self._shift = np.append(instance._x_shift, [0.0] * instance.fit_intercept)

    def dyadic(self, solutions: Sequence[Floats], precision: int) -> list[Point]:
        """Return the points of the supports in units of ``2^-precision``, as accurate as they become."""
        batches = (solutions[start : start + _AT_ONCE] for start in range(0, len(solutions), _AT_ONCE))
        return [point for batch in batches for point in self._refined(batch, precision)]

    def _refined(self, solutions: Sequence[Floats], precision: int) -> list[Point]:
        checker = self._checker
        supports = [self._support(u) for u in solutions]
        factors = [qr(self._triangle[:, support], mode="r", check_finite=False)[0] for support in supports]
        n = np.array([[_scaled(float(value), precision) for value in u] for u in solutions], dtype=object)
        right = np.array([self._right(u) for u in solutions], dtype=object) * 2**precision
        best, smallest = n.copy(), [math.inf] * len(n)
        unsettled = np.flatnonzero([_regular(factor) for factor in factors])
        for _ in range(_STEPS):
            if not len(unsettled):
                break
            better = []
            for i, whole in zip(unsettled, right[unsettled] - digit_product(n[unsettled], checker.Q), strict=True):
                size, step = self._step(factors[i], supports[i], whole[supports[i]])
                if size < smallest[i]:
                    best[i], smallest[i] = n[i], size
                    if step is not None:
                        n[i, supports[i]] += step
                        better.append(i)
            unsettled = np.array(better, dtype=np.intp)
        return [([int(entry) for entry in row], 2**precision) for row in best]

    def _step(self, factor: Floats, support: NDArray[np.intp], residual: Integers) -> tuple[float, Integers | None]:
        """Return the size of a residual, as a power of two, and the step that removes most of it, or None.

        Rows and columns are scaled by powers of two, and sizes kept apart from digits: the data may be near either
        end of the range of floats, and their squares beyond it.
        """
        scales = self._exponents[support].tolist()
        sizes = [int(entry).bit_length() - e for entry, e in zip(residual, scales, strict=True) if entry]
        if not sizes:
            return -math.inf, None
        size = max(sizes)
        scaled = [_divided(int(entry), size + e) for entry, e in zip(residual, scales, strict=True)]
        step = self._solve(factor, support, np.array(scaled))
        if not np.isfinite(step).all():
            return size, None
        powers = [size - self._checker.unit - e for e in scales]
        return size, np.array([_scaled(float(x), p) for x, p in zip(step, powers, strict=True)], dtype=object)

    def rational(self, u: Floats) -> Point | None:
        """Return the point of u's support exactly, or None if its numbers would be too long."""
        checker, support = self._checker, self._support(u)
        n = [0] * len(u)
        if not len(support):
            return n, 1
        rows = np.column_stack([checker.Q[np.ix_(support, support)], self._right(u)[support]])
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

    def _right(self, u: Floats) -> Integers:
        checker = self._checker
        return np.asarray(checker.c - checker.half * np.sign(u).astype(int).astype(object))

    def _solve(self, factor: Floats, support: NDArray[np.intp], residual: Floats) -> Floats:
        """Return the float solution of the scaled equations, by way of centred columns where there is an intercept."""
        has_intercept = self._instance.fit_intercept and support[-1] == len(self._shift) - 1
        exponents = self._exponents[support]
        shift = np.ldexp(self._shift[support], exponents[-1] - exponents) if has_intercept else np.zeros(len(support))
        centred = residual - shift * residual[-1]
        square = factor[: len(support)]
        step = solve_triangular(square, solve_triangular(square, centred, trans="T", check_finite=False),
                                check_finite=False)
        if has_intercept:
            step[-1] -= shift @ step
        return np.asarray(step)

    @cached_property
    def _rows(self) -> Floats:
        """The augmented rows, their columns centred."""
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
        return np.vstack(blocks)

    @cached_property
    def _exponents(self) -> NDArray[np.intc]:
        """Powers of two about as large as the columns of the augmented rows."""
        return np.asarray(np.frexp(np.abs(self._rows).max(axis=0))[1])

    @cached_property
    def _triangle(self) -> Floats:
        """A triangular factor of the augmented rows, their columns scaled."""
        rows = np.ldexp(self._rows, -self._exponents)
        return np.asarray(qr(rows, mode="r", check_finite=False)[0])[: len(self._shift)]


def _regular(factor: Floats) -> bool:
    """Return whether the factor of a support can be solved with."""
    return factor.shape[0] >= factor.shape[1] > 0 and bool(np.diag(factor).all())


def _scaled(value: float, power: int) -> int:
    """Return ``value * 2^power``, rounded to an integer."""
    numerator, denominator = value.as_integer_ratio()
    numerator, denominator = numerator << max(power, 0), denominator << max(-power, 0)
    return (2 * numerator + denominator) // (2 * denominator)


def _divided(value: int, power: int) -> float:
    """Return ``value / 2^power``, rounded to a float."""
    return (value << max(-power, 0)) / (1 << max(power, 0))
