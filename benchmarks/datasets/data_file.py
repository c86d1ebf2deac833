"""Rows in a file, Parquet or CSV, larger than what one wants in memory.

The raw rows lie beside it in NumPy's format, mapped into memory: only who looks at them, as the referee does, loads
them. Files live as long as the process that first asked for one; the processes it starts use the same.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.contract import Problem

CHUNK = 131_072
FOLDER = "PARTLS_BENCHMARK_FILES"


@dataclass(frozen=True, eq=False)
class FileProblem(Problem):
    path: str = ""


def make(seed: int, *, N: int, M: int, K: int, form: str = "parquet") -> FileProblem:
    """Return ``y = X w + noise`` with columns that are correlated and far from zero, as measurements are."""
    stem = _folder() / f"{form}-{N}-{M}-{seed}"
    path, raw = stem.with_suffix(f".{form}"), stem.with_suffix(".npy")
    if not path.exists():
        _write(path, raw, seed, N, M)
    rows = np.load(raw, mmap_mode="r")
    return FileProblem(rows[:, :-1], rows[:, -1], np.arange(M) % K, fit_intercept=True, path=str(path))


def _folder() -> Path:
    if FOLDER not in os.environ:
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="partls-benchmarks-")
        atexit.register(shutil.rmtree, os.environ[FOLDER], ignore_errors=True)
    return Path(os.environ[FOLDER])


def _chunks(seed: int, N: int, M: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    coef, centre = rng.standard_normal(M), rng.uniform(0, 100, M)
    for start in range(0, N, CHUNK):
        n = min(CHUNK, N - start)
        X = 0.8 * rng.standard_normal((n, M)) + 0.6 * rng.standard_normal((n, 1)) + centre
        yield np.column_stack([X, X @ coef + 3 * rng.standard_normal(n)])


def _write(path: Path, raw: Path, seed: int, N: int, M: int) -> None:
    import pyarrow as pa
    from pyarrow import csv, parquet

    names = [*(f"x{j}" for j in range(M)), "y"]
    schema = pa.schema([(name, pa.float64()) for name in names])
    kept = np.lib.format.open_memmap(raw, "w+", np.float64, (N, M + 1))
    writer = parquet.ParquetWriter(path, schema) if path.suffix == ".parquet" else csv.CSVWriter(path, schema)
    with writer:
        for i, rows in enumerate(_chunks(seed, N, M)):
            kept[i * CHUNK : i * CHUNK + len(rows)] = rows
            writer.write_table(pa.table(list(rows.T.copy()), schema=schema))
    kept.flush()
    with open(path, "rb") as file:  # what is still on its way to the disk would slow down whoever reads first
        os.fsync(file)
