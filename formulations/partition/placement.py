"""Groups placed on columns: one label per column, or everything that is wrong with them at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInput, counted, listing, refuse, suggestion

Written = Any  # a value as the user wrote it, of any type until it is checked
Groups = list[tuple[str, list[Any]]]  # (group name, its columns as names or positions), in group order

FREE = -1  # the label of a column in no group
UNGROUPED = ("error", "free")
NAME_THEM = 'name them (in a pipeline: set_output(transform="pandas")) or use positions'
WILDCARDS = "*?["


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
            wanted = counted(n_columns, "column")
            raise InvalidInput(f"columns has {counted(len(names), 'name')} but there are {wanted}")
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
                codes = any(name.startswith(f"{member}_") for name in self.names)
                hint = f'; did you mean the pattern "{member}_*"?' if codes else suggestion(member, self.positions)
                raise InvalidInput(f'unknown column "{member}"{hint}')
            return self.positions[member]
        if isinstance(member, bool) or not isinstance(member, int):
            raise InvalidInput(f"{member!r} is neither a column name nor an integer position")
        if not 0 <= member < self.n:
            raise InvalidInput(f"position {member} is out of range: the {self.n} columns count from 0")
        return int(member)


def place(groups: Groups, extent: Extent, ungrouped: str, free: Iterable[str] = ()) -> NDArray[np.intp]:
    """Return the group of each column (-1: none), or raise one error that lists every problem.

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
    every = [*enumerate(groups), (FREE, ("(free)", list(free)))]
    named = [m for _, (_, members) in every for m in members if isinstance(m, str)] if extent.names is None else []
    if named:
        told = f"{listing(named)} {'is a name' if len(named) == 1 else 'are names'}"
        problems.append(f"{told}, but columns have none; {NAME_THEM}")
    for k, (name, members) in every:
        for member in members:
            if named and isinstance(member, str):
                continue
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
    if loose and ungrouped == "error" and not named:
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
