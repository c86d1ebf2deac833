"""The schedule of a search: recorded task by task, and replayed on any number of workers.

Tasks are dispatched and merged in an order that does not depend on who explores them: task i is dispatched when a
certain task before it has been merged, whoever did it and however long it took. With the seconds of each task, the
same search can be replayed on any number of workers.
"""

from __future__ import annotations

import heapq
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from partls.parallel.remote_pool import BUNDLES_EACH
from partls.search import dispatch, node_bound
from partls.search.window import window_and_budget

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
LATENCY = 0.002  # seconds for a message to a worker, and as long for its answer


@dataclass(frozen=True)
class Step:
    """One task: how many results were merged when it was dispatched, and the seconds it takes."""

    after: int
    seconds: float


@dataclass
class Recorder:
    """An executor that explores in this process, one task after another, and records the schedule."""

    steps: list[Step] = field(default_factory=list)
    n_merged: int = 0
    seconds: float = 0.0  # from the first task to the last, merging included

    def make_pool(self, problem: Any, explore: Any, deadline: float) -> Recorder:
        self._explore, self._began = explore, time.perf_counter()
        return self

    def submit(self, task: Any) -> tuple[int, Any]:
        return self.n_merged, task

    def wait(self, handle: tuple[int, Any], seconds: float) -> Any:
        after, task = handle
        began = time.perf_counter()
        result = self._explore(task)
        self.steps.append(Step(after, time.perf_counter() - began))
        self.n_merged += 1
        return result

    def close(self) -> None:
        self.seconds = time.perf_counter() - self._began


def replay(steps: Sequence[Step], workers: int, message: float) -> float:
    """Return the seconds of a search on so many workers, each task going to the first that is free.

    ``message`` seconds of the client pass for each bundle of tasks, one after another; with enough dispatched for every
    worker, a bundle holds several.
    """
    free = [0.0] * workers
    merged: list[float] = []
    for i, step in enumerate(steps):
        handed_out = merged[step.after - 1] if step.after else 0.0
        begun = max(heapq.heappop(free), handed_out + LATENCY)
        heapq.heappush(free, begun + step.seconds)
        cost = message / max(1, (i - step.after) // (BUNDLES_EACH * workers))
        merged.append(max(merged[-1] if merged else 0.0, begun + step.seconds + LATENCY) + cost)
    return merged[-1] if merged else 0.0


def enlarged(steps: Sequence[Step], nodes: int, factor: int) -> list[Step]:
    """Return the schedule of a tree ``factor`` times as large, with seconds drawn from those recorded.

    The window and the tasks grow by the rule of the search; the assumption is that there are always enough open
    subtrees, and that tasks of a larger budget take longer in proportion.
    """
    rng, per_task = random.Random(0), nodes / len(steps)
    schedule: list[Step] = []
    explored, merged, in_hand = float(nodes), 0, []
    while explored < nodes * factor:
        usual = node_bound._DEPTH_FIRST_BUDGET
        window, budget = window_and_budget(int(explored), len(steps) + merged, dispatch._ROUND, usual)
        size = budget / usual
        while len(in_hand) < window:
            schedule.append(Step(merged, size * rng.choice(steps).seconds))
            in_hand.append(size * per_task)
        explored += in_hand.pop(0)
        merged += 1
    return schedule


def speed_ups(steps: Sequence[Step], before: float, alone: float, message: float) -> dict[int, float]:
    """Return the predicted gain over ``alone`` seconds of one thread, ``before`` of which no worker can share."""
    return {workers: alone / (before + replay(steps, workers, message)) for workers in WORKERS}
