"""How the columns of a table become the numbers of a regression: target, weights, codes for text, gaps filled.

A ``Preparation`` is found on the training data and saved with the model, so that new data are treated alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.errors import InvalidInput, counted, listing
from formulations.rows.equivalent_rows import Chunk
from partls.cli.batch_columns import LARGEST, numbers, spelled
from partls.cli.missing_values import Gaps
from partls.cli.tables import Table
from partls.runtime.options import chosen

if TYPE_CHECKING:
    import pyarrow as pa

MISSING = ("error", "drop", "mean")
MAX_LEVELS, MAX_LETTERS = 1000, 200  # of a text column, and of one of its values
HOLDS = {
    "text": "text", "date": "dates", "duration": "durations", "complex": "complex numbers",
    "other": "bytes, lists or records",
}
NO_VALUE = "(missing)"  # the level of a gap in a text column where gaps are filled


@dataclass(frozen=True)
class Preparation:
    """What is done to the columns of a table.

    Attributes
    ----------
    features
        The columns of the table that are used, in their order.
    target, weights
        The column to be explained, and that of the row weights; None where there are no weights.
    levels
        For each text column the values that get a 0/1 column "column_value" of their own.
    missing
        What is done with a missing value: "error", "drop" its row, or take the "mean" of the column.
    means
        The means that stand for missing values.
    """

    features: tuple[str, ...]
    target: str | None = None
    weights: str | None = None
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: str = "error"
    means: Mapping[str, float] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of X."""
        return tuple(name for feature in self.features for name in self.codes(feature))

    def codes(self, feature: str) -> tuple[str, ...]:
        """Return the columns of X made of one feature: its codes, or itself."""
        if feature not in self.levels:
            return (feature,)
        return tuple(f"{feature}_{level}" for level in self.levels[feature])

    def chunks(self, table: Table, gaps: Gaps, *, piece: bool = False) -> Iterator[Chunk]:
        """Yield X, y and weights batch by batch, and note in ``gaps`` what is missing; with "error", refuse it then.

        What is missing in a piece of a table is refused by those who see all pieces.
        """
        extra = [name for name in (self.target, self.weights) if name is not None]
        for batch in table.batches([*self.features, *extra]):
            known = gaps.total
            X = self.matrix(batch, gaps, table.path)
            own = {name: numbers(batch, name, gaps) for name in extra}
            del batch  # before the next is decoded
            y = own[self.target] if self.target is not None else np.zeros(len(X))
            weights = own[self.weights] if self.weights is not None else None
            complete = None if gaps.total == known else _complete(X, y, weights)
            gaps.n_rows += len(X)
            if complete is None:
                yield X, y, weights
            elif self.missing != "error":
                gaps.n_dropped += int((~complete).sum())
                yield X[complete], y[complete], None if weights is None else weights[complete]
        if not piece:
            self.refuse(table.path, gaps)

    def refuse(self, path: str, gaps: Gaps) -> None:
        """Refuse infinite values, missing ones if these are errors, and data of which no row is left."""
        if found := gaps.infinite.counts:
            remedy = "correct them" + (", or --drop the column" if self._has_feature(found) else "")
            raise InvalidInput(
                f"{path} has infinite values: {_counts(found)} (all beyond {LARGEST:g} are counted), the first in row "
                f"{gaps.infinite.first[0]:,}; {remedy}"
            )
        found = gaps.missing.counts
        if self.missing == "error" and found:
            remedy = "leave such rows out with --missing drop"
            if self._has_feature(found):
                remedy += ", fill in the column's mean with --missing mean, or --drop the column"
            raise InvalidInput(
                f"{path} has missing values: {_counts(found)} (of {counted(gaps.n_rows, 'row')}), the first in row "
                f"{gaps.missing.first[0]:,}; {remedy}"
            )
        if gaps.n_rows and gaps.n_dropped == gaps.n_rows:
            raise InvalidInput(f"{path}: every row has a missing value ({_counts(found)}), so none is left")

    def _has_feature(self, names: Iterable[str]) -> bool:
        """Return whether one of the columns could be left out: neither the target nor the weights can."""
        return any(name in self.features for name in names)

    def matrix(self, batch: pa.RecordBatch, gaps: Gaps, path: str) -> Floats:
        """Return the features of a batch as numbers; what is missing is NaN, unless it is to be filled.

        ``path`` is the file, as messages call it; the batch begins after the rows that ``gaps`` counts.
        """
        X = np.empty((batch.num_rows, len(self.columns)), order="F")
        j = 0
        for feature in self.features:
            if feature in self.levels:
                width = len(self.levels[feature])
                X[:, j : j + width] = self._indicators(batch, feature, gaps, path)
                j += width
                continue
            X[:, j] = numbers(batch, feature, gaps)
            if feature in self.means:
                X[np.isnan(X[:, j]), j] = self.means[feature]
            j += 1
        return X

    def _indicators(self, batch: pa.RecordBatch, feature: str, gaps: Gaps, path: str) -> Floats:
        """Return one 0/1 column per level; a gap is a row of NaN, unless gaps have a level of their own."""
        values = spelled(batch, feature)
        gaps.missing.note(feature, np.array([value is None for value in values]), gaps.n_rows)
        levels = {level: j for j, level in enumerate(self.levels[feature])}
        unknown = [i for i, value in enumerate(values) if value is not None and value not in levels]
        if unknown:
            found = sorted({str(values[i]) for i in unknown})
            raise InvalidInput(
                f'{path}: column "{feature}" has {listing(found)} (first in row {gaps.n_rows + unknown[0] + 1:,}), '
                f"which the model was not fitted to; it knows {listing(levels, limit=8)}"
            )
        filler = levels.get(NO_VALUE, -1)
        codes = np.array([filler if value is None else levels[value] for value in values])
        indicators: Floats = (codes[:, None] == np.arange(len(levels))).astype(np.float64)
        indicators[codes < 0] = np.nan
        return indicators


def prepare(
    table: Table, *, target: str, weights: str | None = None, drop: Sequence[str] = (), encode: str | None = None,
    missing: str = "error",
) -> Preparation:
    """Return the preparation of a table for fitting: a pass over it only if text or gaps ask for one."""
    missing = chosen("--missing", missing, MISSING)
    if encode is not None:
        chosen("--encode", encode, ["onehot"])
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
    _refuse_kinds(table, features, encode)
    levels = levels_of(table, features, missing)
    means = means_of(table, [name for name in features if name not in levels]) if missing == "mean" else {}
    return Preparation(features, target, weights, levels, missing, means)


def _refuse_kinds(table: Table, features: Iterable[str], encode: str | None) -> None:
    """Refuse columns that are no numbers, all at once, with the option that helps."""
    kinds: dict[str, list[str]] = {}
    for name in features:
        kinds.setdefault(table.kinds[name], []).append(name)
    problems = []
    if "text" in kinds and encode is None:
        problems.append(
            f"{len(kinds['text'])} column(s) hold text: {listing(kinds['text'], limit=20)}; turn each value into a 0/1 "
            f"column with --encode onehot, or leave them out with --drop{table.hint}"
        )
        problems += [
            f'"{name}" holds numbers but for {listing(odd)}: correct these cells, or empty them and say --missing'
            for name, odd in _almost_numbers(table, kinds["text"]).items()
        ]
    for kind in HOLDS:
        if kind in kinds and kind != "text":
            told = listing(kinds[kind], limit=20)
            problems.append(f"{len(kinds[kind])} column(s) hold {HOLDS[kind]}: {told}; leave them out with --drop")
    if problems:
        raise InvalidInput(f"{table.path}: " + "\n".join(problems))


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
    for batch in table.batches(columns) if columns else ():
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
    return levels


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


def _complete(X: Floats, y: Floats, weights: Floats | None) -> NDArray[np.bool_] | None:
    """Return which rows have no gap; None where all are whole."""
    whole = np.isfinite(X).all(axis=1) & np.isfinite(y)
    whole = whole if weights is None else whole & np.isfinite(weights)
    return None if whole.all() else np.asarray(whole)


def _counts(counter: Counter[str], limit: int = 20) -> str:
    """Return the counts per column, the largest first."""
    pairs = counter.most_common()
    more = f" and {len(pairs) - limit} more columns" if len(pairs) > limit else ""
    return ", ".join(f'"{name}" {count:,}' for name, count in pairs[:limit]) + more
