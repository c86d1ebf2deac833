"""A policy on one instance: its members, prepared when they are first asked, and its decisions at one node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf, nan
from typing import Protocol

from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern
from relaxations.policies.node import BoundBy, Decider, Decision, PolicyNode, SearchBy, Split, Trial, TryBy
from relaxations.policies.prices import price_of
from relaxations.price import Price, Prices, given_prices
from relaxations.protocol import Bound, Bounder, BoundStatus, Relaxation, ask, strongest


class Switching(Protocol):
    """What a run reads of a policy."""

    @property
    def name(self) -> str:
        """The policy and its members."""
        ...

    @property
    def prices(self) -> Prices | None:
        """Prices given by the user."""
        ...

    @property
    def leaves(self) -> dict[str, Relaxation]:
        """The members by label."""
        ...

    def begin(self, instance: Instance) -> Decider:
        """Return what decides in one search."""
        ...


class PolicyMember:
    """A relaxation of a policy on one instance, prepared when it is first asked."""

    def __init__(self, relaxation: Relaxation, label: str, instance: Instance) -> None:
        self.label = label
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


class PolicyRun:
    """The members and the deciders of a policy in one search, of one thread."""

    def __init__(self, policy: Switching, instance: Instance) -> None:
        self._policy, self._instance = policy, instance
        self._leaves = policy.leaves
        self._members = {label: PolicyMember(leaf, label, instance) for label, leaf in self._leaves.items()}
        self._given = given_prices(policy.prices)
        self._prices: dict[str, Price] = {}
        self._deciders: dict[int, Decider] = {}

    def node(self, signs: SignPattern, cutoff: float, inherited: float = -inf, asked: frozenset[str] = frozenset()
             ) -> PolicyNode:
        """Return a node at which nothing has been computed yet."""
        return PolicyNode(signs, self, cutoff, inherited, asked=asked)

    def decide(self, node: PolicyNode) -> Decision:
        """Return the policy's decision, and refuse an answer that is none."""
        decision = self._decider(self._policy, self._policy.begin).decide(node)
        if not isinstance(decision, Decision):
            wanted = "BoundBy, SearchBy, TryBy or SPLIT"
            raise InvalidInput(f"policy {self._policy.name!r} decides {decision!r}: return {wanted}")
        return decision

    def ask(self, relaxation: Relaxation | str, node: PolicyNode) -> Bound:
        """Return the bound of a member at a node, whatever happens."""
        label = self.label(relaxation)
        bound = ask(self._members[label], node.signs, cutoff=node.cutoff)
        return bound if bound.parts else replace(bound, source=label)

    def done(self, node: PolicyNode) -> None:
        """Tell the deciders that learn what came of a node."""
        for decider in self._deciders.values():
            if learn := getattr(decider, "learn", None):
                learn(node)

    def label(self, relaxation: Relaxation | str) -> str:
        """Return the name of a member in counts and decisions."""
        for label, leaf in self._leaves.items():
            if relaxation == label or relaxation is leaf:
                return label
        for label, leaf in self._leaves.items():
            if not isinstance(relaxation, str) and relaxation == leaf:
                return label
        raise InvalidInput(
            f"policy {self._policy.name!r} decides for {relaxation!r}, which is not one of its members: "
            f"{', '.join(self._leaves)}"
        )

    def price(self, relaxation: Relaxation | str) -> Price:
        """Return what a member costs: the user's price, the relaxation's own, or the measured one."""
        label = self.label(relaxation)
        if label not in self._prices:
            self._prices[label] = self._given.get(label) or price_of(self._leaves[label], self._instance)
        return self._prices[label]

    def follow(self, member: Relaxation, node: PolicyNode) -> Decision:
        """Return the decision of a member that is a policy; any other member searches the subtree."""
        begin: Callable[[Instance], Decider] | None = getattr(member, "begin", None)
        return SearchBy(member) if begin is None else self._decider(member, begin).decide(node)

    def _decider(self, policy: object, begin: Callable[[Instance], Decider]) -> Decider:
        if id(policy) not in self._deciders:
            self._deciders[id(policy)] = begin(self._instance)
        return self._deciders[id(policy)]


class PolicyBounder:
    """Bounds single nodes as a policy decides. Where the policy would search a subtree, it bounds the node instead."""

    def __init__(self, run: PolicyRun) -> None:
        self.run = run

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        """Return the highest bound, with all that were computed as its parts."""
        run = self.run
        node = run.node(signs, cutoff)
        while not (node.bounds and node.is_closed):
            decision = run.decide(node)
            if not isinstance(decision, Split) and node.bound_by(decision.relaxation) is None:
                node = node.with_bound(run.label(decision.relaxation), run.ask(decision.relaxation, node))
            elif isinstance(decision, BoundBy):
                raise asked_twice(decision, node)
            if isinstance(decision, Split | SearchBy) or (node.trial and isinstance(decision, TryBy)):
                break
            if isinstance(decision, TryBy):
                node = node.with_trial(Trial(0, ((signs, node.value),)))
        run.done(node)
        if not node.bounds:
            return Bound(-inf, nan, None, BoundStatus.FAILED, 0.0, error="the policy asked no relaxation")
        return strongest(node.bounds)


def asked_twice(decision: BoundBy, node: PolicyNode) -> InvalidInput:
    """Return the error of a policy that would never end."""
    return InvalidInput(
        f"a policy asks {decision.relaxation!r} twice at the node {node.signs}: let it look at node.bounds and return "
        "SPLIT or SearchBy"
    )
