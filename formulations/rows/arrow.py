"""Columns of Arrow tables as floating-point numbers, whole numbers kept or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from formulations.whole_numbers import EXACT, refuse_rounded

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_floats(column: Any, place: str, remedy: str = "leave the column out") -> Any:
    """Return a column of Arrow's as floats; refuse it if that rounds a whole number, as it does to long identifiers."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_integer(column.type):
        try:
            return column.cast(pa.float64())  # refuses all beyond 2^53, in one fast pass
        except pa.ArrowInvalid:
            refuse_rounded((value for value in column.to_pylist() if value is not None), place, remedy)
    floats = column if column.type == pa.float64() else column.cast(pa.float64(), safe=False)
    if pa.types.is_decimal(column.type) and reaches(floats, EXACT):
        refuse_rounded((value for value in column.to_pylist() if value is not None), place, remedy)
    return floats


def reaches(column: pa.Array, size: float) -> bool:
    """Return whether a column of numbers of Arrow's has a value of this size or beyond."""
    from pyarrow import compute

    extremes = compute.min_max(column).as_py()
    return any(value is not None and abs(value) >= size for value in extremes.values())
