"""The same problem without some of its columns, and its models with these columns at zero."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.instance import Instance
from formulations.partition import Partition


def without_columns(instance: Instance, left_out: NDArray[np.intp]) -> Instance:
    """Return the problem without some columns; every group must keep one."""
    kept = np.setdiff1d(np.arange(instance.n_columns), left_out)
    partition = instance.partition
    names = None if partition.columns is None else tuple(partition.columns[j] for j in kept)
    fewer = instance.replace(
        X=instance.X[:, kept], groups=Partition(partition.names, partition.labels[kept], names), columns=names,
        folded_from=instance.folded_from,
    )
    whole = instance.least_squares
    own = fewer.least_squares
    fewer.least_squares = replace(own, x_shift=whole.x_shift[kept], y_shift=whole.y_shift)
    return fewer


def with_zeros(coef: Floats, n_columns: int, left_out: NDArray[np.intp]) -> Floats:
    """Return the coefficients of all columns, those left out at zero."""
    full = np.zeros(n_columns)
    full[np.setdiff1d(np.arange(n_columns), left_out)] = coef
    return full
