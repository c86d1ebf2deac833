"""Read the user's arrays, frames and lists into checked float arrays; messages name the faulty row or column."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInput, NotANumber, counted
from formulations.kinds import (
    BY_CELL,
    NUMBERS,
    TEXT,
    kind_of,
    kind_of_cell,
    refuse_array,
    refuse_columns,
    remedy,
)
from formulations.whole_numbers import EXACT, may_round, refuse_rounded_in

Floats = NDArray[np.float64]


def column_names(X: Any) -> tuple[Any, ...] | None:
    """Return the column names of a frame of pandas or polars or of Arrow's table, or None for data without names."""
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return None if names is None or callable(names) else tuple(names)


def as_matrix(X: Any, columns: tuple[Any, ...] | None) -> Floats:
    """Return X as a finite (N, M) float64 array; refuse text, gaps and wrong shapes by row and column."""
    array = refuse_other_kinds(X, "X", columns)
    if hasattr(array, "toarray"):  # scipy.sparse: the compressed problem is dense whatever X was
        array = array.toarray()
    array = np.asarray(array)
    if array.ndim != 2:
        raise InvalidInput(f"X must be a table of rows and columns, not {array.ndim}-dimensional: reshape it to (n, m)")
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise InvalidInput(f"X is empty: {counted(array.shape[0], 'row')}, {counted(array.shape[1], 'column')}")
    matrix = _as_float(array, "X", columns)
    # A finite column sum proves a finite column at a tenth of the cost of testing every entry.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(np.ones(len(matrix)) @ matrix).all()
    if suspicious:
        _refuse_non_finite(matrix, "X", columns)
    return matrix


def as_vector(values: Any, name: str, length: int) -> Floats:
    """Return a finite float64 vector of the given length; a single-column table is accepted as a vector."""
    array = np.asarray(refuse_other_kinds(values, name))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InvalidInput(f"{name} must be one-dimensional, got shape {array.shape}")
    if len(array) != length:
        raise InvalidInput(f"{name} has {counted(len(array), 'value')} but X has {counted(length, 'row')}")
    vector = _as_float(array, name, None)
    _refuse_non_finite(vector, name, None)
    return vector


def as_numbers(values: Any, name: str) -> Floats:
    """Return values as floats, what is missing as NaN."""
    return _as_float(np.asarray(refuse_other_kinds(values, name)), name, column_names(values))


def refuse_missing(values: Any, name: str) -> None:
    """Refuse missing and infinite values, by row and column."""
    _refuse_non_finite(as_numbers(values, name), name, column_names(values))


def refuse_other_kinds(values: Any, name: str, columns: tuple[Any, ...] | None = None) -> Any:
    """Refuse what is no number, and whole numbers that floating point would round; return lists as an array.

    Missing values pass: they are refused, by row and column, where the numbers are read.
    """
    types = _types_of(values)
    if types is None:
        array = values if hasattr(values, "dtype") else _as_array(values, name)
        _refuse_masked(values, name)
        _refuse_in(array, name, columns)
        return array
    labels, kinds = column_names(values) or (), {dtype: kind_of(dtype) for dtype in set(types)}
    refuse_columns(name, {
        label: kinds[dtype] for label, dtype in zip(labels, types, strict=True)
        if kinds[dtype] not in (NUMBERS, *BY_CELL)
    })
    looked_at = {dtype for dtype in kinds if kinds[dtype] in BY_CELL or may_round(dtype)}
    for j, (label, dtype) in enumerate(zip(labels, types, strict=True)):
        if dtype in looked_at:
            _refuse_in(_column(values, j), name, (label,))
    return values


def _column(table: Any, j: int) -> Any:
    """Return one column of a frame of pandas or polars or of Arrow's table."""
    if hasattr(table, "iloc"):
        return table.iloc[:, j]
    return table.to_series(j) if hasattr(table, "to_series") else table.column(j)


def _types_of(values: Any) -> list[Any] | None:
    """Return the types of the columns of a frame of pandas or polars or of Arrow's table, else None."""
    if column_names(values) is None:
        return None
    if hasattr(values, "schema") and hasattr(values, "column_names"):
        return list(values.schema.types)
    return list(values.dtypes) if hasattr(values, "dtypes") else None


def _type(column: Any) -> Any:
    return column.dtype if hasattr(column, "dtype") else column.type  # the latter is Arrow's


def _refuse_in(values: Any, name: str, columns: tuple[Any, ...] | None) -> None:
    """Refuse an array, a column or a sparse matrix that does not hold numbers alone."""
    kind = kind_of(_type(values))
    place = name if columns is None or len(columns) != 1 else f"{name}, column {columns[0]!r}"
    if kind not in (NUMBERS, *BY_CELL):
        refuse_array(place, kind)
    elif kind in BY_CELL:
        cells = np.asarray(values, dtype=object)
        _refuse_cells(cells, name, columns)
        refuse_rounded_in(cells, place)
    elif may_round(_type(values)):
        refuse_rounded_in(_present(values), place)


def _present(column: Any) -> NDArray[Any]:
    """Return what a column of whole numbers holds, exactly: gaps would make floats of them."""
    if hasattr(column, "toarray"):  # scipy.sparse
        return np.asarray(column.data)
    if isinstance(column, np.ndarray):
        return column
    drop = next(getattr(column, name) for name in ("dropna", "drop_nulls", "drop_null") if hasattr(column, name))
    if re.match("decimal|u?int128", str(_type(column)).lower()):  # which NumPy would take as floats, if at all
        return np.array(drop().to_pylist() if hasattr(column, "to_pylist") else drop().to_list(), dtype=object)
    return np.asarray(drop())


def _refuse_cells(cells: NDArray[Any], name: str, columns: tuple[Any, ...] | None) -> None:
    """Refuse the first cell of a type that is no number."""
    kinds = {cell: kind_of_cell(cell) for cell in set(map(type, cells.flat))}
    if cells.ndim not in (1, 2) or all(kind == NUMBERS for kind in kinds.values()):
        return  # other shapes are refused as such
    odd = [i for i, cell in enumerate(cells.flat) if kinds[type(cell)] != NUMBERS]
    first = next((i for i in odd if not _reads_as_number(cells.flat[i])), odd[0])
    cell = cells.flat[first]
    position = tuple(int(i) for i in np.unravel_index(first, cells.shape))
    if columns is not None and len(columns) == 1 and cells.ndim == 1:
        position = (*position, 0)
    kind, place = kinds[type(cell)], _place(name, position, columns)
    if kind == TEXT and _reads_as_number(cell):
        raise NotANumber(f"{place} is the text {str(cell)[:40]!r}: turn it into a number")
    raise NotANumber(f"{place} is {str(cell)[:40]!r}, not a number a float can hold: {remedy(kind)}")


def _reads_as_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _refuse_masked(values: Any, name: str) -> None:
    if np.ma.is_masked(values):
        raise InvalidInput(f"{name} has masked entries: fill or drop them")


def _as_array(values: Any, name: str) -> NDArray[Any]:
    """Return an array of a list; refuse ragged rows."""
    try:
        array = np.asarray(values)
    except TypeError:  # dates beside numbers have no type in common
        array = np.asarray(values, dtype=object)
    except ValueError:
        lengths = [len(row) if hasattr(row, "__len__") else 1 for row in values]
        odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), 0)
        raise InvalidInput(f"{name}, row {odd} has {counted(lengths[odd], 'value')}, row 0 has {lengths[0]}") from None
    if array.dtype.kind == "f" and (np.abs(array) >= EXACT).any():  # whole numbers beside others are rounded by now
        refuse_rounded_in(np.asarray(values, dtype=object), name)
    return array


def _as_float(array: NDArray[Any], name: str, columns: tuple[Any, ...] | None) -> Floats:
    try:
        return np.asarray(_without_na(array), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    for position in np.ndindex(array.shape):
        try:
            float(array[position])
        except (TypeError, ValueError, OverflowError):
            found = f"{_place(name, position, columns)} is {str(array[position])[:40]!r}"
            raise InvalidInput(f"{found}, not a number a float can hold: encode or drop it") from None
    raise InvalidInput(f"{name} cannot be read as numbers (dtype {array.dtype})")


def _without_na(array: NDArray[Any]) -> NDArray[Any]:
    """Return objects with NaN in the place of what pandas calls NA."""
    if array.dtype.kind != "O":
        return array
    cells = [np.nan if type(cell).__name__ == "NAType" else cell for cell in array.flat]
    plain = np.empty(len(cells), dtype=object)
    plain[:] = cells
    return plain.reshape(array.shape)


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
