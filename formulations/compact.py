"""The same instance on a few equivalent rows, small enough to send to other processes."""

from __future__ import annotations

from dataclasses import replace

from formulations.instance import Instance
from formulations.rows.equivalent_rows import equivalent_rows

_CHUNK_ROWS = 32_768


def compact(instance: Instance) -> Instance:
    """Return the same problem on few rows, its reduction the same to the last bit: what is worth sending elsewhere."""
    if len(instance.y) <= 2 * instance.n_columns + 3:
        return instance
    reduction, X, y, weights = instance.reduction, instance.X, instance.y, instance.sample_weight
    slices = (slice(start, start + _CHUNK_ROWS) for start in range(0, len(y), _CHUNK_ROWS))
    chunks = ((X[rows], y[rows], None if weights is None else weights[rows]) for rows in slices)
    rows = equivalent_rows(chunks, instance.n_columns)
    small = instance.replace(X=rows.X, y=rows.y, sample_weight=rows.sample_weight, folded_from=instance.n_rows)
    whole = instance.least_squares
    small.least_squares = replace(small.least_squares, x_shift=whole.x_shift, y_shift=whole.y_shift)
    small.reduction = replace(reduction, problem=small.least_squares)
    return small
