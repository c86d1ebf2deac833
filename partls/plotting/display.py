"""The part that all pictures share: the axes and the figure, kept so that users can change or save them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class Display:
    """A drawn picture: ``ax_`` and ``figure_``."""

    ax_: Axes
    figure_: Figure | SubFigure

    def _drawn_on(self, ax: Axes) -> Self:
        self.ax_, self.figure_ = ax, ax.figure
        return self
