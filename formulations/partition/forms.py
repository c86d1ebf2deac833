"""Groups as Python objects spell them (lists, labels, 0/1 matrices), read into a plain list of named groups."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInput, counted, refuse
from formulations.partition.placement import FREE, Groups, Written, plain


def listed_members(name: object, members: Written) -> list[Written]:
    """Return the columns listed for one group, or refuse what is not a list."""
    single = not isinstance(members, Iterable) or isinstance(members, str | bytes | Mapping)
    if single or getattr(members, "ndim", 1) != 1:
        raise InvalidInput(f'group "{name}" must be a list of columns like ["a"] or [0], not {members!r}')
    return [plain(member) for member in members]


def label_groups(labels: Iterable[Any]) -> Groups:
    """Return the groups spelled by one label per column: sorted if all are integers, else as they appear."""
    rows: dict[Hashable, list[int]] = {}
    for j, label in enumerate(labels):
        key = _label(plain(label), j)
        if key is not None:
            rows.setdefault(key, []).append(j)
    integers = [key for key in rows if isinstance(key, int)]
    keys: Iterable[Hashable] = sorted(integers) if len(integers) == len(rows) else rows
    return [(str(key), rows[key]) for key in keys]


def _label(label: Written, j: int) -> Hashable | None:
    """Return the label as a key (2.0 is 2), or None for the spellings of "no group": None, NaN, -1 and ''."""
    if label is None or type(label).__name__ == "NAType":  # pandas.NA, which has no truth value
        return None
    if isinstance(label, float):
        if math.isnan(label):
            return None
        label = int(label) if label.is_integer() else label
    if isinstance(label, str):
        return label.strip() or None
    if not isinstance(label, Hashable):
        raise InvalidInput(f"the label of column {j} is {label!r}: a label is a string or a number")
    return None if label == FREE else label


def matrix_groups(array: NDArray[Any], names: Iterable[Any] | None) -> Groups:
    """Return the groups of an (M, K) array whose entry (m, k) is 1 if column m is in group k, else 0."""
    called = [f"g{k}" for k in range(array.shape[1])] if names is None else [str(name) for name in names]
    if len(called) != array.shape[1]:
        raise InvalidInput(f"{len(called)} group names for the {array.shape[1]} columns of a group matrix")
    wrong = np.argwhere(~np.vectorize(is_bit, otypes=[bool])(array))
    problems = [f"row {m}, column {k} is {plain(array[m, k])!r}" for m, k in wrong]
    refuse(problems, "a group matrix holds only 0 and 1 (names belong in a frame's index and header)")
    member = array.astype(bool)
    return [(name, np.flatnonzero(member[:, k]).tolist()) for k, name in enumerate(called)]


def is_bit(value: Written) -> bool:
    """Return whether the value is the number 0 or 1, or a truth value."""
    value = plain(value)
    return isinstance(value, Real) and value in (0, 1)


def is_matrix(groups: Written, n_columns: int) -> bool:
    """Return whether the groups are an (M, K) matrix; nested lists are one if they are M rows of 0 and 1."""
    shape = getattr(groups, "shape", None)
    if shape is None:
        rows = [row for row in groups if isinstance(row, list | tuple) and len(row) > 1]
        table = len(rows) == len(groups) == n_columns and len({len(row) for row in rows}) == 1
        return table and all(is_bit(cell) for row in rows for cell in row)
    if len(shape) == 2 and shape[0] != n_columns == shape[1]:
        raise InvalidInput(f"the group matrix has {counted(shape[0], 'row')} for {n_columns} columns; transpose it")
    return len(shape) == 2


def are_complete(labels: Written) -> bool:
    """Return whether the labels are an integer array that leaves no column without a group."""
    integers = isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "iu"
    return integers and labels.size > 0 and not (labels == FREE).any()


def is_nested(groups: Iterable[Any]) -> bool:
    """Return whether the groups are lists of columns rather than labels; refuse a mixture."""
    if isinstance(groups, np.ndarray) and groups.ndim == 1 and groups.dtype != object:
        return False
    nested = [isinstance(item, Iterable) and not isinstance(item, str | bytes) for item in groups]
    if any(nested) and not all(nested):
        raise InvalidInput("groups mix lists and single values; give one label per column, or only lists")
    return any(nested)
