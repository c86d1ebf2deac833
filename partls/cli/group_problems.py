"""Every problem of a groups file with the table that it is for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches

from formulations.errors import InvalidInput, listing
from formulations.partition.placement import Extent, Groups, problems_with
from partls.cli.grouping import in_codes, remaining
from partls.cli.preparation import Preparation
from partls.cli.prepare import HOLDS, holding, levels_of, pronoun
from partls.cli.tables import Table


def examined(groups: Groups, table: Table, columns: tuple[str, ...], *, left_out: set[str], drop: Sequence[str],
             encode: str | None, missing: str) -> tuple[Preparation, Groups, list[str]]:
    """Return the columns as they are coded, the groups among them, and a line for each problem with the file."""
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
    """Return a line for each kind of column that holds no numbers."""
    allowed = ("number", "text") if encode else ("number",)
    found: dict[str, list[str]] = {}
    for name in columns:
        if table.kinds[name] not in allowed:
            found.setdefault(table.kinds[name], []).append(name)
    lines = []
    for kind, names in found.items():
        encoding = "use --encode onehot, in the fit too, or " if kind == "text" else ""
        lines.append(f"{holding(names, HOLDS[kind])}: {encoding}leave {pronoun(names)} out with --drop")
    return lines


def without_group(coded: Preparation, groups: Groups, *, named_target: bool) -> list[str]:
    """Return the columns in no group: those for which a group suggests itself, and one line for all others.

    A text column counts as one column if none of its codes is in a group.
    """
    extent, owner = Extent.of(coded.columns), dict[str, str]()
    for name, members in groups:
        for member in members:
            try:
                owner |= {coded.columns[j]: name for j in extent.find(member)}
            except InvalidInput:
                continue  # already reported
    lines, columns, codes = [], list[str](), list[str]()
    for feature in coded.features:
        loose = [code for code in coded.codes(feature) if code not in owner]
        whole = len(loose) == len(coded.codes(feature))
        for column in [feature] if whole and loose else loose:
            near = get_close_matches(column, owner, n=1)
            if near:
                lines.append(f'column "{column}" is in no group: add it to "{owner[near[0]]}", which has "{near[0]}"')
            else:
                (columns if whole else codes).append(column)
    target = "" if named_target else ", or name the target with --target"
    if columns:
        it = pronoun(columns)
        remedy = f"add {it} to a group, or leave {it} out with --drop{target}"
        lines.append(f"in no group: {listing(columns, limit=20)}: {remedy}")
    if codes:
        told = f"in no group, but values of text columns: {listing(codes, limit=20)}"
        lines.append(f"{told}: add {pronoun(codes)} to a group")
    return lines
