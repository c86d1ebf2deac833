"""What a strategy is."""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

from partls.search.task import Outcome, SearchTask


@runtime_checkable
class Strategy(Protocol):
    """Solves the problem of a ``SearchTask`` within its limits.

    Subclass it as a frozen dataclass whose fields are the options, and define ``name`` and ``run``.

    Attributes
    ----------
    name
        What ``Result.method`` says.
    proves
        Whether a run to its end proves the optimum. If False, the status is HEURISTIC.
    """

    name: ClassVar[str]
    proves: ClassVar[bool] = True

    def prepare(self) -> None:
        """Load compiled code that the run needs, so that compiling it does not count towards the time limit."""

    def run(self, task: SearchTask) -> Outcome:
        """Return the best solution found, a safe lower bound, and which limit ended the run."""
        ...
