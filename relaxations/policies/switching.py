"""Policies that choose a relaxation for each node: a cheap bound where it is enough, a strong one where it pays.

A policy is itself a ``Relaxation``, so whatever takes one takes a policy: ``partls.solve(..., relaxation=policy)``.
Its members are given by name or as objects, and may be policies themselves. The bound of a node is the highest of
those computed for it; ``Bound.source`` names the member it came from and ``Bound.parts`` keeps the others. A member
that fails costs its bound, never the others', and is prepared only when it is first asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import ClassVar

import numpy as np

from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern
from relaxations.policies.work import nominal_work
from relaxations.protocol import Bound, Bounder, Relaxation, ask, is_sequential, strongest
from relaxations.registry import as_relaxation


class _Policy:
    """What every policy derives from its members."""

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        """Refuse an unknown member at once."""
        self.members  # noqa: B018

    @property
    def members(self) -> tuple[Relaxation, ...]:
        """The relaxations to choose from."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The policy and its members, e.g. ``by-depth(shor, active-set)``."""
        return f"{self.kind}({', '.join(member.name for member in self.members)})"

    @property
    def sequential(self) -> bool:
        """Whether a member learns from node to node."""
        return any(is_sequential(member) for member in self.members)

    def work(self, instance: Instance) -> float:
        """Return the nominal cost of a node on which every member is asked."""
        return sum(nominal_work(member, instance) for member in self.members)


class _Member:
    """A relaxation of a policy on one instance, prepared when it is first asked."""

    def __init__(self, relaxation: Relaxation, instance: Instance) -> None:
        self.name, self.work = relaxation.name, nominal_work(relaxation, instance)
        self._prepare: Callable[[], Bounder] = lambda: relaxation.prepare(instance)
        self._bounder: Bounder | None = None
        self._broken: Exception | None = None

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        """Return the member's bound, or raise what its preparation raised."""
        if self._broken is not None:
            raise self._broken
        if self._bounder is None:
            try:
                self._bounder = self._prepare()
            except Exception as error:  # once is enough: preparing can be the dearest part
                self._broken = error
                raise
        return self._bounder.bound(signs, cutoff=cutoff)

    def ask(self, signs: SignPattern, cutoff: float) -> Bound:
        """Return the member's bound under its name, whatever happens."""
        return ask(self, signs, cutoff=cutoff, source=self.name)


@dataclass(frozen=True)
class Fixed(_Policy):
    """The same relaxation at every node: what the other policies are measured against."""

    relaxation: Relaxation | str
    kind = "fixed"

    @property
    def members(self) -> tuple[Relaxation, ...]:
        """The one relaxation."""
        return (as_relaxation(self.relaxation),)

    def prepare(self, instance: Instance) -> _FixedBounder:
        """Return the bounder of this instance."""
        return _FixedBounder(_Member(self.members[0], instance))


@dataclass(frozen=True, eq=False)
class _FixedBounder:
    member: _Member

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        return strongest([self.member.ask(signs, cutoff)])


@dataclass(frozen=True)
class ByDepth(_Policy):
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
        shallow, deep = (_Member(member, instance) for member in self.members)
        return _ByDepthBounder(shallow, deep, self.depth)


@dataclass(frozen=True, eq=False)
class _ByDepthBounder:
    shallow: _Member
    deep: _Member
    depth: int

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        member = self.shallow if len(signs) - len(signs.undecided) < self.depth else self.deep
        return strongest([member.ask(signs, cutoff)])


@dataclass(frozen=True)
class CheapThenStrong(_Policy):
    """The cheap bound first; the strong one where the cheap one leaves much to do.

    Much to do means both: a gap to the cutoff of more than ``gap`` times the cutoff, and a subtree of more than
    ``break_even`` nodes. The subtree is estimated from the node alone. If every decided group has so far raised the
    cheap bound by ``rise`` on average, ``gap / rise`` more must be decided before it reaches the cutoff, and there
    are no more than the undecided ones: two to that power. Before any group is decided nothing is known of the tree,
    most trees are small, and the cheap bound stands. ``break_even`` defaults to the number of cheap bounds that one
    strong bound is taken to cost (``relaxations.policies.work``).
    """

    cheap: Relaxation | str
    strong: Relaxation | str
    gap: float = 1e-3
    break_even: float | None = None
    kind = "cheap-then-strong"

    def __post_init__(self) -> None:
        """Refuse thresholds that are no numbers."""
        super().__post_init__()
        for option, value in (("gap", self.gap), ("break_even", self.break_even)):
            if value is not None and not value >= 0:
                raise InvalidInput(f"{option}={value!r} must be a number >= 0")

    @property
    def members(self) -> tuple[Relaxation, ...]:
        """The cheap and the strong relaxation."""
        return as_relaxation(self.cheap), as_relaxation(self.strong)

    def prepare(self, instance: Instance) -> _CheapThenStrongBounder:
        """Return the bounder of this instance; bounds the root once, to measure rises from."""
        cheap, strong = (_Member(member, instance) for member in self.members)
        root = cheap.ask(SignPattern.free(instance.reduction.n_groups), inf).value
        break_even = strong.work / cheap.work if self.break_even is None else self.break_even
        return _CheapThenStrongBounder(cheap, strong, self.gap, break_even, root)


@dataclass(frozen=True, eq=False)
class _CheapThenStrongBounder:
    cheap: _Member
    strong: _Member
    gap: float
    break_even: float
    root: float

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        cheap = self.cheap.ask(signs, cutoff)
        if cheap.status.trusted and not self._much_to_do(cheap.value, signs, cutoff):
            return strongest([cheap])
        return strongest([cheap, self.strong.ask(signs, cutoff)])

    def _much_to_do(self, value: float, signs: SignPattern, cutoff: float) -> bool:
        gap, undecided, decided = cutoff - value, len(signs.undecided), len(signs) - len(signs.undecided)
        if cutoff < inf and (gap <= self.gap * abs(cutoff) or not decided):
            return False
        rise = (value - self.root) / max(decided, 1)
        levels = min(float(undecided), gap / rise) if rise > 0 else float(undecided)
        return float(2.0**levels) > self.break_even


@dataclass(frozen=True)
class Adaptive(_Policy):
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
        members = sorted((_Member(member, instance) for member in self.members), key=lambda member: member.work)
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
    def __init__(self, members: list[_Member], rng: np.random.Generator, explore: float) -> None:
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
