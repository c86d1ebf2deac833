"""Read what the user hands over (arrays, frames, lists) into checked float arrays, naming what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInput

Floats = NDArray[np.float64]


def column_names(X: Any) -> tuple[Any, ...] | None:
    """Return the column names of a pandas or polars frame as they are, or None for data without names."""
    names = getattr(X, "columns", None)
    return None if names is None or callable(names) else tuple(names)


def as_matrix(X: Any, columns: tuple[Any, ...] | None) -> Floats:
    """Return X as a finite (N, M) float64 array; refuse text, gaps and wrong shapes by row and column."""
    if hasattr(X, "toarray"):  # scipy.sparse: the compressed problem is dense whatever X was
        X = X.toarray()
    array = _as_array(X, "X")
    if array.ndim != 2:
        raise InvalidInput(f"X must be a table of rows and columns, not {array.ndim}-dimensional: reshape it to (n, m)")
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise InvalidInput(f"X is empty: {array.shape[0]} row(s), {array.shape[1]} column(s)")
    matrix = _as_float(array, "X", columns)
    # A finite column sum proves a finite column at a tenth of the cost of testing every entry.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(np.ones(len(matrix)) @ matrix).all()
    if suspicious:
        _refuse_non_finite(matrix, "X", columns)
    return matrix


def as_vector(values: Any, name: str, length: int) -> Floats:
    """Return a finite float64 vector of the given length; a single-column table is accepted as a vector."""
    array = _as_array(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InvalidInput(f"{name} must be one-dimensional, got shape {array.shape}")
    if len(array) != length:
        raise InvalidInput(f"{name} has {len(array)} value(s) but X has {length} row(s)")
    vector = _as_float(array, name, None)
    _refuse_non_finite(vector, name, None)
    return vector


def _as_array(values: Any, name: str) -> NDArray[Any]:
    """Return an array of whatever the user gave; refuse ragged rows, masked entries and dates."""
    if np.ma.is_masked(values):
        raise InvalidInput(f"{name} has masked entries: fill or drop them")
    try:
        array = np.asarray(values)
    except ValueError:
        lengths = [len(row) if hasattr(row, "__len__") else 1 for row in values]
        odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), 0)
        raise InvalidInput(f"{name}, row {odd} has {lengths[odd]} value(s), row 0 has {lengths[0]}") from None
    if array.dtype.kind in "mM":
        raise InvalidInput(f"{name} holds dates or durations: turn them into numbers first")
    return array


def _as_float(array: NDArray[Any], name: str, columns: tuple[Any, ...] | None) -> Floats:
    if np.iscomplexobj(array):
        raise InvalidInput(f"{name} has complex values; only real numbers are supported")
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    for position in np.ndindex(array.shape):
        try:
            float(array[position])
        except (TypeError, ValueError, OverflowError):
            found = f"{_place(name, position, columns)} is {str(array[position])[:40]!r}"
            raise InvalidInput(f"{found}, not a number a float can hold: encode or drop it") from None
    raise InvalidInput(f"{name} cannot be read as numbers (dtype {array.dtype})")


def _refuse_non_finite(array: Floats, name: str, columns: tuple[Any, ...] | None) -> None:
    bad = ~np.isfinite(array)
    count = int(bad.sum())
    if count:
        position = tuple(int(i) for i in np.argwhere(bad)[0])
        more = f" ({count} such values in all)" if count > 1 else ""
        place = _place(name, position, columns)
        raise InvalidInput(f"{place} is {array[position]}{more}: impute or drop missing and infinite values")


def _place(name: str, position: tuple[int, ...], columns: tuple[Any, ...] | None) -> str:
    if len(position) == 1:
        return f"{name}, row {position[0]}"
    named = columns or ()  # their number is checked elsewhere
    column = repr(named[position[1]]) if position[1] < len(named) else str(position[1])
    return f"{name}, row {position[0]}, column {column}"
