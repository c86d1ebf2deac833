"""``partls groups``: a first draft of a groups file, and everything that is wrong with one."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Mapping, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from formulations.errors import InvalidInput, InvalidOption, counted
from formulations.partition.placement import UNGROUPED, Extent, Groups
from partls.cli import data_options as source
from partls.cli.file_kinds import check_arguments
from partls.cli.group_drafts import DRAFTS, Draft, by_column, by_correlation, by_prefix
from partls.cli.group_problems import examined, without_group, wrong_kinds
from partls.cli.grouping import GroupsFile
from partls.cli.option_groups import unbundled
from partls.cli.output import BAD_INPUT, Force, guarded, print_document, say, say_to_people, tell
from partls.cli.output_paths import check_places
from partls.cli.preparation import MISSING, Preparation
from partls.cli.prepare import means_of
from partls.cli.streams import print_stdout
from partls.cli.tables import Table
from partls.cli.unsuitable import unsuitable
from partls.runtime.atomic_files import write_whole
from partls.runtime.options import chosen

app = typer.Typer(rich_markup_mode=None, help="Write a groups file to edit, or check one.")


@dataclass(frozen=True, kw_only=True)
class Features:
    """What is left out of the groups."""

    target: Annotated[str | None, typer.Option(metavar="COL", help="Column to explain, which is in no group.")] = None
    weights: source.Weights = None
    drop: source.Drop = None

    @property
    def left_out(self) -> set[str]:
        """The columns that are in no group."""
        return {*filter(None, [self.target, self.weights]), *(self.drop or ())}

    def of(self, table: Table) -> tuple[str, ...]:
        """Return the columns to put into groups."""
        for option, name in (("--target", self.target), ("--weights", self.weights)):
            table.require([] if name is None else [name], option)
        table.require(self.drop or [], "--drop")
        features = tuple(name for name in table.columns if name not in self.left_out)
        if not features:
            raise InvalidInput(f"{table.path} has no columns to put into groups")
        return features


@app.command(short_help="Write a groups file to edit.")
@guarded
@unbundled
def init(
    data: source.Data,
    features: Features,
    spelling: source.Spelling,
    by: Annotated[
        str,
        typer.Option(metavar="correlation|prefix|column", help="Columns that rise and fall together, columns whose "
                     "names begin alike, or one group per column.", autocompletion=lambda: list(DRAFTS)),
    ] = "correlation",
    threshold: Annotated[
        float, typer.Option(metavar="R", help="Mean correlation inside a group, between 0 and 1.")
    ] = 0.5,
    out: Annotated[Path | None, typer.Option(metavar="groups.toml", help="[default: standard output]")] = None,
    force: Force = False,
    as_json: source.AsJson = False,
) -> None:
    """Draft a groups file for you to edit: only you know which columns should share a sign.

    For example:

        partls groups init houses.csv --target price --out groups.toml

        partls groups init houses.csv --target price --by prefix
    """
    chosen("by", by, DRAFTS)
    if not 0 <= threshold <= 1:
        raise InvalidOption("threshold", threshold, "must be between 0 and 1")
    check_places({"--out": out}, {"the data": data}, force=force)
    if out is not None and out.suffix.lower() != ".toml":
        raise InvalidInput(f"--out {out}: the draft is TOML; let the name end in .toml")
    table = spelling.open(data)
    draft = _drafted(table, features.of(table), by, threshold)
    if as_json:
        print_document({"groups": draft.groups, "drop": draft.left_out, "encode": "onehot" if draft.encode else None})
    elif out is None:
        print_stdout(draft.as_toml(_heading(data, features.target, "groups.toml")).rstrip("\n"))
    else:
        write_whole(out, draft.as_toml(_heading(data, features.target, str(out))))
        n_columns = sum(map(len, draft.groups.values()))
        left = f" ({len(draft.left_out)} left out)" if draft.left_out else ""
        say_to_people(f"{_sizes(n_columns, draft.groups)}{left} written to {out}: edit them, then partls fit")


@app.command(short_help="List everything that is wrong with a groups file.")
@guarded
@unbundled
def check(
    data: source.Data,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The groups file.")],
    features: Features,
    spelling: source.Spelling,
    encode: source.Encode = None,
    missing: source.Missing = "error",
    ungrouped: source.Ungrouped = "error",
    as_json: source.AsJson = False,
) -> None:
    """List everything that is wrong with a groups file, with suggestions.

    Example: partls groups check houses.csv groups.toml --target price
    """
    check_arguments("partls groups check DATA GROUPS", data=data, groups=file)
    chosen("ungrouped", ungrouped, UNGROUPED)
    chosen("encode", encode or "onehot", ["onehot"])
    chosen("missing", missing, MISSING)
    table = spelling.open(data)
    written = GroupsFile.read(file)
    features = replace(features, drop=written.dropped(table, features.drop))
    encode = encode or written.content.encode
    columns = features.of(table)
    coded, groups, problems = examined(
        written.content.groups, table, columns, left_out=features.left_out, drop=features.drop or (), encode=encode,
        missing=missing,
    )
    if ungrouped == "error":
        problems += without_group(coded, groups, named_target=features.target is not None)
    problems += wrong_kinds(table, columns, encode=encode)
    if as_json:
        print_document({"ok": not problems, "problems": problems})
    elif not problems:
        tell(f"{file}: {_sizes(len(coded.columns), groups)}: {_members_found(coded, groups)}")
    for problem in problems:
        say(f"- {problem}")
    if problems:
        say(f"error: {file} has {counted(len(problems), 'problem')} with {data}")
        raise typer.Exit(BAD_INPUT)


def _members_found(coded: Preparation, groups: Groups) -> str:
    """Return each group with its number of columns."""
    extent = Extent.of(coded.columns)
    return ", ".join(f"{name} ({sum(len(extent.find(m)) for m in members)})" for name, members in groups)


def _sizes(n_columns: int, groups: Sized) -> str:
    return f"{counted(n_columns, 'column')} in {counted(len(groups), 'group')}"


def _drafted(table: Table, columns: tuple[str, ...], by: str, threshold: float) -> Draft:
    """Return a draft for the columns that a fit can use; by correlation, each text column is a group of its own."""
    left_out = unsuitable(table, columns)
    used = [name for name in columns if name not in left_out]
    numeric = tuple(name for name in used if table.kinds[name] == "number")
    text = [name for name in used if name not in numeric]
    if not used:
        raise InvalidInput(f"{table.path} has no columns to put into groups: {_reasons(left_out)}")
    if by == "correlation" and numeric:
        preparation = Preparation(numeric, missing="mean", means=means_of(table, numeric))
        rows = source.read(table, preparation, memory=0.0, standardize=True)
        draft = by_correlation(rows, threshold)
        draft = replace(draft, groups={**draft.groups, **by_column(text).groups})
    else:
        draft = by_prefix(used) if by == "prefix" else by_column(used)
    return replace(draft, left_out=left_out, encode=bool(text))


def _reasons(left_out: Mapping[str, str]) -> str:
    return "; ".join(f'"{name}" holds {reason}' for name, reason in left_out.items())


def _heading(data: Path, target: str | None, file: str) -> list[str]:
    """Return the head of a draft, which says what the file is and what to do with it."""
    name = "".join(c if c.isprintable() else "?" for c in data.name)
    what = f"Groups of the columns of {name}, a draft to edit: the coefficients of a group share one sign."
    told = textwrap.wrap(what, 78, break_long_words=False, break_on_hyphens=False)
    if target is None:
        return [*told, "Take the target out of its group."]
    command = f"partls fit {shlex.quote(name)} --target {shlex.quote(target)} --groups {shlex.quote(file)}"
    return [*told, f"Then: {command}"]
