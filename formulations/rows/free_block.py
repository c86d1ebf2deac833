"""Columns without a sign constraint, projected out of the rows exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, qr, solve_triangular

from formulations.data import Floats
from formulations.rows.fold import fold

_RANK_TOLERANCE = 1e-12  # of a free column's own norm: below it the column repeats the free ones before it


@dataclass(frozen=True, eq=False)
class FreeBlock:
    """Unconstrained columns F, projected out: their optimal value given v solves ``R_ff u = z_f - R_fc v``."""

    columns: NDArray[np.intp]
    exponents: NDArray[np.intp]
    R_ff: Floats
    R_fc: Floats
    z_f: Floats

    def solve(self, v: Floats) -> Floats:
        """Return the optimal free coefficients u; zero for a column that repeats others."""
        rank = len(self.z_f)
        u = np.zeros(len(self.columns))
        if rank:
            u[:rank] = solve_triangular(self.R_ff, self.z_f - self.R_fc @ v)
        return u


def eliminate(rows: Floats, columns: NDArray[np.intp], exponents: NDArray[np.intp]
              ) -> tuple[FreeBlock, Floats, Floats]:
    """Return the block of the free ``columns``, which come first in the rows, the remaining rows and all pivots' sizes.

    The block has full column rank; the remaining rows are [R z; 0 sqrt(rest)].
    """
    n_free = len(columns)
    if n_free == 0:
        empty = np.zeros((0, rows.shape[1] - 1))
        return FreeBlock(columns, exponents, np.zeros((0, 0)), empty, np.zeros(0)), rows, np.ones(0)
    # A triangle is zero below the free columns' own rows; plain rows are not.
    height = n_free if len(rows) == rows.shape[1] else len(rows)
    if n_free == height == 1 and abs(rows[0, 0]) > _RANK_TOLERANCE:  # an intercept alone, mostly: nothing to rotate
        return FreeBlock(columns, exponents, rows[:1, :1], rows[:1, 1:-1], rows[:1, -1]), rows[1:, 1:], np.ones(1)
    (reflectors, factors), R_ff, pivots = qr(rows[:height, :n_free], mode="raw", pivoting=True)
    sizes = np.abs(np.diag(R_ff))
    rank = int((sizes > _RANK_TOLERANCE).sum())
    width = rows.shape[1] - n_free
    reflectors = reflectors[:, : len(factors)]
    rotated, _, _ = lapack.dormqr("L", "T", reflectors, factors, rows[:height, n_free:], lwork=64 * width)
    block = FreeBlock(columns[pivots], exponents[pivots], R_ff[:rank, :rank], rotated[:rank, :-1], rotated[:rank, -1])
    below, left = rows[height:, n_free:], rotated[rank:]
    return block, fold([below, left], width) if len(left) else below, sizes
