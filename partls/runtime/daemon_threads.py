"""Threads that can be left behind: a bound that never returns costs its own box, not the run and not its end."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from contextvars import copy_context
from math import inf
from typing import Any, ParamSpec, TypeVar

from partls.runtime.interrupts import wait

P = ParamSpec("P")
T = TypeVar("T")
GRACE = 0.2  # seconds after the time is up, or Ctrl-C, for what still runs in a thread
_POLL = 0.05  # seconds between looks at the clock and the keyboard
_Task = tuple[Future[Any], Callable[[], Any]]


class DaemonThreads(Executor):
    """A pool whose threads die with the program.

    Those of ``ThreadPoolExecutor`` are waited for at exit, for ever if one of them hangs.
    """

    def __init__(self, n_threads: int) -> None:
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(n_threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Return the future of a call that the next idle thread makes."""
        future: Future[T] = Future()
        context = copy_context()  # the deadline is in it
        self._tasks.put((future, lambda: context.run(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = True) -> None:
        """Let every thread end after the call it is in; ``wait`` for them only where none can hang."""
        while cancel_futures:
            try:
                task = self._tasks.get_nowait()
            except queue.Empty:
                break
            if task is not None:
                task[0].cancel()
        for _ in self._threads:
            self._tasks.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, call = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
            del future, call, task  # an idle thread keeps nothing alive


def wait_for(futures: Sequence[Future[Any]], is_over: Callable[[], bool]) -> None:
    """Wait until every future is done, or a moment after ``is_over``: what hangs is left behind."""
    patience = inf
    while (pending := [future for future in futures if not future.done()]) and time.perf_counter() < patience:
        wait(pending, _POLL)
        if patience == inf and is_over():
            patience = time.perf_counter() + GRACE


def run_with_deadline(call: Callable[[], T], is_over: Callable[[], bool]) -> T | None:
    """Return the answer of the user's code, or None if there is none a moment after ``is_over``."""
    pool = DaemonThreads(1)
    future = pool.submit(call)
    wait_for([future], is_over)
    pool.shutdown()
    return future.result() if future.done() else None
