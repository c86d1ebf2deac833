"""The groups of a file on the columns of X: a text column stands for all its codes; dropped columns leave."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from formulations.errors import InvalidInput, listing
from formulations.partition import Partition
from partls.cli.preparation import Preparation


def partition_of_file(file: Path, preparation: Preparation, *, dropped: Collection[str], ungrouped: str) -> Partition:
    """Return the groups of a file on the columns of X."""
    written = remaining(Partition.from_file(file, ungrouped="free").to_dict(), dropped)
    for option, name in (("--target", preparation.target), ("--weights", preparation.weights)):
        if owner := next((group for group, members in written.items() if name in members), None):
            told = f'group "{owner}" lists "{name}", which {option} names'
            raise InvalidInput(f"{file}: {told}: take it out of the file")
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
        raise InvalidInput(f"{file}: {told}{hint}") from None


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
