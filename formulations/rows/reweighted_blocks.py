"""Rows in blocks, folded many times in one pass, each time with other weights.

A bootstrap resample counts each row as often as it was drawn; each part of a cross-validation counts a row once or not
at all. Every block is loaded once for several such counts, on the worker that holds it, and no row moves.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from formulations.rows.blocks import RowBlocks, in_tree, loaded, n_rows_of
from formulations.rows.equivalent_rows import Chunk, EquivalentRows, Moments

_AT_ONCE = 32_768  # rows of a block that are copied at once
_IN_HAND = 2**24  # numbers in the triangles of one block: 128 MiB


class Counts(Protocol):
    """How often each row of one block counts, once for each folding."""

    def of_rows(self, n_rows: int) -> Iterator[NDArray[np.integer[Any]]]:
        """Yield the counts of all rows, folding by folding."""


@dataclass(frozen=True, eq=False)
class GivenCounts:
    """Counts that were made beforehand: one row for each folding."""

    counts: NDArray[np.integer[Any]]

    def of_rows(self, n_rows: int) -> Iterator[NDArray[np.integer[Any]]]:
        """Yield them."""
        yield from self.counts


@dataclass(frozen=True, eq=False)
class DrawnCounts:
    """One block's part of resamples: how many draws fall into it, and the seeds by which they fall on its rows."""

    seeds: tuple[int, ...]
    block: int
    totals: NDArray[np.int64]

    def of_rows(self, n_rows: int) -> Iterator[NDArray[np.integer[Any]]]:
        """Draw rows with replacement, each equally likely."""
        for seed, total in zip(self.seeds, self.totals, strict=True):
            generator = np.random.default_rng([seed, 1 + self.block])
            yield generator.multinomial(total, np.full(n_rows, 1 / n_rows)) if n_rows else np.zeros(0, np.int64)


def draw_counts(seeds: Sequence[int], sizes: Sequence[int]) -> list[DrawnCounts]:
    """Return, for blocks of these sizes, one resample of all rows per seed: as many draws as there are rows.

    The number of draws in each block is multinomial, and so are the counts of its rows given that number. Together
    they are multinomial over all rows.
    """
    held = np.flatnonzero(sizes)
    totals = np.zeros((len(sizes), len(seeds)), np.int64)
    shares = np.array(sizes)[held] / sum(sizes)
    for r, seed in enumerate(seeds):
        totals[held, r] = np.random.default_rng([seed, 0]).multinomial(sum(sizes), shares)
    return [DrawnCounts(tuple(seeds), b, totals[b]) for b in range(len(sizes))]


def block_sizes(rows: RowBlocks) -> list[int]:
    """Return the number of rows of each block."""
    return list(in_tree(_size, _concatenated, rows.blocks))


def fold_counted(rows: RowBlocks, counts: Sequence[Counts]) -> list[Moments]:
    """Return the moments of all rows for each folding: every row weighted by its count and its own weight."""
    parts = [(block, own, rows.width) for block, own in zip(rows.blocks, counts, strict=True)]
    return list(in_tree(_fold_counted, _join, parts))


def resamples(rows: RowBlocks, n_resamples: int, generator: Any, end: float) -> Iterator[EquivalentRows]:
    """Yield resamples of the rows, folded; after the time ``end`` no further pass over the blocks is begun.

    The draws depend on the generator and on the sizes of the blocks. One of weightless rows alone is drawn again.
    """
    sizes, n_left, size = block_sizes(rows), n_resamples, 1 if end < np.inf else n_resamples
    most = max(1, _IN_HAND // (rows.width + 1) ** 2)
    while n_left:
        began = time.perf_counter()
        seeds = [int(generator.randint(2**31)) for _ in range(min(size, most, n_left))]
        found = [moments for moments in fold_counted(rows, draw_counts(seeds, sizes)) if moments.weight > 0]
        n_left -= len(found)
        yield from (moments.rows(rows.n_targets) for moments in found)
        now = time.perf_counter()
        if found and now >= end:
            return
        size = n_resamples if end == np.inf else max(1, int(len(seeds) * (end - now) / (now - began)))


def _fold_counted(part: tuple[Any, Counts, int]) -> list[Moments]:
    """Return the moments of one block for each of its counts; runs on its worker."""
    from threadpoolctl import threadpool_limits

    block, counts, width = part
    X, y, weights = loaded(block)
    with threadpool_limits(1, "blas"):
        return [Moments.of(_counted(X, y, weights, count), width) for count in counts.of_rows(len(X))]


def _counted(X: Any, y: Any, weights: Any, count: NDArray[np.integer[Any]]) -> Iterator[Chunk]:
    """Yield the rows that count, with their weights."""
    kept = np.flatnonzero(count)
    own = count[kept] * (1.0 if weights is None else weights.reshape(-1)[kept])
    for start in range(0, len(kept), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        yield X[kept[part]], y[kept[part]], own[part]


def _join(parts: Sequence[list[Moments]]) -> list[Moments]:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):
        return [Moments.joined(same) for same in zip(*parts, strict=True)]


def _size(block: tuple[Any, Any, Any]) -> tuple[int, ...]:
    return (n_rows_of(block[0]),)


def _concatenated(parts: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return sum(parts, ())
