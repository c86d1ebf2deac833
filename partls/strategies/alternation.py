"""All starts of the alternation, one after another or in threads, until each gains nothing more.

Each start depends on its own seed alone and the best is chosen by value, then by number: the answer does not depend
on the number of threads or on their timing.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from formulations.data import Floats
from formulations.tolerances import TIE
from partls.explore.subtree import Incumbent
from partls.result import Status
from partls.runtime.daemon_threads import DaemonThreads, wait_for
from partls.runtime.interrupts import wait
from partls.runtime.progress import SearchProgress
from partls.search.task import SearchTask
from partls.strategies.attempt import Attempt
from partls.strategies.halves import Halves, Split
from partls.strategies.starts import Starts
from relaxations.clock import OutOfTime

_POLL = 0.05  # seconds between looks at the keyboard while threads work


@dataclass(frozen=True)
class Plan:
    """How many starts, when each ends and how it is polished; ``foreign`` code may hang, and is left behind then."""

    n_starts: int
    max_iter: int
    tol: float
    polish: str
    foreign: bool


class Alternation:
    """The state of one call: the attempts so far, the clock, and the halves of each thread."""

    def __init__(self, task: SearchTask, plan: Plan, starts: Starts, make_halves: Callable[[], Halves]) -> None:
        self.attempts: list[Attempt] = []
        self.limit: Status | None = None
        self._task, self._plan, self._starts, self._make_halves = task, plan, starts, make_halves
        self._split = Split(task.instance.reduction, task.root)
        self._deadline = task.deadline
        self._numbers = iter(range(plan.n_starts))  # each is taken once
        self._local = threading.local()
        self._is_simple = task.n_jobs == 1 and not plan.foreign

    def run(self, lower: float) -> None:
        """Make every start, or as many as the time limit and the keyboard allow."""
        n_starts, scale = self._plan.n_starts, self._task.instance.reduction.scale
        with SearchProgress(self._task.progress, done="starts", left="to go") as progress:

            def show(tell: Callable[[int, int, float, float], None]) -> None:
                n_done = len(self.attempts)
                tell(n_done, n_starts - n_done, self.best().value * scale, lower * scale)

            try:
                for _ in self._in_turn() if self._is_simple else self._in_threads():
                    if self._task.progress:
                        show(progress.update)
            except KeyboardInterrupt:
                self.limit = Status.INTERRUPTED
            show(progress.finish)

    def best(self) -> Incumbent:
        """Return the best point of all attempts, of equals the first; zero if there is none yet."""
        if not self.attempts:
            zero = np.zeros(self._task.instance.reduction.n_columns)
            return Incumbent(self._split.value(zero), zero)
        tied = min(attempt.best.value for attempt in self.attempts) * (1.0 + TIE)
        first = min((attempt for attempt in self.attempts if attempt.best.value <= tied), key=lambda one: one.number)
        return first.best

    def _in_turn(self) -> Iterator[None]:
        """Make the starts that nobody else has taken, and yield after each; the first is made however late it is."""
        for number in self._numbers:
            if number and self._is_late():
                return
            try:
                self._attempt(number)
            except OutOfTime:  # its best point so far counts
                self._is_late()
                return
            yield

    def _in_threads(self) -> Iterator[None]:
        """Let every thread do so while this one watches the keyboard, and yield now and then."""
        pool = DaemonThreads(self._task.n_jobs)
        left = {pool.submit(lambda: deque(self._in_turn(), maxlen=0)) for _ in range(self._task.n_jobs)}
        try:
            while left and not self._is_late():
                wait(left, _POLL)
                for future in [future for future in left if future.done()]:
                    left.remove(future)
                    future.result()  # raises what the thread has raised
                self._task.keyboard.listen()
                yield
        finally:
            self._deadline = -inf  # stops every thread, also after an error
            wait_for(list(left), lambda: True)
            pool.shutdown()
        for future in left:
            if future.done():
                future.result()

    def _attempt(self, number: int) -> None:
        """Alternate from one start until nothing is gained, then polish."""
        start = self._starts.make(number)
        attempt = Attempt(number, start.strategy, Incumbent(self._split.value(start.v), start.v))
        self.attempts.append(attempt)
        attempt.record(self._elapsed())
        self._alternate(attempt)
        if self._plan.polish != "none" and not self._is_late():
            attempt.improve(self._split, self._polished)
            attempt.record(self._elapsed())

    def _polished(self, v: Floats) -> Floats:
        """Return the point after flips of single signs, or the best one for its own signs."""
        halves = self._halves
        return halves.descend(v) if self._plan.polish == "flips" else halves.solve_pattern(self._split.signs(v), v)

    def _alternate(self, attempt: Attempt) -> None:
        halves = self._halves
        # A start that proposes signs goes to alpha at once: the best beta for its shares could overturn them.
        beta_first = attempt.strategy == "random"
        for iteration in range(self._plan.max_iter):
            before = attempt.best.value
            if iteration or beta_first:
                attempt.improve(self._split, halves.beta)
            gained = before - attempt.best.value > self._plan.tol * attempt.best.value
            if gained or not iteration:  # else alpha, which is optimal for this beta already, gains nothing either
                attempt.improve(self._split, halves.alpha)
            attempt.record(self._elapsed())
            if (iteration and not gained) or self._is_late():
                break

    @property
    def _halves(self) -> Halves:
        """The halves of this thread."""
        if not hasattr(self._local, "halves"):
            self._local.halves = self._make_halves()
        halves: Halves = self._local.halves
        return halves

    def _elapsed(self) -> float:
        return time.perf_counter() - self._task.began

    def _is_late(self) -> bool:
        if self._task.keyboard.pressed:
            self.limit = Status.INTERRUPTED
            return True
        if time.perf_counter() <= self._deadline:
            return False
        self.limit = Status.TIME_LIMIT
        return True
