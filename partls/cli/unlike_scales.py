"""Shares that mislead: those of features whose units differ in size by orders of magnitude."""

from __future__ import annotations

import numpy as np

from formulations.errors import listing
from formulations.partition import Partition
from partls.cli.training_data import TrainingData

_UNLIKE = 100.0  # times, between the standard deviations of two features of a group


def unlike_scales(partition: Partition, rows: TrainingData) -> str:
    """Return a note on the groups whose shares cannot be compared, or nothing.

    A share is that of a coefficient, which is per unit of its feature: a weight in pounds has a small one.
    """
    weights = np.ones(len(rows.y)) if rows.sample_weight is None else rows.sample_weight
    centred = rows.X - weights @ rows.X / weights.sum()
    scale = np.sqrt(weights @ np.square(centred) / weights.sum())
    found = []
    for k, name in enumerate(partition.names):
        own = scale[[m for m in partition.members(k) if scale[m] > 0]]
        if len(own) and own.max() > _UNLIKE * own.min():
            found.append(name)
    if not found:
        return ""
    return (
        f"note: the features of {listing(found)} differ more than {_UNLIKE:g}-fold in scale: their shares, which are "
        "per unit, cannot be compared; use --standardize"
    )
