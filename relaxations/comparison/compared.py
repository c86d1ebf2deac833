"""One row of a comparison: what a relaxation proves at one depth, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass


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
        The certified bound and the solver's own number.
    gap_closed
        ``(bound - floor) / (optimum - floor)``, with floor the unconstrained optimum of the instance and the optimum
        that of the node. A bound that failed closes nothing, 0; NaN where the two tie up to rounding.
    seconds, prepare_seconds
        Wall-clock time of one bound, and of preparing the relaxation.
    status
        How the solve ended; where nodes differ, how many ended how.
    note
        The error, where there was one.
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
