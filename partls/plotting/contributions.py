"""One prediction, group by group: a waterfall from the intercept to the predicted value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from formulations.data import Floats
from formulations.errors import InvalidInput
from partls.plotting.bars import NEUTRAL, axes_for, draw_bars, figure, sign_colour
from partls.plotting.display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False)
class ContributionsDisplay(Display):
    """A waterfall of one sample: each group moves the value from where the one above left it, the largest first."""

    names: tuple[str, ...]
    contributions: Floats
    intercept: float

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, max_groups: int = 15, ax: Axes | None = None,
                       output: int | None = None) -> Self:
        """Draw the contributions to the prediction of one sample: X has one row."""
        parts = estimator.contributions(X, output=output)
        if len(parts.values) != 1:
            raise InvalidInput(f"X has {len(parts.values)} rows: a waterfall shows one, e.g. X[:1] or X.iloc[[0]]")
        display = cls(parts.names[:-1], parts.values[0, :-1], float(parts.values[0, -1]))
        return display.plot(max_groups=max_groups, ax=ax)

    def plot(self, *, max_groups: int = 15, ax: Axes | None = None) -> Self:
        """Draw the waterfall."""
        order = np.argsort(-np.abs(self.contributions), kind="stable")
        shown, rest = order[:max_groups], order[max_groups:]
        names = [self.names[k] for k in shown] + ([f"({len(rest)} more)"] if len(rest) else [])
        steps = np.append(self.contributions[shown], [self.contributions[rest].sum()] if len(rest) else [])
        levels = self.intercept + np.append(0.0, np.cumsum(steps))
        ax = axes_for(ax, len(names) + 2)
        colours = [sign_colour(step) for step in steps]
        figures = [("+" if step > 0 else "") + figure(step) for step in steps]
        draw_bars(
            ax, ["intercept", *names, "prediction"], [0.0, *steps, 0.0], [NEUTRAL, *colours, NEUTRAL],
            ["", *figures, ""], starts=[levels[0], *levels[:-1], levels[-1]],
        )
        for place, level in enumerate(levels):  # from the end of each bar to the start of the next
            ax.plot([level, level], [place - 0.35, place + 1.35], color=NEUTRAL, linewidth=0.8, zorder=0)
        for place, level in ((0, levels[0]), (len(levels), levels[-1])):
            ax.plot([level], [place], marker="D", color="black", markersize=5)
            ax.annotate(figure(level), (level, place), xytext=(7, 0), textcoords="offset points", va="center",
                        fontsize="small", fontweight="bold")
        ax.use_sticky_edges = False  # bars that start at no natural zero need room on both sides
        ax.set(xlabel="predicted value", ylabel="group")
        return self._drawn_on(ax)
