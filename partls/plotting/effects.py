"""The effect of each group: one bar per beta, up or down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from formulations.data import Floats
from partls.plotting.bars import axes_for, draw_bars, figure, sign_colour
from partls.plotting.display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False)
class EffectsDisplay(Display):
    """Horizontal bars of beta, the largest effect on top."""

    names: tuple[str, ...]
    betas: Floats

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None, output: int | None = None) -> Self:
        """Draw the betas of a fitted model."""
        betas = np.atleast_2d(estimator.beta_)[estimator._target(output)]
        return cls(tuple(estimator.group_names_), betas).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the bars."""
        order = np.argsort(-np.abs(self.betas), kind="stable")
        ax = axes_for(ax, len(order))
        values = self.betas[order]
        draw_bars(ax, [self.names[k] for k in order], values, [sign_colour(v) for v in values],
                  [figure(value) for value in values])
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set(xlabel="effect of the group (β)", ylabel="group")
        return self._drawn_on(ax)
