"""How a table is prepared for fitting: found on its kinds of columns, and by a pass over it where there is need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing

import numpy as np

from formulations.errors import InvalidInput, listing, refuse
from partls.cli.batch_columns import numbers, spelled
from partls.cli.missing_values import Gaps
from partls.cli.output import say
from partls.cli.preparation import MISSING, NO_VALUE, Preparation
from partls.cli.tables import Table
from partls.runtime.options import chosen

_REPEATED, _FEW_ROWS = 0.5, 20  # of the rows; rows
MAX_LEVELS, MAX_LETTERS = 1000, 200  # of a text column, and of one of its values
HOLDS = {
    "text": "text", "date": "dates", "duration": "durations", "complex": "complex numbers",
    "other": "bytes, lists or records",
}


def prepare(
    table: Table, *, target: str, weights: str | None = None, drop: Sequence[str] = (), encode: str | None = None,
    missing: str = "error",
) -> Preparation:
    """Return the preparation of a table for fitting: a pass over it only if text or gaps ask for one."""
    missing = chosen("missing", missing, MISSING)
    if encode is not None:
        chosen("encode", encode, ["onehot"])
    table.require([target], "--target")
    table.require([weights] if weights is not None else [], "--weights")
    table.require(drop, "--drop")
    for option, names in (("--weights", [weights]), ("--drop", drop)):
        if target in names:
            raise InvalidInput(f'{option} "{target}": this column is the target')
    out = {target, weights, *drop}
    features = tuple(name for name in table.columns if name not in out)
    if not features:
        raise InvalidInput(f'{table.path} has no columns beside the target "{target}" and those left out')
    for name, option in ((target, "--target"), (weights, "--weights")):
        if name is not None and table.kinds[name] != "number":
            raise InvalidInput(f'{option}: column "{name}" holds {HOLDS[table.kinds[name]]}, not numbers{table.hint}')
    _refuse_kinds(table, features, encode, missing)
    levels = levels_of(table, features, missing)
    means = means_of(table, [name for name in features if name not in levels]) if missing == "mean" else {}
    return Preparation(features, target, weights, levels, missing, means)


def _refuse_kinds(table: Table, features: Sequence[str], encode: str | None, missing: str) -> None:
    """Refuse columns that are no numbers, all at once, with the option that helps; then say what is missing, too."""
    kinds: dict[str, list[str]] = {}
    for name in features:
        kinds.setdefault(table.kinds[name], []).append(name)
    problems = []
    if "text" in kinds and encode is None:
        problems.append(
            f"{holding(kinds['text'], 'text')}; turn each value into a 0/1 column with --encode onehot, or leave "
            f"{pronoun(kinds['text'])} out with --drop{table.hint}"
        )
        problems += [
            f'"{name}" holds numbers but for {listing(odd)}: correct these cells, or empty them and say --missing'
            for name, odd in _almost_numbers(table, kinds["text"]).items()
        ]
    for kind in HOLDS:
        if kind in kinds and kind != "text":
            problems.append(f"{holding(kinds[kind], HOLDS[kind])}; leave {pronoun(kinds[kind])} out with --drop")
    if problems and missing == "error":
        problems += _gaps(table, [name for name in features if table.kinds[name] in ("number", "text")])
    refuse(problems, table.path)


def _gaps(table: Table, names: Sequence[str]) -> list[str]:
    """Return a line on the missing values of some columns; none where there are none."""
    counts: Counter[str] = Counter()
    for batch in table.batches(names):
        counts.update({name: batch.column(name).null_count for name in names})
    found = [f'"{name}" {n:,}' for name, n in counts.most_common() if n]
    told = ", ".join(found[:20]) + (f" and {len(found) - 20} more columns" if len(found) > 20 else "")
    remedy = "leave such rows out with --missing drop, or fill in the column's mean with --missing mean"
    return [f"missing values: {told}; {remedy}"] if found else []


def holding(names: Sequence[str], what: str) -> str:
    """Return that these columns hold something that is no number."""
    columns = "1 column holds" if len(names) == 1 else f"{len(names):,} columns hold"
    return f"{columns} {what}: {listing(names, limit=20)}"


def pronoun(names: Sequence[str]) -> str:
    """Return the word that stands for these columns."""
    return "it" if len(names) == 1 else "them"


def _almost_numbers(table: Table, columns: Sequence[str]) -> dict[str, list[str]]:
    """Return what keeps a column from being one of numbers, where that is little: judged by the first rows."""
    found = {}
    with closing(table.batches(columns)) as batches:
        batch = next(batches)
    for name in columns:
        values = [value for value in spelled(batch, name, unique=True) if value is not None]
        odd = [value for value in values if not _is_number(value)]
        if 0 < 2 * len(odd) < len(values):
            found[name] = odd
    return found


def _is_number(text: str) -> bool:
    """Return whether a table's reader takes this for a number: no 1_000, and no digits but ours, as Python would."""
    if "_" in text or not text.isascii():
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


def levels_of(table: Table, features: Sequence[str], missing: str) -> dict[str, tuple[str, ...]]:
    """Return the values of each text column, sorted; one pass. Refuse codes that are called as other columns are."""
    columns = [name for name in features if table.kinds[name] == "text"]
    found: dict[str, dict[str, None]] = {name: {} for name in columns}
    gaps = set()
    n_rows = 0
    for batch in table.batches(columns) if columns else ():
        n_rows += batch.num_rows
        for name in columns:
            values = dict.fromkeys(spelled(batch, name, unique=True))
            if None in values:
                gaps.add(name)
                del values[None]
            found[name] |= dict.fromkeys(str(value) for value in values)
            _refuse_long(name, found[name])
    filled = gaps if missing == "mean" else set()
    if both := [name for name in columns if name in filled and NO_VALUE in found[name]]:
        raise InvalidInput(
            f'{table.path}: column "{both[0]}" has the value "{NO_VALUE}", which --missing mean calls its empty cells: '
            "empty these cells too, or spell them otherwise"
        )
    levels = {name: (*sorted(found[name]), *([NO_VALUE] if name in filled else [])) for name in columns}
    _refuse_clashes(table.path, Preparation(tuple(features), levels=levels))
    _warn_of_hardly_repeated(table.path, levels, n_rows)
    return levels


def hardly_repeats(n_distinct: int, n_rows: int) -> bool:
    """Return whether text says little more than which row it is; in few rows any text may."""
    return n_rows >= _FEW_ROWS and n_distinct > _REPEATED * n_rows


def _warn_of_hardly_repeated(path: str, levels: Mapping[str, tuple[str, ...]], n_rows: int) -> None:
    """Say which text columns get about as many 0/1 columns as there are rows: the fit can only memorise them."""
    told = [f'"{name}" ({len(values):,})' for name, values in levels.items() if hardly_repeats(len(values), n_rows)]
    if told:
        say(f"warning: {path}: text with nearly as many values as there are rows ({n_rows:,}): {', '.join(told)}; "
            "a 0/1 column for each can only memorise the rows: leave it out with --drop")


def _refuse_clashes(path: str, preparation: Preparation) -> None:
    """Refuse a code that is the name of another column, or of another column's code."""
    owners: dict[str, tuple[str, str]] = {name: (name, "") for name in preparation.features}
    for name, levels in preparation.levels.items():
        for level, code in zip(levels, preparation.codes(name), strict=True):
            other, other_level = owners.setdefault(code, (name, level))
            if (other, other_level) == (name, level):
                continue
            told = f'whose code "{code}" is the name of another column'
            if other in preparation.levels and other != code:
                told = f'whose code "{code}" is also that of "{other_level}" in column "{other}"'
            raise InvalidInput(f'{path}: column "{name}" has the value "{level}", {told}: rename one of them')


def _refuse_long(name: str, levels: Mapping[str, None]) -> None:
    if len(levels) > MAX_LEVELS:
        raise InvalidInput(f'column "{name}" has more than {MAX_LEVELS:,} different values: leave it out with --drop')
    if longest := next((level for level in levels if len(level) > MAX_LETTERS), None):
        raise InvalidInput(
            f'column "{name}" has a value of {len(longest):,} letters ("{longest[:20]}..."): leave it out with --drop'
        )


def means_of(table: Table, columns: Sequence[str]) -> dict[str, float]:
    """Return the mean of what each column holds; one pass."""
    totals, counts = np.zeros(len(columns)), np.zeros(len(columns))
    for batch in table.batches(columns) if columns else ():
        for j, name in enumerate(columns):
            values = numbers(batch, name, Gaps())
            known = np.isfinite(values)
            totals[j] += values[known].sum()
            counts[j] += known.sum()
    if empty := [name for name, count in zip(columns, counts, strict=True) if not count]:
        raise InvalidInput(f"{table.path}: no value at all in {listing(empty)}, so no mean; leave them out with --drop")
    return dict(zip(columns, (totals / counts).tolist(), strict=True))
