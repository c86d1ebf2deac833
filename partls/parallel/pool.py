"""Pools of explorers: their protocol, and the pool of threads in this process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, Protocol

from partls.explore.subtree import Exploration, Task
from partls.runtime.daemon_threads import DaemonThreads, wait_for
from partls.runtime.interrupts import wait


class ExplorerPool(Protocol):
    """Takes tasks and returns their explorations.

    Each task is returned once, or not at all if the search ends first. Its exploration does not depend on who explores
    it or how often, so the search is the same with every pool.
    """

    def submit(self, task: Task) -> Any:
        """Take a task and return a handle to its exploration."""
        ...

    def wait(self, handle: Any, seconds: float) -> Exploration | None:
        """Return the exploration, or None if it is not ready within ``seconds`` or was cancelled."""
        ...

    def close(self) -> None:
        """Cancel what is not done."""
        ...


class ThreadPool:
    """Threads of this process, in a pool of our own or the user's; a shared flag tells them to end early."""

    def __init__(self, explore: Callable[[Task], Exploration], pool: int | Executor) -> None:
        self._explore = explore
        self._pool = DaemonThreads(pool) if isinstance(pool, int) else pool
        self._own = isinstance(pool, int)
        self._waiting: set[Future[Exploration]] = set()

    def submit(self, task: Task) -> Future[Exploration]:
        """Queue the task for a thread."""
        future = self._pool.submit(self._explore, task)
        self._waiting.add(future)
        return future

    def wait(self, handle: Future[Exploration], seconds: float) -> Exploration | None:
        """Return the exploration if its thread has ended."""
        wait([handle], seconds)
        if not handle.done() or handle.cancelled():
            return None
        self._waiting.discard(handle)
        return handle.result()

    def close(self) -> None:
        """Cancel tasks that no thread has begun, and wait a moment for the others to end on the flag."""
        for future in self._waiting:
            future.cancel()
        wait_for(list(self._waiting), lambda: True)
        if self._own:
            self._pool.shutdown()
