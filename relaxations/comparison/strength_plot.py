"""The plot of a comparison: how much of the gap each relaxation closes, against the time it takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby
from math import isfinite
from typing import TYPE_CHECKING

from relaxations.comparison.compared import Compared

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox
    from matplotlib.typing import ColorType

# Where a label may stand, in points from its marker: the first place that is free is taken.
_PLACES = [
    (dx, step * 13 * up, side)
    for step in range(9)
    for up in ((1, -1) if step else (1,))
    for dx, side in ((8, "left"), (-8, "right"))
]
_MARKER = 5  # pixels from the centre of a marker to its edge, and a little


def plot_strength(compared: Iterable[Compared], ax: Axes | None = None) -> Axes:
    """Draw one point per relaxation and depth, those of one relaxation joined; return the axes."""
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(7.0, 4.5), layout="constrained")[1]
    rows = [_drawn(row) for row in compared if isfinite(row.gap_closed) and isfinite(row.seconds)]
    ax.set_xscale("log")
    ax.axhline(1.0, color="0.6", linewidth=1, linestyle="--", zorder=1)
    several = len({row.depth for row in rows}) > 1
    labels = []
    by_name = sorted(rows, key=lambda row: row.relaxation)
    for name, group in groupby(by_name, key=lambda row: row.relaxation):
        points = sorted(group, key=lambda row: row.depth)
        line = ax.plot([row.seconds for row in points], [row.gap_closed for row in points], "-o", linewidth=1, zorder=3)
        open_points = [row for row in points if row.is_unproven]
        ax.plot([row.seconds for row in open_points], [row.gap_closed for row in open_points], "o", mfc="white",
                mec=line[0].get_color(), zorder=4)
        labels += [(row, _label(name, row, first=i == 0, several=several), line[0].get_color())
                   for i, row in enumerate(points)]
    ax.set(xlabel="seconds per bound", ylabel="share of the gap closed, certified")
    ax.set_title("Strength of each relaxation against its cost")
    ax.set_ylim(min(-0.05, *(row.gap_closed - 0.05 for row in rows)) if rows else -0.05, 1.15)
    ax.margins(x=0.15)
    ax.grid(True, which="major", color="0.92", zorder=0)
    _place(ax, labels)
    return ax


def _drawn(row: Compared) -> Compared:
    """Return the row with the share that is drawn: an unproven estimate where nothing is certified."""
    return replace(row, gap_closed=row.estimate_closed) if row.is_unproven else row


def _label(name: str, row: Compared, *, first: bool, several: bool) -> str:
    """Return the relaxation's name at its first point, the depth alone at the others."""
    if not first:
        return str(row.depth)
    name = f"{name} (unproven)" if row.is_unproven else name
    return f"{name}, depth {row.depth}" if several else name


def _place(ax: Axes, labels: list[tuple[Compared, str, ColorType]]) -> None:
    """Write each label beside its point where it covers neither another label nor a marker."""
    ax.get_figure(root=True).draw_without_rendering()  # type: ignore[union-attr]
    markers = [ax.transData.transform((row.seconds, row.gap_closed)) for row, _, _ in labels]
    frame = ax.get_window_extent()
    taken: list[Bbox] = []
    for row, text, color in labels:
        annotation = ax.annotate(text, (row.seconds, row.gap_closed), xytext=(8, 0), textcoords="offset points",
                                 va="center", color=color, fontsize=9,
                                 bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.7})
        fewest = None
        for dx, dy, side in _PLACES:
            annotation.set(position=(dx, dy), ha=side)
            box = annotation.get_window_extent()
            clashes = sum(box.overlaps(other) for other in taken)
            clashes += sum(box.padded(_MARKER).contains(x, y) for x, y in markers)
            clashes += not (frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1)
            if fewest is None or clashes < fewest[0]:
                fewest = (clashes, dx, dy, side)
            if clashes == 0:
                break
        assert fewest is not None
        annotation.set(position=fewest[1:3], ha=fewest[3])
        taken.append(annotation.get_window_extent())
