"""A few weighted rows with the squared error of many, for data too large for memory.

The squared error of a linear model depends on the rows only through their total weight W, their mean and their
scatter about it. The triangular factor C of the scatter has M + 1 rows, and the rows

    mean                        with weight W (1 - d)
    mean + s c,  mean - s c     with weight W d / (2 (M + 1)) each, for every row c of C,   s^2 = (M + 1) / (W d)

have the same weight, mean and scatter. So every objective (any penalty, with or without an intercept) takes the same
value on them as on the data, and an ``Instance`` of these rows is the instance of the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.rows.fold import BLOCK_ROWS, fold
from formulations.rows.scaling import SMALLEST_SQUARE

Chunk = tuple[Floats, Floats, Floats | None]  # X, y (or several targets) and the weights of some rows

_PRODUCT_ROWS = 4096  # a product is as quick as in one piece, and takes no memory to speak of
_WELL_CONDITIONED = 0.01  # reciprocal condition number, in the 2-norm, whose square leaves 12 of 16 digits
_OUTER_WEIGHT = 2.0**-30  # d: the outer rows lie far out, so that adding a large mean costs them no digits


@dataclass(frozen=True, eq=False)
class EquivalentRows:
    """2 (M + T) + 1 rows that stand for the ``n_rows`` of the data; y is a vector, or a table of T targets.

    ``Instance`` and ``PartLSRegressor.fit`` take these in place of X, with None for y.
    """

    X: Floats
    y: Floats
    sample_weight: Floats
    n_rows: int
    columns: tuple[Any, ...] | None = None  # their names, if they have any

    def frame(self) -> Any:
        """Return X with its names, if there are any."""
        if self.columns is None:
            return self.X
        import pandas as pd

        return pd.DataFrame(self.X, columns=list(self.columns))


@dataclass(frozen=True, eq=False)
class Moments:
    """All that the squared error sees of some rows [x, y]: their weight, their mean and the factor of their scatter.

    ``factor`` is the triangle C with ``C'C = sum_n w_n (row_n - mean)'(row_n - mean)``.
    """

    n_rows: int
    weight: float
    mean: Floats
    factor: Floats

    @classmethod
    def of(cls, chunks: Iterable[Chunk], width: int) -> Moments:
        """Return the moments of all chunks of ``width`` columns: one pass, memory for one chunk and a triangle."""
        pass_ = _Pass(width)
        triangle = fold(pass_.blocks(chunks), width + 1)
        if len(triangle) < width + 1:  # fewer rows than columns: they came back as they are
            padding = np.zeros((width + 1 - len(triangle), width + 1))
            triangle = np.asarray(np.linalg.qr(np.vstack([triangle, padding]), mode="r"))
        root = triangle[0, 0]
        mean = pass_.shift + (triangle[0, 1:] / root if root else 0.0)
        return cls(pass_.n_rows, float(root**2), mean, np.asarray(triangle[1:, 1:]))

    @classmethod
    def joined(cls, parts: Sequence[Moments]) -> Moments:
        """Return the moments of all rows of the parts: scatters add up, and so does that of the means."""
        n_rows, heavy = sum(part.n_rows for part in parts), [part for part in parts if part.weight > 0]
        if len(heavy) < 2:
            return replace(heavy[0] if heavy else parts[0], n_rows=n_rows)
        weights = np.array([part.weight for part in heavy])
        first = heavy[0].mean
        moved = np.array([part.mean - first for part in heavy])  # small beside the means: no digits are lost
        mean = weights @ moved / weights.sum()
        between = np.sqrt(weights)[:, None] * (moved - mean)
        factor = fold((np.array(rows, order="F") for rows in (*(part.factor for part in heavy), between)), len(first))
        return cls(n_rows, float(weights.sum()), first + mean, factor)

    def rows(self, n_targets: int | None = None) -> EquivalentRows:
        """Return rows with these moments; with ``n_targets`` y is a table."""
        if not self.weight > 0:
            raise InvalidInput("there are no rows with a weight above zero")
        n = len(self.mean)
        outer = np.sqrt(n / (self.weight * _OUTER_WEIGHT)) * self.factor
        rows = self.mean + np.vstack([np.zeros(n), outer, -outer])
        weights = np.full(len(rows), self.weight * _OUTER_WEIGHT / (2 * n))
        weights[0] = self.weight * (1 - _OUTER_WEIGHT)
        if n_targets is None:
            return EquivalentRows(rows[:, :-1], rows[:, -1], weights, self.n_rows)
        return EquivalentRows(rows[:, :-n_targets], rows[:, -n_targets:], weights, self.n_rows)


def equivalent_rows(chunks: Iterable[Chunk], n_columns: int) -> EquivalentRows:
    """Return rows with the weight, mean and scatter of all chunks: one pass, memory for one chunk and a triangle."""
    return Moments.of(chunks, n_columns + 1).rows()


class _Pass:
    """One pass over the rows: shifts them by the first chunk's mean, against cancellation, and counts them."""

    def __init__(self, width: int) -> None:
        self.shift = np.zeros(width)
        self.n_rows = 0

    def blocks(self, chunks: Iterable[Chunk]) -> Iterator[Floats]:
        """Yield the weighted rows [1, x - shift, y - shift], or a triangular factor of them where one is cheap."""
        for X, y, weights in chunks:
            if not len(X):
                continue
            targets = y.reshape(len(y), -1)
            if not self.n_rows:
                self.shift = np.append(X.mean(axis=0), targets.mean(axis=0))
            self.n_rows += len(X)
            factor = None
            if len(X) > len(self.shift):
                pieces = self._shifted(X, targets, weights, _PRODUCT_ROWS)
                with np.errstate(over="ignore", invalid="ignore"):  # such a product is refused
                    product = sum((rows.T @ rows for rows in pieces), np.zeros(()))
                factor = _cholesky(product)
            if factor is not None:
                yield factor
                continue
            for rows in self._shifted(X, targets, weights, BLOCK_ROWS):
                yield rows.copy(order="F")

    def _shifted(self, X: Floats, targets: Floats, weights: Floats | None, size: int) -> Iterator[Floats]:
        """Yield the rows of one chunk, ``size`` at a time, always in the same place: to be used at once."""
        M, buffer = X.shape[1], np.empty((min(len(X), size), 1 + len(self.shift)), order="F")
        for start in range(0, len(X), size):
            part = slice(start, start + size)
            rows = buffer[: len(X[part])]
            rows[:, 0] = 1.0
            np.subtract(X[part], self.shift[:M], out=rows[:, 1 : M + 1])
            np.subtract(targets[part], self.shift[M:], out=rows[:, M + 1 :])
            if weights is not None:
                rows *= np.sqrt(weights[part])[:, None]
            yield rows


def _cholesky(product: Floats) -> Floats | None:
    """Return the triangle C with C'C = B'B from the product B'B, at a fifth of the cost of a QR factorisation.

    The product squares the condition number, so this is only for rows B whose columns, scaled to length one, are far
    from dependent, and whose squares are floating-point numbers with all their digits: None for all others.
    """
    squares = np.diag(product)
    if not (squares.min() > SMALLEST_SQUARE and squares.max() < 1.0 / SMALLEST_SQUARE):
        return None
    lengths = np.sqrt(squares)
    scaled = product / np.outer(lengths, lengths)
    eigenvalues = np.linalg.eigvalsh(scaled)
    factor, failed = lapack.dpotrf(scaled, clean=True)
    if failed or eigenvalues[0] < _WELL_CONDITIONED**2 * eigenvalues[-1]:
        return None
    return np.asfortranarray(factor * lengths)
