"""Strategies in saved models: a name, or an object with the name and the options that differ from their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from formulations.errors import InvalidInput, listing
from partls.strategies.choose import METHODS, STRATEGIES

_NOT_SAVED = {"executor", "checkpoint"}  # they belong to a machine
# Settings of version 1 that the strategy owns now
MOVED = frozenset({"relaxation", "search", "branching", "node_limit"})


def strategy_document(method: Any) -> Any:
    """Return a strategy as JSON has it; an option that is an object is written as its name, or left out without one."""
    if isinstance(method, str):
        return method
    options = {}
    for one in fields(method):
        value = getattr(method, one.name)
        value = value if _is_plain(value) else getattr(value, "name", None)
        if one.name not in _NOT_SAVED and value != one.default and isinstance(value, str | int | float | list | tuple):
            options[one.name] = value
    return {"name": method.name, **options}


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
