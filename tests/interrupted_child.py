"""A process that fits what it is told to, to be interrupted meanwhile; it says how each fit has ended.

One scenario name per line on standard input; on standard output "go" when the work begins, then one line of JSON.
Times are of the monotonic clock, which all processes share.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import partls
from partls.runtime.interrupts import Keyboard
from partls.runtime.progress import SearchState

shown: list[float] = []


def watch(state: SearchState) -> None:
    shown.append(state.objective)


def problem(seed: int, n_rows: int, n_columns: int, n_groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)) + rng.normal(size=(n_rows, 1))
    return X, rng.normal(size=n_rows), np.arange(n_columns) % n_groups


HARD, PROVABLE = problem(0, 400, 240, 60), problem(0, 200, 150, 25)
SMALL, LARGE = problem(2, 120, 60, 20), problem(1, 700, 500, 90)


def fit(**options: Any) -> Any:
    model = partls.PartLSRegressor(HARD[2], **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that the search ended early
        return model.fit(*HARD[:2]).result_


def cross_validate() -> Any:
    model = partls.PartLSRegressorCV(HARD[2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*HARD[:2]).result_


SCENARIOS: dict[str, Callable[[], partls.Result]] = {
    "search": lambda: partls.solve(*HARD, progress=watch),
    "large": lambda: partls.solve(*LARGE, progress=watch),
    "threads": lambda: partls.solve(*HARD, progress=watch, n_jobs=2),
    "best-first": lambda: partls.solve(*HARD, progress=watch, n_jobs=2, search="best-first"),
    "certified bound": lambda: partls.solve(*HARD, progress=watch, search="best-first", node_limit=3000),
    "proof": lambda: partls.solve(*PROVABLE, progress=watch, certificate=Path(tempfile.mkdtemp()) / "c.json"),
    "checkpoint": lambda: partls.solve(
        *HARD, progress=watch, checkpoint=Path(tempfile.mkdtemp()) / "r", checkpoint_interval=0
    ),
    "l1": lambda: partls.solve(*HARD, progress=watch, penalty="l1", eta=1.0),
    "semidefinite": lambda: partls.solve(*SMALL, progress=watch, relaxation="shor"),
    "semidefinite threads": lambda: partls.solve(*SMALL, progress=watch, relaxation="shor", n_jobs=2),
    "enumerate": lambda: partls.solve(*SMALL, method="enumerate"),
    "enumerate l1": lambda: partls.solve(*SMALL, method="enumerate", penalty="l1", eta=1.0),
    "alternating": lambda: partls.solve(*HARD, progress=watch, method="alternating", n_starts=10**6),
    "alternating threads": lambda: partls.solve(
        *HARD, progress=watch, method="alternating", n_starts=10**6, n_jobs=2
    ),
    "estimator": fit,
    "cross-validation": cross_validate,
}


def run(name: str) -> dict[str, Any]:
    """Say "go" and return how a fit has ended; from then on a signal that comes late does nothing."""
    shown.clear()
    results: list[partls.Result] = []
    keys = Keyboard()  # the fit shares it: a press right after "go" is one during the fit
    keys.installed = True
    keys.listen()
    print("go", flush=True)
    try:
        results.append(SCENARIOS[name]())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    ended = time.monotonic()
    if not results:
        return {"status": "KeyboardInterrupt", "ended": ended}
    result = results[0]
    return {
        "status": result.status.name, "objective": result.objective, "lower_bound": result.lower_bound,
        "shown": min(shown, default=None), "passed": result.audit().passed, "ended": ended,
    }


def main() -> None:
    logging.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for options in ({}, {"penalty": "l1", "eta": 1.0}, {"time_limit": 1.0}, {"method": "enumerate"},
                    {"method": "alternating"}, {"relaxation": "shor"}):
        partls.solve(*problem(0, 30, 8, 4), **options)  # the kernel is compiled and loaded before the first instant
    partls.PartLSRegressor([0, 0, 1, 1])
    while name := sys.stdin.readline().strip():
        print(json.dumps(run(name)), flush=True)


if __name__ == "__main__":
    main()
