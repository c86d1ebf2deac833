"""A fit from a file as ``partls fit`` makes it, with little or much memory, next to reading the file alone."""

from __future__ import annotations

from dataclasses import dataclass

import partls
from benchmarks.contract import Answer, Method, Problem
from benchmarks.datasets.data_file import FileProblem


class _FromFile(Method):
    def reason_to_skip(self, problem: Problem) -> str:
        return "" if isinstance(problem, FileProblem) else "not in a file"

    def set_up(self, problem: FileProblem, time_limit: float) -> None:
        import pandas  # noqa: F401 -- pyarrow loads it, where it is installed, with the first array
        import pyarrow.csv
        import pyarrow.dataset  # noqa: F401

        tiny = partls.solve([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0])  # loads the kernel before the clock starts
        assert tiny.is_optimal()
        self._problem, self._time_limit = problem, time_limit


@dataclass
class ReadFile(_FromFile):
    """All rows pass by, batch by batch, and nothing is done with them: the reader's own time."""

    name = "read_file"
    exact = False
    signed = False

    def run(self) -> None:
        from pyarrow import csv, dataset

        path = self._problem.path
        lean = dataset.ParquetFragmentScanOptions(pre_buffer=False)  # faster than the default, and flat in memory
        form = dataset.ParquetFileFormat(default_fragment_scan_options=lean)
        is_parquet = path.endswith(".parquet")
        batches = dataset.dataset(path, format=form).to_batches() if is_parquet else csv.open_csv(path)
        self._n_rows = sum(batch.num_rows for batch in batches)

    def answer(self) -> Answer:
        return Answer("read", notes={"rows": self._n_rows})


@dataclass
class FitFile(_FromFile):
    """Read, prepare and solve; more than ``memory`` MiB of rows are folded as they are read."""

    name = "fit_file"

    memory: float = 0.0

    def run(self) -> None:
        from partls.preparation import prepare
        from partls.tables import open_table
        from partls.training_data import read_rows

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
