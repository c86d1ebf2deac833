"""Rows that lie in blocks on many machines, as Dask's arrays and frames, compressed where they are stored.

Each block becomes its moments (weight, mean, triangular factor of the scatter) on the worker that holds it. Moments are
joined in a tree, so that (M + 1)^2 numbers reach the caller however many rows there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats, as_numbers, column_names, refuse_other_kinds
from formulations.errors import InvalidInput, counted
from formulations.kinds import NUMBERS, OBJECTS, kind_of, refuse_array, refuse_columns
from formulations.rows.equivalent_rows import Chunk, EquivalentRows, Moments
from formulations.rows.parquet import parquet_blocks

_FAN_IN = 8  # moments joined at once
_SLICE = 32_768  # rows of a block that are folded at once


def in_blocks(X: Any) -> bool:
    """Return whether X is a Dask collection, the path of a Parquet folder, or compressed rows."""
    return hasattr(X, "__dask_graph__") or isinstance(X, str | os.PathLike | EquivalentRows)


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """(X, y, weights) of each block of rows, to be loaded where it is folded, and the shape of all together."""

    blocks: list[Any]
    columns: tuple[Any, ...] | None
    n_columns: int
    n_targets: int | None  # None where y is a vector

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None) -> RowBlocks:
        """Return the blocks of a Dask collection or of a Parquet folder; arguments as in ``fold_blocks``."""
        if isinstance(X, str | os.PathLike):
            columns, readers = parquet_blocks(os.fspath(X), y, sample_weight)
            return cls([_dask().delayed(reader, pure=False)() for reader in readers], columns, len(columns), None)
        blocks = _collection_blocks(X, y, sample_weight)
        return cls(blocks, column_names(X), int(X.shape[1]), None if np.ndim(y) == 1 else int(y.shape[1]))

    @property
    def width(self) -> int:
        """Number of columns and targets."""
        return self.n_columns + (self.n_targets or 1)


def fold_blocks(X: Any, y: Any, sample_weight: Any = None) -> EquivalentRows:
    """Return rows with the same objective as all blocks together, whatever the model.

    Parameters
    ----------
    X : Dask array or frame, or the path of a Parquet file or folder
        Every row group is a block. With a path, ``y`` and ``sample_weight`` are the names of columns. Rows that are
        folded already are returned as they are.
    y, sample_weight
        In blocks as X is, or in memory; y may hold several targets.
    """
    if isinstance(X, EquivalentRows):
        if y is not None or sample_weight is not None:
            raise InvalidInput("compressed rows hold their target and weights: give None for y and sample_weight")
        return X
    rows = RowBlocks.of(X, y, sample_weight)
    total: _Folded = in_tree(_fold_block, _join, rows.blocks)
    total.refuse(rows.columns, rows.n_columns, None if sample_weight is None else "sample_weight")
    assert total.moments is not None
    return replace(total.moments.rows(rows.n_targets), columns=rows.columns)


@dataclass(frozen=True, eq=False)
class _Folded:
    """What is known of some blocks: their moments, or how much of what is wrong with which column."""

    n_rows: int
    moments: Moments | None
    missing: NDArray[np.intp]  # of the columns of X, the targets and the weights
    infinite: NDArray[np.intp]
    negative: int = 0

    def refuse(self, columns: Sequence[Any] | None, n_columns: int, weights: str | None) -> None:
        """Refuse missing and infinite values and negative weights, with their numbers, column by column."""
        if not self.n_rows:
            raise InvalidInput("X is empty: there is no row in any block")
        own = list(columns) if columns is not None else [f"column {j}" for j in range(n_columns)]
        targets = len(self.missing) - n_columns - (weights is not None)
        names = own + (["y"] if targets == 1 else [f"y, target {j}" for j in range(targets)])
        names += [weights] if weights is not None else []
        for counts, what in ((self.missing, "missing"), (self.infinite, "infinite")):
            if counts.any():
                worst = [j for j in np.argsort(-counts, kind="stable") if counts[j]]
                told = ", ".join(f'"{names[j]}" {counts[j]:,}' for j in worst[:20])
                more = f" and {len(worst) - 20} more columns" if len(worst) > 20 else ""
                raise InvalidInput(
                    f"{what} values: {told}{more} (of {self.n_rows:,} rows): impute or drop missing and infinite values"
                )
        if self.negative:
            raise InvalidInput(f"sample_weight is negative in {counted(self.negative, 'row')}: weights must be >= 0")


def _fold_block(block: tuple[Any, Any, Any]) -> _Folded:
    """Return the moments of one block, or what is wrong with it; runs on its worker."""
    from threadpoolctl import threadpool_limits  # one thread: Dask has one task per core already

    X, y, weights = loaded(block)
    for part, name in ((y, "y"), (weights, "sample_weight")):
        if part is not None and len(part) != len(X):
            values, rows = counted(len(part), "value"), counted(len(X), "row")
            raise InvalidInput(f"a block of {name} has {values} but that of X has {rows}")
    parts = [X, y[:, None] if y.ndim == 1 else y, *([] if weights is None else [weights.reshape(len(X), 1)])]
    missing = np.concatenate([_count(np.isnan, part) for part in parts])
    infinite = np.concatenate([_count(np.isinf, part) for part in parts])
    negative = 0 if weights is None else int((weights < 0).sum())
    if missing.any() or infinite.any() or negative:
        return _Folded(len(X), None, missing, infinite, negative)
    with threadpool_limits(1, "blas"):
        moments = Moments.of(_slices(X, y, weights), X.shape[1] + parts[1].shape[1])
    return _Folded(len(X), moments, missing, infinite)


def _join(parts: Sequence[_Folded]) -> _Folded:
    """Return what is known of all blocks of the parts."""
    from threadpoolctl import threadpool_limits

    moments = [part.moments for part in parts if part.moments is not None]
    joined = None
    if len(moments) == len(parts):
        with threadpool_limits(1, "blas"):
            joined = Moments.joined(moments)
    return _Folded(
        sum(part.n_rows for part in parts), joined, np.sum([part.missing for part in parts], axis=0),
        np.sum([part.infinite for part in parts], axis=0), sum(part.negative for part in parts),
    )


def in_tree(leaf: Callable[[Any], Any], join: Callable[[Sequence[Any]], Any], items: Sequence[Any]) -> Any:
    """Return the join of all leaves, computed by Dask: on the current client's workers, or by threads here."""
    dask = _dask()
    level = [dask.delayed(leaf, pure=False)(item) for item in items]
    while len(level) > 1:
        level = [dask.delayed(join, pure=False)(level[i : i + _FAN_IN]) for i in range(0, len(level), _FAN_IN)]
    return dask.compute(level[0])[0]


def _slices(X: Floats, y: Floats, weights: Floats | None) -> Iterator[Chunk]:
    for start in range(0, len(X), _SLICE):
        rows = slice(start, start + _SLICE)
        yield X[rows], y[rows], None if weights is None else weights[rows]


def _count(test: Callable[[Floats], Any], part: Floats) -> NDArray[np.intp]:
    """Return how many entries of each column pass the test; a finite sum proves that none does."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.ones(len(part)) @ part).all():
            return np.zeros(part.shape[1], np.intp)
    return np.asarray(test(part).sum(axis=0), dtype=np.intp)


def loaded(block: tuple[Any, Any, Any]) -> Chunk:
    """Return X, y and the weights of a block as numbers."""
    X, y, weights = block
    return _numbers(X, "X"), _numbers(y, "y"), None if weights is None else _numbers(weights, "sample_weight")


def _numbers(part: Any, name: str) -> Floats:
    """Return a block of an array, a frame or a sparse matrix as floats, what is missing as NaN."""
    refuse_other_kinds(part, name)
    if hasattr(part, "toarray"):
        part = part.toarray()
    if hasattr(part, "to_numpy"):
        part = part.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(part, dtype=np.float64)


# What the user hands over


def _dask(part: str = "dask") -> Any:
    """Return Dask, which is optional."""
    try:
        return import_module(part)
    except ImportError as error:
        raise InvalidInput(f"data in blocks need Dask ({error}): pip install 'partls[dask]'") from None


def _collection_blocks(X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """Return (X, y, weights) of each block of Dask's arrays and frames."""
    _refuse_kinds(X, "X")
    if X.ndim != 2:
        raise InvalidInput(f"X must be a table of rows and columns, not {X.ndim}-dimensional: reshape it to (n, m)")
    X_blocks = _blocks(X)
    y_blocks = _beside(y, "y", X, X_blocks)
    if np.ndim(sample_weight) > 1:
        raise InvalidInput(f"sample_weight must be one-dimensional, got {np.ndim(sample_weight)} dimensions")
    w_blocks = [None] * len(X_blocks) if sample_weight is None else _beside(sample_weight, "sample_weight", X, X_blocks)
    return list(zip(X_blocks, y_blocks, w_blocks, strict=True))


def _refuse_kinds(values: Any, name: str) -> None:
    """Refuse text, dates and other things that are no numbers, column by column where there are names."""
    if values.ndim == 2 and hasattr(values, "columns"):
        kinds = {column: kind_of(dtype) for column, dtype in values.dtypes.items()}
        refuse_columns(name, {column: kind for column, kind in kinds.items() if kind != NUMBERS})
    else:
        refuse_array(name, kind_of(values.dtype))


def _blocks(values: Any) -> list[Any]:
    """Return the row blocks of a Dask collection, each to be loaded where it is needed."""
    if hasattr(values, "rechunk"):
        values = values.rechunk({1: -1}) if values.ndim == 2 else values
        return list(values.to_delayed().ravel())
    # Optimised one by one, columns of one file may be cut into different blocks; as they are, they share their reads.
    return list(values.to_delayed(optimize_graph=False))


def _beside(values: Any, name: str, X: Any, X_blocks: list[Any]) -> list[Any]:
    """Return the blocks of y or of the weights that lie beside those of X."""
    in_memory = not hasattr(values, "__dask_graph__")
    if in_memory:
        kind = kind_of(np.asarray(values).dtype)
        refuse_array(name, NUMBERS if kind == OBJECTS else kind)
        values = as_numbers(values, name)
    else:
        _refuse_kinds(values, name)
        arrays = hasattr(values, "rechunk") and hasattr(X, "rechunk")
        if arrays and not np.isnan([*X.chunks[0], *values.chunks[0]]).any():  # sizes of blocks are known
            _refuse_length(name, values.shape[0], X.shape[0])
            values = values.rechunk({0: X.chunks[0]})
        blocks = _blocks(values)
        if len(blocks) != len(X_blocks):
            told = f"{name} has {counted(len(blocks), 'block')} but X has {len(X_blocks)}"
            raise InvalidInput(f"{told}: repartition one of them")
        return blocks
    lengths = _dask().compute(*[_dask().delayed(n_rows_of)(block) for block in X_blocks])
    _refuse_length(name, len(values), sum(lengths))
    return list(np.split(values, np.cumsum(lengths)[:-1]))


def n_rows_of(part: Any) -> int:
    """Return the number of rows of a block: of sparse matrices too, which have no len()."""
    return int(part.shape[0])


def _refuse_length(name: str, length: int, n_rows: int) -> None:
    if length != n_rows:
        raise InvalidInput(f"{name} has {counted(length, 'value')} but X has {counted(n_rows, 'row')}")
