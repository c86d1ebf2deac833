"""The features inside one group: which of them carry its effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from formulations.data import Floats
from partls.plotting.bars import NEUTRAL, axes_for, draw_bars, figure, sign_colour
from partls.plotting.display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW = 12  # features up to which those without a share get a line of their own


@dataclass(eq=False)
class SharesDisplay(Display):
    """Horizontal bars of alpha, the largest share on top.

    What ``max_features`` leaves out is one bar, and so are the features without a share if there are many.
    """

    group: str
    beta: float
    names: tuple[str, ...]
    alphas: Floats

    @classmethod
    def from_estimator(cls, estimator: Any, group: str | int, *, max_features: int | None = 25,
                       ax: Axes | None = None, output: int | None = None) -> Self:
        """Draw the alphas of one group, given by name or position."""
        target, partition = estimator._target(output), estimator.partition_
        members = partition.members(group)
        k = partition.labels[members[0]]
        columns = partition.columns or tuple(f"x{j}" for j in range(partition.n_columns))
        alphas = np.atleast_2d(estimator.alpha_)[target][members]
        beta = float(np.atleast_2d(estimator.beta_)[target][k])
        names = tuple(columns[j] for j in members)
        return cls(partition.names[k], beta, names, alphas).plot(max_features=max_features, ax=ax)

    def plot(self, *, max_features: int | None = 25, ax: Axes | None = None) -> Self:
        """Draw the bars."""
        order = np.argsort(-self.alphas, kind="stable")
        n_shown = len(order) if len(order) <= _FEW else int((self.alphas > 0).sum())
        n_shown = n_shown if max_features is None else min(n_shown, max_features)
        shown, rest = order[:n_shown], order[n_shown:]
        names = [self.names[j] for j in shown]
        values = list(self.alphas[shown])
        colours = [sign_colour(self.beta)] * len(shown)
        if len(rest):
            names.append(f"({len(rest)} more)")
            values.append(float(self.alphas[rest].sum()))
            colours.append(NEUTRAL)
        ax = axes_for(ax, len(names))
        draw_bars(ax, names, values, colours, [f"{100 * value:.1f}%" for value in values])
        ax.set_xlim(left=0.0)
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
        ax.set(xlabel="share of the group's effect (\N{GREEK SMALL LETTER ALPHA})", ylabel="feature")
        ax.set_title(f"{self.group}: β = {figure(self.beta)}")
        return self._drawn_on(ax)
