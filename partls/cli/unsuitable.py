"""Columns that a draft of groups leaves out, and why: identifiers, dates, text that hardly repeats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from formulations.data import Floats
from partls.cli.batch_columns import numbers, spelled
from partls.cli.missing_values import Gaps
from partls.cli.prepare import HOLDS, MAX_LETTERS, MAX_LEVELS, hardly_repeats
from partls.cli.tables import Table

_FEW_ROWS = 20  # in fewer rows any column may hold a different value in each
_IDENTIFIER = re.compile(r"(^|[\W_])(id|idx|index|key|code|no|nr|row|rownames?|uuid)$|^Unnamed: \d+$|[a-z]I[dD]$", re.I)


@dataclass
class _Seen:
    """What a pass over the rows has seen of a column."""

    n_values: int = 0
    distinct: set[str] = field(default_factory=set)  # of text
    longest: int = 0
    integers: list[Floats] | None = field(default_factory=list)  # None once a value repeats or is no whole number


def unsuitable(table: Table, columns: Sequence[str]) -> dict[str, str]:
    """Return the columns that no group should have, each with the reason; one pass over the rows."""
    reasons = {name: HOLDS[table.kinds[name]] for name in columns if table.kinds[name] not in ("number", "text")}
    read = [name for name in columns if name not in reasons]
    seen = {name: _Seen() for name in read}
    n_rows = 0
    for batch in table.batches(read) if read else ():
        n_rows += batch.num_rows
        for name in read:
            if table.kinds[name] == "text":
                _note_text(seen[name], spelled(batch, name))
            else:
                _note_numbers(seen[name], numbers(batch, name, Gaps()))
    for name in read:
        if reason := _reason(name, seen[name], n_rows):
            reasons[name] = reason
    return {name: reasons[name] for name in columns if name in reasons}


def _note_text(seen: _Seen, values: list[str | None]) -> None:
    known = [value for value in values if value is not None]
    seen.n_values += len(known)
    seen.distinct.update(known)
    seen.integers = None
    seen.longest = max([seen.longest, *map(len, known)])


def _note_numbers(seen: _Seen, values: Floats) -> None:
    known = values[np.isfinite(values)]
    seen.n_values += len(known)
    if seen.integers is None:
        return
    whole = len(known) == len(values) and bool((known == np.rint(known)).all())
    seen.integers = [*seen.integers, known] if whole and len(np.unique(known)) == len(known) else None


def _reason(name: str, seen: _Seen, n_rows: int) -> str:
    """Return why a column is unsuitable, or nothing."""
    if not seen.n_values:
        return "no values"
    if seen.distinct:
        told = f"text with {len(seen.distinct):,} different values in {n_rows:,} rows"
        too_much = len(seen.distinct) > MAX_LEVELS or seen.longest > MAX_LETTERS
        return told if too_much or hardly_repeats(len(seen.distinct), n_rows) else ""
    if seen.integers is None or n_rows < _FEW_ROWS:
        return ""
    values = np.concatenate(seen.integers)
    if len(np.unique(values)) < len(values):
        return ""
    if values[0] in (0, 1) and (np.diff(values) == 1).all():
        return "row numbers"
    return "an identifier: a different whole number in every row" if _IDENTIFIER.search(name) else ""
