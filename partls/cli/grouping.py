"""The groups of a file on the columns of X: a text column stands for all its codes; dropped columns leave."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from formulations.errors import InvalidInput, listing
from formulations.partition import Partition
from formulations.partition.files import GroupFile, read_file
from partls.cli.preparation import Preparation
from partls.cli.tables import Table


@dataclass(frozen=True)
class GroupsFile:
    """A groups file, read once: it may be a pipe.

    Attributes
    ----------
    path
        The file, as messages call it.
    content
        The groups, and what the file says of columns to leave out and of text.
    """

    path: Path
    content: GroupFile

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return what the file says."""
        try:
            return cls(path, read_file(path))
        except InvalidInput as error:
            raise InvalidInput(f"{path}: {error}") from None

    def dropped(self, table: Table, drop: Sequence[str] | None) -> list[str]:
        """Return the columns to leave out: those of ``--drop``, and those that the file names."""
        table.require(self.content.drop, f"{self.path}, drop")
        return list(dict.fromkeys([*(drop or ()), *self.content.drop]))

    def partition(self, preparation: Preparation, *, dropped: Collection[str], ungrouped: str) -> Partition:
        """Return the groups on the columns of X."""
        try:
            written = remaining(Partition.from_file(self.content, ungrouped="free").to_dict(), dropped)
        except InvalidInput as error:
            raise InvalidInput(f"{self.path}: {error}") from None
        for option, name in (("--target", preparation.target), ("--weights", preparation.weights)):
            if owner := next((group for group, members in written.items() if name in members), None):
                told = f'group "{owner}" lists "{name}", which {option} names'
                raise InvalidInput(f"{self.path}: {told}: take it out of the file")
        coded = in_codes(written, preparation)
        columns = preparation.columns
        try:
            return Partition.of(coded, n_columns=len(columns), columns=columns, ungrouped=ungrouped)
        except InvalidInput as error:
            hint = "; leave columns out of the model with --drop" if "in no group" in str(error) else ""
            listed = {member for members in written.values() for member in members}
            if hint and (loose := [name for name in preparation.levels if name not in listed]):
                hint += f"; the file lists a text column by its own name, as {listing(loose)}"
            told = str(error).replace('set ungrouped="free"', "say --ungrouped free")
            raise InvalidInput(f"{self.path}: {told}{hint}") from None


def remaining(groups: Mapping[str, Sequence[Any]], dropped: Collection[str]) -> dict[str, list[Any]]:
    """Return the groups without the columns left out, and without those of which nothing is left."""
    left = {name: [member for member in members if member not in dropped] for name, members in groups.items()}
    return {name: members for name, members in left.items() if members or not groups[name]}


def in_codes(groups: Mapping[str, Sequence[Any]], preparation: Preparation) -> dict[str, list[Any]]:
    """Return the groups on the columns of X, where a text column stands for all its codes."""
    return {
        name: [
            code for member in members
            for code in (preparation.codes(member) if member in preparation.levels else (member,))
        ]
        for name, members in groups.items()
    }
