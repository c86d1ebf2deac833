"""The relaxation that has been seen to save more work than it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern
from relaxations.policies.policy import Policy, PolicyMember
from relaxations.protocol import Bound, Relaxation, strongest
from relaxations.registry import as_relaxation


@dataclass(frozen=True)
class Adaptive(Policy):
    """The cheapest bound first; then whichever has been seen to save more work than it costs.

    The run teaches how often each member closes a node with u undecided groups: the cheapest any node, the others a
    node the cheapest left open. From that follows the work V(u) of a subtree searched with the cheapest bound alone,
    ``V(u) = work + 2 (1 - p(u)) V(u - 1)``, and what another member saves, ``2 p V(u - 1)`` per bound. The one that
    saves most for its cost is asked, if that is more than its cost. Now and then another is tried, drawn by ``seed``
    and so rarely that trying takes about ``explore`` of the work. Costs are nominal
    (``relaxations.policies.work``): the clock is not read, and the same seed gives the same search.
    """

    relaxations: Sequence[Relaxation | str]
    seed: int = 0
    explore: float = 0.05
    kind = "adaptive"
    sequential = True

    def __post_init__(self) -> None:
        """Refuse an empty list."""
        if isinstance(self.relaxations, str) or not self.relaxations:
            raise InvalidInput(f"relaxations={self.relaxations!r}: list at least one relaxation to choose from")
        super().__post_init__()

    @property
    def members(self) -> tuple[Relaxation, ...]:
        """The relaxations in the order given."""
        return tuple(as_relaxation(relaxation) for relaxation in self.relaxations)

    def prepare(self, instance: Instance) -> _AdaptiveBounder:
        """Return a bounder that has learnt nothing yet."""
        members = sorted((PolicyMember(member, instance) for member in self.members), key=lambda member: member.work)
        return _AdaptiveBounder(members, np.random.default_rng(self.seed), self.explore)


@dataclass(eq=False)
class _ClosingRate:
    """How often a member closes a node, by the number of undecided groups."""

    asked: Counter[int] = field(default_factory=Counter)
    closed: Counter[int] = field(default_factory=Counter)

    def learn(self, undecided: int, closed: bool) -> None:
        self.asked[undecided] += 1
        self.closed[undecided] += closed

    def overall(self) -> float:
        """Return the rate at all depths, a half before any node was seen."""
        return (self.closed.total() + 1) / (self.asked.total() + 2)

    def at(self, undecided: int, otherwise: float) -> float:
        """Return the rate at this depth; ``otherwise`` counts as two nodes, and alone where none was seen."""
        return (self.closed[undecided] + 2 * otherwise) / (self.asked[undecided] + 2)


class _AdaptiveBounder:
    def __init__(self, members: list[PolicyMember], rng: np.random.Generator, explore: float) -> None:
        self._members, self._rng, self._explore = members, rng, explore
        self._rates = [_ClosingRate() for _ in members]

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        bounds = [self._ask(0, signs, cutoff)]
        if not _closes(bounds[0], cutoff):
            choice = self._choose(len(signs.undecided), bounds[0].status.trusted)
            bounds += [] if choice is None else [self._ask(choice, signs, cutoff)]
        return strongest(bounds)

    def _ask(self, i: int, signs: SignPattern, cutoff: float) -> Bound:
        bound = self._members[i].ask(signs, cutoff)
        if cutoff < inf:  # nothing can close a node without one
            self._rates[i].learn(len(signs.undecided), _closes(bound, cutoff))
        return bound

    def _choose(self, undecided: int, answered: bool) -> int | None:
        """Return the member that saves most for its cost, one to try, or None; one in any case without an answer."""
        others = range(1, len(self._members))
        if not others or (answered and undecided == 0):  # two children, each a bound that no other can better
            return None
        saved = 2 * self._subtree(undecided - 1)
        rates = {i: self._rates[i].at(undecided, self._rates[i].overall()) for i in others}
        worth = {i: rates[i] * saved / self._members[i].work for i in others}
        best = max(others, key=lambda i: worth[i])
        if worth[best] > 1 or not answered:
            return best
        chances = [self._explore * self._members[0].work / self._members[i].work for i in others]
        drawn = self._rng.random(len(chances)) < chances
        return next((i for i, hit in zip(others, drawn, strict=True) if hit), None)

    def _subtree(self, undecided: int) -> float:
        """Return the expected work of a node and all below it with the cheapest bound alone."""
        work = 0.0
        for u in range(undecided + 1):
            # Half of all nodes of any search are closed: where nothing was seen, that keeps the subtree narrow.
            work = self._members[0].work + 2 * (1 - self._rates[0].at(u, 0.5)) * work
        return work


def _closes(bound: Bound, cutoff: float) -> bool:
    return bound.status.trusted and bound.value >= cutoff
