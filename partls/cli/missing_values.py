"""What is missing, infinite or too large in the rows of a table: counts per column, with the first row of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass
class Tally:
    """How often something was found, column by column, and the first row of each, counted from 1."""

    counts: Counter[str] = field(default_factory=Counter)
    rows: dict[str, int] = field(default_factory=dict)

    def note(self, name: str, where: NDArray[np.bool_], n_before: int) -> None:
        """Count where a column has it, in a batch after so many rows."""
        if where.any():
            self.counts[name] += int(where.sum())
            self.rows.setdefault(name, n_before + int(np.argmax(where)) + 1)

    @property
    def first(self) -> tuple[int, str]:
        """The first row, and a column that has it there."""
        return min((row, name) for name, row in self.rows.items())

    def joined(self, other: Tally, n_before: int) -> Tally:
        """Return what was found in these rows and in those after them."""
        later = {name: n_before + row for name, row in other.rows.items()}
        return Tally(self.counts + other.counts, later | self.rows)


@dataclass
class Gaps:
    """What a pass over the rows found missing, infinite or too large, column by column, and rows it left out."""

    missing: Tally = field(default_factory=Tally)
    infinite: Tally = field(default_factory=Tally)
    too_large: Tally = field(default_factory=Tally)
    n_rows: int = 0
    n_dropped: int = 0

    @property
    def total(self) -> int:
        """The number of values that are missing, infinite or too large."""
        return sum(tally.counts.total() for tally in (self.missing, self.infinite, self.too_large))

    def __add__(self, other: Gaps) -> Gaps:
        return Gaps(
            self.missing.joined(other.missing, self.n_rows), self.infinite.joined(other.infinite, self.n_rows),
            self.too_large.joined(other.too_large, self.n_rows),
            self.n_rows + other.n_rows, self.n_dropped + other.n_dropped,
        )
