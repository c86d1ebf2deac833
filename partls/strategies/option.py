"""Options of strategies: each is defined once, as a dataclass field with its default and its description."""

from __future__ import annotations

import textwrap
from dataclasses import Field, field, fields
from typing import Any, TypeVar

T = TypeVar("T")


def option(default: Any, description: str, *, refusal: str = "") -> Any:
    """Return a dataclass field with a description, which the docstring and the command line show.

    ``refusal`` is the message for those who give the option together with the name of another strategy. Without one
    it has no effect there.
    """
    return field(default=default, metadata={"description": description, "refusal": refusal})


def documented(strategy: type[T]) -> type[T]:
    """Add the descriptions of the fields to the docstring of a strategy, as its parameters."""
    own: Any = strategy
    lines = [f"{one.name} : default {one.default!r}\n{textwrap.indent(_wrapped(one), '    ')}" for one in fields(own)]
    listed = textwrap.indent("Parameters\n----------\n" + "\n".join(lines), "    ")
    before, mark, after = (strategy.__doc__ or "").partition("\n    Examples\n")
    strategy.__doc__ = f"{before.rstrip()}\n\n{listed}\n{mark}{after}"
    return strategy


def _wrapped(one: Field[Any]) -> str:
    return textwrap.fill(one.metadata["description"], 110)


def option_of(strategy: Any, name: str) -> Field[Any]:
    """Return the field of an option: its default and its description, for the command line."""
    (found,) = (one for one in fields(strategy) if one.name == name)
    return found
