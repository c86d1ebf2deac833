"""One relaxation near the root, another below."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from formulations.instance import Instance
from formulations.signs import SignPattern
from relaxations.policies.policy import Policy, PolicyMember
from relaxations.protocol import Bound, Relaxation, strongest
from relaxations.registry import as_relaxation


@dataclass(frozen=True)
class ByDepth(Policy):
    """``shallow`` while fewer than ``depth`` groups are decided, ``deep`` from there on.

    A node closed near the root saves most, so ``shallow`` is the strong bound.
    """

    shallow: Relaxation | str
    deep: Relaxation | str
    depth: int = 3
    kind = "by-depth"

    @property
    def members(self) -> tuple[Relaxation, ...]:
        """The shallow and the deep relaxation."""
        return as_relaxation(self.shallow), as_relaxation(self.deep)

    def prepare(self, instance: Instance) -> _ByDepthBounder:
        """Return the bounder of this instance."""
        shallow, deep = (PolicyMember(member, instance) for member in self.members)
        return _ByDepthBounder(shallow, deep, self.depth)


@dataclass(frozen=True, eq=False)
class _ByDepthBounder:
    shallow: PolicyMember
    deep: PolicyMember
    depth: int

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        member = self.shallow if len(signs) - len(signs.undecided) < self.depth else self.deep
        return strongest([member.ask(signs, cutoff)])
