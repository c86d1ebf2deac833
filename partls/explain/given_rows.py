"""The rows of a fit, given again: for what compressed rows or a loaded model cannot provide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from formulations.data import column_names
from formulations.errors import InvalidInput, listing
from formulations.instance import Instance
from formulations.rows.blocks import fold_blocks, in_blocks
from formulations.rows.equivalent_rows import EquivalentRows
from formulations.tolerances import ABSOLUTE_TOLERANCE
from partls.result import Result, target_size

_SAME_DATA = 1e-6  # relative difference of the objective at which data are not those of the fit


def on_rows(result: Result, X: Any, y: Any, sample_weight: Any, *, call: str) -> Result:
    """Return the result on its own rows or, with X and y, on the rows that they give again.

    Compressed rows alone are refused; ``call`` is the function that needs the rows, as the message shows it.
    """
    refuse_halves(X, y, sample_weight, call)
    if X is None:
        result.instance.require_rows(call.partition("(")[0], f"pass X and y again, {call}")
        return result
    columns = result.instance.partition.columns
    X = matched(X, columns)
    if in_blocks(X):
        folded = fold_blocks(X, y, sample_weight)
        _refuse_other_columns(folded.columns, columns)  # those of a Parquet folder are known only now
        X, y, sample_weight = folded, None, None
    given = result.instance.replace(X=X, y=y, sample_weight=sample_weight, columns=columns)
    return confirmed(replace(result, instance=given))


def refuse_halves(X: Any, y: Any, sample_weight: Any, call: str) -> None:
    """Refuse X without y, or y and weights without X; compressed rows are refused elsewhere."""
    if (X is None and (y is not None or sample_weight is not None)) or (
        X is not None and y is None and not isinstance(X, EquivalentRows)
    ):
        raise InvalidInput(f"X and y must be given together, and the weights of the fit with them: {call}")


def confirmed(result: Result, file: Path | None = None) -> Result:
    """Return a result on given rows, its objective recomputed; it must be that of the fit, or the rows are others."""
    objective = result.instance.objective(result.coef, result.intercept)
    size = max(result.objective, ABSOLUTE_TOLERANCE * _size(result.instance))
    if abs(objective - result.objective) > _SAME_DATA * size:
        remedy = "rows and weights" if file is None else "file"
        raise InvalidInput(
            f"the model has an objective of {objective:.8g} on {file or 'these rows'} and of {result.objective:.8g} on "
            f"the data it was fitted to: give the same {remedy}"
        )
    return replace(result, objective=objective, lower_bound=min(result.lower_bound, objective))


def _size(instance: Instance) -> float:
    return max(target_size(instance), float(instance.weights @ np.square(instance.y)))


def matched(X: Any, columns: tuple[Any, ...] | None) -> Any:
    """Return X with its columns in the order of the fit, found by name where both have names."""
    if isinstance(X, EquivalentRows):
        raise InvalidInput("X holds compressed rows: give the rows of the data")
    names = column_names(X)
    if names is None or columns is None or tuple(names) == columns:
        return X
    _refuse_other_columns(sorted(names, key=str), sorted(columns, key=str))
    return X[list(columns)]


def _refuse_other_columns(names: Sequence[Any] | None, columns: Sequence[Any] | None) -> None:
    if names is not None and columns is not None and list(names) != list(columns):
        odd = [*(name for name in names if name not in columns), *(name for name in columns if name not in names)]
        raise InvalidInput(f"X has other columns than the fit had, or in another order: {listing(odd or names)}")


def one_target(y: Any, k: int) -> Any:
    """Return the target in question of a y as the fit had it: an array or a frame of several, or just the one."""
    if y is None or isinstance(y, str) or np.ndim(y) < 2:
        return y
    if hasattr(y, "iloc"):
        return y.iloc[:, k]
    return (y if hasattr(y, "shape") else np.asarray(y))[:, k]
