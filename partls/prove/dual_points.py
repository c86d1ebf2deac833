"""Points at which the slope of the objective vanishes on a support, as rationals far more accurate than floats.

A point of a box's relaxation satisfies ``Q_SS u_S = c_S - h_S`` on its support S, h being half the L1 cost with the
sign of u. What a floating-point solution misses is computed exactly, solved for in floating point, and added as an
integer: each step gains the digits that the condition number leaves. Small systems are solved in rationals outright,
which makes the slope vanish exactly, on all columns that depend on the support too.

Where a box is strengthened, an undecided group pays ``eta_k (sum_j |u_j|)^2``. On the support that is
``eta_k (sum_j r_j u_j)^2`` with the signs r of u: the same equations, the row of the group turned by r.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from formulations.data import Floats
from formulations.instance import Instance
from partls.verification.exact_bounds import Checker
from partls.verification.exact_integers import Integers, digit_product

AT_ONCE = 256  # points: more take memory, fewer more time
_STEPS, _PATIENCE = 100, 3  # of refinement, at most, and without gain
_DEPENDENT = 1e-14  # of its norm: what is left of a column that depends on others
_SMALL = 4000  # bits of a determinant up to which a system is solved in rationals

Point = tuple[list[int], int]


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The solution u of a box's relaxation in floating point, and its undecided groups if the box is strengthened."""

    u: Floats
    strengthened: tuple[int, ...] = ()


class DualPoints:
    """Refines float solutions of one problem into points n / d."""

    def __init__(self, instance: Instance, checker: Checker) -> None:
        self._instance, self._checker, self._labels = instance, checker, instance.partition.labels
        self._shift = np.append(instance.least_squares.x_shift, [0.0] * instance.fit_intercept)

    @staticmethod
    def rounded(solutions: Sequence[Relaxed], precision: int) -> list[Point]:
        """Return the solutions as they are, in units of ``2^-precision``."""
        return [([_scaled(float(value), precision) for value in part.u], 2**precision) for part in solutions]

    def refined(self, solutions: Sequence[Relaxed], precision: int, check: Callable[[], None] = lambda: None
                ) -> list[Point]:
        """Return the points of the supports in units of ``2^-precision``, as accurate as they become.

        ``check`` is called between steps, which may take long; it raises to end them.
        """
        turns = np.array([self._turned(solution) for solution in solutions])
        supports, factors = zip(*map(self._factored, solutions, turns), strict=True) if solutions else ((), ())
        n = np.array([[_scaled(float(value), precision) for value in part.u] for part in solutions], dtype=object)
        for row, support in zip(n, supports, strict=True):
            row[np.setdiff1d(np.arange(len(row)), support)] = 0
        right = np.array([self._right(part.u) for part in solutions], dtype=object) * 2**precision
        best, smallest, waited = n.copy(), [math.inf] * len(n), [0] * len(n)
        unsettled = np.flatnonzero([_regular(factor) for factor in factors])
        for _ in range(_STEPS):
            if not len(unsettled):
                break
            check()
            going_on = []
            residuals = right[unsettled] - self._product(n[unsettled], turns[unsettled])
            for i, whole in zip(unsettled, residuals, strict=True):
                size, step = self._step(factors[i], supports[i], whole[supports[i]])
                waited[i] += 1
                if size < smallest[i]:
                    best[i], smallest[i], waited[i] = n[i], size, 0
                if step is not None and waited[i] < _PATIENCE:
                    n[i, supports[i]] += step
                    going_on.append(i)
            unsettled = np.array(going_on, dtype=np.intp)
        return [([int(entry) for entry in row], 2**precision) for row in best]

    def _turned(self, solution: Relaxed) -> NDArray[np.intp]:
        """Return r: the signs of u in the undecided groups of a strengthened box, else one."""
        turn = np.ones(len(solution.u), dtype=np.intp)
        inside = np.isin(self._labels, solution.strengthened)
        turn[: len(inside)][inside & (solution.u[: len(inside)] < 0)] = -1
        return turn

    def _product(self, n: Integers, turns: NDArray[np.intp]) -> Integers:
        """Return the rows of n times Q, the rows of groups in it turned."""
        checker = self._checker
        moved = digit_product(n, checker.Q)
        if (turns < 0).any():
            turned = turns.astype(object)
            sums, sizes = ((part @ checker.members) * checker.row_weights for part in (n, n * turned))
            moved = moved + turned * (sizes @ checker.members.T) - sums @ checker.members.T
        return np.asarray(moved)

    def _factored(self, solution: Relaxed, turn: NDArray[np.intp]) -> tuple[NDArray[np.intp], Floats]:
        """Return the support, without columns that depend on others of it to working precision, and its factor."""
        support = self._support(solution.u)
        factor = self._factor(support, turn)
        if not _dependent(factor).any():
            return support, factor
        first = np.roll(support, 1)  # an intercept stays
        support = np.sort(first[~_dependent(self._factor(first, turn))])
        return support, self._factor(support, turn)

    def _factor(self, support: NDArray[np.intp], turn: NDArray[np.intp]) -> Floats:
        """Return a triangular factor of the augmented rows on a support, the rows of groups turned."""
        if (turn > 0).all():
            rows = self._triangle
        else:
            data, penalty = self._scaled_rows
            rows = np.vstack([data, penalty[:-1] * turn, penalty[-1:]])
        return np.asarray(qr(rows[:, support], mode="r", check_finite=False)[0])

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

    def rational(self, solution: Relaxed) -> Point | None:
        """Return the point of a solution's support exactly, or None if its numbers would be too long."""
        checker, u = self._checker, solution.u
        support, turn = self._support(u), self._turned(solution)
        n = [0] * len(u)
        if not len(support):
            return n, 1
        paid = (checker.members * checker.row_weights)[support] @ checker.members[support].T
        opposed = np.not_equal.outer(turn[support], turn[support]).astype(object)
        square = checker.Q[np.ix_(support, support)] - 2 * paid * opposed
        rows = np.column_stack([square, self._right(u)[support]])
        rows = rows // math.gcd(*rows.flat)
        if len(support) * max(int(entry).bit_length() for entry in rows.flat) > _SMALL:
            return None
        previous = 1
        for k in range(len(rows)):  # fraction-free elimination, above the diagonal too
            pivot = rows[k, k]
            if pivot == 0 and not rows[k:, k].any() and rows[k, -1] == 0:  # depends on those before: it stays at zero
                continue
            if pivot <= 0:
                return None
            reduced = (rows * pivot - np.outer(rows[:, k], rows[k])) // previous
            reduced[k] = rows[k]
            rows, previous = reduced, pivot
        common = math.gcd(previous, *rows[:, -1])
        for k, j in enumerate(support):
            n[j] = int(rows[k, -1] // common) if rows[k, k] else 0
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
    def _rows(self) -> tuple[Floats, Floats]:
        """The rows of the data, their columns centred, with those of ridge, and the rows of an L2 penalty.

        The penalty has one row for each group, and one for the intercept.
        """
        instance = self._instance
        n, shift = instance.n_columns, self._shift
        weights = instance.weights
        ones = [np.ones(len(weights))] * instance.fit_intercept
        data = np.sqrt(weights)[:, None] * (np.column_stack([instance.X, *ones]) - shift)
        if instance.ridge > 0:
            data = np.vstack([data, np.sqrt(instance.ridge) * np.eye(n, len(shift))])
        sums = np.zeros((instance.n_groups + 1, len(shift)))
        if instance.strengths.any_eta and instance.penalty == "l2":
            sums[:-1, :n] = instance.partition.indicator().T
            if instance.fit_intercept and instance.penalize_intercept:
                sums[-1] = -shift
                sums[-1, -1] = 1.0
        return data, np.sqrt(np.append(instance.strengths.groups, instance.strengths.intercept))[:, None] * sums

    @cached_property
    def _exponents(self) -> NDArray[np.intc]:
        """Powers of two about as large as the columns of the augmented rows."""
        return np.asarray(np.frexp(np.max([np.abs(rows).max(axis=0) for rows in self._rows], axis=0))[1])

    @cached_property
    def _scaled_rows(self) -> tuple[Floats, Floats]:
        """A triangular factor of the data, and the rows of the penalty, their columns scaled."""
        data, penalty = (np.ldexp(rows, -self._exponents) for rows in self._rows)
        return np.asarray(qr(data, mode="r", check_finite=False)[0])[: len(self._shift)], penalty

    @cached_property
    def _triangle(self) -> Floats:
        """A triangular factor of the augmented rows, their columns scaled."""
        return np.asarray(qr(np.vstack(self._scaled_rows), mode="r", check_finite=False)[0])[: len(self._shift)]


def _dependent(factor: Floats) -> NDArray[np.bool_]:
    """Return which columns of a triangular factor depend on those before them to working precision."""
    left = np.zeros(factor.shape[1])
    left[: len(factor)] = np.abs(np.diag(factor))[: factor.shape[1]]
    return np.asarray(left <= _DEPENDENT * np.linalg.norm(factor, axis=0))


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
