"""The signs of groups that a user knows beforehand: by name or position, in words or numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from formulations.errors import InvalidInput, counted
from formulations.partition import Partition

SIGN_WORDS = {"+": 1, "-": -1, "plus": 1, "minus": -1, "positive": 1, "negative": -1, "free": 0, "0": 0, "": 0}


def given_signs(signs: Any, partition: Partition, name: str = "signs") -> list[int]:
    """Return -1, 0 or +1 per group from ``{group: "+" or "-"}`` or from one sign per group; None decides nothing."""
    values = [0] * partition.n_groups
    if signs is None:
        return values
    if isinstance(signs, Mapping):
        pairs = [(_group(partition, key, name), _sign(f"{name}[{key!r}]", value)) for key, value in signs.items()]
    else:
        given = list(signs) if isinstance(signs, Iterable) else [signs]
        if len(given) != partition.n_groups:
            groups = counted(partition.n_groups, "group")
            raise InvalidInput(f"{name} has {counted(len(given), 'value')} but there are {groups}")
        pairs = [(k, _sign(f"{name}[{k}]", value)) for k, value in enumerate(given)]
    for k, sign in pairs:
        if values[k] and sign and sign != values[k]:
            raise InvalidInput(f"{name} gives group {partition.names[k]!r} both + and -: keep one of them")
        values[k] = sign or values[k]
    return values


def _group(partition: Partition, key: Any, name: str) -> int:
    if isinstance(key, str):
        return partition.index(key)
    if isinstance(key, (int, np.integer)) and 0 <= key < partition.n_groups:
        return int(key)
    raise InvalidInput(f"{name} names group {key!r}: groups are {list(partition.names)}")


def _sign(place: str, value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, str) and value.strip().lower() in SIGN_WORDS:
        return SIGN_WORDS[value.strip().lower()]
    if not isinstance(value, str) and value in (-1, 0, 1):
        return int(value)
    raise InvalidInput(f'{place}={value!r} is not a sign: use "+", "-" or None')
