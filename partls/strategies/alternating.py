"""Alternating least squares from many starts, for a good solution without a proof that it is the best.

Each start depends on its own seed alone and the best is chosen by value, then by number: the answer does not depend
on the number of threads or on their timing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, ClassVar

import numpy as np

from formulations.data import Floats
from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.explore.contradiction import Contradiction, check_claim
from partls.explore.incumbents import hasty_incumbent, solve_pattern
from partls.explore.subtree import Incumbent
from partls.result import StartTrace, Status
from partls.runtime.daemon_threads import DaemonThreads, run_with_deadline, wait_for
from partls.runtime.interrupts import wait
from partls.runtime.options import at_least_one, chosen, nonnegative
from partls.runtime.progress import SearchProgress
from partls.search.task import Outcome, SearchTask
from partls.strategies.halves import Halves, NonnegativeHalves, Split
from partls.strategies.option import documented, option
from partls.strategies.starts import Starts, kinds_of_start
from partls.strategies.strategy import Strategy
from relaxations import as_relaxation, kernel
from relaxations.active_set import ActiveSetRelaxation, OrthogonalBounder, group_columns
from relaxations.clock import OutOfTime, until
from relaxations.protocol import Bound, Bounder, Relaxation, ask

logger = logging.getLogger("partls")

HALVES = ("nnls", "simplex")
POLISHES = ("flips", "signs", "none")
_POLL = 0.05  # seconds between looks at the keyboard while threads work


@documented
@dataclass(frozen=True)
class Alternating(Strategy):
    """Alternate between alpha and beta from many starts: a good solution, without a proof that it is the best.

    PartLS-alt of Esposito, Cerrato and Locatelli (2024), Algorithm 1. The best start is always solved again for its
    signs, which can only improve it.

    Examples
    --------
    >>> import numpy as np, partls
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> partls.solve(X, [1.0, 2.0, 3.0], ["size", "size"], method=partls.Alternating(n_starts=5)).status
    <Status.HEURISTIC: 'heuristic'>
    """

    name: ClassVar[str] = "alternating"
    proves: ClassVar[bool] = False

    n_starts: int = option(20, "Number of starts.")
    max_iter: int = option(100, "Most iterations of each start.")
    tol: float = option(1e-9, "Relative decrease of the objective at which a start ends.")
    starts: Any = option(
        "mixed", 'Where to start: "random" (alpha and beta drawn as in the article), "least-squares" or "relaxation" '
        '(the signs of either, perturbed after the first), a list of these, or "mixed", all of them in turn.',
    )
    halves: str = option(
        "nnls", 'How alpha is found: "nnls" (nonnegative least squares, its scale moved into beta) or "simplex" (both '
        "halves by CVXPY).",
    )
    polish: str = option(
        "flips", 'How each start is finished: "flips" of single signs while they pay, the exact solution for its '
        '"signs", or "none".',
    )
    trace: bool = option(False, "Keep objective and time of every iteration of every start in ``result.trace``.")
    relaxation: Any = option("active-set", 'Lower bound at the root; "relaxation" starts take their signs from it.')

    def __post_init__(self) -> None:
        """Refuse options that cannot be meant."""
        at_least_one("n_starts", self.n_starts)
        at_least_one("max_iter", self.max_iter)
        nonnegative("tol", self.tol)
        kinds_of_start(self.starts)
        if isinstance(self.starts, list):  # frozen and hashable, as everything else here
            object.__setattr__(self, "starts", tuple(self.starts))
        chosen("halves", self.halves, HALVES)
        chosen("polish", self.polish, POLISHES)
        as_relaxation(self.relaxation)

    def prepare(self) -> None:
        """Load the compiled halves."""
        _ = kernel.one_node, kernel.flips

    def run(self, task: SearchTask) -> Outcome:
        """Return the best solution of all starts."""
        reduction = task.instance.reduction
        if not len(reduction.R):  # no column has any effect: zero coefficients are as good as any
            flat = Incumbent(reduction.rest, np.zeros(reduction.n_columns))
            return Outcome(flat, flat.value, None, Counter({"starts": 0}))
        try:
            with until(task.deadline):
                found = self._alternate(task)
        except OutOfTime:  # before the first start
            hasty = hasty_incumbent(reduction, task.start or task.root)
            found = Outcome(hasty, reduction.rest, Status.TIME_LIMIT, Counter({"starts": 0}))
        try:
            with until(task.deadline):
                return replace(found, distance=group_columns(reduction).distance)
        except OutOfTime:  # nothing is known of how far rounding has spoiled the bound
            return replace(found, lower_bound=min(found.lower_bound, reduction.rest))

    def _alternate(self, task: SearchTask) -> Outcome:
        instance, reduction, relaxation = task.instance, task.instance.reduction, as_relaxation(self.relaxation)

        def is_over() -> bool:
            task.keyboard.listen()
            return task.is_over()

        bounder, lower = _bounder_and_bound(instance, relaxation, task.root, is_over)
        starts = Starts(reduction, task.root, kinds_of_start(self.starts), bounder, task.seed, task.start)
        run = _Run(task, self, relaxation, starts)
        run.run(lower)
        try:
            check_claim(
                relaxation.name, task.root, lower, run.best(), float(reduction.z @ reduction.z) + reduction.rest
            )
        except Contradiction as found:
            logger.warning("%s", found)
            lower = _least_squares_bound(instance, task.root)
        ordered = sorted(run.attempts, key=lambda attempt: attempt.number)
        return Outcome(
            _settled(Split(reduction, task.root), run.best()), lower, run.limit, Counter({"starts": len(run.attempts)}),
            trace=tuple(attempt.trace(reduction.scale) for attempt in ordered) if self.trace else (),
        )


def _bounder_and_bound(instance: Instance, relaxation: Relaxation, root: SignPattern, is_over: Callable[[], bool]
                       ) -> tuple[Bounder, float]:
    """Return a bounder and the certified bound (reduced units) of the root: the relaxation's, else least squares'."""
    def asked() -> tuple[Bounder, Bound]:
        bounder = relaxation.prepare(instance)
        return bounder, ask(bounder, root)

    quick = isinstance(relaxation, ActiveSetRelaxation)
    answer = asked() if quick else run_with_deadline(asked, is_over)
    if answer is None:  # it hangs
        return OrthogonalBounder(instance.reduction), _least_squares_bound(instance, root)
    bounder, bound = answer
    if bound.status.trusted and np.isfinite(bound.value):
        return bounder, max(bound.value / instance.reduction.scale, 0.0)
    return bounder, _least_squares_bound(instance, root)


def _least_squares_bound(instance: Instance, root: SignPattern) -> float:
    try:
        return max(OrthogonalBounder(instance.reduction).bound(root).value / instance.reduction.scale, 0.0)
    except OutOfTime:
        return instance.reduction.rest


def _settled(split: Split, best: Incumbent) -> Incumbent:
    """Return a point at least as good in which no group rests at zero that would rather be on either side."""
    while split.asleep(best.v):
        try:
            again = solve_pattern(split.reduction, split.signs(best.v), best)
        except OutOfTime:
            break
        if not again.value < best.value * (1 - 1e-12):
            break
        best = again
    return best


@dataclass
class _Attempt:
    """One start on its way: its best point so far, which an interrupt does not lose, and how it came there."""

    number: int
    strategy: str
    best: Incumbent
    objectives: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def improve(self, split: Split, step: Callable[[Floats], Floats]) -> None:
        """Take a step unless it fails to lower the objective: a half repeated at its optimum differs by rounding."""
        v = step(self.best.v)
        value = split.value(v)
        if value < self.best.value:
            self.best = Incumbent(value, v)

    def record(self, seconds: float) -> None:
        """Write the next point of the trace."""
        self.objectives.append(self.best.value)
        self.times.append(seconds)

    def trace(self, scale: float) -> StartTrace:
        """Return the trace in original units."""
        n = len(self.times)  # an interrupt may fall between the two lists
        return StartTrace(self.strategy, scale * np.array(self.objectives[:n]), np.array(self.times))


class _Run:
    """The state of one call: the attempts so far, the clock, and memory for the halves in each thread."""

    def __init__(self, task: SearchTask, options: Alternating, relaxation: Relaxation, starts: Starts) -> None:
        self.attempts: list[_Attempt] = []
        self.limit: Status | None = None
        self._task, self._options, self._starts = task, options, starts
        self._instance, self._root, self._began = task.instance, task.root, task.began
        self._split = Split(task.instance.reduction, task.root)
        self._deadline = task.deadline
        self._numbers = iter(range(options.n_starts))  # each is taken once
        self._local = threading.local()
        # Foreign code may hang, or solve for longer than there is time: it runs where it can be left behind.
        quick = options.halves == "nnls" or task.time_limit is None
        self._is_simple = task.n_jobs == 1 and quick and isinstance(relaxation, ActiveSetRelaxation)

    def run(self, lower: float) -> None:
        """Make every start, or as many as the time limit and the keyboard allow."""
        n_starts, scale = self._options.n_starts, self._instance.reduction.scale
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
            zero = np.zeros(self._instance.reduction.n_columns)
            return Incumbent(self._split.value(zero), zero)
        return min(self.attempts, key=lambda attempt: (attempt.best.value, attempt.number)).best

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
            self._deadline = -inf  # whatever has happened, no thread works on
            wait_for(list(left), lambda: True)
            pool.shutdown()
        for future in left:
            if future.done():
                future.result()

    def _attempt(self, number: int) -> None:
        """Alternate from one start until nothing is gained, then polish."""
        start = self._starts.make(number)
        attempt = _Attempt(number, start.strategy, Incumbent(self._split.value(start.v), start.v))
        self.attempts.append(attempt)
        attempt.record(self._elapsed())
        self._alternate(attempt)
        if self._options.polish != "none" and not self._is_late():
            exact = self._exact_halves()
            attempt.improve(self._split, exact.descend if self._options.polish == "flips" else exact.alpha)
            attempt.record(self._elapsed())

    def _alternate(self, attempt: _Attempt) -> None:
        halves = self._halves()
        # A start that proposes signs goes to alpha at once: the best beta for its shares could overturn them.
        beta_first = attempt.strategy == "random"
        for iteration in range(self._options.max_iter):
            before = attempt.best.value
            if iteration or beta_first:
                attempt.improve(self._split, halves.beta)
            gained = before - attempt.best.value > (self._options.tol or 0.0) * attempt.best.value
            if gained or not iteration:  # else alpha, which is optimal for this beta already, gains nothing either
                attempt.improve(self._split, halves.alpha)
            attempt.record(self._elapsed())
            if (iteration and not gained) or self._is_late():
                break

    def _halves(self) -> Halves:
        if self._options.halves == "nnls":
            return self._exact_halves()
        from partls.strategies.simplex_halves import SimplexHalves

        return SimplexHalves(self._instance, self._root)

    def _exact_halves(self) -> NonnegativeHalves:
        """Return the halves of this thread."""
        if not hasattr(self._local, "halves"):
            self._local.halves = NonnegativeHalves(self._instance.reduction, self._root)
        halves: NonnegativeHalves = self._local.halves
        return halves

    def _elapsed(self) -> float:
        return time.perf_counter() - self._began

    def _is_late(self) -> bool:
        if self._task.keyboard.pressed:
            self.limit = Status.INTERRUPTED
            return True
        if time.perf_counter() <= self._deadline:
            return False
        self.limit = Status.TIME_LIMIT
        return True
