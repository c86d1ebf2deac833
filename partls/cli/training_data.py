"""The rows to fit: kept as they are up to ``--memory``, beyond that compressed to a few equivalent rows."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from formulations.data import Floats
from formulations.errors import InvalidInput, InvalidOption
from formulations.rows.equivalent_rows import Chunk, EquivalentRows, Moments, equivalent_rows
from formulations.tolerances import ROUNDING
from partls.cli.missing_values import Gaps
from partls.cli.preparation import Preparation
from partls.cli.tables import Table
from partls.runtime.blas_threads import single_threaded_blas

DEFAULT_MEMORY = 1024.0  # MiB


@dataclass(frozen=True, eq=False)
class TrainingData:
    """X, y and weights: the rows of a file, or, if ``folded``, weighted rows with the same objective.

    Attributes
    ----------
    n_rows, n_dropped
        Rows of the file that count, and rows left out for what they miss.
    centre, scale
        What was taken from each column and what it was divided by, where the columns were standardised.
    """

    X: Floats
    y: Floats
    sample_weight: Floats | None
    columns: tuple[str, ...]
    n_rows: int
    n_dropped: int = 0
    folded: bool = False
    centre: Floats | None = None
    scale: Floats | None = None

    @property
    def units(self) -> tuple[Floats, Floats] | None:
        """The centre and scale, where the columns were standardised."""
        return None if self.centre is None or self.scale is None else (self.centre, self.scale)

    def given(self) -> tuple[Any, Any, Any]:
        """Return X, y and weights as ``Instance`` and ``fit`` take them; compressed rows know the original number."""
        if not self.folded:
            return self.X, self.y, self.sample_weight
        assert self.sample_weight is not None
        return EquivalentRows(self.X, self.y, self.sample_weight, self.n_rows, self.columns), None, None

    def standardised(self) -> TrainingData:
        """Return columns of mean zero and standard deviation one; a constant column only loses its mean."""
        weights = np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight
        centre = weights @ self.X / weights.sum()
        moved = self.X - centre
        spread = np.sqrt(weights @ np.square(moved) / weights.sum())
        size = np.sqrt(weights @ np.square(self.X) / weights.sum())
        scale = np.where(spread > ROUNDING * size, spread, 1.0)
        return replace(self, X=moved / scale, centre=centre, scale=scale)


def read_rows(
    table: Table, preparation: Preparation, *, memory: float = DEFAULT_MEMORY, kept_for: str = ""
) -> TrainingData:
    """Return the rows of a table, in one pass and in at most about ``memory`` MiB.

    ``kept_for`` names an option that needs every row: with it, rows that would be folded are refused.
    """
    if not memory >= 0:
        raise InvalidOption("memory", memory, "must be at least 0")
    gaps = Gaps()
    chunks = _read_ahead(_checked(preparation.chunks(table, gaps), preparation.weights))
    columns = preparation.columns
    kept: list[Chunk] = []
    size = 0
    for chunk in chunks:
        kept.append(chunk)
        size += chunk[0].nbytes
        del chunk  # it would stay in memory while the others are folded
        # Joining the kept rows needs their size once more; few rows are never folded: they would not get fewer.
        if 2 * size > memory * 2**20 and sum(len(y) for _, y, _ in kept) > 2 * len(columns) + 3:
            if kept_for:
                raise InvalidInput(
                    f"{kept_for} needs every row, and those of {table.path} do not fit into --memory {memory:g} (MiB): "
                    f"allow more, or leave {kept_for} out"
                )
            table.doing = "reading and compressing"
            with single_threaded_blas():  # the reader decodes at the same time and needs the other cores
                rows = equivalent_rows(chain(_handed_over(kept), chunks), len(columns))
            return TrainingData(rows.X, rows.y, rows.sample_weight, columns, rows.n_rows, gaps.n_dropped, folded=True)
    X = np.concatenate([X for X, _, _ in kept])
    y = np.concatenate([y for _, y, _ in kept])
    weights = None
    if preparation.weights is not None:
        weights = np.concatenate([w for _, _, w in kept if w is not None])
        if not weights.any():
            raise InvalidInput(f'--weights: column "{preparation.weights}" is zero in every row')
    return TrainingData(X, y, weights, columns, len(y), gaps.n_dropped)


def fold_on_cluster(table: Table, preparation: Preparation, client: Any) -> TrainingData:
    """Return rows that stand for all of a table's, each of its files folded by a worker, which must see it too."""
    pieces = table.pieces()
    first_rows = np.cumsum([0, *(piece.n_rows or 0 for piece in pieces)])[:-1].tolist()
    futures = client.map(_fold_piece, pieces, first_rows, preparation=preparation, pure=False)
    while len(futures) > 1:  # joined in a tree, on the workers too
        futures = [client.submit(_join, futures[i : i + 8], pure=False) for i in range(0, len(futures), 8)]
    moments, gaps = _result(futures[0], client)
    preparation.refuse(table.path, gaps)
    rows = moments.rows()
    return TrainingData(
        rows.X, rows.y, rows.sample_weight, preparation.columns, rows.n_rows, gaps.n_dropped, folded=True
    )


def _result(future: Any, client: Any) -> Any:
    """Return the result of a future; raise ``WorkersLost`` where the cluster has no workers to compute it."""
    from partls.parallel.dask_cluster import Workers

    workers = Workers(client)
    while True:
        try:
            return future.result(timeout=1.0)
        except TimeoutError:
            workers.are_there()


def _fold_piece(piece: Table, first_row: int, preparation: Preparation) -> tuple[Moments, Gaps]:
    gaps = Gaps()
    chunks = _checked(preparation.chunks(piece, gaps, piece=True), preparation.weights, first_row)
    with single_threaded_blas():
        return Moments.of(chunks, len(preparation.columns) + 1), gaps


def _join(parts: list[tuple[Moments, Gaps]]) -> tuple[Moments, Gaps]:
    with single_threaded_blas():
        return Moments.joined([moments for moments, _ in parts]), sum((gaps for _, gaps in parts), Gaps())


def _handed_over(kept: list[Chunk]) -> Iterator[Chunk]:
    """Yield the chunks kept so far, first come first, each freed as it is used."""
    while kept:
        yield kept.pop(0)


def _read_ahead(chunks: Generator[Chunk]) -> Iterator[Chunk]:
    """Pass chunks on; while one is worked on, a thread reads the next."""
    with closing(chunks), ThreadPoolExecutor(1) as reader:
        following = reader.submit(next, chunks, None)
        while (chunk := following.result()) is not None:
            following = reader.submit(next, chunks, None)
            yield chunk


def _checked(chunks: Iterable[Chunk], name: str | None, first: int = 0) -> Generator[Chunk]:
    """Pass chunks on; refuse a negative weight. ``first`` rows came before them."""
    for X, y, weights in chunks:
        if weights is not None and (weights < 0).any():
            i = int(np.flatnonzero(weights < 0)[0])
            raise InvalidInput(f'--weights: column "{name}", row {first + i + 1} is {weights[i]:g}; it must be >= 0')
        first += len(y)
        yield X, y, weights
