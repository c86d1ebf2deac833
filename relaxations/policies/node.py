"""A node as a policy sees it, and what the policy may decide there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Protocol

from formulations.signs import SignPattern
from relaxations.price import Price
from relaxations.protocol import Bound, Relaxation


@dataclass(frozen=True)
class BoundBy:
    """A decision: bound this node by a relaxation. If that does not close it, the policy decides again.

    Parameters
    ----------
    relaxation : Relaxation or str
        A member of the policy.

    Examples
    --------
    >>> from relaxations import BoundBy
    >>> BoundBy("shor")
    BoundBy(relaxation='shor')
    """

    relaxation: Relaxation | str


@dataclass(frozen=True)
class SearchBy:
    """A decision: search the whole subtree by one relaxation. The policy is not asked below this node.

    "active-set" searches in compiled code: the subtree costs as much as in the plain search.

    Parameters
    ----------
    relaxation : Relaxation or str
        A member of the policy.

    Examples
    --------
    >>> from relaxations import SearchBy
    >>> SearchBy("active-set")
    SearchBy(relaxation='active-set')
    """

    relaxation: Relaxation | str


@dataclass(frozen=True)
class TryBy:
    """A decision: search the subtree by one relaxation for at most ``nodes`` nodes. Then decide again about the rest.

    ``SearchBy`` the same relaxation continues the trial; a split drops the open part of it.

    Parameters
    ----------
    relaxation : Relaxation or str
        A member of the policy.
    nodes : int
        The most nodes of the trial.

    Examples
    --------
    >>> from relaxations import TryBy
    >>> TryBy("active-set", nodes=100)
    TryBy(relaxation='active-set', nodes=100)
    """

    relaxation: Relaxation | str
    nodes: int


@dataclass(frozen=True)
class Split:
    """A decision: split the node on a group. The policy decides again at both children.

    Examples
    --------
    >>> from relaxations import SPLIT, Split
    >>> Split() == SPLIT
    True
    """


SPLIT = Split()
Decision = BoundBy | SearchBy | TryBy | Split


@dataclass(frozen=True)
class Trial:
    """The state of a trial that is not finished.

    Attributes
    ----------
    nodes
        The number of nodes searched.
    open
        The open subtrees, each with its estimated bound.

    Examples
    --------
    >>> from formulations import SignPattern
    >>> from relaxations import Trial
    >>> Trial(nodes=10, open=((SignPattern((1, 0)), 3.5),)).nodes
    10
    """

    nodes: int
    open: tuple[tuple[SignPattern, float], ...]


class Members(Protocol):
    """The members of a policy on one instance."""

    def label(self, relaxation: Relaxation | str) -> str:
        """Return the name of a member in counts and decisions."""
        ...

    def price(self, relaxation: Relaxation | str) -> Price:
        """Return what a member costs."""
        ...

    def follow(self, member: Relaxation, node: PolicyNode) -> Decision:
        """Return the decision of a member that is a policy; any other member searches the subtree."""
        ...


_OUTWEIGHS, _AT_ONCE = 3.0, 30.0  # times a price: the estimates that pay for another search, confirmed or not


@dataclass(frozen=True)
class PolicyNode:
    """One node, in original units, as a policy sees it.

    Attributes
    ----------
    signs
        The sign pattern; 0 for undecided groups.
    members
        Prices and names of the policy's members.
    cutoff
        A bound of this value closes the node; infinity outside a search.
    inherited
        The bound proved for the parent; -inf at the root.
    bounds, sources
        The bounds computed at this node so far, and the members that gave them.
    trial
        The last trial in this subtree, or None.
    asked
        The members whose bounds were computed at this node or its ancestors: they are prepared.
    earlier
        The estimate after the trial before the last; infinity if there was none.

    Examples
    --------
    >>> from formulations import SignPattern
    >>> from relaxations import PolicyNode
    >>> node = PolicyNode(SignPattern((1, 0, 0)), members=None)
    >>> node.depth, node.undecided, node.value
    (1, 2, -inf)
    """

    signs: SignPattern
    members: Members
    cutoff: float = inf
    inherited: float = -inf
    bounds: tuple[Bound, ...] = ()
    sources: tuple[str, ...] = ()
    trial: Trial | None = None
    asked: frozenset[str] = frozenset()
    earlier: float = inf

    @property
    def undecided(self) -> int:
        """Number of undecided groups."""
        return len(self.signs.undecided)

    @property
    def depth(self) -> int:
        """Number of decided groups."""
        return len(self.signs) - self.undecided

    @property
    def value(self) -> float:
        """The best bound known here."""
        return max([self.inherited, *(bound.value for bound in self.bounds if bound.status.trusted)])

    @property
    def is_closed(self) -> bool:
        """Whether a bound has reached the cutoff."""
        return self.value >= self.cutoff

    def bound_by(self, relaxation: Relaxation | str) -> Bound | None:
        """Return the bound that a member gave at this node, or None if it was not asked."""
        label = self.members.label(relaxation)
        return next((bound for bound, source in zip(self.bounds, self.sources, strict=True) if source == label), None)

    def price(self, relaxation: Relaxation | str) -> Price:
        """Return what the next bound of a member costs; ``prepare`` is 0 if an ancestor has asked it."""
        price = self.members.price(relaxation)
        return Price(0.0, price.bound) if self.members.label(relaxation) in self.asked else price

    def follow(self, member: Relaxation) -> Decision:
        """Return the decision of a member: of a policy its own, of any other relaxation ``SearchBy`` it."""
        return self.members.follow(member, self)

    def __contains__(self, relaxation: Relaxation | str) -> bool:
        """Return whether a member was asked at this node or an ancestor."""
        return self.members.label(relaxation) in self.asked

    @property
    def estimate(self) -> float:
        """Nodes that the search of the last trial has left, estimated; infinity without a trial.

        At each open node the gap to the cutoff, divided by the mean rise of the bound per decided group, is the number
        of levels below, and a level doubles the nodes.
        """
        if self.trial is None:
            return inf
        opened = [(len(signs) - len(signs.undecided), bound) for signs, bound in self.trial.open]
        top, deepest = min(opened), max(opened)
        rise = (deepest[1] - top[1]) / max(deepest[0] - top[0], 1)
        nodes = 0.0
        for depth, bound in opened:
            levels = float(len(self.signs) - depth)
            if rise > 0:
                levels = min(levels, max(self.cutoff - bound, 0.0) / rise)
            nodes += 2.0**levels
        return nodes

    def outweighs(self, worth: float) -> bool:
        """Return whether to hand the subtree to another compiled search, whose preparation costs so many nodes.

        What is left must be estimated at three times the price, twice in a row because estimates scatter, or once at
        thirty times. The threshold falls with the nodes searched and is zero at twice the price, so a tree whose size
        no estimate has shown costs at most twice the price in vain. An open subtree is taken to be no larger than its
        sibling, which has been searched.
        """
        if self.trial is None:
            return False
        searched = self.trial.nodes
        left = min(self.estimate, searched * (2.0 ** len(self.trial.open) - 1.0) if searched else inf)
        least = self.least_left(worth)
        return left > (least if least < self.earlier < inf else _AT_ONCE * worth)

    def least_left(self, worth: float) -> float:
        """Return the estimate from which two in a row hand the subtree over."""
        return _OUTWEIGHS * (worth - 0.5 * (self.trial.nodes if self.trial else 0))

    @property
    def gap_closed(self) -> float:
        """Share of the gap between the lowest bound of the last trial and the cutoff that other bounds have closed."""
        lowest = min((bound for _, bound in self.trial.open), default=self.value) if self.trial else self.value
        gap = self.cutoff - lowest
        return max(self.value - lowest, 0.0) / gap if 0 < gap < inf else 0.0

    def with_bound(self, member: str, bound: Bound) -> PolicyNode:
        """Return the node with one more bound."""
        return replace(
            self, bounds=(*self.bounds, bound), sources=(*self.sources, member), asked=self.asked | {member}
        )

    def with_trial(self, trial: Trial) -> PolicyNode:
        """Return the node after a trial."""
        return replace(self, trial=trial, earlier=self.estimate)


class Decider(Protocol):
    """Decides at the nodes of one search. One that learns also has ``learn(node)``, called when a node is done."""

    def decide(self, node: PolicyNode) -> Decision:
        """Return what to do next at a node that no bound has closed yet."""
        ...


_SHARE, _LEAST, _MOST = 0.1, 128, 10_000_000  # of what a strong bound is worth; nodes


def trial_nodes(worth: float, *, again: bool) -> int:
    """Return the nodes of a trial before a bound that is worth so many: a tenth of them.

    The first trial on the way down has enough nodes to finish small trees, whatever the bound is worth.
    """
    return int(min(max(_SHARE * worth, 1 if again else _LEAST), _MOST))


def growing_trial(node: PolicyNode, worth: float) -> int:
    """Return the nodes of a trial before another compiled search that is worth so many.

    A short one begins, and confirms a large estimate. After a small estimate the next trial triples what has been
    searched, since each one costs time of its own, up to twice the price.
    """
    short = max(_SHARE / 2 * worth, _LEAST / 2)
    if node.trial is not None and node.estimate <= node.least_left(worth):
        short = max(short, min(2.0 * node.trial.nodes, 2.0 * worth - node.trial.nodes))
    return int(min(short, _MOST))
