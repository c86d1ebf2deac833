"""``partls groups``: a first draft of a groups file, and everything that is wrong with one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from formulations.errors import InvalidInput, counted
from formulations.partition.files import read_file
from formulations.partition.placement import UNGROUPED, Extent, problems_with
from partls.cli import data_options as source
from partls.cli.group_drafts import DRAFTS, by_column, by_correlation, by_prefix
from partls.cli.option_groups import unbundled
from partls.cli.output import BAD_INPUT, Force, guarded, harmless, print_document, say, say_to_people
from partls.cli.output_paths import check_places
from partls.cli.preparation import HOLDS, MISSING, Preparation, levels_of, means_of
from partls.cli.streams import tell
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
    chosen("--by", by, DRAFTS)
    if not 0 <= threshold <= 1:
        raise InvalidInput(f"--threshold {threshold} must be between 0 and 1")
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
        tell(_as_toml(draft, data, features.target).rstrip("\n"))
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
    chosen("--ungrouped", ungrouped, UNGROUPED)
    chosen("--encode", encode or "onehot", ["onehot"])
    chosen("--missing", missing, MISSING)
    table = spelling.open(data)
    columns = features.of(table)
    try:
        groups = read_file(file).groups
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from None
    known = list(source.remaining(dict(groups), features.drop or ()).items())
    names = Counter(name for name, _ in groups)
    problems = [f'{count} groups are called "{name}"' for name, count in names.items() if count > 1]
    problems += [
        f'group "{name}": "{member}" is not among the features: take it out of the file'
        for name, members in known for member in members if member in features.left_out
    ]
    coded = Preparation(columns, levels=levels_of(table, columns, missing) if encode else {})
    known = list(source.in_codes(source.remaining(dict(known), features.left_out), coded).items())
    extent = Extent.of(coded.columns)
    problems += problems_with(known, extent, "free")
    if ungrouped == "error":
        problems += _loose(coded, known, named_target=features.target is not None)
    allowed = ("number", "text") if encode else ("number",)
    problems += [
        f'column "{name}" holds {HOLDS[kind]}: leave it out with --drop "{name}"'
        if kind != "text" else f'column "{name}" holds text: use --encode onehot, in the fit too, or --drop "{name}"'
        for name, kind in table.kinds.items() if name in columns and kind not in allowed
    ]
    if as_json:
        print_document({"ok": not problems, "problems": problems})
    elif not problems:
        sizes = ", ".join(f"{name} ({sum(len(extent.find(m)) for m in members)})" for name, members in known)
        tell(harmless(f"{file}: {_sizes(extent.n, known)}: {sizes}"))
    for problem in problems:
        say(f"- {problem}")
    if problems:
        say(f"error: {file} has {counted(len(problems), 'problem')} with {data}")
        raise typer.Exit(BAD_INPUT)


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


def _loose(coded: Preparation, groups: list[tuple[str, list[str]]], *, named_target: bool) -> list[str]:
    """Return a line for each column in no group, with the group it would go to by its name.

    A text column none of whose codes is in a group is told as one.
    """
    from difflib import get_close_matches

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
