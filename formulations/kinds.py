"""What a column holds: numbers, or something that is none, such as dates, known by the name of its type."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from functools import lru_cache
from numbers import Complex, Real
from typing import Any

import numpy as np

from formulations.errors import InvalidInput

NUMBERS, DATES, COMPLEX, BYTES, NESTED = "numbers", "dates or durations", "complex values", "bytes", "lists or records"
TEXT, CATEGORIES, OBJECTS = "text", "categories", "objects"
BY_CELL = (TEXT, CATEGORIES, OBJECTS)  # where the cells are at hand, the first that is no number is named

# How NumPy, pandas, polars and Arrow call their types, in lower case; the first name that fits counts.
_NUMBER = r"u?int\d|float|double|longdouble|half|bool|decimal|null$"
_NAMES = [
    (rf"({_NUMBER})|dictionary<values=({_NUMBER})|sparse\[({_NUMBER})", NUMBERS),
    (r"date|time|duration|period|interval|month", DATES),
    (r"complex|clongdouble", COMPLEX),
    (r"binary|large_binary|fixed_size_binary|bytes", BYTES),
    (r"category|categorical|enum|dictionary", CATEGORIES),
    (r"list|large_list|fixed_size_list|array|struct|map|union|void", NESTED),
    (r"str|large_string|utf8", TEXT),
]
_REMEDIES = {
    DATES: "turn dates into numbers, such as days since the first",
    COMPLEX: "split complex numbers into real and imaginary parts (Complex data not supported)",
    BYTES: "decode bytes into numbers",
    NESTED: "give each part of a list a column of its own",
    TEXT: "encode text as numbers",
    CATEGORIES: "encode categories as numbers",
    OBJECTS: "the argument must be free of strings and other objects that are no numbers",
}
_NOT_REAL = (np.datetime64, np.timedelta64, np.character, np.void, np.ndarray)  # which NumPy gives a __float__


def kind_of(dtype: Any) -> str:
    """Return what a type of NumPy, pandas, polars or Arrow holds."""
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":  # whose name takes long
        return NUMBERS
    name = str(getattr(dtype, "name", None) or dtype).lower()
    if name == "category" and hasattr(getattr(dtype, "categories", None), "dtype"):  # of pandas
        return NUMBERS if kind_of(dtype.categories.dtype) == NUMBERS else CATEGORIES
    return _kind_named(name)


@lru_cache(1000)
def _kind_named(name: str) -> str:
    return next((kind for pattern, kind in _NAMES if re.match(pattern, name)), OBJECTS)


def kind_of_cell(cell: type) -> str:
    """Return what a Python type holds; missing values count as numbers, for they are refused as missing."""
    if issubclass(cell, date | time | timedelta | np.datetime64 | np.timedelta64) or cell.__name__ in _PANDAS_DATES:
        return DATES
    if issubclass(cell, Complex) and not issubclass(cell, Real):
        return COMPLEX
    if issubclass(cell, bytes | bytearray | memoryview):
        return BYTES
    if issubclass(cell, str):
        return TEXT
    number = issubclass(cell, Real | Decimal) or (hasattr(cell, "__float__") and not issubclass(cell, _NOT_REAL))
    return NUMBERS if number or cell.__name__ in ("NoneType", "NAType") else OBJECTS


_PANDAS_DATES = ("NaTType", "Period", "Interval")


def refuse_columns(name: str, found: Mapping[Any, str], limit: int = 20) -> None:
    """Refuse a table some of whose columns hold no numbers: what they hold, by the column."""
    if not found:
        return
    told = [f'"{column}" ({kind})' for column, kind in found.items()]
    more = f" and {len(told) - limit} more" if len(told) > limit else ""
    remedies = "; ".join(_REMEDIES[kind] for kind in dict.fromkeys(found.values()))
    listed = ", ".join(told[:limit]) + more
    columns = "1 column holds" if len(told) == 1 else f"{len(told):,} columns hold"
    raise InvalidInput(f"{name}: {columns} no numbers: {listed}; {remedies}; or drop the column")


def refuse_array(name: str, kind: str) -> None:
    """Refuse an array that holds no numbers."""
    if kind != NUMBERS:
        raise InvalidInput(f"{name} {'has' if kind == COMPLEX else 'holds'} {kind}, not numbers: {_REMEDIES[kind]}")


def remedy(kind: str) -> str:
    """Return what to do with a cell of this kind."""
    return "encode or drop it" if kind in (TEXT, CATEGORIES) else _REMEDIES[kind]
