"""What compare() returns: the rows, as a table and as a plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from relaxations.comparison.compared import Compared
from relaxations.comparison.reference import Reference
from relaxations.comparison.strength_plot import plot_strength
from relaxations.comparison.table import Column, ResultTable, duration, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def share(row: Compared) -> str:
    """Return the share of the gap closed, and in words what a bare figure would not say."""
    if row.is_unproven:
        return f"unproven {number(row.estimate_closed, '.4f')}"
    return "0 (zero line)" if row.is_floor else number(row.gap_closed, ".4f")


@dataclass(frozen=True)
class Comparison(ResultTable):
    """The measurements of :func:`compare`; printed as a table, drawn by ``plot``.

    Attributes
    ----------
    rows
        One for each relaxation and depth.
    floor
        The unconstrained optimum, where the gap begins.
    reference
        The optimum or the best known solution at the node, where the gap ends.
    tie
        Whether the two are equal up to rounding.

    Examples
    --------
    >>> from formulations import random_instance
    >>> from relaxations import compare
    >>> comparison = compare(random_instance(M=6, group_size=3), relaxations=["active-set", "perspective"])
    >>> [row.relaxation for row in comparison.rows]
    ['active-set', 'perspective']
    """

    rows: tuple[Compared, ...]
    floor: float
    reference: Reference
    tie: bool = False

    columns = (
        Column("relaxation", lambda row: row.relaxation, text=True),
        Column("depth", lambda row: str(row.depth)),
        Column("nodes", lambda row: str(row.nodes)),
        Column("certified", lambda row: "unproven" if row.is_unproven else number(row.bound, ".7g")),
        Column("estimate", lambda row: number(row.estimate, ".7g")),
        Column("gap closed", share),
        Column("time", lambda row: duration(row.seconds)),
        Column("prepare", lambda row: duration(row.prepare_seconds)),
        Column("status", lambda row: f"{row.status} ({row.note})" if row.note else row.status, text=True),
    )

    @property
    def optimum(self) -> float:
        """The upper end of the gap; ``reference.is_optimum`` says whether it is proved to be the optimum."""
        return self.reference.value

    @property
    def caption(self) -> str:
        """The two ends of the gap, and why a bound may close none of it."""
        if self.tie:
            return f"no gap to close: the {self.reference.kind} and the unconstrained one tie (up to rounding)"
        told = f"gap from {self.floor:.8g} (unconstrained) to {self.reference.value:.8g} ({self.reference.words})"
        if not self.reference.is_optimum:
            told += ". The optimum is not known, and may be lower: bounds close at least these shares"
        if at_floor := dict.fromkeys(row.relaxation for row in self.rows if row.is_floor):
            names = ", ".join(at_floor)
            told += (
                f". Gap closed 0 (zero line): the bound of {names} equals the unconstrained optimum. Bounds "
                "that drop the constraints of undecided groups start there and rise as the search decides signs"
            )
        if any(row.is_unproven for row in self.rows):
            told += '. "unproven": the share that the solver\'s value would close, without a proof'
        return told

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of the gap closed against time, one point per relaxation and depth; return the axes."""
        return plot_strength(self.rows, ax)
