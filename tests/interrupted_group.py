"""A process that searches with others of its group, which are all interrupted as a terminal's Ctrl-C does it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

import partls


def main(kind: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(400, 240)) + rng.normal(size=(400, 1)), np.arange(240) % 60
    executor: Any = "loky"
    if kind != "loky":
        executor = ProcessPoolExecutor(2, mp_context=get_context(kind))
        list(executor.map(time.sleep, [0.1] * 2))  # they start with Python's own way with Ctrl-C
    pressing: list[threading.Timer] = []

    def press(state: partls.runtime.progress.SearchState) -> None:
        if state.nodes > 1000 and not pressing:
            pressing.append(threading.Timer(1.0, os.killpg, (0, signal.SIGINT)))  # by then all are at work
            pressing[0].start()

    result = partls.solve(X, rng.normal(size=400), labels, executor=executor, n_jobs=2, time_limit=60, progress=press)
    print(result.status.name, result.audit().passed, flush=True)
    if kind != "loky":
        executor.shutdown(cancel_futures=True)


if __name__ == "__main__":
    main(sys.argv[1])
