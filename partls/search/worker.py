"""What runs where the search was sent to: explore a bundle of tasks on a problem that is unpacked once per process."""

from __future__ import annotations

import os
import pickle
import platform
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from partls.exceptions import InvalidInput
from partls.interrupts import keyboard
from partls.search.crew import Task
from partls.search.explorers import Explorers, SearchProblem
from partls.search.subtree import Exploration
from partls.threads import single_threaded_blas

_KEPT = 2  # problems of which a process keeps the explorers
_explorers: dict[str, Explorers] = {}
_lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class Order:
    """Tasks for one worker: which problem, how many seconds are left, and what the worker must have installed."""

    key: str
    tasks: Sequence[Task]
    seconds: float
    versions: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Report:
    """The explorations of an order, in its order, and the seconds each took; none if the problem is not known here."""

    explorations: tuple[Exploration, ...] = ()
    seconds: tuple[float, ...] = ()
    worker: str = ""


def carry_out(order: Order, problem: SearchProblem | bytes | None) -> Report:
    """Explore the tasks of an order; ``problem`` may be left out once this process has seen it.

    A terminal's Ctrl-C reaches this process too: the one that has sent the order ends the search.
    """
    refuse(worker_name(), versions(), order.versions)
    with keyboard(), single_threaded_blas():
        explorers = _known(order.key, problem)
        return Report() if explorers is None else _explored(explorers, order)


def _known(key: str, problem: SearchProblem | bytes | None) -> Explorers | None:
    """Return the explorers of a problem, made once; None if it is neither known nor given."""
    with _lock:
        if key not in _explorers and problem is not None:
            while len(_explorers) >= _KEPT:
                del _explorers[next(iter(_explorers))]
            unpacked: SearchProblem = pickle.loads(problem) if isinstance(problem, bytes) else problem
            _explorers[key] = unpacked.explorers()
        return _explorers.get(key)


def _explored(explorers: Explorers, order: Order) -> Report:
    """Explore task after task until time is up."""
    stop = np.zeros(1, np.uint8)
    timer = threading.Timer(max(order.seconds, 0.0), stop.fill, [1])
    timer.daemon = True
    if order.seconds < threading.TIMEOUT_MAX:
        timer.start()
    explorations, times = [], []
    for task in order.tasks:
        began = time.perf_counter()
        explorations.append(explorers.explore(task, stop))
        times.append(time.perf_counter() - began)
    timer.cancel()
    return Report(tuple(explorations), tuple(times), worker_name())


def versions() -> dict[str, str]:
    """Return what must be the same wherever one search runs, for its numbers to be the same."""
    import numba
    import scipy

    return {
        "partls": sys.modules["partls"].__version__, "python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__, "scipy": scipy.__version__, "numba": numba.__version__,
    }


def worker_name() -> str:
    """Return how messages call this process: a Dask worker by its address."""
    if "distributed" in sys.modules:
        from distributed import get_worker

        with suppress(ValueError):
            return str(get_worker().address)
    return f"process {os.getpid()} on {socket.gethostname()}"


def refuse(worker: str, own: Mapping[str, str | None], wanted: Mapping[str, str]) -> None:
    """Refuse a worker, by name, that has other versions than the search."""
    other = [f"{name} {own.get(name) or 'none'}" for name in wanted if own.get(name) != wanted[name]]
    if other:
        here = ", ".join(f"{name} {wanted[name]}" for name in wanted if own.get(name) != wanted[name])
        told = f"worker {worker} has {', '.join(other)}, but the search was started with {here}"
        raise InvalidInput(f"{told}: install the same versions everywhere")
