"""What a strategy is."""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

from partls.search.task import Outcome, SearchTask


@runtime_checkable
class Strategy(Protocol):
    """Solve the problem of a ``SearchTask`` within its limits.

    Subclass it as a frozen dataclass whose fields are the options, and define ``name`` and ``run``.

    Attributes
    ----------
    name
        The text of ``Result.method``.
    proves
        Whether a complete run proves the optimum. If False, the status is HEURISTIC.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import partls
    >>> @dataclass(frozen=True)
    ... class Plain(partls.Strategy):
    ...     name = "plain"
    ...     def run(self, task):
    ...         return partls.BranchAndBound(relaxation="active-set").run(task)
    >>> partls.solve([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 4.0], ["a", "b"], method=Plain()).method
    'plain'
    """

    name: ClassVar[str]
    proves: ClassVar[bool] = True

    def prepare(self) -> None:
        """Load compiled code that the run needs, so that compiling it does not count towards the time limit."""

    def run(self, task: SearchTask) -> Outcome:
        """Return the best solution found, a safe lower bound, and which limit ended the run."""
        ...
