"""The plot of a sweep: one panel for each value of two factors, one line for each relaxation."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from relaxations.comparison.sweep_rows import SweepRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABELS = {
    "gap_closed": "share of the gap closed", "seconds": "seconds per bound", "prepare_seconds": "seconds to prepare",
    "total_seconds": "seconds with preparation",
}
_MARKERS = "osD^vP*X"
_WIDTH, _HEIGHT = 2.7, 2.1  # inches of a panel


def plot_sweep(rows: Sequence[SweepRow], x: str, columns: str | None, lines: str | None, value: str) -> Figure:
    """Draw the panels and return their figure; ``lines`` is the factor whose values stand below each other."""
    import matplotlib.pyplot as plt

    across, down = _values(rows, columns), _values(rows, lines)
    figure, axes = plt.subplots(
        len(down), len(across), sharex=True, sharey=True, squeeze=False, layout="constrained",
        figsize=(_WIDTH * len(across) + 2.2, _HEIGHT * len(down) + 0.7),
    )
    labels = list(dict.fromkeys(row.relaxation for row in rows))
    for i, below in enumerate(down):
        for j, beside in enumerate(across):
            here = [row for row in rows if _has(row, columns, beside) and _has(row, lines, below)]
            _panel(axes[i, j], here, labels, x, value)
            told = [f"{name} = {shown}" for name, shown in ((lines, below), (columns, beside)) if name is not None]
            axes[i, j].set_title(", ".join(told), fontsize=9)
    _ticks(axes, rows, x)
    figure.supxlabel(x, fontsize=10)
    figure.supylabel(_LABELS[value], fontsize=10)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", fontsize=9)
    return figure


def _panel(ax: Axes, rows: Sequence[SweepRow], labels: Sequence[str], x: str, value: str) -> None:
    positions = _positions(rows, x)
    for number, label in enumerate(labels):
        points: dict[float, list[float]] = {}
        for row in rows:
            if row.relaxation == label and isfinite(shown := _shown(row, value)):
                points.setdefault(positions[dict(row.factors)[x]], []).append(shown)
        xs = sorted(points)
        marker, filled = _MARKERS[number % len(_MARKERS)], not any(r.is_unproven for r in rows if r.relaxation == label)
        (line,) = ax.plot(
            xs, [float(np.median(points[at])) for at in xs], marker=marker, markersize=5, linewidth=1.3,
            label=label if filled else f"{label} (unproven)", markerfacecolor=None if filled else "white",
        )
        if any(len(points[at]) > 1 for at in xs):
            ax.fill_between(xs, [min(points[at]) for at in xs], [max(points[at]) for at in xs], alpha=0.15,
                            color=line.get_color(), linewidth=0)
    ax.grid(True, color="0.92")
    if value == "gap_closed":
        ax.axhline(1.0, color="0.6", linewidth=1, linestyle="--", zorder=1)
        ax.set_ylim(-0.06, 1.1)
    else:
        ax.set_yscale("log")


def _shown(row: SweepRow, value: str) -> float:
    share = row.estimate_closed if row.is_unproven else row.gap_closed
    return share if value == "gap_closed" else float(getattr(row, value))


def _values(rows: Sequence[SweepRow], name: str | None) -> list[Any]:
    """Return the values of a factor in the order of the instances; one panel without it."""
    return [None] if name is None else list(dict.fromkeys(dict(row.factors)[name] for row in rows))


def _has(row: SweepRow, name: str | None, value: Any) -> bool:
    return name is None or dict(row.factors)[name] == value


def _positions(rows: Sequence[SweepRow], x: str) -> dict[Any, float]:
    """Return where each value stands along the axis: numbers where they are, words side by side."""
    values = _values(rows, x)
    return {value: float(value) if _is_number(values) else float(i) for i, value in enumerate(values)}


def _is_number(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _ticks(axes: Any, rows: Sequence[SweepRow], x: str) -> None:
    positions = _positions(rows, x)
    for ax in axes.flat:
        ax.set_xticks(list(positions.values()), [str(value) for value in positions])
        ax.margins(x=0.08)
