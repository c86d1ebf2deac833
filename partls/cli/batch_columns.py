"""A column of a batch of rows as numbers, its gaps noted, or as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from formulations.data import Floats
from formulations.rows.arrow import arrow_floats
from partls.cli.missing_values import Gaps
from partls.cli.tables.table import dropped

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST = 1e150  # in size: the squares of a hundred million such values still add up to a float


def numbers(batch: pa.RecordBatch, name: str, gaps: Gaps) -> Floats:
    """Return one column as floats, what is missing as NaN, and count what is missing or infinite."""
    column = batch.column(batch.schema.get_field_index(name))
    column = arrow_floats(column, f'column "{name}"', dropped(name))
    values: Floats = column.to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(values @ values)  # one pass that proves most columns whole
    if suspicious:
        gaps.missing.note(name, np.isnan(values), gaps.n_rows)
        gaps.infinite.note(name, np.isinf(values), gaps.n_rows)
        gaps.too_large.note(name, np.isfinite(values) & (np.abs(values) > LARGEST), gaps.n_rows)
    return values


def spelled(batch: pa.RecordBatch, name: str, *, unique: bool = False) -> list[Any]:
    """Return the text of one column, None where it is missing; ``unique`` returns each text once."""
    import pyarrow as pa

    column = batch.column(batch.schema.get_field_index(name))
    if unique and not pa.types.is_string_view(column.type):  # whose nulls Arrow returns as ""
        column = column.unique()
    values = column.to_pylist()
    return list(dict.fromkeys(values)) if unique else list(values)
