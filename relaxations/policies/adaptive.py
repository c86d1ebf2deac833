"""The relaxation that has been seen to save more work than it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np

from formulations.errors import InvalidInput
from formulations.instance import Instance
from relaxations.active_set import ActiveSetRelaxation
from relaxations.policies.node import SPLIT, BoundBy, Decision, PolicyNode, SearchBy, TryBy, growing_trial, trial_nodes
from relaxations.policies.policy import Policy
from relaxations.price import Price
from relaxations.protocol import Relaxation
from relaxations.registry import as_relaxation

_LEAST = 1e-9  # seconds: no bound is free
_FIRST_RATE = 0.1  # at which a member closes nodes, before any was seen
_SPLITS = 2.0  # times the price of the cheapest other bound: what a subtree must be estimated at to be split further


@dataclass(frozen=True)
class Adaptive(Policy):
    """The cheapest bound first; then the bound that has saved more work than it costs.

    The policy counts how often each member closes a node with u undecided groups: the cheapest any node, the others a
    node that the cheapest left open. The work V(u) of a subtree searched with the cheapest bound alone is then
    ``V(u) = work + 2 (1 - p(u)) V(u - 1)``, and another member saves ``2 p V(u - 1)`` per bound. The policy asks the
    member with the largest saving above its cost, if there is one. Now and then it tries another, drawn by ``seed``,
    so rarely that trials take about ``explore`` of the work. Costs are prices: the clock is not read, and the
    same seed gives the same search.

    If the cheapest member is "active-set", its compiled search first tries each subtree. If much is left, the policy
    asks the member whose rate of closing, times the estimated size of the rest, exceeds its price most; if there is
    none, the compiled search keeps the subtree. A member that is a compiled search itself ("convexified") takes the
    subtree under the rule of :class:`CheapThenStrong`.

    Parameters
    ----------
    relaxations : sequence of relaxations or names
        The members.
    seed : int
        Seed of the trials.
    explore : float
        The share of the work that trials may take.
    prices : mapping, optional
        Prices of the members by name, in seconds; by default, those measured (:class:`Price`).

    Examples
    --------
    >>> import partls
    >>> from formulations import random_instance
    >>> from relaxations import Adaptive
    >>> policy = Adaptive(["active-set", "perspective"])
    >>> partls.solve_instance(random_instance(M=12, group_size=3), relaxation=policy).status.value
    'optimal'
    """

    relaxations: Sequence[Relaxation | str]
    seed: int = 0
    explore: float = 0.05
    prices: Mapping[str, Price | float] | None = None
    kind = "adaptive"
    sequential = True

    def __post_init__(self) -> None:
        """Refuse an empty list."""
        if isinstance(self.relaxations, str) or not self.relaxations:
            raise InvalidInput(f"relaxations={self.relaxations!r}: list at least one relaxation to choose from")
        super().__post_init__()

    @cached_property
    def members(self) -> tuple[Relaxation, ...]:
        """The relaxations in the order given."""
        return tuple(as_relaxation(relaxation) for relaxation in self.relaxations)

    def begin(self, instance: Instance) -> _Learner:
        """Return a decider that has learnt nothing yet."""
        return _Learner(tuple(self.leaves.values()), np.random.default_rng(self.seed), self.explore)


@dataclass(eq=False)
class _ClosingRate:
    """How often a member closes a node, by the number of undecided groups."""

    asked: Counter[int] = field(default_factory=Counter)
    closed: Counter[int] = field(default_factory=Counter)

    def learn(self, undecided: int, closed: bool) -> None:
        self.asked[undecided] += 1
        self.closed[undecided] += closed

    def overall(self) -> float:
        """Return the rate at all depths: the first bound is asked where a tenth of the estimate is its price."""
        return (self.closed.total() + 2 * _FIRST_RATE) / (self.asked.total() + 2)

    def at(self, undecided: int, otherwise: float) -> float:
        """Return the rate at this depth; ``otherwise`` counts as two nodes, and alone where none was seen."""
        return (self.closed[undecided] + 2 * otherwise) / (self.asked[undecided] + 2)


class _Learner:
    def __init__(self, members: tuple[Relaxation, ...], rng: np.random.Generator, explore: float) -> None:
        self._members, self._rng, self._explore = members, rng, explore
        self._rates = [_ClosingRate() for _ in members]
        self._order: list[int] = []  # cheapest first
        self._costs: list[float] = []

    def decide(self, node: PolicyNode) -> Decision:
        """Bound by the cheapest member, then by at most one other; split what they leave open."""
        if not self._order:
            self._costs = [max(node.price(member).bound, _LEAST) for member in self._members]
            self._order = sorted(range(len(self._members)), key=lambda i: self._costs[i])
        cheapest = self._order[0]
        if len(self._order) == 1:
            return SearchBy(self._members[cheapest])
        if isinstance(self._members[cheapest], ActiveSetRelaxation):
            return self._among_subtrees(node)
        if node.bound_by(self._members[cheapest]) is None:
            return BoundBy(self._members[cheapest])
        if len(node.bounds) > 1:
            return SPLIT
        choice = self._choose(node.undecided, node.bounds[0].status.trusted)
        return SPLIT if choice is None else BoundBy(self._members[choice])

    def learn(self, node: PolicyNode) -> None:
        """Count which of the members asked have closed the node."""
        if node.cutoff == inf:  # nothing can close a node without one
            return
        for i, member in enumerate(self._members):
            bound = node.bound_by(member)
            if bound is not None:
                closes = bound.status.trusted and bound.value >= node.cutoff
                self._rates[i].learn(node.undecided, closes)

    def _among_subtrees(self, node: PolicyNode) -> Decision:
        """Try the cheapest search; where it leaves much, ask the member that saves most for its price, or split."""
        cheapest, others = self._members[self._order[0]], self._order[1:]
        least = node.price(cheapest).bound or _LEAST
        worth = {i: node.price(self._members[i]).of(1) / least for i in others}
        compiled = [i for i in others if isinstance(self._members[i], ActiveSetRelaxation)]
        nearest = min(worth, key=lambda i: worth[i])
        if node.trial is None and nearest in compiled:
            return TryBy(cheapest, growing_trial(node, worth[nearest]))
        if node.trial is None:
            return TryBy(cheapest, trial_nodes(worth[nearest], again=bool(node.asked)))
        if node.bounds:
            return SPLIT if node.estimate > _SPLITS * worth[nearest] else SearchBy(cheapest)
        for i in compiled:
            if node.outweighs(worth[i]):
                return SearchBy(self._members[i])
        rates = {i: self._rates[i].at(node.undecided, self._rates[i].overall()) for i in others if i not in compiled}
        best = max(rates, key=lambda i: rates[i] / worth[i], default=None)
        more = 0  # nodes to try, as the estimate may be far too low
        if compiled:
            more = growing_trial(node, min(worth[i] for i in compiled))
        elif best is not None and node.trial.nodes < worth[best]:
            more = trial_nodes(worth[best], again=True)
        if best is not None:
            drawn = self._rng.random() < self._explore * (more or node.estimate) / worth[best]
            if drawn or rates[best] * node.estimate > worth[best]:
                return BoundBy(self._members[best])
        return TryBy(cheapest, more) if more else SearchBy(cheapest)

    def _choose(self, undecided: int, answered: bool) -> int | None:
        """Return the member that saves most for its cost, one to try, or None; one in any case without an answer."""
        others = self._order[1:]
        if not others or (answered and undecided == 0):  # two children, each a bound that no other can better
            return None
        saved = 2 * self._subtree(undecided - 1)
        rates = {i: self._rates[i].at(undecided, self._rates[i].overall()) for i in others}
        worth = {i: rates[i] * saved / self._costs[i] for i in others}
        best = max(others, key=lambda i: worth[i])
        if worth[best] > 1 or not answered:
            return best
        chances = [self._explore * self._costs[self._order[0]] / self._costs[i] for i in others]
        drawn = self._rng.random(len(chances)) < chances
        return next((i for i, hit in zip(others, drawn, strict=True) if hit), None)

    def _subtree(self, undecided: int) -> float:
        """Return the expected work of a node and all below it with the cheapest bound alone."""
        cheapest, work = self._order[0], 0.0
        for u in range(undecided + 1):
            # Half of all nodes of any search are closed: where nothing was seen, that keeps the subtree narrow.
            work = self._costs[cheapest] + 2 * (1 - self._rates[cheapest].at(u, 0.5)) * work
        return work
