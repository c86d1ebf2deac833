"""The optimum over all sign patterns in exact arithmetic: branch and bound whose every node is solved without rounding.

For small problems whose columns are so nearly dependent that floating point cannot tell which solution is best. Data
are rationals, so the problem has an exact optimum over the reals, and that is what is found here. The coefficients of
a model are floating-point numbers: each is rounded in turn, and those after it make up for what it lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from formulations.data import Floats
from formulations.instance import Instance
from formulations.signs import SignPattern
from formulations.tolerances import OPTIMAL_GAP
from partls.exact.tableau import ExactTableau, Flags, Signs
from partls.result import Solution
from partls.verification.exact_bounds import Checker
from partls.verification.exact_integers import as_float
from partls.verification.fingerprint import data_of, problem_of

_WORK = 4e8  # entries times bits of all pivots: some seconds
_NEAR = 1 - Fraction(OPTIMAL_GAP)

Model = tuple[Floats, float, float]  # coef, intercept, objective


class OutOfWork(Exception):  # noqa: N818
    """The time or the work for exact arithmetic is used up."""


@dataclass(frozen=True, eq=False)
class ExactOptimum:
    """A lower bound on every model (the optimum itself if ``closed``) and a model in floating point near the optimum.

    ``objective`` is that of the model, coefficients rounded; the bound is over all real coefficients.
    """

    lower_bound: Fraction
    closed: bool
    coef: Floats
    intercept: float
    objective: float
    n_nodes: int

    @property
    def bound_below(self) -> float:
        """The bound as a floating-point number that is not above it."""
        nearest = as_float(self.lower_bound)
        return nearest if nearest <= self.lower_bound else math.nextafter(nearest, -math.inf)


@dataclass(eq=False)
class _Tree:
    """Boxes with their parents' values and a tableau to start from, the lowest value and the best model so far."""

    unexplored: list[tuple[Fraction, SignPattern, ExactTableau]]
    closed: Fraction
    model: Model
    n_nodes: int = 0


class ExactSearch:
    """One problem in integers. A column that pays an L1 cost whatever its sign stands there once for each sign."""

    def __init__(self, instance: Instance, root: SignPattern, is_over: Callable[[], bool]) -> None:
        self._instance, self._is_over, self._left = instance, is_over, _WORK
        self.checker = Checker(data_of(instance), problem_of(instance, root), exact=False)
        groups = np.append(instance.partition.labels, np.full(int(instance.fit_intercept), -1))
        kinked = self.checker.half != 0
        self._source = np.concatenate([np.arange(len(groups)), np.flatnonzero(kinked)])
        self._turn = np.append(np.ones(len(groups), np.int8), -np.ones(int(kinked.sum()), np.int8))
        self._group, self._kinked = groups[self._source], kinked[self._source]
        self._zero = np.diag(self.checker.Q)[self._source] == 0

    def start(self) -> ExactTableau:
        """Return the tableau without passive columns."""
        checker, at, turn = self.checker, self._source, self._turn.astype(object)
        c = (turn * checker.c[at] - checker.half[at])[:, None]
        square = np.outer(turn, turn) * checker.Q[np.ix_(at, at)]
        return ExactTableau(np.block([[square, c], [c.T, np.array([[checker.bb]], dtype=object)]]), self._spend)

    def improved(self, solution: Solution) -> Solution:
        """Return the best model near the optimum of a solution's own signs."""
        found = self.run(solution.signs, solution.coef, solution.intercept)
        objective = self._instance.objective(found.coef, found.intercept)
        return replace(solution, coef=found.coef, intercept=found.intercept, objective=objective)

    def run(self, root: SignPattern, coef: Floats, intercept: float, max_nodes: float = math.inf) -> ExactOptimum:
        """Return the optimum under some signs, or the bound reached so far; the given model is to be improved on."""
        objective = self.checker.objective(coef.tolist(), intercept)
        tree = _Tree([(Fraction(0), root, self.start())], Fraction(objective), (coef, intercept, objective))
        with suppress(OutOfWork):
            while tree.unexplored and tree.n_nodes < max_nodes:
                self._explore(tree)
        lower = min([tree.closed, *(value for value, _, _ in tree.unexplored)])
        return ExactOptimum(lower, not tree.unexplored, *tree.model, tree.n_nodes)

    def _explore(self, tree: _Tree) -> None:
        """Solve the box that was left open last; close it or leave its halves open.

        A box no better than the optimum is closed once there is a model near the optimum: where its coefficients do not
        fit into floating point, those of another sign pattern may.
        """
        _, signs, tableau = tree.unexplored[-1]
        tableau = self._settled(tableau, signs)
        value = tableau.value / 2**self.checker.unit
        k, first = self._most_mixed(tableau, signs)
        model = self._rounded(tableau) if k is None and value < tree.model[2] else None
        tree.unexplored.pop()
        tree.n_nodes += 1
        if k is None:  # every group has one sign
            tree.closed = min(tree.closed, value)
            tree.model = tree.model if model is None else min(tree.model, model, key=_objective)
        elif value < max(tree.closed, Fraction(tree.model[2]) * _NEAR):
            tree.unexplored += [(value, signs.fix(k, sign), tableau) for sign in (-first, first)]

    def _settled(self, tableau: ExactTableau, signs: SignPattern) -> ExactTableau:
        """Return the optimum of a box of signs, from the tableau of one that contains it."""
        tableau = tableau.copy()
        tableau.settle(*self._conditions(signs))
        return tableau

    def _conditions(self, signs: SignPattern) -> tuple[Signs, Flags]:
        """Return the sign of each column of the tableau and whether it is held at zero."""
        wanted = np.append(np.array(signs.values[: self._instance.n_groups], np.int8), np.int8(0))[self._group]
        opposed = self._kinked & (wanted * self._turn < 0)
        return np.where(self._kinked, np.int8(1), wanted), opposed | self._zero

    def _contributions(self, tableau: ExactTableau) -> Floats:
        """Return the size of each column's part in the fit, with its sign: what groups are compared by."""
        parts = np.zeros(len(self._source))
        for k in np.flatnonzero(tableau.passive):
            size = math.isqrt(self.checker.Q[self._source[k], self._source[k]])
            parts[k] = self._turn[k] * as_float(tableau.coefficient(int(k)) * size / 2**self.checker.unit)
        return parts

    def _most_mixed(self, tableau: ExactTableau, signs: SignPattern) -> tuple[int | None, int]:
        """Return the group whose coefficients are furthest from one sign, if any, and the sign to try first."""
        exact = np.sign(tableau.T[:-1, -1]).astype(np.int8) * tableau.passive * self._turn
        parts, worst, group, first = self._contributions(tableau), -1.0, None, 1
        for k in signs.undecided:
            inside = self._group == k
            if (exact[inside] > 0).any() and (exact[inside] < 0).any():
                plus, minus = parts[inside].clip(0).sum(), -parts[inside].clip(None, 0).sum()
                if min(plus, minus) > worst:
                    worst, group, first = min(plus, minus), int(k), 1 if plus >= minus else -1
        return group, first

    def _rounded(self, tableau: ExactTableau) -> Model | None:
        """Return (coef, intercept, objective) in floating point near the point of a tableau; None beyond its range.

        The coefficient whose last digit counts most is rounded first. The others are then the best ones beside it.
        """
        tableau, fixed = tableau.copy(), dict[int, Fraction]()
        sizes = [math.isqrt(self.checker.Q[j, j]) for j in self._source]
        signs = np.sign(tableau.T[:-1, -1])
        while tableau.passive.any():
            beside = {int(k): _beside(tableau, int(k), fixed) for k in np.flatnonzero(tableau.passive)}
            near = {k: as_float(value) for k, value in beside.items()}
            if not np.isfinite(list(near.values())).all():
                return None
            k = max(near, key=lambda k: Fraction(math.ulp(near[k])) * sizes[k])
            free = self._group[k] < 0 and not self._kinked[k]
            fixed[k] = Fraction(near[k] if free or beside[k] * signs[k] > 0 else 0.0)
            tableau.sweep(k)
        return self._model(fixed)

    def _model(self, fixed: dict[int, Fraction]) -> Model:
        u, M = np.zeros(len(self.checker.Q)), self._instance.n_columns
        for k, value in fixed.items():
            u[self._source[k]] += self._turn[k] * float(value)
        coef, intercept = u[:M] + 0.0, float(u[-1]) if self._instance.fit_intercept else 0.0
        return coef, intercept, self.checker.objective(coef.tolist(), intercept)

    def _spend(self, work: float) -> None:
        self._left -= work
        if self._left < 0 or self._is_over():
            raise OutOfWork


def _beside(tableau: ExactTableau, k: int, fixed: dict[int, Fraction]) -> Fraction:
    """Return the best value of a passive coefficient beside those that are fixed, which are passive no more."""
    moved = sum((value * tableau.T[k, j] for j, value in fixed.items()), Fraction(0))
    return Fraction(tableau.T[k, -1] - moved) / tableau.denominator


def _objective(model: Model) -> float:
    return model[2]
