"""The default bound, which a large tree may exchange for a stronger one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relaxations.active_set import ActiveSetRelaxation


@dataclass(frozen=True)
class Auto(ActiveSetRelaxation):
    """The "active-set" bound while the tree is small; for a large tree, a stronger bound if it pays.

    After 1,000 nodes the search considers other bounds once. With an L2 penalty it solves the root with the
    "strengthened" bound, and starts again with that bound if it closes more than half of the remaining gap; once the
    nodes of that tree have cost as much as a "shor" bound, the root is bounded by "shor", too. Without such a penalty,
    or if it is weak, and if the nodes that seem to be left cost more than the multipliers of a Shor bound, it starts
    again with the "convexified" bound. Otherwise it computes a diagonal below R'R and adds up the rises of undecided
    groups (:mod:`relaxations.diagonal`). ``Result.counts`` names the switch: "switched to strengthened", "switched to
    convexified" or "switched to diagonal". Outside a search, it is the "active-set" bound.

    Parameters
    ----------
    name : str
        The name in tables and counts.
    convexify : bool
        Whether the search may change to "convexified". If not, the diagonal takes its place, for comparison.

    Examples
    --------
    >>> import partls
    >>> from formulations import random_instance
    >>> from relaxations import Auto
    >>> partls.solve_instance(random_instance(M=12, group_size=3), relaxation=Auto()).status.value
    'optimal'
    """

    name: str = "auto"
    convexify: bool = True
    priced_as: ClassVar[str] = "active-set"
