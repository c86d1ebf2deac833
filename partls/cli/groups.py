"""``partls groups``: a first draft of a groups file, and everything that is wrong with one."""

from __future__ import annotations

import json
from collections.abc import Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from formulations.errors import InvalidInput, InvalidOption, counted
from formulations.partition.placement import UNGROUPED, Extent, Groups
from partls.cli import data_options as source
from partls.cli.group_drafts import DRAFTS, by_column, by_correlation, by_prefix
from partls.cli.group_problems import examined, without_group, wrong_kinds
from partls.cli.option_groups import unbundled
from partls.cli.output import BAD_INPUT, Force, guarded, harmless, print_document, say, say_to_people
from partls.cli.output_paths import check_places
from partls.cli.preparation import MISSING, Preparation
from partls.cli.prepare import means_of
from partls.cli.streams import print_stdout
from partls.cli.tables import Table
from partls.runtime.atomic_files import write_whole
from partls.runtime.options import chosen

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Write a groups file to edit, or check one.")


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


@app.command()
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
    """Write a groups file to edit: a draft, for which columns should share a sign is for you to say.

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
    columns = features.of(table)
    if by == "prefix":
        draft = by_prefix(columns)
    elif by == "column":
        draft = by_column(columns)
    else:
        draft = _by_correlation(table, columns, threshold)
    if as_json:
        print_document({"groups": draft})
    elif out is None:
        print_stdout(_as_toml(draft, data, features.target).rstrip("\n"))
    else:
        write_whole(out, _as_toml(draft, data, features.target))
        say_to_people(f"{_sizes(len(columns), draft)} written to {out}: edit them, then partls fit")


@app.command()
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
    """Tell everything that is wrong with a groups file at once, with suggestions.

    Example: partls groups check houses.csv groups.toml --target price
    """
    chosen("ungrouped", ungrouped, UNGROUPED)
    chosen("encode", encode or "onehot", ["onehot"])
    chosen("missing", missing, MISSING)
    table = spelling.open(data)
    columns = features.of(table)
    coded, groups, problems = examined(
        file, table, columns, left_out=features.left_out, drop=features.drop or (), encode=encode, missing=missing
    )
    if ungrouped == "error":
        problems += without_group(coded, groups, named_target=features.target is not None)
    problems += wrong_kinds(table, columns, encode=encode)
    if as_json:
        print_document({"ok": not problems, "problems": problems})
    elif not problems:
        print_stdout(harmless(f"{file}: {_sizes(len(coded.columns), groups)}: {_members_found(coded, groups)}"))
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


def _by_correlation(table: Table, columns: tuple[str, ...], threshold: float) -> dict[str, list[str]]:
    """Return a draft by correlation; each text column is a group of its own."""
    numeric = tuple(name for name in columns if table.kinds[name] == "number")
    draft: dict[str, list[str]] = {}
    if numeric:
        preparation = Preparation(numeric, missing="mean", means=means_of(table, numeric))
        rows = source.read(table, preparation, memory=0.0, standardize=True)
        draft = by_correlation(rows, threshold)
    return draft | by_column([name for name in columns if name not in numeric])


def _as_toml(draft: dict[str, list[str]], data: Path, target: str | None) -> str:
    """Return the draft as a file with a word on what to do with it."""
    told = "" if target is not None else "# Take the target out of its group.\n"
    name = "".join(c if c.isprintable() else "?" for c in data.name)
    head = f"# Groups of the columns of {name}, a draft to edit: the coefficients of a group share one sign.\n{told}"
    lines = [f"{_string(name)} = [{', '.join(map(_string, members))}]\n" for name, members in draft.items()]
    return head + "\n[groups]\n" + "".join(lines)


def _string(text: str) -> str:
    """Return a TOML string: JSON's escapes are TOML's, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
