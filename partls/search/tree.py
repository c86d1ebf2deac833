"""One run of branch and bound: open subtrees, who explores them, the incumbent, and the bound of what is closed.

Subtrees are handed out in a sliding window: a task is given out when the result of one a fixed number of places before
it has been merged, with the incumbent known then, and results are merged in the order of their tasks. The window
and the tasks grow with the nodes explored and with nothing else, so that tree and answer do not depend on who
explores, on how many there are or on their timing.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from formulations.errors import WorkersLost
from partls.explore.compiled import CompiledExplorer
from partls.explore.contradiction import Contradiction, check_claim
from partls.explore.explorers import Explorers, SearchProblem
from partls.explore.subtree import Exploration, Incumbent, Subtree, Task, round_to_signs
from partls.parallel.make_pool import make_pool
from partls.parallel.pool import ExplorerPool, ThreadPool
from partls.result import Status
from partls.runtime.daemon_threads import GRACE, run_with_deadline
from partls.runtime.progress import SearchProgress
from partls.search.checkpoint import Snapshot
from partls.search.frontier import Frontier, at_least
from partls.search.plan import SearchPlan
from partls.search.task import Outcome
from partls.search.window import window_and_budget
from relaxations import named
from relaxations.clock import FINISHING, until
from relaxations.protocol import is_sequential

logger = logging.getLogger("partls")

_FIRST_WORK = 1e7  # nodes times M^2 explored in the caller's thread, which cannot be interrupted, before any other
_STRENGTHEN_AFTER = 1000  # nodes: the diagonal then costs about what the search has cost so far
_MOST = 0.5  # share of the gap: a bound that closes more of it at the root is worth a hundred times the time per node
_ROUND = 16  # subtrees in hand, and results merged between looks at the gap: more than the cores
_DEPTH_FIRST_BUDGET, _BEST_FIRST_BUDGET = 512, 32  # nodes per task
_GENERIC_BUDGET = 8
_STRONG_PENALTY = "strengthened"  # the relaxation
_CERTIFYING = 2.0  # seconds for the bounds of subtrees left open; then the root's bound stands for the rest
_RESERVED = 0.05  # share of a time limit that is kept for them
_POLL = 0.05  # seconds between looks at the clock while others work


@dataclass(eq=False)
class _InHand:
    """A subtree that was handed out and is not yet merged; without a ticket, this thread explores it."""

    subtree: Subtree
    budget: int
    ticket: Any = None


class TreeSearch:
    """The state of one run: open subtrees, those in hand, incumbent, certified bound of what is closed."""

    def __init__(self, problem: SearchProblem, explorers: Explorers, plan: SearchPlan, incumbent: Incumbent,
                 distance: float = 1.0) -> None:
        reduction = problem.instance.reduction
        self._problem, self._explorers, self._plan, self._task = problem, explorers, plan, plan.task
        self._incumbent, self._scale, self._labels = incumbent, reduction.scale, reduction.labels
        self._root, self._distance = plan.task.root, distance
        self._open = self._frontier([Subtree(self._root)])
        self._in_hand: deque[_InHand] = deque()  # they count as open if the search ends before they are merged
        self._closed = inf
        self._counts: Counter[str] = Counter()
        self._stop = np.zeros(1, np.uint8)
        self._limit: Status | None = None
        self._native = isinstance(explorers.main, CompiledExplorer)
        self._strengthened = not self._native
        self._proved = 0.0  # a sum of squares and a penalty
        # The last part of the time is for the bounds of what is then open.
        reserved = min(_CERTIFYING, _RESERVED * (self._task.time_limit or 0.0))
        self._deadline, self._end_of_time = self._task.deadline - reserved, self._task.deadline
        self._keyboard = self._task.keyboard
        self._first_budget = int(np.clip(_FIRST_WORK / len(incumbent.v) ** 2, 64, _STRENGTHEN_AFTER))
        self._budget = _GENERIC_BUDGET
        if self._native:
            self._budget = _BEST_FIRST_BUDGET if plan.best_first else _DEPTH_FIRST_BUDGET

    def resume(self, state: Snapshot, incumbent: Incumbent) -> None:
        """Go on from where an earlier run has stopped; from the root, if that one was content with a wider gap."""
        self._incumbent = min(self._incumbent, incumbent, key=lambda found: found.value)
        self._counts, self._proved = Counter(state.counts), state.proved
        if state.strong_penalty and self._native and self._has_penalty:
            self._strengthen_penalty()
        if state.gap_tol <= self._task.gap_tol or self._gap_closed(max(state.closed, state.proved)):
            self._open, self._closed = self._frontier(state.open), state.closed

    def _frontier(self, subtrees: list[Subtree]) -> Frontier:
        return Frontier(subtrees, best_first=self._plan.best_first, most=self._plan.max_open_nodes)

    def _save(self, *, now: bool = False) -> None:
        if self._plan.checkpoint is not None:
            signs = round_to_signs(self._incumbent.v, self._labels, self._root)
            state = Snapshot(
                signs, self._closed, self._task.gap_tol, self._problem.relaxation.name == _STRONG_PENALTY,
                self._proved, self._counts, self._all_open(),
            )
            self._plan.checkpoint.save(state, now=now)

    def _all_open(self) -> list[Subtree]:
        return [*self._open, *(handed.subtree for handed in self._in_hand)]

    def run(self) -> Outcome:
        """Search until nothing is open or a limit is reached; then certify what was left open."""
        with SearchProgress(self._task.progress) as progress:
            try:
                try:
                    self._check_proved()
                    self._run_to_a_proof(progress)
                except Contradiction as found:
                    self._start_over(found)
                    self._run_to_a_proof(progress)
            finally:
                self._save(now=True)  # also when the workers are lost
            self._proved = max(self._proved, self._certified_bound())
            self._save(now=True)
            progress.finish(self._counts["nodes"], len(self._open), *self._in_original_units(self._proved))
        return Outcome(self._incumbent, self._proved, self._limit, self._counts, distance=self._distance)

    def _start_over(self, contradiction: Contradiction) -> None:
        """Forget what an unsound relaxation has proved, and search by factorisation, which needs no trust."""
        logger.warning("%s", contradiction)
        self._counts[f"contradicted: {contradiction.relaxation}"] += 1
        self._incumbent = min(self._incumbent, contradiction.found, key=lambda found: found.value)
        self._plan, self._proved = replace(self._plan, executor=None), 0.0
        self._in_hand.clear()
        self._stop = np.zeros(1, np.uint8)
        self._change_bounds(Explorers(self._explorers.fallback, self._explorers.fallback))
        self._restart()

    def _change_bounds(self, explorers: Explorers) -> None:
        self._explorers, self._native, self._budget = explorers, False, _GENERIC_BUDGET

    def _restart(self) -> None:
        self._open, self._closed = self._frontier([Subtree(self._root)]), inf

    def _check_proved(self) -> None:
        """Raise ``Contradiction`` if the incumbent refutes what earlier runs have proved: they were deceived."""
        check_claim("of the checkpoint", self._root, self._proved, self._incumbent, self._problem.tolerances.size)

    def _run_to_a_proof(self, progress: SearchProgress) -> None:
        """Search until the gap is closed by certified bounds, not by the word of the subtrees left open."""
        self._run(progress)
        while self._limit is None and self._reopen():
            self._run(progress)

    def _reopen(self) -> bool:
        """Close the open subtrees whose certified bounds suffice; return whether the search has to go on."""
        self._stop = np.zeros(1, np.uint8)  # those left behind at work keep the old one
        closed, left = self._closed, []
        aim = min([closed, self._incumbent.value, *(at_least(subtree.bound) for subtree in self._open)])
        for subtree in self._open:
            if self._is_over():
                return True
            with until(self._deadline):
                bound = self._explorers.main.safe_bound(subtree, aim)
            bound = max(bound, self._proved)  # as in the estimate it has to meet
            if self._gap_closed(bound):
                closed = min(closed, bound)
            else:  # the kernel's own bound was wrong
                left.append(Subtree(subtree.signs, bound, doubtful=True))
        self._closed, self._open = closed, self._frontier(left)
        return bool(left)

    def _run(self, progress: SearchProgress) -> None:
        pool: ExplorerPool | None = None
        try:
            while (self._open or self._in_hand) and not self._finished():
                if self._counts["nodes"] == 0 and self._native:
                    self._explore_first()
                else:
                    pool = self._strengthen_large_tree(pool) or self._make_pool()
                    self._work(pool)
                self._save()
                progress.update(self._counts["nodes"], len(self._open), *self._in_original_units(self._estimate()))
        except KeyboardInterrupt:  # an observer's wish
            self._limit = Status.INTERRUPTED
        except Exception:
            if not self._keyboard.pressed:  # a terminal sends Ctrl-C to the workers too, which may fail in any way
                raise
            self._limit = Status.INTERRUPTED
        finally:
            self._end(pool)

    # Handing out

    def _make_pool(self) -> ExplorerPool:
        """Return who explores: this process while the tree is small, or if each bound depends on the one before."""
        if is_sequential(self._problem.relaxation):
            return ThreadPool(self._explore, 1)
        if self._plan.executor is None or not self._strengthened:
            return ThreadPool(self._explore, self._task.n_jobs)
        return make_pool(self._plan.executor, self._problem, self._explore, self._task.n_jobs, self._deadline)

    def _explore(self, task: Task) -> Exploration:
        with until(self._deadline, self._stop, alarm=False):
            return self._explorers.explore(task, self._stop)

    def _explore_first(self) -> None:
        """Explore a small tree, or the top of a large one, in this thread."""
        budget = min(self._first_budget, self._nodes_left())
        self._take(budget)
        with until(self._deadline, self._stop):  # nobody else looks at the clock meanwhile
            self._merge(self._explore(Task(self._in_hand[0].subtree, self._incumbent, budget)))

    def _strengthen_large_tree(self, pool: ExplorerPool | None) -> ExplorerPool | None:
        """Strengthen the bound, once and with nothing in hand; return the crew that goes on, if any."""
        if self._strengthened or self._in_hand or self._counts["nodes"] < _STRENGTHEN_AFTER:
            return pool
        if pool is not None:
            pool.close()
        if self._penalty_pays():
            self._strengthen_penalty()
            self._restart()
        elif isinstance(self._explorers.main, CompiledExplorer):
            diagonal = run_with_deadline(self._explorers.main.add_diagonal, self._is_over)
            self._problem = replace(self._problem, diagonal=diagonal)
        self._strengthened = True
        return None

    @property
    def _has_penalty(self) -> bool:
        reduction = self._problem.instance.reduction
        return reduction.data_part is not reduction

    def _strengthen_penalty(self) -> None:
        self._problem = replace(self._problem, relaxation=named(_STRONG_PENALTY))
        self._change_bounds(self._problem.explorers())
        self._strengthened = True

    def _penalty_pays(self) -> bool:
        """Return whether the L2 penalty made strong, which no compiled bound knows, closes most of the gap at once."""
        if not self._has_penalty:
            return False
        instance = self._problem.instance
        bound = run_with_deadline(lambda: named(_STRONG_PENALTY).prepare(instance).bound(self._root), self._is_over)
        low = self._estimate()
        return bound is not None and bound.value / self._scale - low > _MOST * (self._incumbent.value - low)

    def _work(self, pool: ExplorerPool) -> None:
        """Hand out and merge until it is time to look at the gap: after a few results, or a better solution."""
        incumbent = self._incumbent
        for _ in range(_ROUND):
            self._hand_out(pool)
            if not self._in_hand or self._is_over():
                return
            result = self._awaited(pool, self._in_hand[0])
            if result is None:
                return
            self._merge(result)
            self._save()
            if self._incumbent is not incumbent:
                return

    def _hand_out(self, pool: ExplorerPool) -> None:
        """Fill the window, as far as the nodes left allow."""
        least = _DEPTH_FIRST_BUDGET if self._native and self._open.is_depth_first else self._budget
        window, largest = window_and_budget(self._counts["nodes"], self._counts["tasks"], _ROUND, least)
        left = self._nodes_left()
        if not self._strengthened:
            left = min(left, _STRENGTHEN_AFTER - self._counts["nodes"])
        left -= sum(handed.budget for handed in self._in_hand)
        while left > 0 and (room := min(window - len(self._in_hand), len(self._open))) > 0:
            handed = self._take(max(1, min(largest, left // room)))
            handed.ticket = pool.submit(Task(handed.subtree, self._incumbent, handed.budget))
            left -= handed.budget

    def _take(self, budget: int) -> _InHand:
        """Take the next subtree in hand; an interrupt on the way may leave it open too, which no bound minds."""
        handed = _InHand(self._open.next(), budget)
        self._in_hand.append(handed)
        self._open.drop()
        return handed

    def _awaited(self, pool: ExplorerPool, handed: _InHand) -> Exploration | None:
        """Return the result of a task, or None once time is up."""
        while (result := pool.wait(handed.ticket, _POLL)) is None:
            if self._is_over():
                return None
        return result

    def _is_over(self) -> bool:
        """Look at the clock and the keyboard, and tell the threads."""
        self._keyboard.listen()
        if self._keyboard.pressed or time.perf_counter() > self._deadline:
            self._stop[0] = 1
        return bool(self._stop[0])

    def _merge(self, result: Exploration) -> None:
        """Merge the result of the task that was handed out first."""
        if result.best.value < self._incumbent.value:
            self._incumbent = result.best
            self._check_proved()
        self._closed = min(self._closed, result.closed)
        self._counts.update(result.counts, tasks=1)
        self._open.push(result.open)
        self._in_hand.popleft()

    def _end(self, pool: ExplorerPool | None) -> None:
        """Dismiss the crew; what is in hand counts as open again, or as merged if it is done and time is short.

        After a limit of nodes or gap it is left open even if done: whether it is done depends on the timing.
        """
        self._stop[0] = 1
        if pool is not None:
            with suppress(KeyboardInterrupt):  # pressed again: those still at work are not waited for
                pool.close()
        hurried = self._limit in (Status.TIME_LIMIT, Status.INTERRUPTED)
        for handed in list(self._in_hand):
            result = None
            if pool and hurried and handed.ticket is not None:
                with suppress(KeyboardInterrupt, WorkersLost):  # what ended a worker: its subtree stays open
                    result = pool.wait(handed.ticket, 0.0)
            self._merge(result or Exploration(self._incumbent, open=[handed.subtree]))

    # Bounds and limits

    def _finished(self) -> bool:
        if self._keyboard.pressed:
            self._limit = Status.INTERRUPTED
        elif time.perf_counter() > self._deadline:
            self._limit = Status.TIME_LIMIT
        elif self._nodes_left() <= 0:
            self._limit = Status.NODE_LIMIT
        return self._limit is not None or self._gap_closed(self._estimate())

    def _gap_closed(self, lower: float) -> bool:
        upper = self._incumbent.value
        return upper - lower <= max(self._task.gap_tol * upper, upper - self._problem.tolerances.cutoff(upper))

    def _nodes_left(self) -> int:
        return 2**62 if self._plan.node_limit is None else self._plan.node_limit - self._counts["nodes"]

    def _estimate(self) -> float:
        """Return the bound so far, open subtrees at their own word: for progress and for deciding to stop."""
        in_hand = min((at_least(handed.subtree.bound) for handed in self._in_hand), default=inf)
        return max(min(self._closed, self._open.lowest(), in_hand, self._incumbent.value), self._proved)

    def _certified_bound(self) -> float:
        """Return the lower bound with every open subtree certified, each as far as the others make it matter."""
        bounds = [subtree.bound for subtree in self._open if np.isfinite(subtree.bound)]
        lower = aim = min([self._closed, self._incumbent.value, *bounds])
        deadline = min(
            time.perf_counter() + _CERTIFYING, self._end_of_time + FINISHING, self._keyboard.pressed_at + GRACE
        )
        certified = self._explorers.main.safe_bound
        with until(deadline):
            for subtree in self._open:
                if lower <= 0.0:  # a sum of squares and a penalty
                    return 0.0
                if time.perf_counter() > deadline:  # the whole tree's bound holds for every part of it
                    return max(min(lower, certified(Subtree(self._root), aim)), 0.0)
                lower = min(lower, certified(subtree, aim))
        return max(lower, 0.0)

    def _in_original_units(self, lower: float) -> tuple[float, float]:
        return self._incumbent.value * self._scale, lower * self._scale
