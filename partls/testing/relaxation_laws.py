"""The laws that every relaxation obeys, put to one on random problems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isnan
from types import MappingProxyType
from typing import Any

import numpy as np
from hypothesis import strategies as st

from formulations.errors import InvalidInput
from formulations.signs import SignPattern
from partls.result import Status
from partls.solve import solve_instance
from partls.testing.broken import LawBroken, check_on
from partls.testing.oracle import Oracle, brute_force
from partls.testing.problems import Problem, instances
from partls.testing.tolerances import OPTIMUM, VANISHING
from relaxations import as_relaxation
from relaxations.protocol import Bound, Bounder, BoundStatus, Relaxation

RELAXATION_LAWS: Mapping[str, str] = MappingProxyType({
    "takes problems": "It can be prepared for some of the problems, and may refuse the others by InvalidInput.",
    "answers": "Each answer is a Bound: a number, a status, and a finite point with one entry per column, or None.",
    "below the optimum": "A trusted value is never above the best objective under the signs.",
    "rises with the signs": "A value does not fall from a node to its descendant, up to a solver's accuracy.",
    "cutoff": "With a cutoff a value is still below the optimum, and one called cut off has reached the cutoff.",
    "same answer": "Two calls at one node return the same value, up to a solver's accuracy.",
    "instances apart": "Preparing it for another instance changes no bound of the first.",
    "right search": "Branch and bound with it finds the optimum, and no solution contradicts a bound.",
    "proves something": "On some problem some value is trusted and finite.",
})
_ACCURACY = 1e-5  # of the target's square: what a solver may take from a bound


def check_relaxation(
    relaxation: Relaxation | str, *, problems: st.SearchStrategy[Problem] | None = None, examples: int = 50,
    accuracy: float = _ACCURACY, shrink: bool = True,
) -> None:
    """Check every law of ``RELAXATION_LAWS`` on a relaxation; raise ``LawBroken`` and print the counterexample.

    The problems are tiny and hostile: dependent and zero columns, fewer rows than columns, y = 0, penalties, weights,
    free columns. Their optima come from brute force that shares no code with the toolkit. Every run draws the same.

    Parameters
    ----------
    relaxation
        A relaxation, a policy, or a name.
    problems
        A strategy of Hypothesis to draw the problems from, such as ``instances(plain=True)``, which leaves penalties,
        weights and options of the intercept at their defaults; default: ``instances()``.
    examples
        The number of problems.
    accuracy
        The allowance for a solver's accuracy, as a share of the squared norm of the target. No allowance is
        made for a value above the optimum.
    shrink
        Whether to look for the smallest counterexample, which takes some hundred more runs, or to show the first.

    Raises
    ------
    LawBroken
        If the relaxation breaks a law.

    Examples
    --------
    >>> from partls.testing import check_relaxation
    >>> check_relaxation("active-set", examples=5)
    """
    chosen = as_relaxation(relaxation)
    laws = _Laws(chosen, accuracy)
    check_on(instances() if problems is None else problems, examples, laws.check, chosen.name, shrink=shrink)
    if not laws.proved:
        raise LawBroken(chosen.name, "proves something", f"on {examples} problems no value is trusted and finite")


@dataclass
class _Laws:
    relaxation: Relaxation
    accuracy: float
    proved: bool = False

    def check(self, problem: Problem, data: Any) -> None:
        """Check all laws on one problem, at the nodes of one random way from the root to a leaf."""
        instance = problem.instance
        bounder = self.relaxation.prepare(instance)
        order = data.draw(st.permutations(range(problem.n_groups)), label="order of the groups")
        leaf = data.draw(st.lists(st.sampled_from([1, -1]), min_size=len(order), max_size=len(order)), label="leaf")
        nodes = [instance.reduction.pattern([leaf[k] if k in order[:d] else 0 for k in range(len(order))])
                 for d in range(len(order) + 1)]
        bounds = [self._answer(bounder, node, inf, problem) for node in nodes]
        values = [bound.value if bound.status.trusted else -inf for bound in bounds]
        oracle = brute_force(problem.X, problem.y, problem.labels, **problem.options)
        for node, bound in zip(nodes, bounds, strict=True):
            self._below(bound, node, oracle, problem)
        self._rising(nodes, values, problem)
        self._cut_off(bounder, nodes, values, oracle, problem)
        self._same(bounder, nodes[-1], values[-1], problem, law="same answer")
        self._apart(bounder, nodes[-1], values[-1], problem)
        self._search(problem, oracle)

    def _break(self, law: str, what: str, problem: Problem) -> None:
        raise LawBroken(self.relaxation.name, law, what, problem)

    def _answer(self, bounder: Bounder, node: SignPattern, cutoff: float, problem: Problem) -> Bound:
        try:
            bound = bounder.bound(node, cutoff=cutoff)
        except InvalidInput:
            raise
        except Exception as error:
            what = f"at the node {node} it raises {type(error).__name__}: {error}"
            raise LawBroken(self.relaxation.name, "answers", what, problem) from error
        n = problem.instance.reduction.n_columns
        wrong = ""
        if not isinstance(bound, Bound) or not isinstance(bound.status, BoundStatus):
            wrong = f"it answers {bound!r}, which is no Bound with a BoundStatus"
        elif not isinstance(bound.value, float | int) or isnan(bound.value):
            wrong = f"its value is {bound.value!r}, not a number"
        elif bound.coef is not None and (np.shape(bound.coef) != (n,) or not np.isfinite(bound.coef).all()):
            wrong = f"its point is {bound.coef!r}, and the reduced problem has {n} columns"
        if wrong:
            self._break("answers", f"at the node {node} {wrong}", problem)
        return bound

    def _below(self, bound: Bound, node: SignPattern, oracle: Oracle, problem: Problem, law: str = "below the optimum"
               ) -> None:
        if not bound.status.trusted:
            return
        self.proved |= bound.value > -inf
        inside = [pattern for pattern in oracle.objectives if _contains(node, pattern)]
        best = min(inside, key=oracle.objectives.__getitem__)
        if bound.value > oracle.objectives[best] + VANISHING * problem.size:
            self._break(
                law, f"at the node {node} it claims {bound.value:.12g}, and a solution with the signs "
                f"{SignPattern(best)} has {oracle.objectives[best]:.12g}", problem,
            )

    def _rising(self, nodes: list[SignPattern], values: list[float], problem: Problem) -> None:
        for i, (parent, child) in enumerate(pairwise(values)):
            if -inf < child < parent - self.accuracy * problem.size:
                self._break(
                    "rises with the signs", f"it falls from {parent:.12g} at the node {nodes[i]} to {child:.12g} at "
                    f"{nodes[i + 1]}, which is part of it", problem,
                )

    def _cut_off(self, bounder: Bounder, nodes: list[SignPattern], values: list[float], oracle: Oracle, problem: Problem
                 ) -> None:
        node = nodes[len(nodes) // 2]
        optimum = min(value for pattern, value in oracle.objectives.items() if _contains(node, pattern))
        lowest = values[0] if values[0] > -inf else 0.0
        for cutoff in (0.5 * (lowest + optimum), 2.0 * optimum + problem.size):
            bound = self._answer(bounder, node, cutoff, problem)
            self._below(bound, node, oracle, problem, law="cutoff")
            if bound.status is BoundStatus.CUTOFF and bound.value < cutoff:
                what = f"at the node {node} it calls {bound.value:.12g} cut off at {cutoff:.12g}, which is more"
                self._break("cutoff", what, problem)

    def _same(self, bounder: Bounder, node: SignPattern, value: float, problem: Problem, *, law: str) -> None:
        bound = self._answer(bounder, node, inf, problem)
        again = bound.value if bound.status.trusted else -inf
        if again != value and not abs(again - value) <= self.accuracy * problem.size:
            self._break(law, f"at the node {node} it says {value:.12g} first and {again:.12g} later", problem)

    def _apart(self, bounder: Bounder, node: SignPattern, value: float, problem: Problem) -> None:
        shifted = Problem(problem.X, 3.0 * problem.y[::-1] + 1.0, problem.labels, problem.options)
        other = self.relaxation.prepare(shifted.instance)
        other.bound(SignPattern.free(len(node)))
        self._same(bounder, node, value, problem, law="instances apart")

    def _search(self, problem: Problem, oracle: Oracle) -> None:
        result = solve_instance(problem.instance, relaxation=self.relaxation, presolve=False)
        lost = result.objective - oracle.objective
        if abs(lost) > OPTIMUM * abs(oracle.objective) + VANISHING * problem.size:
            self._break(
                "right search", f"branch and bound ends at {result.objective:.12g} ({result.status.value}), and a "
                f"solution with the signs {SignPattern(oracle.signs)} has {oracle.objective:.12g}", problem,
            )
        if result.counts.get(f"contradicted: {self.relaxation.name}"):
            self._break("right search", "branch and bound has found a solution below a bound of it", problem)
        if result.status not in (Status.OPTIMAL, Status.PRECISION_LIMIT):
            self._break("right search", f"branch and bound ends with the status {result.status.value}", problem)


def _contains(node: SignPattern, pattern: tuple[int, ...]) -> bool:
    """Return whether a pattern of the groups lies in a node, which may also decide the intercept's sign."""
    return all(sign in (0, other) for sign, other in zip(node, pattern, strict=False))
