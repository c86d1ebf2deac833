"""Whole numbers as floating point has them: exact, or refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from formulations.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa


def as_floats(integers: pa.Array, name: str) -> pa.Array:
    """Return a column of integers as floats; refuse it if rounding changes a value, as it does to long identifiers."""
    import pyarrow as pa

    try:
        return integers.cast(pa.float64())  # refuses all beyond 2^53, in one fast pass
    except pa.ArrowInvalid:
        refuse_rounded(name, (value for value in integers.to_pylist() if value is not None))
        return integers.cast(pa.float64(), safe=False)


def refuse_rounded(name: str, integers: Iterable[int]) -> None:
    """Refuse a column with an integer that no float equals."""
    odd = next((value for value in integers if int(float(value)) != value), None)
    if odd is not None:
        raise InvalidInput(
            f'column "{name}" has whole numbers beyond 2^53, such as {odd}, which floating point cannot tell apart: '
            f'subtract a constant, or leave the column out with --drop "{name}"'
        )
