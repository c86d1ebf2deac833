"""The code that a remote worker runs: explore a bundle of tasks of a problem that is unpacked once per process."""

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
from importlib.metadata import version

import numpy as np

from formulations.errors import InvalidInput
from partls.explore.explorers import Explorers, SearchProblem
from partls.explore.subtree import Exploration, Task
from partls.runtime.blas_threads import single_threaded_blas
from partls.runtime.interrupts import keyboard

_KEPT = 2  # problems of which a process keeps the explorers
_explorers: dict[str, Explorers] = {}
_lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class WorkRequest:
    """Tasks for one worker: the problem they belong to, the seconds left, and the versions the worker must have."""

    key: str
    tasks: Sequence[Task]
    seconds: float
    versions: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class WorkResult:
    """The explorations of a request and the seconds of each; none if the process does not know the problem."""

    explorations: tuple[Exploration, ...] = ()
    seconds: tuple[float, ...] = ()
    worker: str = ""


def run_request(request: WorkRequest, problem: SearchProblem | bytes | None) -> WorkResult:
    """Return the explorations of the tasks; ``problem`` may be left out once this process has seen it.

    A terminal sends Ctrl-C to this process too. It is ignored here: the process that runs the search ends it.
    """
    refuse_versions(worker_name(), versions(), request.versions)
    with keyboard(), single_threaded_blas():
        explorers = _known(request.key, problem)
        return WorkResult() if explorers is None else _explored(explorers, request)


def _known(key: str, problem: SearchProblem | bytes | None) -> Explorers | None:
    """Return the explorers of a problem, made once; None if it is neither known nor given."""
    with _lock:
        if key not in _explorers and problem is not None:
            while len(_explorers) >= _KEPT:
                del _explorers[next(iter(_explorers))]
            unpacked: SearchProblem = pickle.loads(problem) if isinstance(problem, bytes) else problem
            _explorers[key] = unpacked.explorers()
        return _explorers.get(key)


def _explored(explorers: Explorers, request: WorkRequest) -> WorkResult:
    """Explore task after task until time is up."""
    stop = np.zeros(1, np.uint8)
    timer = threading.Timer(max(request.seconds, 0.0), stop.fill, [1])
    timer.daemon = True
    if request.seconds < threading.TIMEOUT_MAX:
        timer.start()
    explorations, times = [], []
    for task in request.tasks:
        began = time.perf_counter()
        explorations.append(explorers.explore(task, stop))
        times.append(time.perf_counter() - began)
    timer.cancel()
    return WorkResult(tuple(explorations), tuple(times), worker_name())


def versions() -> dict[str, str]:
    """Return the versions that must be equal on all workers for the answer to be the same."""
    import numba
    import scipy

    return {
        "partls": version("partls"), "python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__, "scipy": scipy.__version__, "numba": numba.__version__,
    }


def worker_name() -> str:
    """Return the name of this process in messages: for a Dask worker, its address."""
    if "distributed" in sys.modules:
        from distributed import get_worker

        with suppress(ValueError):
            return str(get_worker().address)
    return f"process {os.getpid()} on {socket.gethostname()}"


def refuse_versions(worker: str, own: Mapping[str, str | None], wanted: Mapping[str, str]) -> None:
    """Refuse a worker whose versions differ from those of the search, and name both."""
    other = [f"{name} {own.get(name) or 'none'}" for name in wanted if own.get(name) != wanted[name]]
    if other:
        here = ", ".join(f"{name} {wanted[name]}" for name in wanted if own.get(name) != wanted[name])
        told = f"worker {worker} has {', '.join(other)}, but the search was started with {here}"
        raise InvalidInput(f"{told}: install the same versions everywhere")
