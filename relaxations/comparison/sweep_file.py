"""The file of a sweep: JSON lines, written in one step after each instance and checked before they are used."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from formulations.errors import InvalidInput
from relaxations.comparison.sweep_rows import Factors, SweepRow

_HEADER = {"format": "relaxations.sweep", "version": 1}
_SHOWN = 5  # bad lines that a message names


class SweepFile:
    """The rows of earlier runs by instance and relaxation, and those of this one."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(os.path.realpath(path))
        self._lines: dict[tuple[Factors, str], int] = {}
        self.rows: dict[tuple[Factors, str], SweepRow] = {}
        if self.path is None:
            return
        if self.path.is_dir() or not self.path.parent.is_dir():
            raise InvalidInput(f"resume={os.fspath(path or '')!r} cannot be written: its folder has to exist")
        if self.path.exists():
            self._read(self.path.read_bytes())

    def add(self, rows: Iterable[SweepRow]) -> None:
        """Keep rows that were run, and write the file anew: it is never half written."""
        new = {(row.factors, row.relaxation): row for row in rows if row.was_run}
        self.rows |= new
        if self.path is None or not new:
            return
        part = self.path.with_name(f"{self.path.name[:50]}.{secrets.token_hex(4)}.part")
        text = [_HEADER, *(row.document() for row in self.rows.values())]
        try:
            with part.open("x", encoding="utf-8") as file:
                file.writelines(json.dumps(line, allow_nan=False) + "\n" for line in text)
                file.flush()
                os.fsync(file.fileno())
            part.replace(self.path)
        finally:
            part.unlink(missing_ok=True)

    def known(self, factors: Factors, label: str, definition: str) -> SweepRow | None:
        """Return the row that the file has, or None; refuse one of another relaxation under the same label."""
        row = self.rows.get((factors, label))
        if row is not None and row.definition != definition:
            raise InvalidInput(
                f"{self.path}, line {self._lines[factors, label]}: {label!r} was {row.definition} and is {definition}: "
                "give it another label, or another file to resume from"
            )
        return row

    def _read(self, text: bytes) -> None:
        bad: list[str] = []
        lines = text.split(b"\n")
        if lines and not lines[-1]:
            lines.pop()
        with suppress(ValueError):
            if lines and _parsed(lines[0]) == _HEADER:
                lines[0] = b""
        if not lines or lines[0]:
            raise InvalidInput(f"{self.path} is not a file of a sweep (line 1): give another name to resume from")
        for number, line in enumerate(lines[1:], start=2):
            try:
                row = SweepRow.of(_parsed(line))
                key = row.factors, row.relaxation
                if key in self.rows:
                    raise ValueError(f"repeats line {self._lines[key]}")
                self.rows[key], self._lines[key] = row, number
            except ValueError as error:
                bad.append(f"line {number} {error}")
        if bad:
            more = f" and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
            told = "; ".join(bad[:_SHOWN]) + more
            raise InvalidInput(f"{self.path}: {told}: remove these lines, or give another file")


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8"), object_pairs_hook=_unique)
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise ValueError("is not JSON") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("has duplicate keys")
    return found
