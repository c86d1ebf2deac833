"""Ctrl-C as a flag to be checked, not an exception at any line: a run ends where its state is consistent."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Collection, Iterator
from concurrent import futures
from contextlib import contextmanager
from math import inf
from types import FrameType
from typing import Any

from partls.runtime.posix import can_wait_for_signals, interrupted_while_waiting

_LENT = threading.local()


class Keyboard:
    """Whether, and when, Ctrl-C was pressed during a run; a second press interrupts Python as always."""

    def __init__(self) -> None:
        self.pressed_at = inf  # on the clock of ``time.perf_counter``
        self.installed = False

    @property
    def pressed(self) -> bool:
        """Whether the run is to end."""
        return self.pressed_at < inf

    def press(self, number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
        """Note the first press: it ends the run between two units of work."""
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed_at = time.perf_counter()

    def listen(self) -> None:
        """Take Ctrl-C back: some solvers handle it while they run, and some never return it."""
        if self.installed:
            signal.signal(signal.SIGINT, self.press)

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` here, where it does no harm, if the run is to end."""
        if self.pressed:
            raise KeyboardInterrupt


@contextmanager
def keyboard() -> Iterator[Keyboard]:
    """Return the keyboard of this run: that of the call around it, if there is one, or the one lent to this thread.

    Python delivers Ctrl-C to the main thread alone, and a program that handles it by itself keeps its own way: then
    ``KeyboardInterrupt`` may still be raised anywhere.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread():
        yield getattr(_LENT, "keyboard", None) or Keyboard()
    elif isinstance(outer := getattr(before, "__self__", None), Keyboard):
        yield outer
    elif before is not signal.default_int_handler:
        yield Keyboard()
    else:
        mine = Keyboard()
        mine.installed = True
        mine.listen()
        try:
            yield mine
        finally:
            mine.installed = False
            signal.signal(signal.SIGINT, before)


@contextmanager
def lent(keyboard: Keyboard) -> Iterator[None]:
    """Let the runs of this thread end with a keyboard that another thread presses."""
    _LENT.keyboard = keyboard
    try:
        yield
    finally:
        del _LENT.keyboard


@contextmanager
def raising(keyboard: Keyboard) -> Iterator[None]:
    """Let the first press raise ``KeyboardInterrupt`` at once: for work that can be dropped at any point."""
    keyboard.check()
    before = signal.getsignal(signal.SIGINT)
    if not keyboard.installed:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def wait(pending: Collection[futures.Future[Any]], seconds: float) -> None:
    """Wait until every future is done, or so many seconds, and take Ctrl-C before a solver at work in a thread does.

    SCS, for one, handles Ctrl-C while it works, and forgets one pressed during its set-up. Where the main thread cannot
    wait for a signal, a press may be lost to such a solver.
    """
    keys = getattr(signal.getsignal(signal.SIGINT), "__self__", None)
    in_main = threading.current_thread() is threading.main_thread()
    if not isinstance(keys, Keyboard) or not in_main or not can_wait_for_signals():
        futures.wait(pending, seconds)
    elif interrupted_while_waiting(pending, seconds):
        keys.press()
