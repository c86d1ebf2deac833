"""The time that a computation may take: it looks at the clock between its steps, compiled code at a flag.

A deadline is set around the work (``until``) and read far below it, in the same thread, by whatever takes long.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from math import inf
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
FINISHING = 0.12  # seconds after the deadline for the last steps: to solve the answer again, to certify its bound
SHORT = 5e6  # multiplications: a step this short (milliseconds) is never refused
_RATE = 5e8  # multiplications per second of SciPy's nonnegative least squares, on a slow machine


class OutOfTime(Exception):  # noqa: N818  (no error: the work ends here, and what was found before it counts)
    """The deadline has passed and the next step is not a short one."""

    def __str__(self) -> str:
        """Say so, for tables."""
        return "time limit"


@dataclass(frozen=True, eq=False)
class Clock:
    """A deadline on the clock of ``time.perf_counter``, and the flag that tells compiled code about it."""

    deadline: float = inf
    stop: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(1, np.uint8))


_NO_LIMIT = Clock()
_CLOCK: ContextVar[Clock] = ContextVar("clock", default=_NO_LIMIT)


@contextmanager
def until(deadline: float, stop: NDArray[np.uint8] | None = None, *, alarm: bool = True) -> Iterator[NDArray[np.uint8]]:
    """Give the work inside this deadline in place of any other; yield the flag that is raised when it passes.

    Without ``alarm`` somebody else raises the flag ``stop``.
    """
    clock = Clock(deadline, np.zeros(1, np.uint8) if stop is None else stop)
    token = _CLOCK.set(clock)
    timer = None
    seconds = deadline - time.perf_counter()
    if alarm and seconds <= 0:
        clock.stop.fill(1)
    elif alarm and seconds < threading.TIMEOUT_MAX:
        timer = threading.Timer(seconds, clock.stop.fill, (1,))
        timer.daemon = True
        timer.start()
    try:
        yield clock.stop
    finally:
        if timer is not None:
            timer.cancel()
        _CLOCK.reset(token)


def stop_flag(work: float = inf) -> NDArray[np.uint8]:
    """Return the flag that compiled code has to look at; one that nobody raises if all of the work is short."""
    return (_CLOCK.get() if work > SHORT else _NO_LIMIT).stop


def is_over() -> bool:
    """Return whether the deadline has passed."""
    clock = _CLOCK.get()
    return bool(clock.stop[0]) or time.perf_counter() > clock.deadline


def seconds_left() -> float:
    """Return the seconds until the deadline, at least a hundredth: solvers read zero as no limit."""
    return max(_CLOCK.get().deadline - time.perf_counter(), 0.01)


def check(work: float = inf) -> None:
    """Raise ``OutOfTime`` after the deadline, unless the next step takes so few multiplications that it is short."""
    if work > SHORT and is_over():
        raise OutOfTime


def check_ahead(work: float) -> None:
    """Raise ``OutOfTime`` if a step that cannot be interrupted would end after the deadline."""
    if work > SHORT and time.perf_counter() + work / _RATE > _CLOCK.get().deadline:
        raise OutOfTime
    check(work)


def in_time(call: Callable[[], T]) -> T:
    """Return the answer of the user's code; after the deadline, stop waiting for its thread and raise."""
    left = _CLOCK.get().deadline - time.perf_counter()
    if left == inf:
        return call()
    if left <= 0:
        raise OutOfTime
    answer: Future[T] = Future()

    def work() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:  # the waiting thread raises it
            answer.set_exception(error)

    threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
    try:
        return answer.result(min(left, threading.TIMEOUT_MAX))
    except TimeoutError:
        raise OutOfTime from None


def factorisation(height: int, width: int) -> float:
    """Return the multiplications of one QR factorisation of a matrix."""
    return float(height) * width * min(height, width)
