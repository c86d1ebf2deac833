"""Horizontal bars with names on the left and figures at their ends: the shape that most pictures here share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POSITIVE, NEGATIVE, NEUTRAL = "#0072B2", "#D55E00", "#8C8C8C"  # told apart with any kind of colour vision
_LINE = 0.32  # inches of height per bar
_LETTER = 0.075  # inches of width per letter
_SMALL = 30  # bars from which the letters get smaller


def axes_for(ax: Axes | None, n_lines: int, width: float = 6.4) -> Axes:
    """Return ``ax``, or the axes of a new figure that is high enough for so many lines."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, max(1.8, 1.1 + _LINE * n_lines)), layout="constrained")[1]


def sign_colour(value: float) -> str:
    """Return the colour of a sign."""
    return POSITIVE if value > 0 else NEGATIVE if value < 0 else NEUTRAL


def draw_bars(ax: Axes, names: Sequence[str], lengths: Any, colours: Sequence[str], figures: Sequence[str],
              starts: Any = 0.0) -> None:
    """Draw the bars from top to bottom, each with its figure just beyond its end."""
    lengths = np.asarray(lengths, dtype=float)
    places = np.arange(len(names))
    letters = "small" if len(names) <= _SMALL else "x-small"
    bars = ax.barh(places, lengths, left=starts, color=list(colours), height=0.7)
    for bar, length, text in zip(bars, lengths, figures, strict=True):
        end = bar.get_x() + bar.get_width() if length >= 0 else bar.get_x() + min(bar.get_width(), 0.0)
        ax.annotate(
            text.replace("-", "\N{MINUS SIGN}"), (end, bar.get_y() + bar.get_height() / 2),
            xytext=(3 if length >= 0 else -3, 0), textcoords="offset points",
            ha="left" if length >= 0 else "right", va="center", fontsize=letters,
        )
    ax.set_yticks(places, [shortened(name) for name in names], fontsize=letters)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.margins(x=_room(ax, figures))
    ax.locator_params(axis="x", nbins=max(4, int(1.4 * _inches(ax))))  # few enough for labels of any length
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _room(ax: Axes, figures: Sequence[str]) -> float:
    """Return the margin, as a share of the bars' extent, in which the longest figure fits on either side."""
    longest = _LETTER * max(map(len, figures), default=0) + 0.1
    share = min(longest / _inches(ax), 0.3)
    return max(share / (1 - 2 * share), 0.05)


def _inches(ax: Axes) -> float:
    """Return about the width that will be left to the axes when the names beside it have taken their part."""
    return float(0.8 * ax.get_window_extent().width / ax.figure.dpi)


def figure(value: float) -> str:
    """Return four digits of a number, without an exponent where that is readable."""
    if value == 0 or not 1e-3 <= abs(value) < 1e7:
        return f"{value:.4g}"
    return f"{value:,.{max(0, 3 - int(np.floor(np.log10(abs(value)))))}f}"


def shortened(name: str, longest: int = 32) -> str:
    """Return a name that fits beside the axis."""
    return name if len(name) <= longest else name[: longest - 1] + "…"
