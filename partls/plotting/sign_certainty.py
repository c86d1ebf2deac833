"""How sure the sign of each group is: how much worse the fit gets with the sign flipped."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Self

from partls.explain.sign_certainty import FlippedGroup, SignCertainty
from partls.plotting.bars import axes_for, draw_bars, sign_colour
from partls.plotting.display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDE = 50.0  # ratio of the largest to the smallest increase from which the axis is logarithmic
_NOTHING = 1e-6  # an increase that counts as none: the axis ends there


@dataclass(eq=False)
class SignCertaintyDisplay(Display):
    """Horizontal bars of the exact increase of the objective when one group's sign is flipped, least sure on top."""

    certainty: SignCertainty

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None, output: int | None = None, **options: Any
                       ) -> Self:
        """Compute the certainty of a fitted model's signs and draw it; options as in ``sign_certainty``."""
        return cls(estimator.sign_certainty(output=output, **{"max_patterns": 0, **options})).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the bars."""
        rows = sorted(self.certainty.rows, key=lambda row: row.increase)
        ax = axes_for(ax, len(rows))
        increases = [row.increase if isfinite(row.increase) else 1.0 for row in rows]  # infinite: not exact
        exact = self.certainty.exact_fit
        signs = {1: "+", 0: "0", -1: "\N{MINUS SIGN}"}
        draw_bars(
            ax, [f"{row.group}  ({signs[row.sign]})" for row in rows], increases, [sign_colour(r.sign) for r in rows],
            [_exactness(row) if exact else ("" if row.exact else "≤ ") + _percent(row.increase) for row in rows],
        )
        seen = [value for value in increases if value > _NOTHING]
        if seen and max(seen) > _WIDE * min(seen) and min(increases) >= 0:
            ax.set_xscale("log")
            ax.set_xlim(min(seen) / 3, max(seen) * 6)
        ax.xaxis.set_major_formatter(lambda value, _: _percent(value))
        ax.set(xlabel="increase of the objective if the sign is flipped", ylabel="group (sign)")
        if exact:
            ax.set_xticks([])
            ax.set_xlabel("what becomes of the exact fit if the sign is flipped")
        return self._drawn_on(ax)


def _exactness(row: FlippedGroup) -> str:
    """Return what flipping does to an exact fit: nothing is a share of its objective."""
    return "exact as well" if row.increase == 0 else "not exact" if row.exact else "unknown"


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"
