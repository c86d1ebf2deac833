"""Parquet files, one or a folder of them, as blocks of rows: each row group is read where it is folded."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations.data import Floats
from formulations.errors import InvalidInput, listing
from formulations.kinds import NUMBERS, kind_of, refuse_columns
from formulations.rows.arrow import arrow_floats
from formulations.rows.equivalent_rows import Chunk


def parquet_blocks(path: str, y: Any, sample_weight: Any) -> tuple[tuple[str, ...], list[Callable[[], Chunk]]]:
    """Return the names of the features and a reader for each block; folders named ``year=2020`` are a column too."""
    import pyarrow as pa
    from pyarrow import dataset

    if not os.path.exists(path):
        raise InvalidInput(f"X={path!r}: there is no such file or folder of Parquet files")
    try:
        files = dataset.dataset(path, format="parquet", partitioning="hive")
        fragments = [part for fragment in files.get_fragments() for part in fragment.split_by_row_group()]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidInput(f"X={path!r} cannot be read as Parquet ({str(error)[:200]})") from None
    names = files.schema.names
    for option, name in (("y", y), *([] if sample_weight is None else [("sample_weight", sample_weight)])):
        if not isinstance(name, str) or name not in names:
            raise InvalidInput(f"{option}={name!r} must be a column of {path}: {listing(names, limit=12)}")
    kinds = {field.name: kind_of(field.type) for field in files.schema}
    refuse_columns(path, {name: kind for name, kind in kinds.items() if kind != NUMBERS})
    features = tuple(name for name in names if name not in (y, sample_weight))
    return features, [_Reader(part, files.schema, features, y, sample_weight) for part in fragments]


@dataclass(frozen=True, eq=False)
class _Reader:
    """Reads one row group; small enough to send to a worker that can open the file."""

    fragment: Any
    schema: Any
    features: tuple[str, ...]
    target: str
    weights: str | None

    def __call__(self) -> Chunk:
        """Return X, y and the weights, what is missing as NaN."""
        names = [*self.features, self.target, *([] if self.weights is None else [self.weights])]
        table = self.fragment.to_table(schema=self.schema, columns=names, use_threads=False)
        X = np.empty((table.num_rows, len(self.features)), order="F")
        for j, name in enumerate(self.features):
            X[:, j] = _floats(table, name)
        return X, _floats(table, self.target), None if self.weights is None else _floats(table, self.weights)


def _floats(table: Any, name: str) -> Floats:
    return np.asarray(arrow_floats(table.column(name), f'column "{name}"').to_numpy())
