"""One relaxation near the root, another below."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from relaxations.policies.node import SPLIT, BoundBy, Decision, PolicyNode
from relaxations.policies.policy import Policy, constant
from relaxations.protocol import Relaxation
from relaxations.registry import as_relaxation


@dataclass(frozen=True)
class ByDepth(Policy):
    """Bound nodes with fewer than ``depth`` decided groups by ``shallow``, and search the subtrees below by ``deep``.

    A node closed near the root saves most, so ``shallow`` is the strong bound. ``ByDepth("shor", "active-set", 1)``
    bounds the root by Shor's SDP; if that does not prove the optimum, the compiled search takes the children.

    Parameters
    ----------
    shallow, deep : Relaxation or str
        The strong bound and the fast one.
    depth : int
        The number of decided groups at which ``deep`` takes over.

    Examples
    --------
    >>> import partls
    >>> from formulations import random_instance
    >>> from relaxations import ByDepth
    >>> policy = ByDepth("perspective", "active-set", depth=1)
    >>> partls.solve_instance(random_instance(M=12, group_size=3), relaxation=policy).status.value
    'optimal'
    """

    shallow: Relaxation | str
    deep: Relaxation | str
    depth: int = 3
    kind = "by-depth"

    @cached_property
    def members(self) -> tuple[Relaxation, ...]:
        """The shallow and the deep relaxation."""
        return as_relaxation(self.shallow), as_relaxation(self.deep)

    @property
    def constant(self) -> Relaxation | None:
        """The deep relaxation, if no node is above it."""
        return None if self.depth > 0 else self.members[1]

    def decide(self, node: PolicyNode) -> Decision:
        """Bound by the shallow relaxation and split; from ``depth`` on, search by the deep one."""
        if node.depth >= self.depth:
            return node.follow(self.members[1])
        shallow = constant(self.members[0])
        if isinstance(shallow, Policy):
            return node.follow(shallow)
        return BoundBy(shallow) if node.bound_by(shallow) is None else SPLIT
