"""A reduction with more columns free: from the triangle alone, without another look at the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.rows.fold import fold
from formulations.rows.free_block import FreeBlock, eliminate
from formulations.rows.least_squares import LeastSquares
from formulations.rows.reduction import Reduction, frozen, height_of, rescaled, rounding_share, smallest
from formulations.strengths import INTERCEPT


def with_free_columns(reduction: Reduction, problem: LeastSquares) -> Reduction:
    """Return the reduction of ``problem``, which is that of ``reduction`` but for groups that are free in it.

    Their columns are projected out of the triangle, and join the free ones: O(M^3), however many rows there are.
    """
    signed = problem.signed_columns()
    kept = np.isin(reduction._columns, signed)
    order = np.append(np.flatnonzero(~kept), np.flatnonzero(kept))
    rows = fold([_triangle(reduction, order)], len(order) + 1)
    freed = order[: len(order) - len(signed)]
    block, rows, pivots = eliminate(rows, reduction._columns[freed], reduction._exponents[freed])
    rows, again, left = rescaled(rows, None, explained=True)
    square = len(rows) > len(signed)
    height = height_of(rows[:-1] if square else rows)
    shares = np.append(pivots, left)
    return replace(
        reduction, R=frozen(rows[:height, :-1]), z=frozen(rows[:height, -1]),
        rest=float(rows[-1, -1] ** 2) if square else 0.0, l1=frozen(np.ldexp(reduction.l1[kept], -again)),
        labels=problem.labels[signed], names=_names(problem),
        independence=min(reduction.independence, smallest(shares, rounding_share(problem.n_rows, len(problem.labels)))),
        _columns=signed, _exponents=reduction._exponents[kept] - again,
        _free=_joined(reduction, block, kept, np.ldexp(1.0, -again)), problem=problem,
    )


def _triangle(reduction: Reduction, order: NDArray[np.intp]) -> Floats:
    """Return the rows [R z; 0 sqrt(rest)] with the columns of R in an order."""
    rows = np.column_stack([reduction.R[:, order], reduction.z])
    last = np.zeros((1, rows.shape[1]))
    last[0, -1] = np.sqrt(reduction.rest)
    return np.vstack([rows, last]) if reduction.rest > 0 else rows


def _joined(reduction: Reduction, block: FreeBlock, kept: NDArray[np.bool_], units: Floats) -> FreeBlock:
    """Return one block for the columns free before and those of ``block``, which come after them."""
    own = reduction._free
    first, rank = len(own.z_f), len(block.z_f)
    place = {int(column): k for k, column in enumerate(reduction._columns)}
    among = own.R_fc[:, [place[int(column)] for column in block.columns[:rank]]]
    return FreeBlock(
        columns=np.concatenate([own.columns[:first], block.columns[:rank], own.columns[first:], block.columns[rank:]]),
        exponents=np.concatenate(
            [own.exponents[:first], block.exponents[:rank], own.exponents[first:], block.exponents[rank:]]
        ),
        R_ff=np.block([[own.R_ff, among], [np.zeros((rank, first)), block.R_ff]]),
        R_fc=np.vstack([own.R_fc[:, kept], block.R_fc]) * units,
        z_f=np.append(own.z_f, block.z_f),
    )


def _names(problem: LeastSquares) -> tuple[str, ...]:
    return problem.partition.names + ((INTERCEPT,) if problem.strengths.intercept_has_sign else ())
