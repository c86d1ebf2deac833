"""Tall data on two Dask workers: a fit, the folding alone, Dask's own QR, and the sum of every column."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import partls
from benchmarks.contract import Answer, Method, Problem
from benchmarks.datasets.data_file import FileProblem

WORKERS = 2
BLOCK = 131_072  # rows, as in the file


def _blocks(path: str, N: int, M: int) -> Any:
    """Return X and y beside each other as a Dask array, each block to be loaded by its worker."""
    import dask
    import dask.array as da

    sizes = [min(BLOCK, N - start) for start in range(0, N, BLOCK)]
    load = dask.delayed(_load)
    parts = [da.from_delayed(load(path, i * BLOCK, size), (size, M + 1), float) for i, size in enumerate(sizes)]
    return da.concatenate(parts)


def _load(path: str, start: int, size: int) -> np.ndarray:
    return np.array(np.load(path, mmap_mode="r")[start : start + size])


@dataclass
class _Tall(Method):
    """``source`` is "memory", blocks that the workers hold already, or "parquet", the file itself."""

    requires = ("distributed",)
    exact = False
    signed = False

    source: str = "memory"

    def reason_to_skip(self, problem: Problem) -> str:
        return super().reason_to_skip(problem) or ("" if isinstance(problem, FileProblem) else "not in a file")

    def warm_up(self, problem: FileProblem) -> None:
        self.set_up(problem, 60.0)
        self.run()

    def set_up(self, problem: FileProblem, time_limit: float) -> None:
        from distributed import wait

        from benchmarks.clusters import client

        self._client, self._problem, self._time_limit = client(WORKERS), problem, time_limit
        partls.solve([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0])  # loads the kernel before the clock starts
        if self.source == "memory":
            rows = _blocks(str(Path(problem.path).with_suffix(".npy")), *problem.X.shape).persist()
            wait(rows)
            self._X, self._y = rows[:, :-1], rows[:, -1]

    def answer(self) -> Answer:
        return Answer("done")


class TallFit(_Tall):
    """Fold the blocks on the workers, solve to proven optimality in the client."""

    name = "tall_fit"
    exact = True
    signed = True

    def run(self) -> None:
        labels, limit = self._problem.labels, self._time_limit
        if self.source == "memory":
            self._result = partls.solve(self._X, self._y, labels, time_limit=limit)
        else:
            self._result = partls.solve(self._problem.path, "y", labels, time_limit=limit)

    def answer(self) -> Answer:
        result = self._result
        return Answer(
            result.status.value, result.coef, result.intercept, result.objective, result.lower_bound, result.n_nodes
        )


class TallSum(_Tall):
    """One sum of every column by Dask itself: what it takes to touch all numbers."""

    name = "tall_sum"

    def run(self) -> None:
        if self.source == "memory":
            self._client.gather(self._client.compute([self._X.sum(axis=0), self._y.sum()]))
        else:
            import dask.dataframe as dd

            dd.read_parquet(self._problem.path).sum().compute()


class TallTsqr(_Tall):
    """The triangular factor by ``dask.array.linalg.tsqr``: without centring, which would take another pass."""

    name = "tall_tsqr"

    def run(self) -> None:
        import dask.array as da

        rows = da.concatenate([self._X, self._y[:, None]], axis=1).rechunk({1: -1})
        da.linalg.tsqr(rows)[1].compute()


class TallFold(_Tall):
    """The folding alone."""

    name = "tall_fold"

    def run(self) -> None:
        from formulations.rows.blocks import fold_blocks

        fold_blocks(*((self._X, self._y) if self.source == "memory" else (self._problem.path, "y")))
