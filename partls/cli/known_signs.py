"""``--signs``: the signs of groups that are known beforehand."""

from __future__ import annotations

from typing import Annotated

import typer

from formulations.errors import InvalidInput
from formulations.partition import Partition
from formulations.partition.given_signs import given_signs

Signs = Annotated[
    list[str] | None,
    typer.Option("--signs", metavar="GROUP=+|-", help="Sign of a group that is known beforehand; may be repeated."),
]


def parsed(given: list[str] | None) -> dict[str, str] | str | None:
    """Return ``{group: sign}``, or one character for each group as ``partls verify`` also takes them."""
    if not given:
        return None
    if len(given) == 1 and not given[0].strip("+-0"):
        return given[0]
    signs: dict[str, str] = {}
    for text in given:
        name, equals, sign = text.rpartition("=")
        if not equals or sign not in ("+", "-", "0"):
            raise InvalidInput(f"--signs {text} must be GROUP=+ or GROUP=-")
        if name in signs:
            raise InvalidInput(f"--signs gives group {name!r} twice: keep one of them")
        signs[name] = sign
    return signs


def check(given: list[str] | None, partition: Partition) -> None:
    """Refuse signs of groups that do not exist."""
    try:
        given_signs(parsed(given), partition)
    except InvalidInput as error:
        raise InvalidInput(f"--signs: {error}") from None
