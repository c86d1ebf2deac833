"""One row of a comparison: what a relaxation proves at one depth, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan

_ANSWERED = ("optimal", "unproven")  # statuses of a bound that was solved
SHOWN_AS_ZERO = 5e-5  # shares below this print as 0.0000


@dataclass(frozen=True)
class Compared:
    """One relaxation at one depth.

    Attributes
    ----------
    relaxation
        Its name.
    depth, nodes
        Number of decided groups, and over how many nodes of that depth the numbers are means.
    bound, estimate
        The certified bound and the solver's value. A relaxation that proves nothing has the bound -inf.
    gap_closed
        ``(bound - floor) / (reference - floor)``, with floor the unconstrained optimum of the instance, and the optimum
        or the best known solution of the node as reference. A bound that failed closes nothing, 0; NaN where the two
        tie up to rounding.
    seconds, prepare_seconds
        Wall-clock time of one bound, and of preparing the relaxation.
    status
        How the solve ended; where nodes differ, how many ended how.
    note
        The error, where there was one.
    estimate_closed
        The share that the estimate would close, if it were proved; NaN without one.
    measured_against
        What the reference is: the optimum or the best known solution, and where it comes from.
    """

    relaxation: str
    depth: int
    nodes: int
    bound: float
    estimate: float
    gap_closed: float
    seconds: float
    prepare_seconds: float
    status: str
    note: str = ""
    estimate_closed: float = nan
    measured_against: str = ""

    @property
    def is_unproven(self) -> bool:
        """Whether there is an answer and no proof of it: an estimate without a bound."""
        return not isfinite(self.bound) and isfinite(self.estimate_closed) and self.status in _ANSWERED

    @property
    def is_floor(self) -> bool:
        """Whether the bound is the zero line of the gap: the unconstrained optimum."""
        return isfinite(self.bound) and abs(self.gap_closed) < SHOWN_AS_ZERO
