"""The two convex halves of PartLS: the best beta for given shares, and the best shares for the signs of beta.

A point is its reduced coefficients v. Inside a group they are the shares times the group's weight, ``v_j = u_j
gamma_k``, whatever the scale of u: there is nothing to normalise, and a factor moved from alpha to beta changes
nothing. Both penalties are part of the reduced problem, so both halves carry them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.linalg import lapack

from formulations.data import Floats
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from formulations.tolerances import REPEATED
from relaxations.active_set import ActiveSetBounder
from relaxations.clock import stop_flag
from relaxations.interpreter import kernel
from relaxations.sign_constrained import solve_signed

_FLIP_ROUNDS = 20
_WORTH = 1e-10  # relative improvement below which a flip is not worth a move


class Halves(Protocol):
    """Solves the halves for one instance within the given signs; one object per thread."""

    def beta(self, v: Floats) -> Floats:
        """Return the best point with the shares of v: least squares in the weights, signs free."""
        ...

    def alpha(self, v: Floats) -> Floats:
        """Return the best point over the shares, for the beta of v."""
        ...

    def solve_pattern(self, signs: SignPattern, start: Floats) -> Floats:
        """Return the best point under complete signs."""
        ...

    def descend(self, v: Floats) -> Floats:
        """Return a point that flipping the sign of no single group improves."""
        ...


class Split:
    """How a point splits into signs and shares; groups that are all zero are sent where the slope is steepest.

    Whatever shares they had, a beta of zero has forgotten them; with these they come back, on either side, as soon
    as that lowers the objective, and stay at zero otherwise.
    """

    def __init__(self, reduction: Reduction, root: SignPattern) -> None:
        self.reduction, self.root = reduction, root
        self._fixed = np.array(root.values, dtype=np.int8)

    def asleep(self, v: Floats) -> bool:
        """Return whether the coefficients of some group are all zero."""
        return bool((self.sums(np.abs(v)) == 0).any())

    def signs(self, v: Floats) -> SignPattern:
        """Return the sign of each group's weight; of a group at zero, the side on which the slope is steeper."""
        sums = self.sums(v)
        if self.asleep(v):
            sums = np.where(sums == 0, self._steeper_side(v), sums)
        return SignPattern(tuple(np.where(self._fixed != 0, self._fixed, np.where(sums >= 0, 1, -1)).tolist()))

    def shares(self, v: Floats) -> Floats:
        """Return u >= 0, at most one, with ``v_j = u_j gamma_k``; of a group at zero, its descent on that side."""
        labels, u = self.reduction.labels, np.abs(v)
        if self.asleep(v):
            sides = np.array(self.signs(v).values)[labels]
            slopes = np.maximum(sides * self._slope(v) - self.reduction.l1 / 2, 0.0)
            u = np.where((self.sums(u) == 0)[labels], slopes, u)
        largest = np.zeros(self.reduction.n_groups)
        np.maximum.at(largest, labels, u)
        return np.asarray(u / np.where(largest > 0, largest, 1.0)[labels])

    def clip(self, v: Floats, signs: SignPattern) -> Floats:
        """Return v without the coefficients of the wrong sign, which are rounding."""
        return np.where(v * self.reduction.column_signs(signs) > 0, v, 0.0)

    def value(self, v: Floats) -> float:
        """Return the objective in reduced units."""
        return self.reduction.objective(v) / self.reduction.scale

    def sums(self, v: Floats) -> Floats:
        """Return the sum of each group."""
        return np.asarray(np.bincount(self.reduction.labels, v, self.reduction.n_groups), dtype=np.float64)

    def _slope(self, v: Floats) -> Floats:
        return np.asarray(self.reduction.R.T @ (self.reduction.z - self.reduction.R @ v))

    def _steeper_side(self, v: Floats) -> Floats:
        """Return for each group +1 or -1: where the steepest of its columns leads."""
        up = np.full(self.reduction.n_groups, -np.inf)
        down, slope = up.copy(), self._slope(v)
        np.maximum.at(up, self.reduction.labels, slope)
        np.maximum.at(down, self.reduction.labels, -slope)
        return np.where(up >= down, 1.0, -1.0)


class NonnegativeHalves:
    """Alternate least squares in beta and nonnegative least squares in alpha without normalisation.

    Alpha takes the scale of its group along, so this half is the sign-constrained least squares of the signs of
    beta, solved to the end: a group whose weight is not zero is optimal in both halves at once.
    """

    def __init__(self, reduction: Reduction, root: SignPattern) -> None:
        self.split = Split(reduction, root)
        self._reduction, self._root = reduction, root
        self._bounder = ActiveSetBounder(reduction)
        self._groups = (reduction.labels[:, None] == np.arange(reduction.n_groups)).astype(np.float64)

    def beta(self, v: Floats) -> Floats:
        """Return the best point with the shares of v: least squares on one combined column per group."""
        reduction, u = self._reduction, self.split.shares(v)
        columns = reduction.R @ (u[:, None] * self._groups)
        price = self.split.sums(reduction.l1 * u)
        if len(self._root.undecided) == len(self._root) and not price.any():
            weights = _least_squares(columns, reduction.z)
        else:  # a lasso, or signs that are given
            combined = replace(reduction, R=columns, l1=price, labels=np.arange(reduction.n_groups))
            weights = solve_signed(combined, np.array(self._root.values, np.int8))
        return np.asarray(u * weights[reduction.labels])

    def alpha(self, v: Floats) -> Floats:
        """Return the best point under the signs of v, from the compiled kernel or by orthogonal factorisation."""
        return self.solve_pattern(self.split.signs(v), v)

    def solve_pattern(self, signs: SignPattern, start: Floats) -> Floats:
        """Return the best point under complete signs."""
        if not self._bounder.native:
            return solve_signed(self._reduction, self._reduction.column_signs(signs), start)
        point = self._bounder.bound(signs).coef
        assert point is not None  # this bounder always has one
        return self.split.clip(point, signs)

    def descend(self, v: Floats) -> Floats:
        """Return a point that flipping the sign of no single group improves."""
        if not self._bounder.native or len(self._root.undecided) < len(self._root):
            return flipped_while_it_pays(self, self.split, v)  # too few digits for the kernel, or signs that are given
        signs = self.split.signs(v)
        problem, workspace = self._flipping
        best, bounds = np.zeros(len(v)), np.array([np.inf, np.inf])
        problem = problem._replace(stop=stop_flag(self._bounder.grouped.work))
        kernel.flips.improve(problem, workspace, np.array(signs.values, np.int8), best, bounds, _FLIP_ROUNDS, 0)
        return best

    @cached_property
    def _flipping(self) -> tuple[Any, Any]:
        """The problem of the compiled local search and its memory."""
        problem = self._bounder.grouped.kernel_problem(self._bounder.grouped.size)
        workspace = kernel.node.make_workspace(problem, levels=1)
        return problem, workspace


def flipped_while_it_pays(halves: Halves, split: Split, v: Floats) -> Floats:
    """Return a point that flipping the sign of no single undecided group improves, one pattern solved after another."""
    signs, value, improved = split.signs(v), split.value(v), True
    while improved:
        improved = False
        for k in split.root.undecided:
            flipped = SignPattern((*signs.values[:k], -signs[k], *signs.values[k + 1 :]))
            trial = halves.solve_pattern(flipped, v)
            if split.value(trial) < value * (1 - _WORTH):
                v, value, signs, improved = trial, split.value(trial), flipped, True
    return v


def _least_squares(columns: Floats, target: Floats) -> Floats:
    """Return the shortest least-squares weights, by pivoted orthogonal factorisation: right on every rank.

    LAPACK without SciPy's wrapper, which takes longer than the work on columns as few as groups.
    """
    n_rows, n_columns = columns.shape
    right = np.zeros(max(n_rows, n_columns))
    right[:n_rows] = target
    room = 4 * min(n_rows, n_columns) + 64 * (n_columns + 1)
    pivots = np.zeros(n_columns, np.int32)
    _, weights, _, _, info = lapack.dgelsy(columns, right, pivots, REPEATED, room)
    if info != 0:
        raise RuntimeError(f"LAPACK dgelsy refused argument {-info}")
    return np.asarray(weights).reshape(-1)[:n_columns]
