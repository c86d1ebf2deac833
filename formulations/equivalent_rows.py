"""A few weighted rows with the squared error of many: what is left of data too large for memory.

The squared error of a linear model depends on the rows only through their total weight W, their mean and their
scatter about it. The triangular factor C of the scatter has M + 1 rows, and the rows

    mean                        with weight W (1 - d)
    mean + s c,  mean - s c     with weight W d / (2 (M + 1)) each, for every row c of C,   s^2 = (M + 1) / (W d)

have the same weight, mean and scatter. So every objective (any penalty, with or without an intercept) takes the same
value on them as on the data, and an ``Instance`` of these rows is the instance of the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.reduction import fold

Chunk = tuple[Floats, Floats, Floats | None]  # X, y and the weights of some rows

_BLOCK_ROWS = 1024  # a block and its reflectors stay in cache
_WELL_CONDITIONED = 0.01  # reciprocal condition number, in the 2-norm, whose square leaves 12 of 16 digits
_OUTER_WEIGHT = 2.0**-30  # d: the outer rows lie far out, so that adding a large mean costs them no digits


@dataclass(frozen=True, eq=False)
class EquivalentRows:
    """2 M + 3 rows that stand for the ``n_rows`` of the data."""

    X: Floats
    y: Floats
    sample_weight: Floats
    n_rows: int


def equivalent_rows(chunks: Iterable[Chunk], n_columns: int) -> EquivalentRows:
    """Return rows with the weight, mean and scatter of all chunks: one pass, memory for one chunk and a triangle."""
    pass_ = _Pass()
    triangle = fold(pass_.blocks(chunks), n_columns + 2)
    if len(triangle) < n_columns + 2:  # fewer rows than columns: they came back as they are
        padding = np.zeros((n_columns + 2 - len(triangle), n_columns + 2))
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, padding]), mode="r"))
    weight = triangle[0, 0] ** 2
    if not weight > 0:
        raise InvalidInput("there are no rows with a weight above zero")
    mean = pass_.shift + triangle[0, 1:] / triangle[0, 0]
    n = n_columns + 1
    outer = np.sqrt(n / (weight * _OUTER_WEIGHT)) * triangle[1:, 1:]
    rows = mean + np.vstack([np.zeros(n), outer, -outer])
    weights = np.full(len(rows), weight * _OUTER_WEIGHT / (2 * n))
    weights[0] = weight * (1 - _OUTER_WEIGHT)
    return EquivalentRows(rows[:, :-1], rows[:, -1], weights, pass_.n_rows)


class _Pass:
    """One pass over the rows: shifts them by the first chunk's mean, against cancellation, and counts them."""

    def __init__(self) -> None:
        self.shift: Floats = np.zeros(0)
        self.n_rows = 0

    def blocks(self, chunks: Iterable[Chunk]) -> Iterator[Floats]:
        """Yield the weighted rows [1, x - shift, y - shift], or a triangular factor of them where one is cheap."""
        buffer = np.empty((0, 0))
        for X, y, weights in chunks:
            if not len(X):
                continue
            if not len(self.shift):
                self.shift = np.append(X.mean(axis=0), y.mean())
            if len(buffer) < len(X):
                buffer = np.empty((len(X), X.shape[1] + 2), order="F")
            self.n_rows += len(X)
            rows = buffer[: len(X)]
            rows[:, 0] = 1.0
            np.subtract(X, self.shift[:-1], out=rows[:, 1:-1])
            np.subtract(y, self.shift[-1], out=rows[:, -1])
            if weights is not None:
                rows *= np.sqrt(weights)[:, None]
            factor = _cholesky(rows)
            if factor is not None:
                yield factor
                continue
            for start in range(0, len(rows), _BLOCK_ROWS):
                yield rows[start : start + _BLOCK_ROWS].copy(order="F")


def _cholesky(rows: Floats) -> Floats | None:
    """Return the triangle C with C'C = B'B from the product B'B, at a fifth of the cost of a QR factorisation.

    The product squares the condition number, so this is only for rows whose columns, scaled to length one, are far
    from dependent: None for all others.
    """
    if len(rows) < rows.shape[1]:
        return None
    product = rows.T @ rows
    lengths = np.sqrt(np.diag(product))
    if not lengths.all():
        return None
    scaled = product / np.outer(lengths, lengths)
    eigenvalues = np.linalg.eigvalsh(scaled)
    factor, failed = lapack.dpotrf(scaled, clean=True)
    if failed or eigenvalues[0] < _WELL_CONDITIONED**2 * eigenvalues[-1]:
        return None
    return np.asfortranarray(factor * lengths)
