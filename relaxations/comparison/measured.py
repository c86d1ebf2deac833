"""Prepare relaxations, compute their bounds, time both, and record every failure."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan

from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern
from relaxations.clock import OutOfTime, in_time, until
from relaxations.protocol import Bound, Bounder, BoundStatus, Relaxation, ask

_RUNS, _SHORT = 3, 0.2  # a bound of fewer seconds is timed up to three times: the first compiles


@dataclass(frozen=True, eq=False)
class Measured:
    """One relaxation on one instance: its bounds and their times at each node, and the time to prepare it."""

    label: str
    prepare_seconds: float
    bounds: Mapping[SignPattern, tuple[Bound, float]]


def measured(instance: Instance, label: str, relaxation: Relaxation, nodes: Sequence[SignPattern],
             deadline: float = inf) -> Measured:
    """Return what a relaxation answers at the nodes by the deadline, which counts from now if it is finite."""
    with until(deadline, alarm=False):
        began = time.perf_counter()
        try:
            bounder = in_time(lambda: relaxation.prepare(instance))
        except Exception as error:  # also a refusal, such as a solver that is not installed: the others still count
            note = str(error) if isinstance(error, OutOfTime) else f"{type(error).__name__}: {error}"
            failed = Bound(-inf, nan, None, BoundStatus.FAILED, 0.0, error=note)
            return Measured(label, time.perf_counter() - began, dict.fromkeys(nodes, (failed, nan)))
        prepared = time.perf_counter() - began
        return Measured(label, prepared, {node: _timed(bounder, node) for node in nodes})


def _timed(bounder: Bounder, node: SignPattern) -> tuple[Bound, float]:
    """Return a bound and its time: the shortest of a few runs if it is short, so that compiling does not count."""
    shortest, spent = inf, 0.0
    for _ in range(_RUNS):
        began = time.perf_counter()
        try:
            bound = in_time(lambda: ask(bounder, node))
        except (InvalidInput, OutOfTime) as error:
            if shortest < inf:  # it was answered before
                break
            bound = Bound(-inf, nan, None, BoundStatus.FAILED, 0.0, error=str(error))
        seconds = time.perf_counter() - began
        shortest, spent = min(shortest, seconds), spent + seconds
        if spent > _SHORT * _RUNS:
            break
    return bound, shortest
