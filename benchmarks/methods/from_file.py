"""A fit from a file, with little or much memory or as a whole command, next to reading the file alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import partls
from benchmarks.contract import Answer, Method, Problem
from benchmarks.datasets.data_file import FileProblem


class _FromFile(Method):
    def reason_to_skip(self, problem: Problem) -> str:
        return "" if isinstance(problem, FileProblem) else "not in a file"

    def set_up(self, problem: FileProblem, time_limit: float) -> None:
        import pandas  # noqa: F401 -- pyarrow loads it, where it is installed, with the first array
        import pyarrow.csv
        import pyarrow.parquet  # noqa: F401


        tiny = partls.solve([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0], time_limit=time_limit)  # loads all of the kernel
        assert tiny.is_optimal()
        with open(problem.path, "rb") as file:  # the disk is nobody's merit: all find the file in memory
            while file.read(1 << 24):
                pass
        self._problem, self._time_limit = problem, time_limit


@dataclass
class ReadFile(_FromFile):
    """All rows pass by, batch by batch, and nothing is done with them: the reader's own time."""

    name = "read_file"
    exact = False
    signed = False

    def run(self) -> None:
        from pyarrow import csv, parquet

        path = self._problem.path
        if path.endswith(".parquet"):
            batches = parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 16).iter_batches(32_768)
        else:
            batches = csv.open_csv(path)
        self._n_rows = sum(batch.num_rows for batch in batches)

    def answer(self) -> Answer:
        return Answer("read", notes={"rows": self._n_rows})


@dataclass
class FitFile(_FromFile):
    """Read, prepare and solve; more than ``memory`` MiB of rows are folded as they are read."""

    name = "fit_file"

    memory: float = 0.0

    def run(self) -> None:
        from partls.cli.prepare import prepare
        from partls.cli.tables import open_table
        from partls.cli.training_data import read_rows

        table = open_table(self._problem.path)
        rows = read_rows(table, prepare(table, target="y"), memory=self.memory)
        self._folded, self._n_rows = rows.folded, rows.n_rows
        self._result = partls.solve(
            rows.X, rows.y, self._problem.labels, sample_weight=rows.sample_weight, time_limit=self._time_limit
        )

    def answer(self) -> Answer:
        result, notes = self._result, {"rows": self._n_rows, "folded": int(self._folded)}
        return Answer(
            result.status.value, result.coef, result.intercept, result.objective, result.lower_bound, result.n_nodes,
            notes,
        )


@dataclass
class FitCommand(_FromFile):
    """``partls fit`` in a process of its own: start-up, imports and the loading of the kernel included."""

    name = "fit_command"

    memory: float = 0.0

    def set_up(self, problem: FileProblem, time_limit: float) -> None:
        super().set_up(problem, time_limit)
        groups = Path(f"{problem.path}.groups.csv")
        lines = [f"x{j},g{label}" for j, label in enumerate(problem.labels)]
        groups.write_text("\n".join(["feature,group", *lines]) + "\n", encoding="utf-8")
        self._command = [
            sys.executable, "-c", "from partls.cli import main; main()", "fit", problem.path, "--target", "y",
            "--groups", str(groups), "--memory", str(self.memory), "--json",
        ]

    def run(self) -> None:
        with subprocess.Popen(self._command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            self._printed = process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self._peak_mb = used.ru_maxrss / 1024  # of the command, or of this process where that has more

    def answer(self) -> Answer:
        told = json.loads(self._printed)
        coef = np.array(list(told["coef"].values()))
        notes = {"rows": told["rows"], "folded": int(told["folded"]), "command_mb": self._peak_mb}
        return Answer(
            told["status"].lower(), coef, told["intercept"], told["objective"], told["lower_bound"], told["nodes"],
            notes,
        )
