"""Groups as files spell them (TOML, JSON, a 0/1 matrix, a long table), read into a plain list of named groups."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from formulations.errors import InvalidInput, counted, listing, no_such_file, refuse
from formulations.partition.placement import Groups

Row = tuple[int, list[str]]  # (line number, cells)

DELIMITERS = (",", ";", "\t")
LARGEST = 64 << 20  # bytes: the 0/1 matrix of a hundred thousand columns fits
_ASSIGNED = re.compile(r"""[\w"'-][^=,;\t]*=\s*\[""")  # a list in TOML
BITS = {"0": False, "1": True, "0.0": False, "1.0": True}


@dataclass(frozen=True)
class GroupFile:
    """The groups of one file, every column it names, and whether it names them in the order of some data.

    ``drop`` and ``encode``, which TOML alone has, are for the command line: columns of the table to leave out, and how
    text becomes numbers.
    """

    groups: Groups
    columns: tuple[str, ...]
    ordered: bool
    drop: tuple[str, ...] = ()
    encode: str | None = None


def read_file(path: Path) -> GroupFile:
    """Return the groups of a file: JSON, TOML, or a delimited 0/1 matrix or long table, as its content says."""
    text = _read_text(path)
    if text.lstrip().startswith("{"):
        return _read_json(text)
    if path.suffix.lower() == ".toml" or _is_toml(text):
        return _read_toml(text)
    rows = _read_rows(text)
    if not rows:  # nothing but delimiters
        raise InvalidInput("the file is empty")
    (_, header), *body = rows
    if _is_reversed(header, body):
        header, body = header[::-1], [(line, row[::-1]) for line, row in body]
    _check_rows(header, body)
    is_long = len(header) == 2 and header[1].casefold() == "group"
    groups = _long_groups(body) if is_long else _table_groups(header[1:], body)
    return GroupFile(groups, tuple(row[0] for _, row in body), ordered=True)


def _read_text(path: Path) -> str:
    if os.path.isdir(path):  # unlike Path.is_dir, quiet about impossible names
        raise InvalidInput("this is a directory; give the file that lists the groups")
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise InvalidInput(f"the file has more than {LARGEST >> 20} MiB; give the file that lists the groups")
        text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        raise InvalidInput(no_such_file(path)) from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"byte {error.start} is not UTF-8 text; save it as CSV (UTF-8) or TOML") from None
    except InvalidInput:
        raise
    except (OSError, ValueError) as error:
        raise InvalidInput(f"the file cannot be read ({error})") from None
    if not text.strip():
        raise InvalidInput("the file is empty")
    return text


def _is_toml(text: str) -> bool:
    """Return whether the content is TOML; the name does not count, because a pipe has none."""
    lines = [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("#")]
    return any(line.startswith("[groups]") for line in lines) or bool(lines and _ASSIGNED.match(lines[0]))


def _read_rows(text: str) -> list[Row]:
    """Return the non-blank rows as stripped cells, split at whichever delimiter the header has most of."""
    header = next(line for line in text.splitlines() if line.strip())
    # The header decides, not csv.Sniffer: a matrix of 0 and 1 gives the sniffer too little to go by.
    delimiter = max(DELIMITERS, key=header.count)
    if delimiter not in header:
        raise InvalidInput("the header has one cell; separate cells by a comma, a semicolon or a tab")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    except csv.Error as error:
        raise InvalidInput(f"line {reader.line_num} is not valid CSV ({error})") from None
    return [(line, cells) for line, cells in rows if any(cells)]


def _is_reversed(header: list[str], body: list[Row]) -> bool:
    """Return whether this is a long table with the groups in front; a matrix of one group has 0 and 1 behind them."""
    if len(header) != 2 or header[0].casefold() != "group" or header[1].casefold() == "group":
        return False
    return any(row[-1] not in BITS for _, row in body)


def _check_rows(header: list[str], body: list[Row]) -> None:
    """Prove that the rows are as long as the header and each names a column of its own."""
    if not body:
        raise InvalidInput("there is a header but no row below it")
    problems: list[str] = []
    seen: dict[str, Row] = {}
    for line, row in body:
        if len(row) != len(header):
            problems.append(f"line {line} has {counted(len(row), 'cell')}, the header has {len(header)}")
        elif not row[0]:
            problems.append(f"line {line} does not begin with the name of a column")
        elif row[0] in seen:
            first, cells = seen[row[0]]
            where = f"on line {first} ({listing(cells[1:])}) and on line {line} ({listing(row[1:])})"
            problems.append(f'column "{row[0]}" is {where}')
        seen.setdefault(row[0], (line, row))
    refuse(problems, "malformed table")


def _long_groups(body: list[Row]) -> Groups:
    """Return the groups of ``feature,group`` rows, as they appear; an empty group cell means no group."""
    groups: dict[str, list[str]] = {}
    for _, (column, group) in body:
        if group:
            groups.setdefault(group, []).append(column)
    return list(groups.items())


def _table_groups(names: list[str], body: list[Row]) -> Groups:
    """Return the groups of a 0/1 matrix with a column's name in front of each row."""
    wrong = [
        f'line {line}, column "{name}" is "{cell}"'
        for line, row in body
        for name, cell in zip(names, row[1:], strict=True)
        if cell not in BITS
    ]
    refuse(wrong, 'not a matrix of 0 and 1 (to list a group per row, head the second column "group")')
    return [(name, [row[0] for _, row in body if BITS[row[k]]]) for k, name in enumerate(names, start=1)]


def _read_toml(text: str) -> GroupFile:
    """Return the groups of a ``[groups]`` table whose entries are lists of column names."""
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"this is not valid TOML ({error})") from None
    table, drop, encode = content.get("groups"), content.get("drop", []), content.get("encode")
    if not isinstance(table, dict):
        raise InvalidInput('there is no [groups] table; write [groups] and below it name = ["column", ...]')
    if not isinstance(drop, list) or not all(isinstance(name, str) for name in drop):
        raise InvalidInput('drop is not a list of columns; write drop = ["column", ...]')
    if encode not in (None, "onehot"):
        raise InvalidInput(f'encode = {encode!r} is not "onehot"')
    return replace(_listed(table.items(), "the [groups] table"), drop=tuple(drop), encode=encode)


def _read_json(text: str) -> GroupFile:
    """Return the groups of an object ``{"name": ["column", ...]}``, which may stand under "groups" in another."""
    try:
        pairs: Any = json.loads(text, object_pairs_hook=tuple)  # pairs, for a name that comes twice to be seen
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"this is not valid JSON ({error})") from None
    if len(pairs) == 1 and pairs[0][0] == "groups" and isinstance(pairs[0][1], tuple):
        pairs = pairs[0][1]
    return _listed(pairs, "the groups")


def _listed(pairs: Iterable[tuple[str, Any]], what: str) -> GroupFile:
    """Return groups that list their columns by name."""
    groups = list(pairs)
    wrong = [
        f'group "{name}" is not a list of strings; write ["column", ...]'
        for name, members in groups
        if not isinstance(members, list) or not all(isinstance(member, str) for member in members)
    ]
    refuse(wrong, what)
    columns = dict.fromkeys(column for _, members in groups for column in members)
    return GroupFile(groups, tuple(columns), ordered=False)
