"""Dispatch subtrees to the threads, processes or workers that explore them.

Subtrees are dispatched in a sliding window. A subtree is dispatched once the one a fixed number of places earlier has
been merged, with the incumbent known then, and results are merged in the order of dispatch. The window and the tasks
grow with the number of nodes explored and with nothing else. So neither the tree nor the answer depends on who
explores, on how many there are, or on their timing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from formulations.errors import WorkersLost
from partls.explore.subtree import Exploration, Task
from partls.parallel.make_pool import make_pool
from partls.parallel.pool import ExplorerPool, ThreadPool
from partls.search.limits import Limits
from partls.search.node_bound import NodeBound
from partls.search.state import Dispatched, TreeState
from partls.search.window import window_and_budget
from relaxations.clock import until
from relaxations.protocol import is_sequential

_ROUND = 16  # the smallest window, and results merged between looks at the gap: more than the cores
_POLL = 0.05  # seconds between looks at the clock while others work


class Dispatcher:
    """Keep the window full: submit subtrees to a pool, wait for the results, and merge them in order."""

    def __init__(self, state: TreeState, bound: NodeBound, limits: Limits, *, executor: Any, n_jobs: int) -> None:
        self._state, self._bound, self._limits = state, bound, limits
        self._executor, self._n_jobs = executor, n_jobs
        self._pool: ExplorerPool | None = None

    def explore_first(self) -> None:
        """Explore a small tree, or the top of a large one, in this thread."""
        state, limits = self._state, self._limits
        task = state.take(min(self._bound.first_budget, limits.nodes_left(state.n_nodes)))
        with until(limits.deadline, limits.stop):  # nobody else looks at the clock meanwhile
            state.merge(self._explore(Task(task.subtree, state.incumbent, task.budget)))

    def work(self, merged: Callable[[], None]) -> None:
        """Dispatch and merge until it is time to look at the gap: after a few results, or a better solution.

        ``merged`` is called after each result.
        """
        self._pool = self._pool or self._make_pool()
        incumbent = self._state.incumbent
        for _ in range(_ROUND):
            self._fill_window(self._pool)
            if not self._state.dispatched or self._limits.is_over():
                return
            result = self._result(self._pool, self._state.dispatched[0])
            if result is None:
                return
            self._state.merge(result)
            merged()
            if self._state.incumbent is not incumbent:
                return

    def _make_pool(self) -> ExplorerPool:
        """Return who explores: this process while the tree is small, or if each bound depends on the one before."""
        bound = self._bound
        if is_sequential(bound.problem.relaxation):
            return ThreadPool(self._explore, 1)
        if self._executor is None or not bound.is_final:
            return ThreadPool(self._explore, self._n_jobs)
        return make_pool(self._executor, bound.problem, self._explore, self._n_jobs, self._limits.deadline)

    def _explore(self, task: Task) -> Exploration:
        limits = self._limits
        with until(limits.deadline, limits.stop, alarm=False):
            return self._bound.explorers.explore(task, limits.stop)

    def _fill_window(self, pool: ExplorerPool) -> None:
        """Dispatch subtrees until the window is full, as far as the nodes left allow."""
        state = self._state
        window, size = window_and_budget(state.n_nodes, state.counts["tasks"], _ROUND, 1)
        left = min(self._limits.nodes_left(state.n_nodes), self._bound.nodes_until_due(state.n_nodes))
        left -= sum(task.budget for task in state.dispatched)
        while left > 0 and (room := min(window - len(state.dispatched), len(state.open))) > 0:
            least = self._bound.least_budget(state.open.next(), depth_first=state.open.is_depth_first)
            task = state.take(max(1, min(max(least, size), left // room)))
            task.ticket = pool.submit(Task(task.subtree, state.incumbent, task.budget))
            left -= task.budget

    def _result(self, pool: ExplorerPool, task: Dispatched) -> Exploration | None:
        """Return the result of a task, or None once time is up."""
        while (result := pool.wait(task.ticket, _POLL)) is None:
            if self._limits.is_over():
                return None
        return result

    def dismiss(self) -> None:
        """Close the pool, with nothing dispatched; the next round makes another."""
        if self._pool is not None:
            self._pool.close()
        self._pool = None

    def stay_here(self) -> None:
        """Explore in threads of this process from now on."""
        self._executor = None

    def end(self) -> None:
        """Close the pool; what is dispatched counts as open again, or as merged if it is done and time is short.

        After a limit of nodes or gap it is left open even if done: whether it is done depends on the timing.
        """
        pool, self._pool = self._pool, None
        self._limits.stop[0] = 1
        if pool is not None:
            with suppress(KeyboardInterrupt):  # pressed again: those still at work are not waited for
                pool.close()
        for task in list(self._state.dispatched):
            result = None
            if pool and self._limits.is_hurried and task.ticket is not None:
                with suppress(KeyboardInterrupt, WorkersLost):  # what ended a worker: its subtree stays open
                    result = pool.wait(task.ticket, 0.0)
            self._state.merge(result or Exploration(self._state.incumbent, open=[task.subtree]))
