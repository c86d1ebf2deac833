"""``partls fit`` on a table with text columns, as a user runs it: a new process, groups drafted by ``groups init``."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from os import environ
from pathlib import Path

from benchmarks.contract import Answer, Method, Problem
from benchmarks.datasets.categorical import TABLES, read
from benchmarks.machine import one_thread

_folder = tempfile.TemporaryDirectory(prefix="partls-benchmarks-")


@dataclass
class TableCommand(Method):
    """The whole command, from the start of Python to the last line; the kernel has been compiled before."""

    name = "table_command"
    exact = False  # what it claims is in the notes; its coefficients go by name

    table: str = "ames"

    def set_up(self, problem: Problem, time_limit: float) -> None:
        folder, (package, target, dropped) = Path(_folder.name), TABLES[self.table]
        data, groups = folder / f"{self.table}.csv", folder / f"{self.table}.toml"
        read(self.table, package).drop(columns=list(dropped)).to_csv(data, index=False)
        self._start = [sys.executable, "-m", "partls"]
        self._call("groups", "init", data, "--target", target, "--out", groups, "--force")
        self._fit = ("fit", data, "--target", target, "--groups", groups, "--missing", "mean", "--json")

    def run(self) -> None:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._printed = self._call(*self._fit)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def answer(self) -> Answer:
        told = json.loads(self._printed)
        notes = {key: told[key] for key in ("status", "objective", "lower_bound")}
        return Answer("done", nodes=told["nodes"], notes={**notes, "cpu_seconds": self._busy})

    def _call(self, *arguments: object) -> str:
        command = [*self._start, *map(str, arguments)]
        return subprocess.run(
            command, env=environ | one_thread(), capture_output=True, text=True, check=True
        ).stdout
