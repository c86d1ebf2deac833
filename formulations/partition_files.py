"""Groups as files spell them (TOML, a 0/1 matrix, a long table), read into a plain list of named groups."""

from __future__ import annotations

import csv
import io
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from formulations.errors import InvalidInput, listing, no_such_file, refuse
from formulations.placement import Groups

Row = tuple[int, list[str]]  # (line number, cells)

DELIMITERS = (",", ";", "\t")
BITS = {"0": False, "1": True, "0.0": False, "1.0": True}


@dataclass(frozen=True)
class GroupFile:
    """The groups of one file, every column it names, and whether it names them in the order of some data."""

    groups: Groups
    columns: tuple[str, ...]
    ordered: bool


def read_file(path: Path) -> GroupFile:
    """Return the groups of a file: TOML if it is named so, otherwise a delimited 0/1 matrix or long table."""
    text = _read_text(path)
    if path.suffix.lower() == ".toml":
        return _read_toml(text)
    rows = _read_rows(text)
    if not rows:  # nothing but delimiters
        raise InvalidInput("the file is empty")
    (_, header), *body = rows
    _check_rows(header, body)
    is_long = len(header) == 2 and header[1].casefold() == "group"
    groups = _long_groups(body) if is_long else _table_groups(header[1:], body)
    return GroupFile(groups, tuple(row[0] for _, row in body), ordered=True)


def _read_text(path: Path) -> str:
    if os.path.isdir(path):  # unlike Path.is_dir, quiet about impossible names
        raise InvalidInput("this is a directory; give the file that lists the groups")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InvalidInput(no_such_file(path)) from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"byte {error.start} is not UTF-8 text; save it as CSV (UTF-8) or TOML") from None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"the file cannot be read ({error})") from None
    if not text.strip():
        raise InvalidInput("the file is empty")
    return text


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


def _check_rows(header: list[str], body: list[Row]) -> None:
    """Prove that the rows are as long as the header and each names a column of its own."""
    if not body:
        raise InvalidInput("there is a header but no row below it")
    problems: list[str] = []
    seen: dict[str, Row] = {}
    for line, row in body:
        if len(row) != len(header):
            problems.append(f"line {line} has {len(row)} cell(s), the header has {len(header)}")
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
        table = tomllib.loads(text).get("groups")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"this is not valid TOML ({error})") from None
    if not isinstance(table, dict):
        raise InvalidInput('there is no [groups] table; write [groups] and below it name = ["column", ...]')
    wrong = [
        f'group "{name}" is not a list of strings; write ["column", ...]'
        for name, members in table.items()
        if not isinstance(members, list) or not all(isinstance(member, str) for member in members)
    ]
    refuse(wrong, "the [groups] table")
    columns = dict.fromkeys(column for members in table.values() for column in members)
    return GroupFile(list(table.items()), tuple(columns), ordered=False)
