"""The explorer of a policy: bounds nodes, splits them and hands subtrees over, as the policy decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf, nan

import numpy as np
from numpy.typing import NDArray

from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.explore.branching import BranchingRule
from partls.explore.generic import GenericExplorer, close
from partls.explore.subtree import Exploration, Explorer, Incumbent, Subtree, Tolerances
from partls.tree_trace import SEARCHED
from relaxations.policies.node import Decision, PolicyNode, SearchBy, Split, Trial, TryBy
from relaxations.policies.policy import Policy
from relaxations.policies.run import PolicyRun, asked_twice
from relaxations.protocol import Bound, BoundStatus, strongest

_NODES = 8  # the policy bounds in one task: they are dear, and what is open can be explored elsewhere
_NOTHING = Bound(-inf, nan, None, BoundStatus.FAILED, 0.0)


@dataclass
class _TrialOf:
    """The trial of one subtree: by whom, what is left open, and the lowest bound of what was closed."""

    label: str
    left: list[Subtree]
    closed: float = inf
    nodes: int = 0


@dataclass
class _Visit:
    """One node while the policy decides on it."""

    node: Subtree
    seen: PolicyNode
    out: Exploration
    at: SignPattern
    tried: _TrialOf | None = field(default=None)


class PolicyExplorer(GenericExplorer):
    """Ask the policy at each node, and do what it decides.

    A subtree that the policy gives to one relaxation is returned as open, under the name of that relaxation, whose own
    explorer takes it as its next task: with the budget and the speed of a plain search.
    """

    def __init__(self, instance: Instance, policy: Policy, searches: Mapping[str, Explorer], fallback: Explorer,
                 rule: BranchingRule, tolerances: Tolerances, *, tracing: bool = False) -> None:
        super().__init__(
            instance.reduction, lambda: policy.prepare(instance), rule, tolerances, policy.name, tracing=tracing
        )
        self._searches, self._fallback = searches, fallback

    def explore(self, subtree: Subtree, incumbent: Incumbent, node_budget: int, stop: NDArray[np.uint8]) -> Exploration:
        """Explore one subtree, as far as the policy bounds its nodes."""
        self._local.stop, self._local.budget, self._local.visits = stop, node_budget, 0
        return super().explore(subtree, incumbent, node_budget, stop)

    @property
    def _run(self) -> PolicyRun:
        run: PolicyRun = self._local.bounder.run
        return run

    def _goes_on(self, node: Subtree) -> bool:
        return not node.search and not node.doubtful and bool(self._local.visits < _NODES)

    def _expand(self, node: Subtree, out: Exploration) -> list[Subtree]:
        """Close a node, or return its children, or the subtrees with the name of the relaxation to search them."""
        if self._closes(node.bound, out):
            return close(node.bound, out, "prunes", "a parent's bound")
        self._local.visits += 1
        run, scale = self._run, self._reduction.scale
        cutoff = self._tolerances.cutoff(out.best.value)
        visit = _Visit(node, run.node(node.signs, cutoff * scale, node.bound * scale, node.asked), out, node.signs)
        while not (visit.seen.bounds and visit.seen.is_closed):
            decision = run.decide(visit.seen)
            if isinstance(decision, Split):
                break
            below = self._carried_out(decision, visit)
            if below is not None:
                run.done(visit.seen)
                return below
            if visit.node.signs.is_complete and not node.signs.is_complete:
                break
        run.done(visit.seen)
        bounded = strongest(visit.seen.bounds) if visit.seen.bounds else _NOTHING
        return self._close_or_split(replace(visit.node, asked=visit.seen.asked), bounded, out, node.signs)

    def _carried_out(self, decision: Decision, visit: _Visit) -> list[Subtree] | None:
        """Carry a decision out; return what is left of the node, or None if the policy decides again."""
        run, seen = self._run, visit.seen
        if isinstance(decision, Split):
            return None
        label = run.label(decision.relaxation)
        if isinstance(decision, SearchBy):
            return self._handed_over(label, visit)
        if isinstance(decision, TryBy):
            return self._after_trial(label, decision.nodes, visit)
        if seen.bound_by(label) is not None:
            raise asked_twice(decision, seen)
        bound = run.ask(label, seen)
        self._count(bound, visit.out.counts)
        visit.seen = seen.with_bound(label, bound)
        return self._narrowed(visit, bound)

    def _narrowed(self, visit: _Visit, bound: Bound) -> list[Subtree] | None:
        """Leave out of a node, and of what a trial has left of it, the signs that a bound excludes."""
        node = self._settled(visit.node, bound, visit.seen.cutoff / self._reduction.scale, visit.out)
        if node is visit.node:
            return None
        visit.node, visit.seen = node, replace(visit.seen, signs=node.signs)
        if visit.tried is None:
            return None
        visit.tried.left = [
            replace(subtree, signs=both) for subtree in visit.tried.left if (both := _both(subtree.signs, node.signs))
        ]
        if not visit.tried.left:
            return close(min(visit.tried.closed, visit.out.closed), visit.out, "prunes", bound.source)
        visit.seen = replace(visit.seen, trial=self._trial(visit.tried))
        return None

    def _trial(self, tried: _TrialOf) -> Trial:
        """Return what a policy sees of a trial."""
        scale = self._reduction.scale
        return Trial(tried.nodes, tuple((subtree.signs, subtree.bound * scale) for subtree in tried.left))

    def _handed_over(self, label: str, visit: _Visit) -> list[Subtree]:
        """Return the subtree, or what a trial has left of it, under the name of the relaxation to search it."""
        out, tried, seen = visit.out, visit.tried, visit.seen
        if seen.bounds and self._closed_or_claimed(visit.node, strongest(seen.bounds), out)[0] is None:
            return []
        floor = max(visit.node.floor, seen.value / self._reduction.scale)
        out.counts[f"subtrees to {label}"] += 1
        if tried is None or tried.label != label:
            return [replace(visit.node, search=label, floor=floor, bound=floor, origin=visit.at)]
        out.closed = min(out.closed, tried.closed)
        return [replace(subtree, floor=floor, origin=visit.at) for subtree in tried.left]

    def _after_trial(self, label: str, nodes: int, visit: _Visit) -> list[Subtree] | None:
        """Search the subtree for so many nodes; return what is left if no more can be decided in this task."""
        out, budget = visit.out, self._local.budget
        tried = visit.tried
        if tried is None or tried.label != label:
            floor = max(visit.node.floor, visit.node.bound)
            tried = visit.tried = _TrialOf(label, [replace(visit.node, search=label, floor=floor)])
        wanted = tried.nodes + max(nodes, 1)
        while tried.left and tried.nodes < wanted and out.counts["nodes"] < budget and not self._local.stop[0]:
            subtree = tried.left.pop()
            explorer = self._fallback if subtree.doubtful else self._searches[label]
            allowed = min(wanted - tried.nodes, budget - out.counts["nodes"])
            part = explorer.explore(subtree, out.best, allowed, self._local.stop)
            out.best, tried.closed = part.best, min(tried.closed, part.closed)
            out.counts.update(part.counts)
            tried.nodes += part.counts["nodes"]
            tried.left += part.open
        if not tried.left or self._local.stop[0] or out.counts["nodes"] >= budget:
            out.closed = min(out.closed, tried.closed)
            out.closing = None if tried.left else (SEARCHED, label, tried.closed)
            return [replace(subtree, origin=visit.at) for subtree in tried.left]
        cutoff = self._tolerances.cutoff(out.best.value) * self._reduction.scale
        visit.seen = replace(visit.seen, cutoff=cutoff).with_trial(self._trial(tried))
        return None


def _both(one: SignPattern, other: SignPattern) -> SignPattern | None:
    """Return the pattern of the solutions that two patterns share, or None if they decide a group differently."""
    if any(a * b < 0 for a, b in zip(one, other, strict=True)):
        return None
    return SignPattern(tuple(a or b for a, b in zip(one, other, strict=True)))
