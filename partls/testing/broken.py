"""A law that is broken, and the search for the smallest problem that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, assume, errors, given, settings
from hypothesis import strategies as st

from formulations.errors import InvalidInput
from partls.testing.problems import Problem


class LawBroken(AssertionError):  # noqa: N818  (what has happened)
    """A bound or a strategy breaks a law.

    Attributes
    ----------
    subject
        The name of the relaxation or strategy.
    law
        The name of the law.
    what
        The violation, in words.
    problem
        The problem that shows it; None if the law fails on all of them.

    Examples
    --------
    >>> from partls.testing import LawBroken
    >>> LawBroken("mine", "below the optimum", "5.0 > 4.0").law
    'below the optimum'
    """

    def __init__(self, subject: str, law: str, what: str, problem: Problem | None = None) -> None:
        super().__init__(subject, law, what, problem)
        self.subject, self.law, self.what, self.problem = subject, law, what, problem

    def __str__(self) -> str:
        """Name the law and print the counterexample."""
        where = "" if self.problem is None else f"\n  on {self.problem!r}"
        return f"{self.subject} breaks the law {self.law!r}: {self.what}{where}"


def check_on(
    problems: st.SearchStrategy[Problem], examples: int, check: Callable[[Problem, Any], None], subject: str, *,
    shrink: bool,
) -> None:
    """Run a check on random problems, the same ones every time; with ``shrink`` a failing one is made smaller.

    A problem that is refused by ``InvalidInput`` does not count; if all are, that is raised.
    """
    taken: list[bool] = []
    refusals: list[InvalidInput] = []
    broken: list[LawBroken] = []

    @settings(
        max_examples=examples, derandomize=True, database=None, deadline=None, print_blob=False,
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
        phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
    )
    @given(problems, st.data())
    def holds(problem: Problem, data: Any) -> None:
        try:
            check(problem, data)
        except InvalidInput as refusal:
            refusals.append(refusal)
            assume(False)
        except LawBroken as found:
            broken.append(found)
            raise
        taken.append(True)

    try:
        holds()
    except errors.Flaky:  # it remembers what it was asked before, or tosses a coin: Hypothesis saw it pass, too
        raise broken[0] from None
    except errors.Unsatisfiable:
        taken.clear()
    if not taken:
        words = str(refusals[0]) if refusals else "no problem was drawn"
        raise LawBroken(subject, "takes problems", f"every one of them is refused: {words}")
