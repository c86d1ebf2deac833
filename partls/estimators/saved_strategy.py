"""Strategies in saved models: a name, or an object with the name and the options that differ from their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from math import isfinite
from typing import Any

import numpy as np

from formulations.errors import InvalidInput, listing
from partls.strategies.choose import METHODS, STRATEGIES

_NOT_SAVED = {"executor", "checkpoint"}  # they belong to a machine
# Settings of version 1 that the strategy owns now
MOVED = frozenset({"relaxation", "search", "branching", "node_limit"})


def strategy_document(method: Any) -> Any:
    """Return a strategy as JSON has it, so that ``strategy_of`` can read it: a file holds no code.

    An option that is an object is written as its name where that name stands for it, and left out otherwise; so a
    strategy of the user's own is written as "auto".
    """
    if isinstance(method, str):
        return method
    if STRATEGIES.get(method.name) is not type(method):
        return "auto"
    saved = [(one, _written(method, one)) for one in fields(method) if one.name not in _NOT_SAVED]
    return {"name": method.name, **{one.name: value for one, value in saved if value != one.default}}


def _written(method: Any, one: Field[Any]) -> Any:
    """Return the value of an option as JSON has it; the default where the file cannot hold it."""
    value = getattr(method, one.name)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not isfinite(value):
        raise InvalidInput(f"{one.name}={value!r} of the strategy cannot be written to a file: give a finite number")
    if _is_plain(value):
        return value
    name = getattr(value, "name", None)
    return name if _can_be_read(type(method), one.name, name) else one.default


def _can_be_read(strategy: Any, option: str, name: Any) -> bool:
    try:
        strategy(**{option: name})
    except InvalidInput:
        return False
    return isinstance(name, str)


def strategy_of(document: Any) -> Any:
    """Return the strategy that a document describes; refuse one that this release does not know."""
    if isinstance(document, str) and document in METHODS:
        return document
    if not isinstance(document, Mapping) or document.get("name") not in STRATEGIES:
        raise InvalidInput(f'"method" is {document!r}: it must be, or name, one of {list(METHODS)}')
    strategy, options = STRATEGIES[document["name"]], {key: document[key] for key in document.keys() - {"name"}}
    if unknown := sorted(set(options) - {one.name for one in fields(strategy)}):
        raise InvalidInput(f'"method" holds {listing(unknown)}, which this release of partls does not know')
    return strategy(**options)


def with_strategy(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in which the strategy owns its options, as the files of version 1 kept them side by side."""
    kept = {name: value for name, value in settings.items() if name not in MOVED}
    method = kept.get("method", "auto")
    defaults = {one.name: one.default for one in fields(STRATEGIES["bnb"])}
    moved = {name: settings[name] for name in MOVED if settings.get(name, defaults[name]) != defaults[name]}
    if moved and method in ("auto", "bnb"):
        method = {"name": "bnb", **moved}
    return {**kept, "method": strategy_of(method)}


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float | list | tuple)
