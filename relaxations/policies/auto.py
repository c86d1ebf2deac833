"""The default bound, which a large tree may exchange for a stronger one."""

from __future__ import annotations

from dataclasses import dataclass

from relaxations.active_set import ActiveSetRelaxation


@dataclass(frozen=True)
class Auto(ActiveSetRelaxation):
    """The "active-set" bound while the tree is small; for a large tree, a stronger one if there is one that pays.

    After 1,000 nodes the search looks once at what else there is. With an L2 penalty it solves the root with the
    "strengthened" bound, and starts again with that bound if it closes more than half of the gap that is left. If not,
    and if the nodes that seem to be left cost more than the multipliers of a Shor bound, it starts again with the
    "convexified" bound. Else it computes a diagonal below R'R, and adds the rises of undecided groups up
    (:mod:`relaxations.diagonal`). ``Result.counts`` names the switch: "switched to strengthened", "switched to
    convexified" or "switched to diagonal". By itself, outside a search, it is the "active-set" bound.

    Parameters
    ----------
    convexify : bool
        Whether it may be "convexified": without, the diagonal takes its place, for comparison.
    """

    name: str = "auto"
    convexify: bool = True
