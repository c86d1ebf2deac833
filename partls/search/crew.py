"""Who explores subtrees: threads of this process here, other processes and machines in ``executors``."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, Protocol

from partls.interrupts import wait
from partls.search.subtree import Exploration, Incumbent, Subtree
from partls.search.workers import DaemonThreads, wait_for


@dataclass(frozen=True, eq=False)
class Task:
    """One subtree to explore: with what incumbent, and for how many nodes."""

    subtree: Subtree
    incumbent: Incumbent
    budget: int


class Crew(Protocol):
    """Takes tasks and gives explorations back.

    A task comes back exactly once, or not at all when the search ends before; whoever does it and however often, its
    exploration is the same. So the search is the same with every crew.
    """

    def submit(self, task: Task) -> Any:
        """Take a task and return a ticket for its exploration."""
        ...

    def wait(self, ticket: Any, seconds: float) -> Exploration | None:
        """Return the exploration, or None if it is not there after so many seconds, or was given up."""
        ...

    def close(self) -> None:
        """Give up what is not done."""
        ...


class Threads:
    """Threads of this process, a pool of our own or the user's; they end early by a flag they share."""

    def __init__(self, explore: Callable[[Task], Exploration], pool: int | Executor) -> None:
        self._explore = explore
        self._pool = DaemonThreads(pool) if isinstance(pool, int) else pool
        self._own = isinstance(pool, int)
        self._waiting: set[Future[Exploration]] = set()

    def submit(self, task: Task) -> Future[Exploration]:
        """Let a thread explore."""
        future = self._pool.submit(self._explore, task)
        self._waiting.add(future)
        return future

    def wait(self, ticket: Future[Exploration], seconds: float) -> Exploration | None:
        """Return what the thread has found, if it has ended."""
        wait([ticket], seconds)
        if not ticket.done() or ticket.cancelled():
            return None
        self._waiting.discard(ticket)
        return ticket.result()

    def close(self) -> None:
        """Cancel what no thread has begun and wait for the others, which the flag has told to end, but not for ever."""
        for future in self._waiting:
            future.cancel()
        wait_for(list(self._waiting), lambda: True)
        if self._own:
            self._pool.shutdown()
