"""How the columns of a table become the numbers of a regression: target, weights, codes for text, gaps filled.

A ``Preparation`` is found on the training data and saved with the model, so that new data are treated alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
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

if TYPE_CHECKING:
    import pyarrow as pa

MISSING = ("error", "drop", "mean")
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
        """Refuse infinite and too large values, missing ones if these are errors, and data of which no row is left."""
        for tally, what in ((gaps.infinite, "infinite values"), (gaps.too_large, f"values beyond {LARGEST:g}")):
            if found := tally.counts:
                remedy = "correct them" + (", or --drop the column" if self._has_feature(found) else "")
                told = f"{path} has {what}: {_counts(found)}, the first in row {tally.first[0]:,}"
                raise InvalidInput(f"{told}; {remedy}")
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
