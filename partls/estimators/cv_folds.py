"""The splits of a cross-validation: rows to fit and rows held out, in memory or compressed on their workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.rows.blocks import RowBlocks
from formulations.rows.equivalent_rows import EquivalentRows, Moments
from formulations.rows.reweighted_blocks import GivenCounts, block_sizes, fold_counted

Part = tuple[Floats, Floats, Floats]  # X, y with a column for each target, weights


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows to fit and those held out, made when they are used."""

    train: Callable[[], Part]
    test: Callable[[], Part]
    test_weight: float


def folds_in_memory(instance: Instance, y: Floats, cv: Any) -> list[Fold]:
    """Return the folds of rows in memory."""
    targets, weights = y.reshape(len(y), -1), instance.weights

    def part(rows: Any) -> Callable[[], Part]:
        return lambda: (instance.X[rows], targets[rows], weights[rows])

    splits = check_cv(cv).split(instance.X, y)
    return [Fold(part(train), part(test), float(weights[test].sum())) for train, test in splits]


def folds_in_blocks(X: Any, y: Any, sample_weight: Any, cv: Any) -> list[Fold]:
    """Return the folds of a Dask collection or a Parquet folder: their squared errors are those of compressed rows.

    One pass over the blocks folds both parts of all folds. The splitter sees the numbers of the rows alone.
    """
    if isinstance(X, EquivalentRows):
        raise InvalidInput("cross-validation needs the rows, and X holds compressed ones: give the rows of the data")
    rows = RowBlocks.of(X, y, sample_weight)
    ends = np.cumsum(block_sizes(rows))
    try:
        parts = [part for split in check_cv(cv).split(np.zeros((ends[-1], 1))) for part in split]
    except (TypeError, ValueError) as error:  # such as a splitter that looks at y
        raise InvalidInput(f"cv={cv!r} cannot split {ends[-1]:,} rows by their numbers alone: {error}") from None
    counts = np.array([_counts(part, ends[-1]) for part in parts])
    moments = fold_counted(rows, [GivenCounts(own) for own in np.split(counts, ends[:-1], axis=1)])
    return [
        Fold(_folded(train, rows.n_targets), _folded(test, rows.n_targets), test.weight)
        for train, test in zip(moments[::2], moments[1::2], strict=True)
    ]


def _counts(part: Any, n_rows: int) -> NDArray[np.integer[Any]]:
    """Return how often each row is in a part, in as few bytes as that takes."""
    counts = np.bincount(np.arange(n_rows)[part], minlength=n_rows)
    return counts.astype(np.min_scalar_type(counts.max()))


def _folded(moments: Moments, n_targets: int | None) -> Callable[[], Part]:
    def part() -> Part:
        if not moments.weight > 0:  # held out, and without a weight: no error counts
            width = len(moments.mean) - (n_targets or 1)
            return np.zeros((1, width)), np.zeros((1, n_targets or 1)), np.zeros(1)
        rows = moments.rows(n_targets or 1)
        return rows.X, rows.y, rows.sample_weight

    return part
