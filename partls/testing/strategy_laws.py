"""The laws that every strategy obeys, put to one on random problems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.signs import SignPattern
from partls.result import Result, Status
from partls.search.task import Outcome, SearchTask
from partls.solve import solve_instance
from partls.strategies.strategy import Strategy
from partls.testing.broken import LawBroken, check_on
from partls.testing.oracle import brute_force
from partls.testing.problems import Problem, instances, sign_patterns
from partls.testing.tolerances import OPTIMUM, VANISHING

STRATEGY_LAWS: Mapping[str, str] = MappingProxyType({
    "takes problems": "It solves some of the problems, and may refuse the others by InvalidInput.",
    "answers": "It returns an Outcome and raises nothing else.",
    "keeps the signs": "Its solution has one sign in each group, and the given sign where there is one.",
    "own value": "The value it gives its solution is the objective of that solution.",
    "bound below the optimum": "Its lower bound is never above the best objective under the given signs.",
    "honest status": "A result with the status optimal is the optimum; without proofs the status is heuristic.",
    "stops in time": "Without any time left it still returns a solution and a bound that obey the laws above.",
    "same answer": "The same seed gives the same answer.",
    "passes the audit": "Result.audit() confirms the objective, the signs and the optimality conditions.",
})
_SAME = 1e-9  # relative: the objective of one solution computed in two ways


def check_strategy(strategy: Strategy, *, problems: Any = None, examples: int = 50, shrink: bool = True) -> None:
    """Check every law of ``STRATEGY_LAWS`` on a strategy; raise ``LawBroken`` and print the counterexample.

    The problems are those of :func:`check_relaxation`.

    Parameters
    ----------
    strategy
        A strategy object.
    problems
        A strategy of Hypothesis to draw the problems from; default: ``instances()``.
    examples
        The number of problems.
    shrink
        Whether to look for the smallest counterexample, which takes some hundred more runs, or to show the first.

    Raises
    ------
    LawBroken
        If the strategy breaks a law.

    Examples
    --------
    >>> import partls
    >>> from partls.testing import check_strategy
    >>> check_strategy(partls.Enumeration(), examples=5)
    """
    if not isinstance(strategy, Strategy):
        raise InvalidInput(f"strategy={strategy!r} is no partls.Strategy: it needs name, proves and run(task)")
    drawn = instances() if problems is None else problems
    check_on(drawn, examples, _Laws(strategy).check, strategy.name, shrink=shrink)


@dataclass(frozen=True)
class _Laws:
    strategy: Strategy

    def check(self, problem: Problem, data: Any) -> None:
        """Check all laws on one problem, with random given signs."""
        oracle = brute_force(problem.X, problem.y, problem.labels, **problem.options)
        given = data.draw(sign_patterns(problem.n_groups), label="given signs")
        inside = [value for leaf, value in oracle.objectives.items() if given.contains(SignPattern(leaf))]
        for time_limit in (None, 0.0):
            self._check_outcome(problem, given, min(inside), time_limit)
        self._check_result(problem, given, min(inside))

    def _break(self, law: str, what: str, problem: Problem) -> None:
        raise LawBroken(self.strategy.name, law, what, problem)

    def _check_outcome(self, problem: Problem, given: SignPattern, optimum: float, time_limit: float | None) -> None:
        """Check what the strategy itself returns, before ``solve`` has mended anything."""
        instance = problem.instance
        reduction, late = instance.reduction, time_limit is not None
        task = SearchTask(
            instance=instance, root=reduction.pattern(given), time_limit=time_limit, seed=np.random.SeedSequence(0)
        )
        limit = " with no time left" if late else ""
        try:
            outcome = self.strategy.run(task)
        except InvalidInput:
            raise
        except Exception as error:
            what = f"under the signs {given}{limit} it raises {type(error).__name__}: {error}"
            raise LawBroken(self.strategy.name, "stops in time" if late else "answers", what, problem) from error
        if not isinstance(outcome, Outcome):
            self._break("answers", f"it returns {outcome!r}, which is no Outcome", problem)
        v, found = outcome.incumbent.v, outcome.incumbent.value * reduction.scale
        if not _one_signed(v, reduction.labels, reduction.column_signs(given)):
            law = "stops in time" if late else "keeps the signs"
            what = f"under the signs {given}{limit} its solution is {v} in the groups {reduction.labels}"
            self._break(law, what, problem)
        true = reduction.objective(v)
        if abs(found - true) > _SAME * abs(true) + VANISHING * problem.size:
            law = "stops in time" if late else "own value"
            self._break(law, f"under the signs {given}{limit} it values at {found:.12g} what has {true:.12g}", problem)
        bound = outcome.lower_bound * reduction.scale
        if not bound <= optimum * (1 + OPTIMUM) + VANISHING * problem.size:
            law = "stops in time" if late else "bound below the optimum"
            what = f"under the signs {given}{limit} its lower bound is {bound:.12g}, and a solution has {optimum:.12g}"
            self._break(law, what, problem)

    def _check_result(self, problem: Problem, given: SignPattern, optimum: float) -> None:
        """Check the answer of ``solve`` with the strategy."""
        one, other = (self._solved(problem, given) for _ in range(2))
        slack = OPTIMUM * optimum + VANISHING * problem.size
        if one.status in (Status.OPTIMAL, Status.GAP_REACHED) and one.objective > optimum * (1 + _SAME) + slack:
            self._break(
                "honest status", f"under the signs {given} it ends {one.status.value} at {one.objective:.12g}, and a "
                f"solution has {optimum:.12g}", problem,
            )
        if not self.strategy.proves and one.status is not Status.HEURISTIC:
            self._break("honest status", f"it proves nothing, and ends {one.status.value}", problem)
        if one.objective != other.objective or not np.array_equal(one.coef, other.coef):
            self._break(
                "same answer", f"under the signs {given} it ends at {one.objective:.15g} first and at "
                f"{other.objective:.15g} later", problem,
            )
        if not one.audit().passed:
            self._break("passes the audit", f"under the signs {given}: {one.audit()}", problem)

    def _solved(self, problem: Problem, given: SignPattern) -> Result:
        return solve_instance(problem.instance, method=self.strategy, signs=given, random_state=0, presolve=False)


def _one_signed(v: Floats, labels: Any, column_signs: Any) -> bool:
    """Return whether the coefficients of each group share a sign, the given one where there is one."""
    if (column_signs * v < 0).any():
        return False
    return all(not (v[labels == k] > 0).any() or not (v[labels == k] < 0).any() for k in set(labels))
