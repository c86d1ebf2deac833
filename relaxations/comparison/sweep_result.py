"""What sweep() returns: tidy rows, a table by factors, plots and performance profiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import inf, isfinite, isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from formulations.errors import InvalidInput, PartLSError, suggestion
from relaxations.comparison.performance_profile import PerformanceProfile, performance_profile
from relaxations.comparison.sweep_plot import plot_sweep
from relaxations.comparison.sweep_rows import DERIVED, Factors, SweepRow
from relaxations.comparison.table import Column, ResultTable, duration, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console, ConsoleOptions, RenderableType

_REACHED = 1e-9  # of the gap: what a bound may lack of a target and still reach it


@dataclass(frozen=True)
class Group:
    """The instances that share some factors, with one relaxation."""

    factors: Factors
    relaxation: str
    instances: int
    median_closed: float
    lowest_closed: float
    unproven: int
    median_seconds: float
    median_prepare: float
    failed: int
    not_run: int


@dataclass(frozen=True)
class SweepTable(ResultTable):
    """Medians over the instances that share some factors, by relaxation."""

    rows: tuple[Group, ...]
    against: str
    by: tuple[str, ...]

    @property
    def caption(self) -> str:
        """What the gap is measured against."""
        return self.against

    @property
    def columns(self) -> Sequence[Column]:
        """The factors, then the numbers."""
        return [
            *(Column(name, partial(_factor, name), text=True) for name in self.by),
            Column("relaxation", lambda row: row.relaxation, text=True),
            Column("instances", lambda row: str(row.instances)),
            Column("gap closed, median", _share),
            Column("lowest", lambda row: number(row.lowest_closed, ".4f")),
            Column("time, median", lambda row: duration(row.median_seconds)),
            Column("prepare", lambda row: duration(row.median_prepare)),
            Column("failed", lambda row: str(row.failed)),
            Column("not run", lambda row: str(row.not_run)),
        ]


def _factor(name: str, row: Group) -> str:
    return str(dict(row.factors)[name])


def _share(row: Group) -> str:
    return f"unproven {number(row.median_closed, '.4f')}" if row.unproven else number(row.median_closed, ".4f")


@dataclass(frozen=True)
class Sweep:
    """The measurements of :func:`sweep`.

    Attributes
    ----------
    rows
        One for each instance and relaxation, in the order of the instances.
    ended
        Empty, or why the sweep ended early: "time limit" or "interrupted".

    Examples
    --------
    >>> from formulations import random_instance
    >>> from relaxations import sweep
    >>> result = sweep(random_instance, ["active-set"], grid={"M": [6, 12], "group_size": [3]})
    >>> len(result.rows), result.ended
    (2, '')
    """

    rows: tuple[SweepRow, ...]
    ended: str = ""

    @classmethod
    def of(cls, rows: Sequence[SweepRow], ended: str) -> Sweep:
        """Return the rows, each instance measured against the best that any run has found for it."""
        best: dict[Factors, SweepRow] = {}
        for row in rows:
            if row.was_run and isfinite(row.reference):
                other = best.get(row.factors, row)
                best[row.factors] = min(row, other, key=lambda one: (not one.is_optimum, one.reference))
        return cls(tuple(_against(row, best.get(row.factors)) for row in rows), ended)

    @property
    def factors(self) -> tuple[str, ...]:
        """The names of the factors."""
        return tuple(name for name, _ in self.rows[0].factors) if self.rows else ()

    @property
    def relaxations(self) -> tuple[str, ...]:
        """The labels of the relaxations, in their order."""
        return tuple(dict.fromkeys(row.relaxation for row in self.rows))

    def to_pandas(self) -> Any:
        """Return the rows as a tidy pandas DataFrame: a column for each factor and each number, unrounded."""
        try:
            import pandas as pd
        except ImportError as error:
            raise PartLSError("to_pandas() needs pandas, which is missing: python -m pip install pandas") from error
        return pd.DataFrame([
            {**dict(row.factors), **{key: value for key, value in asdict(row).items() if key != "factors"},
             **{name: getattr(row, name) for name in DERIVED}}
            for row in self.rows
        ])

    def table(self, *by: str) -> SweepTable:
        """Return medians by relaxation, and by the factors that are named."""
        self._check(*by)
        groups: dict[tuple[Factors, str], list[SweepRow]] = {}
        for row in self.rows:
            kept = dict(row.factors)
            groups.setdefault((tuple((name, kept[name]) for name in by), row.relaxation), []).append(row)
        return SweepTable(tuple(_group(*key, rows) for key, rows in groups.items()), self.caption, by)

    @property
    def caption(self) -> str:
        """What the gap is measured against, and whether the sweep came to its end."""
        against = Counter({row.factors: row.measured_against for row in self.rows if row.measured_against}.values())
        told = "gap measured against: " + "; ".join(f"{words} ({count})" for words, count in against.most_common())
        if any(row.is_unproven for row in self.rows):
            told += '. "unproven": shares that the solver\'s values would close'
        return f"{told}. Ended early: {self.ended}" if self.ended else told

    def plot(self, x: str | None = None, *, columns: str | None = None, rows: str | None = None,
             value: str = "gap_closed") -> Figure:
        """Draw the share of the gap closed, or another value, against a factor; return the figure.

        Lines are medians over the instances, with a band from the lowest to the highest.

        Parameters
        ----------
        x
            The factor along the axis; default: the first.
        columns, rows
            Factors that have a panel for each of their values.
        value
            "gap_closed", "seconds", "prepare_seconds" or "total_seconds".
        """
        self._check(*(name for name in (x, columns, rows) if name is not None))
        if value not in (known := ("gap_closed", "seconds", "prepare_seconds", "total_seconds")):
            raise InvalidInput(f"value={value!r} is not one of {list(known)}{suggestion(value, known)}")
        if not self.rows:
            raise InvalidInput("the sweep has no rows to draw")
        return plot_sweep(self.rows, x or self.factors[0], columns, rows, value)

    def profile(self, target: float = 0.95) -> PerformanceProfile:
        """Return the performance profile of the time, preparation included, to close a share of the gap.

        Instances without a gap are left out, and a relaxation that proves less than the target counts as never done.
        """
        if not 0 <= target <= 1:
            raise InvalidInput(f"target={target!r} must be a share of the gap between 0 and 1")
        open_rows = [row for row in self.rows if row.was_run and not isnan(row.gap_closed)]
        instances = list(dict.fromkeys(row.factors for row in open_rows))
        times = {(row.relaxation, row.factors): row.total_seconds for row in open_rows
                 if row.gap_closed >= target - _REACHED}
        return performance_profile(
            {label: [times.get((label, one), inf) for one in instances] for label in self.relaxations}, target
        )

    def _check(self, *names: str) -> None:
        for name in names:
            if name not in self.factors:
                known = list(self.factors)
                raise InvalidInput(f"{name!r} is not one of the factors {known}{suggestion(name, known)}")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the table over all instances."""
        yield from self.table().__rich_console__(console, options)

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def _against(row: SweepRow, best: SweepRow | None) -> SweepRow:
    """Return the row with the reference of another of the same instance, if that one is better."""
    if best is None or not row.was_run:
        return row
    return replace(row, reference=best.reference, is_optimum=best.is_optimum, tie=best.tie,
                   measured_against=best.measured_against)


def _group(factors: Factors, label: str, rows: Sequence[SweepRow]) -> Group:
    run = [row for row in rows if row.was_run]
    unproven = sum(row.is_unproven for row in run)
    closed = [row.estimate_closed if row.is_unproven else row.gap_closed for row in run]
    return Group(
        factors, label, len(rows), _over(np.median, closed), _over(np.min, closed), unproven,
        _over(np.median, [row.seconds for row in run]), _over(np.median, [row.prepare_seconds for row in run]),
        sum(row.status == "failed" for row in run), len(rows) - len(run),
    )


def _over(function: Any, values: Sequence[float]) -> float:
    known = [value for value in values if not isnan(value)]
    return float(function(known)) if known else nan
