"""Branch and bound under a limit of processor time, which other programs on the machine do not use up."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import partls
from benchmarks.contract import Answer, Problem
from benchmarks.methods.ours import Bnb
from relaxations import Auto

SEARCHES = {"auto": "auto", "auto without multipliers": Auto(convexify=False), "active-set": "active-set",
            "convexified": "convexified", "shor": "shor"}


@contextmanager
def processor_limit(seconds: float) -> Iterator[None]:
    """Press Ctrl-C once this process has used so many seconds of its processors; also in the background."""

    def press(number: int, frame: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGPROF, press)
    keys = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let background jobs ignore it
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
        signal.signal(signal.SIGINT, keys)


@dataclass
class BnbWithin(Bnb):
    """The time limit is one of processor time; ``counts`` says what the search did."""

    name = "bnb_within"

    relaxation: str = "auto"

    def options(self) -> dict:
        return super().options() | {"relaxation": SEARCHES[self.relaxation]}

    def set_up(self, problem: Problem, time_limit: float) -> None:
        super().set_up(problem, time_limit)
        self._limit = self._options.pop("time_limit")

    def run(self) -> None:
        with processor_limit(self._limit):
            super().run()

    def answer(self) -> Answer:
        answer, counts = super().answer(), self._result.counts
        notes = {key: count for key, count in counts.items() if key in ("trials", "leaves") or "switched" in key}
        return replace(answer, status=answer.status.replace("interrupted", "time limit"), notes=notes)


@dataclass
class BnbAgain(Bnb):
    """The same small problem many times, so that one call can be timed to a microsecond."""

    name = "bnb_again"

    calls: int = 200

    def run(self) -> None:
        began = time.process_time()
        for _ in range(self.calls):
            self._result = partls.solve(*self._arguments, **self._options)
        self._per_call = (time.process_time() - began) / self.calls

    def answer(self) -> Answer:
        return replace(super().answer(), notes={"per_call": self._per_call})
