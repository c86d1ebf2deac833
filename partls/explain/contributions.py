"""What each group adds to each prediction: ``prediction = intercept + sum_k X_k w_k``, term by term."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations.data import Floats
from formulations.partition import Partition
from partls.explain.report import name, number, table
from partls.runtime.notebook import ShownAsText

_SHOWN = 10  # rows
UNGROUPED, INTERCEPT = "(ungrouped)", "(intercept)"


@dataclass(frozen=True, eq=False)
class Contributions(ShownAsText):
    """One row per sample, one column per group; columns without a group and the intercept are columns of their own.

    The entries of a row sum to its prediction.
    """

    names: tuple[str, ...]
    values: Floats

    def __str__(self) -> str:
        """Show the first and the last rows, and the prediction of each."""
        n_rows = len(self.values)
        shown = range(n_rows) if n_rows <= _SHOWN else [*range(_SHOWN // 2), *range(n_rows - _SHOWN // 2, n_rows)]
        lines = [
            [str(i), *map(number, self.values[i]), number(self.predictions[i])] for i in shown
        ]
        if n_rows > _SHOWN:
            lines.insert(_SHOWN // 2, [f"({n_rows - _SHOWN} more)", *[""] * (len(self.names) + 1)])
        return table(("row", *map(name, self.names), "prediction"), lines)

    @property
    def predictions(self) -> Floats:
        """The sums of the rows."""
        return np.asarray(self.values.sum(axis=1))

    def to_pandas(self) -> Any:
        """Return the contributions as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.values, columns=list(self.names))


def contributions(X: Any, coef: Floats, intercept: float, partition: Partition) -> Contributions:
    """Return the contribution of every group to the prediction of every row of X (dense or sparse)."""
    labels = partition.labels
    parts = {name: labels == k for k, name in enumerate(partition.names)}
    if len(partition.free):
        parts[UNGROUPED] = labels < 0
    weights = np.column_stack([np.where(members, coef, 0.0) for members in parts.values()])
    values = np.asarray(X @ weights)
    return Contributions((*parts, INTERCEPT), np.column_stack([values, np.full(len(values), float(intercept))]))
