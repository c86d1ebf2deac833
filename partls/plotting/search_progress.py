"""The search as it went: the best model found and the proven bound draw together until the gap is closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from partls.plotting.bars import NEGATIVE, POSITIVE, axes_for
from partls.plotting.display import Display
from partls.runtime.progress import SearchState

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CLOSED = 1e-6  # of the objective


@dataclass(eq=False)
class SearchProgressDisplay(Display):
    """Incumbent and lower bound over time, one step per round of the search."""

    history: tuple[SearchState, ...]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None, output: int | None = None) -> Self:
        """Draw the history of a fit; of a search that was over at once, its one point."""
        estimator._one_result(output)  # refuses a model that was loaded from a file
        several = np.ndim(estimator.coef_) == 2
        return cls(estimator.history_[output] if several else estimator.history_).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw both lines and the gap between them."""
        ax = axes_for(ax, 8)
        seconds = [state.seconds for state in self.history]
        best, bound = [state.objective for state in self.history], [state.lower_bound for state in self.history]
        ax.fill_between(seconds, bound, best, step="post", color="#DDDDDD", label="gap")
        ax.step(seconds, best, where="post", color=NEGATIVE, marker="o", markersize=4, label="best model found")
        ax.step(seconds, bound, where="post", color=POSITIVE, marker="^", markersize=4, label="proven lower bound")
        ax.set(xlabel="seconds", ylabel="objective")
        ax.set_xlim(0.0, 1.05 * seconds[-1] or 1.0)
        ax.ticklabel_format(axis="y", useOffset=False)
        if max(best) - min(bound) <= _CLOSED * max(best):  # over at once: an axis around rounding would mislead
            ax.set_ylim(0.0, 1.2 * max(best) or 1.0)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
        return self._drawn_on(ax)
