"""Checks of single fields of a document: each returns the value with its type, or refuses it by the field's name."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

_MAX_BITS = 14_000  # of a whole number
_MAX_POWER = 512  # of two
_MAX_DEPTH = 16  # of nested objects and lists, in fields for information only
MOST_BRACKETS = 2**12  # of each kind, in fields for information only


class Malformed(Exception):  # noqa: N818
    """A field with the wrong type, length or range."""


def require(holds: bool, name: str) -> None:
    """Refuse a field unless the condition holds."""
    if not holds:
        raise Malformed(f"{name} is malformed")


def members(value: Any, names: Iterable[str], name: str) -> Mapping[str, Any]:
    """Return an object with exactly these members."""
    require(isinstance(value, Mapping) and set(value) == set(names), name)
    found: Mapping[str, Any] = value
    return found


def items(value: Any, name: str, length: int | None = None) -> list[Any]:
    """Return a list, of this length if one is given."""
    require(isinstance(value, list) and length in (None, len(value)), name)
    found: list[Any] = value
    return found


def text(value: Any, name: str, length: int, alphabet: str) -> str:
    """Return a string of this length over an alphabet."""
    require(isinstance(value, str) and len(value) == length and set(value) <= set(alphabet), name)
    return str(value)


def number(value: Any, name: str, lowest: float = -math.inf) -> float:
    """Return a finite floating-point number."""
    require(isinstance(value, float) and math.isfinite(value) and value >= lowest, name)
    return float(value)


def integer(value: Any, name: str) -> int:
    """Return a whole number that is not too long."""
    return integers([value], name)[0]


def integers(values: list[Any], name: str) -> list[int]:
    """Return whole numbers that are not too long."""
    require(all(type(value) is int for value in values), name)  # True is no number here
    require(max(map(int.bit_length, values), default=0) <= _MAX_BITS, name)
    return values


def power(value: Any, name: str, lowest: int = 0) -> int | None:
    """Return an exponent of two, or None."""
    if value is not None:
        require(lowest <= integer(value, name) <= _MAX_POWER, name)
    return None if value is None else int(value)


def informative(value: Any, name: str, most_bytes: int) -> dict[str, Any]:
    """Return a JSON object that proves nothing, once it is known to be small, shallow and fit to be written."""
    require(isinstance(value, dict), name)
    level: list[Any] = [value]
    for _ in range(_MAX_DEPTH):
        level = [part for node in level for part in _parts(node, name)]
    require(not level, name)
    try:
        spelled = json.dumps(value, ensure_ascii=False, allow_nan=False)
        size = len(spelled.encode())
    except ValueError:  # NaN, infinity, half of a surrogate pair
        raise Malformed(f"{name} is malformed") from None
    if size > most_bytes or max(spelled.count("["), spelled.count("{")) > MOST_BRACKETS:
        raise Malformed(f"{name} is too large: it may take {most_bytes} bytes, and {MOST_BRACKETS} brackets of a kind")
    found: dict[str, Any] = value
    return found


def _parts(node: Any, name: str) -> list[Any]:
    """Return the parts of an object or a list, and nothing for a value."""
    if isinstance(node, dict):
        require(all(isinstance(key, str) for key in node), name)
        return list(node.values())
    if isinstance(node, list):
        return node
    require(node is None or isinstance(node, str | int | float), name)
    require(not isinstance(node, int) or node.bit_length() <= _MAX_BITS, name)
    return []
