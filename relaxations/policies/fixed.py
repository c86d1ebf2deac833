"""One relaxation for the whole search."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from relaxations.policies.node import Decision, PolicyNode
from relaxations.policies.policy import Policy
from relaxations.protocol import Relaxation
from relaxations.registry import as_relaxation


@dataclass(frozen=True)
class Fixed(Policy):
    """The same relaxation at every node: the baseline for other policies.

    ``Fixed("active-set")`` is the search by "active-set": the same nodes in the same compiled code.

    Parameters
    ----------
    relaxation : Relaxation or str
        The relaxation.

    Examples
    --------
    >>> import partls
    >>> from formulations import random_instance
    >>> from relaxations import Fixed
    >>> partls.solve_instance(random_instance(M=6, group_size=3), relaxation=Fixed("perspective")).status.value
    'optimal'
    """

    relaxation: Relaxation | str
    kind = "fixed"

    @cached_property
    def members(self) -> tuple[Relaxation, ...]:
        """The one relaxation."""
        return (as_relaxation(self.relaxation),)

    @property
    def constant(self) -> Relaxation:
        """The one relaxation."""
        return self.members[0]

    def decide(self, node: PolicyNode) -> Decision:
        """Search by the one relaxation."""
        return node.follow(self.members[0])
