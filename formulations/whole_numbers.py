"""Whole numbers as floating point has them: exact, or refused. One rule for every kind of data."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInput

EXACT = 2**53  # all whole numbers up to here are floats
_EXACT_TYPES = (int, np.integer, Decimal, Fraction)


def may_round(dtype: Any) -> bool:
    """Return whether a type of numbers has whole numbers beyond 2^53."""
    if isinstance(dtype, np.dtype) and dtype.kind == "f":  # whose name takes long
        return False
    name = str(getattr(dtype, "name", None) or dtype).lower()
    return re.match(r"(sparse\[)?(u?int(64|128)|decimal)", name) is not None


def refuse_rounded(values: Iterable[Any], place: str, remedy: str = "leave the column out") -> None:
    """Refuse values among which is a whole number that no float equals; ``place`` says which column it is."""
    odd = next((value for value in values if _is_rounded(value)), None)
    if odd is not None:
        told = str(int(odd))
        told = told if len(told) <= 40 else f"{told[:40]}..."
        raise InvalidInput(
            f"{place} has whole numbers beyond 2^53, such as {told}, which floating point cannot tell apart: "
            f"subtract a constant, or {remedy}"
        )


def refuse_rounded_in(values: NDArray[Any], place: str) -> None:
    """Refuse an array of integers or objects with a whole number that no float equals."""
    if values.dtype.kind == "O":
        refuse_rounded(_large(values), place)
    elif values.dtype.kind in "iu" and values.size and max(int(values.max()), -int(values.min())) > EXACT:
        refuse_rounded(values[(values > EXACT) | (values < -EXACT)].tolist(), place)


def _large(objects: NDArray[Any]) -> Iterable[Any]:
    """Return what may be a whole number beyond 2^53."""
    try:
        floats = objects.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return objects.flat
    return objects[np.abs(floats) >= EXACT].flat


def _is_rounded(value: Any) -> bool:
    """Return whether this is a whole number that no float equals; one beyond all floats is for others to judge."""
    if not isinstance(value, _EXACT_TYPES) or (isinstance(value, Decimal) and not value.is_finite()):
        return False
    size: Any = abs(value)
    if not EXACT < size < 2**1023:
        return False
    whole = int(value)
    return bool(whole == value) and int(float(whole)) != whole
