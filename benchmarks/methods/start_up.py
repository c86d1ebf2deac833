"""What a user waits for before the first answer: imports, and compilation with an empty or a filled cache.

Each run is a new interpreter; its whole life is timed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from os import environ
from pathlib import Path

import numpy as np

from benchmarks.contract import Answer, Method, Problem
from benchmarks.machine import one_thread

FIT = """
import json, sys, time
began = time.perf_counter()
import partls
imported = time.perf_counter()
import numpy
data = numpy.load(sys.argv[1])
called = time.perf_counter()
result = partls.solve(data["X"], data["y"], data["labels"], method="bnb", fit_intercept=bool(data["fit_intercept"]))
notes = {"import_seconds": imported - began, "solve_seconds": time.perf_counter() - called,
         "cpu_seconds": time.process_time()}
print(json.dumps([result.status.value, result.coef.tolist(), result.intercept, result.objective, result.lower_bound,
                  result.n_nodes, notes]))
"""

_folder = tempfile.TemporaryDirectory(prefix="partls-benchmarks-")


@dataclass
class FirstCall(Method):
    """``import partls`` and one fit in a new process. A warm cache is what the last cold run left."""

    name = "first_call"

    cache: str = "warm"

    def set_up(self, problem: Problem, time_limit: float) -> None:
        self._data, self._cache = Path(_folder.name) / "problem.npz", Path(_folder.name) / "cache"
        np.savez(self._data, X=problem.X, y=problem.y, labels=problem.labels, fit_intercept=problem.fit_intercept)
        if self.cache == "cold":
            shutil.rmtree(self._cache, ignore_errors=True)
        elif not self._cache.exists():
            self.run()

    def run(self) -> None:
        environment = environ | one_thread() | {"NUMBA_CACHE_DIR": str(self._cache)}
        command = [sys.executable, "-c", FIT, str(self._data)]
        self._done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    def answer(self) -> Answer:
        *figures, notes = json.loads(self._done.stdout)
        announced = "compiling" in self._done.stderr
        return Answer(figures[0], np.array(figures[1]), *figures[2:], {**notes, "announced": int(announced)})


@dataclass
class Import(Method):
    """``import`` of one module in a new process."""

    name = "import"
    exact = False

    module: str = "partls"

    def set_up(self, problem: Problem, time_limit: float) -> None:
        self._command = [sys.executable, "-c", f"import {self.module}"]

    def run(self) -> None:
        subprocess.run(self._command, env=environ | one_thread(), check=True)

    def answer(self) -> Answer:
        return Answer("done")
