"""What only POSIX systems have, and what is done where it is missing: all other files run on any system."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Collection
from concurrent import futures
from typing import Any
from weakref import WeakSet

_RINGING: WeakSet[futures.Future[Any]] = WeakSet()  # these tell the main thread when they are done


def can_wait_for_signals() -> bool:
    """Return whether the main thread can wait for a signal; Windows and macOS have no ``sigtimedwait``."""
    return hasattr(signal, "sigtimedwait")


def interrupted_while_waiting(pending: Collection[futures.Future[Any]], seconds: float) -> bool:
    """Wait until every future is done, or so many seconds; return at once, and True, after Ctrl-C.

    A blocked signal that the main thread waits for reaches no handler, not even one of other code. SIGURG, which is
    ignored by default, tells that a future is done.
    """
    awaited, until = {signal.SIGINT, signal.SIGURG}, time.perf_counter() + seconds
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, awaited)  # in here, for it may raise what came before it
        for future in pending:
            if future not in _RINGING:
                _RINGING.add(future)
                future.add_done_callback(_ring)
        while not all(future.done() for future in pending) and (left := until - time.perf_counter()) > 0:
            arrived = signal.sigtimedwait(awaited, left)
            if arrived is not None and arrived.si_signo == signal.SIGINT:
                return True
        return False
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ring(_: futures.Future[Any]) -> None:
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, signal.SIGURG)
