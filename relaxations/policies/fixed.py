"""One relaxation at every node."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from formulations.instance import Instance
from formulations.signs import SignPattern
from relaxations.policies.policy import Policy, PolicyMember
from relaxations.protocol import Bound, Relaxation, strongest
from relaxations.registry import as_relaxation


@dataclass(frozen=True)
class Fixed(Policy):
    """The same relaxation at every node: what the other policies are measured against."""

    relaxation: Relaxation | str
    kind = "fixed"

    @property
    def members(self) -> tuple[Relaxation, ...]:
        """The one relaxation."""
        return (as_relaxation(self.relaxation),)

    def prepare(self, instance: Instance) -> _FixedBounder:
        """Return the bounder of this instance."""
        return _FixedBounder(PolicyMember(self.members[0], instance))


@dataclass(frozen=True, eq=False)
class _FixedBounder:
    member: PolicyMember

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        return strongest([self.member.ask(signs, cutoff)])
