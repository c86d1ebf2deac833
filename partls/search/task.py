"""The input and the output of every strategy."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from math import inf

import numpy as np

from formulations.instance import Instance
from formulations.signs import SignPattern
from formulations.tolerances import OPTIMAL_GAP
from partls.explore.subtree import Incumbent
from partls.result import Solution, StartTrace, Status
from partls.runtime.interrupts import Keyboard
from partls.runtime.progress import Observer
from partls.tree_trace import SearchTrace


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchTask:
    """One problem to solve within limits, as a strategy receives it.

    Attributes
    ----------
    instance
        The problem.
    root
        The given signs: only solutions within this pattern count.
    start
        A complete sign pattern from which to build a first solution, or None.
    gap_tol
        Relative gap at which the strategy may stop.
    time_limit
        Seconds from ``began`` on, or None.
    n_jobs
        Threads; the answer does not depend on it.
    seed
        Root of all random numbers.
    progress
        Whether to show a live line, or an observer to call.
    keyboard
        Says whether Ctrl-C was pressed: the strategy then returns the best solution so far.
    began
        When the clock started (``time.perf_counter``).

    Examples
    --------
    >>> import partls
    >>> from formulations import SignPattern, random_instance
    >>> task = partls.SearchTask(instance=random_instance(M=6, group_size=3), root=SignPattern.free(2), time_limit=60.0)
    >>> task.is_over()
    False
    """

    instance: Instance
    root: SignPattern
    start: SignPattern | None = None
    gap_tol: float = OPTIMAL_GAP
    time_limit: float | None = None
    n_jobs: int = 1
    seed: np.random.SeedSequence = field(default_factory=np.random.SeedSequence)
    progress: bool | Observer = False
    keyboard: Keyboard = field(default_factory=Keyboard)
    began: float = field(default_factory=time.perf_counter)

    @property
    def deadline(self) -> float:
        """When the time is up; infinity without a limit."""
        return inf if self.time_limit is None else self.began + self.time_limit

    def is_over(self) -> bool:
        """Return whether the time is up or Ctrl-C was pressed."""
        return self.ended_by() is not None

    def ended_by(self) -> Status | None:
        """Return which of the two ends the run now, or None."""
        if self.keyboard.pressed:
            return Status.INTERRUPTED
        return Status.TIME_LIMIT if time.perf_counter() > self.deadline else None


@dataclass
class Outcome:
    """The solution and the bound that a strategy found, in reduced units.

    Attributes
    ----------
    incumbent
        The best solution.
    lower_bound
        A safe bound on all solutions within the root.
    limit
        Which limit ended the run; None if it ran to its end.
    counts
        The work done, by kind; "nodes" is what ``Result.n_nodes`` shows.
    solutions, trace
        The solutions and the trace, if the strategy was asked to keep them.
    distance
        How near the nearest column is to the others, as a share of its norm: rounding spoils bounds where it is small.

    Examples
    --------
    >>> from collections import Counter
    >>> import partls
    >>> outcome = partls.Outcome(incumbent=None, lower_bound=0.0, limit=None, counts=Counter(nodes=1))
    >>> outcome.limit is None
    True
    """

    incumbent: Incumbent
    lower_bound: float
    limit: Status | None
    counts: Counter[str]
    solutions: tuple[Solution, ...] = ()
    trace: tuple[StartTrace, ...] | SearchTrace = ()
    distance: float = 1.0
