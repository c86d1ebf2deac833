"""Everything that is wrong with a groups file, beside the table it is for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from formulations.errors import InvalidInput
from formulations.partition.files import read_file
from formulations.partition.placement import Extent, Groups, problems_with
from partls.cli.grouping import in_codes, remaining
from partls.cli.preparation import Preparation
from partls.cli.prepare import HOLDS, levels_of
from partls.cli.tables import Table


def examined(file: Path, table: Table, columns: tuple[str, ...], *, left_out: set[str], drop: Sequence[str],
             encode: str | None, missing: str) -> tuple[Preparation, Groups, list[str]]:
    """Return the columns as they are coded, the groups among them, and a line for each problem with the file."""
    try:
        groups = read_file(file).groups
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from None
    known = remaining(dict(groups), drop)
    names = Counter(name for name, _ in groups)
    problems = [f'{count} groups are called "{name}"' for name, count in names.items() if count > 1]
    problems += [
        f'group "{name}": "{member}" is not among the features: take it out of the file'
        for name, members in known.items() for member in members if member in left_out
    ]
    coded = Preparation(columns, levels=levels_of(table, columns, missing) if encode else {})
    left = list(in_codes(remaining(known, left_out), coded).items())
    return coded, left, problems + problems_with(left, Extent.of(coded.columns), "free")


def wrong_kinds(table: Table, columns: Sequence[str], *, encode: str | None) -> list[str]:
    """Return a line for each column that holds no numbers."""
    allowed = ("number", "text") if encode else ("number",)
    return [
        f'column "{name}" holds {HOLDS[kind]}: leave it out with --drop "{name}"'
        if kind != "text" else f'column "{name}" holds text: use --encode onehot, in the fit too, or --drop "{name}"'
        for name, kind in table.kinds.items() if name in columns and kind not in allowed
    ]


def without_group(coded: Preparation, groups: Groups, *, named_target: bool) -> list[str]:
    """Return a line for each column in no group, with the group it would go to by its name.

    A text column none of whose codes is in a group is told as one.
    """
    extent, owner = Extent.of(coded.columns), dict[str, str]()
    for name, members in groups:
        for member in members:
            try:
                owner |= {coded.columns[j]: name for j in extent.find(member)}
            except InvalidInput:
                continue  # told already
    lines = []
    for feature in coded.features:
        loose = [code for code in coded.codes(feature) if code not in owner]
        whole = len(loose) == len(coded.codes(feature))
        for column in [feature] if whole and loose else loose:
            near = get_close_matches(column, owner, n=1)
            hint = f'add it to "{owner[near[0]]}", which has "{near[0]}"' if near else "add it to a group"
            out = f', or leave it out with --drop "{column}"' if whole else f'; it is a value of "{feature}"'
            also = "" if named_target or not whole else f', or, if it is the target, say --target "{column}"'
            lines.append(f'column "{column}" is in no group: {hint}{out}{also}')
    return lines
