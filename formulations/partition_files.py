"""Groups as they are written down (lists, labels, 0/1 matrices, files), read and placed on columns.

Every form is first read into a plain list of named groups; :func:`place` then turns that list into one label
per column, or says everything that is wrong with it.
"""

from __future__ import annotations

import csv
import io
import math
import os
import tomllib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInput, listing, refuse, suggestion

Written = Any  # a value as the user wrote it, of any type until it is checked
Groups = list[tuple[str, list[Any]]]  # (group name, its columns as names or positions), in group order
Row = tuple[int, list[str]]  # (line number, cells)

FREE = -1  # the label of a column in no group
UNGROUPED = ("error", "free")
NAME_THEM = 'name them (in a pipeline: set_output(transform="pandas")) or use positions'
DELIMITERS = (",", ";", "\t")
WILDCARDS = "*?["
BITS = {"0": False, "1": True, "0.0": False, "1.0": True}


@dataclass(frozen=True)
class Extent:
    """The columns that groups are placed on: their number and, when known, their names."""

    n: int
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, columns: Iterable[Any] | None, n_columns: int | None = None) -> Extent:
        """Return the extent of named or merely counted columns; names 0, 1, ..., M-1 count as no names."""
        if columns is None:
            return cls(int(n_columns or 0))
        names = tuple(plain(name) for name in columns)
        if n_columns is not None and len(names) != n_columns:
            raise InvalidInput(f"columns has {len(names)} name(s) but there are {n_columns} column(s)")
        if all(isinstance(name, str) for name in names):
            return cls(len(names), names)
        if names == tuple(range(len(names))):
            return cls(len(names))
        # Other integers may be meant as names or as positions, and guessing is how groups get mispaired.
        hint = "make them strings to pair by name, or drop them to pair by position"
        raise InvalidInput(f"the columns are called {listing(names)}: {hint}")

    @classmethod
    def of_rows(cls, table: Written) -> Extent:
        """Return the columns that a table has rows for, named by the string index of a Series or frame."""
        index = getattr(table, "index", None)
        return cls.of(None if callable(index) else index, len(table))

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of each name."""
        return {name: j for j, name in enumerate(self.names or ())}

    def spell(self, j: int) -> str | int:
        """Return what a message calls column j: its name, or else its position."""
        return int(j) if self.names is None else self.names[j]

    def find(self, member: Written) -> list[int]:
        """Return the positions of the columns that a name, a pattern such as ``"Street_*"`` or an index means."""
        is_pattern = isinstance(member, str) and any(character in member for character in WILDCARDS)
        if not is_pattern or self.names is None or member in self.positions:
            return [self.locate(member)]
        found = [j for j, name in enumerate(self.names) if fnmatchcase(name, member)]
        if not found:
            raise InvalidInput(f'no column matches "{member}"{suggestion(member, self.positions)}')
        return found

    def locate(self, member: Written) -> int:
        """Return the position of a column given by name or index, or refuse it with the reason."""
        if isinstance(member, str):
            if self.names is None:
                raise InvalidInput(f'"{member}" is a name, but columns have none; {NAME_THEM}')
            if member not in self.positions:
                raise InvalidInput(f'unknown column "{member}"{suggestion(member, self.positions)}')
            return self.positions[member]
        if isinstance(member, bool) or not isinstance(member, int):
            raise InvalidInput(f"{member!r} is neither a column name nor an integer position")
        if not 0 <= member < self.n:
            raise InvalidInput(f"position {member} is out of range: the {self.n} columns count from 0")
        return int(member)


def place(groups: Groups, extent: Extent, ungrouped: str, free: Iterable[str] = ()) -> NDArray[np.intp]:
    """Return the group of each column (-1: none), or raise one error that tells all that is wrong.

    A column in no group is wrong unless ``ungrouped`` is "free" or the column is listed in ``free``.
    """
    labels, problems = _placed(groups, extent, ungrouped, free)
    refuse(problems, "cannot use these groups")
    return labels


def problems_with(groups: Groups, extent: Extent, ungrouped: str = "error") -> list[str]:
    """Return everything that is wrong with groups for these columns, a line each."""
    return _placed(groups, extent, ungrouped, ())[1]


def _placed(groups: Groups, extent: Extent, ungrouped: str, free: Iterable[str]) -> tuple[NDArray[np.intp], list[str]]:
    """Return the group of each column, and what is wrong."""
    if ungrouped not in UNGROUPED:
        hint = suggestion(str(ungrouped), UNGROUPED)
        raise InvalidInput(f'ungrouped={ungrouped!r} must be "error" or "free"{hint}')
    problems = _flaws(groups, extent)
    labels = np.full(extent.n, FREE, dtype=np.intp)
    owner: dict[int, str] = {}
    for k, (name, members) in [*enumerate(groups), (FREE, ("(free)", list(free)))]:
        for member in members:
            try:
                found = extent.find(member)
            except InvalidInput as wrong:
                problems.append(f'group "{name}": {wrong}')
                continue
            for j in found:
                if j in owner:
                    clash = "listed twice in group" if owner[j] == name else f'in group "{owner[j]}" and in group'
                    problems.append(f'column {listing([extent.spell(j)])} is {clash} "{name}"')
                owner[j], labels[j] = name, k
    loose = [extent.spell(j) for j in range(extent.n) if j not in owner]
    if loose and ungrouped == "error":
        problems.append(f'in no group: {listing(loose)}; add them to one, or set ungrouped="free"')
    return labels, problems


def _flaws(groups: Groups, extent: Extent) -> list[str]:
    """Return what is wrong with the groups before any column is looked up; refuse ambiguous column names."""
    repeated = [name for name, count in Counter(extent.names or ()).items() if count > 1]
    if repeated and any(isinstance(member, str) for _, members in groups for member in members):
        raise InvalidInput(
            f"several columns are called {listing(repeated)}; names must differ to pair by name"
        )
    names = Counter(name for name, _ in groups)
    problems = [f'{count} groups are called "{name}"' for name, count in names.items() if count > 1]
    problems += [f'group "{name}" is empty; list its columns or drop it' for name, ms in groups if not ms]
    problems += ["a group has no name; call it something"] if "" in names else []
    return problems if groups else ["there are none; put at least one column in a group"]


def plain(value: Written) -> Written:
    """Return the Python value of a NumPy scalar, and any other value unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def listed_members(name: object, members: Written) -> list[Written]:
    """Return the columns listed for one group, or refuse what is not a list."""
    single = not isinstance(members, Iterable) or isinstance(members, str | bytes | Mapping)
    if single or getattr(members, "ndim", 1) != 1:
        raise InvalidInput(f'group "{name}" must be a list of columns like ["a"] or [0], not {members!r}')
    return [plain(member) for member in members]


def label_groups(labels: Iterable[Any]) -> Groups:
    """Return the groups spelled by one label per column: sorted if all are integers, else as they appear."""
    rows: dict[Hashable, list[int]] = {}
    for j, label in enumerate(labels):
        key = _label(plain(label), j)
        if key is not None:
            rows.setdefault(key, []).append(j)
    integers = [key for key in rows if isinstance(key, int)]
    keys: Iterable[Hashable] = sorted(integers) if len(integers) == len(rows) else rows
    return [(str(key), rows[key]) for key in keys]


def _label(label: Written, j: int) -> Hashable | None:
    """Return the label as a key (2.0 is 2), or None for the spellings of "no group": None, NaN, -1 and ''."""
    if label is None or type(label).__name__ == "NAType":  # pandas.NA, which has no truth value
        return None
    if isinstance(label, float):
        if math.isnan(label):
            return None
        label = int(label) if label.is_integer() else label
    if isinstance(label, str):
        return label.strip() or None
    if not isinstance(label, Hashable):
        raise InvalidInput(f"the label of column {j} is {label!r}: a label is a string or a number")
    return None if label == FREE else label


def matrix_groups(array: NDArray[Any], names: Iterable[Any] | None) -> Groups:
    """Return the groups of an (M, K) array whose entry (m, k) is 1 if column m is in group k, else 0."""
    called = [f"g{k}" for k in range(array.shape[1])] if names is None else [str(name) for name in names]
    if len(called) != array.shape[1]:
        raise InvalidInput(f"{len(called)} group names for the {array.shape[1]} columns of a group matrix")
    wrong = np.argwhere(~np.vectorize(is_bit, otypes=[bool])(array))
    problems = [f"row {m}, column {k} is {plain(array[m, k])!r}" for m, k in wrong]
    refuse(problems, "a group matrix holds only 0 and 1 (names belong in a frame's index and header)")
    member = array.astype(bool)
    return [(name, np.flatnonzero(member[:, k]).tolist()) for k, name in enumerate(called)]


def is_bit(value: Written) -> bool:
    """Return whether the value is the number 0 or 1, or a truth value."""
    value = plain(value)
    return isinstance(value, Real) and value in (0, 1)


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
        raise InvalidInput("there is no such file (a string is read as the path of a groups file)") from None
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
