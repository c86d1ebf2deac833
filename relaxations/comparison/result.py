"""What compare() returns: the rows, as a table and as a plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from relaxations.comparison.compared import Compared
from relaxations.comparison.strength_plot import plot_strength
from relaxations.comparison.table import Column, ResultTable, duration, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHOWN_AS_ZERO = 5e-5  # shares below this print as 0.0000


@dataclass(frozen=True)
class Comparison(ResultTable):
    """What ``compare`` measured; shows itself as a table and as a plot."""

    rows: tuple[Compared, ...]
    floor: float
    optimum: float
    tie: bool = False  # the two are equal up to rounding

    columns = (
        Column("relaxation", lambda row: row.relaxation, text=True),
        Column("depth", lambda row: str(row.depth)),
        Column("nodes", lambda row: str(row.nodes)),
        Column("certified", lambda row: number(row.bound, ".7g")),
        Column("estimate", lambda row: number(row.estimate, ".7g")),
        Column("gap closed", lambda row: number(row.gap_closed, ".4f")),
        Column("time", lambda row: duration(row.seconds)),
        Column("prepare", lambda row: duration(row.prepare_seconds)),
        Column("status", lambda row: f"{row.status} ({row.note})" if row.note else row.status, text=True),
    )

    @property
    def caption(self) -> str:
        """The two ends of the gap, and why a bound may close none of it."""
        if self.tie:
            return "no gap to close: the optimum and the unconstrained one tie (up to rounding)"
        ends = f"gap from {self.floor:.8g} (unconstrained) to {self.optimum:.8g} (optimum)"
        at_floor = dict.fromkeys(
            row.relaxation for row in self.rows if np.isfinite(row.bound) and abs(row.gap_closed) < _SHOWN_AS_ZERO
        )
        if not at_floor:
            return ends
        return (
            f"{ends}. Gap closed 0: the bound of {', '.join(at_floor)} equals the unconstrained optimum. Bounds that "
            "drop the constraints of undecided groups start there and rise as the search decides signs."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of the gap closed against time, one point per relaxation and depth; return the axes."""
        return plot_strength(self.rows, ax)
