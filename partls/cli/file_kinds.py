"""Detect the kind of a file from its first lines, so that arguments in the wrong order are recognised."""

from __future__ import annotations

from pathlib import Path

from formulations.errors import InvalidInput

_HEAD = 65_536  # bytes
_CALLED = {"groups": "a groups file", "model": "a saved model", "proof": "a certificate"}
_MARKS = {"model": b'"partls-model"', "proof": b'"partls certificate"'}


def check_arguments(usage: str, **given: Path) -> None:
    """Refuse files that are given in each other's place.

    ``given`` are the arguments by what they are to be: data, groups, model or proof.
    """
    for wanted, path in given.items():
        found = _kind_of(path)
        if found and found != wanted:
            raise InvalidInput(f"{path} is {_CALLED[found]}: the order is {usage}")


def _kind_of(path: Path) -> str:
    """Return groups, model or proof where a file is surely one of these; nothing for tables and pipes."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except (OSError, ValueError):
        return ""
    if head.lstrip().startswith(b"{"):
        return next((kind for kind, mark in _MARKS.items() if mark in head), "")
    lines = (line.strip() for line in head.splitlines())
    return "groups" if b"[groups]" in lines else ""
