"""The explorer for any relaxation: the same tree, nodes bounded one at a time through the Bounder protocol."""

from __future__ import annotations

from collections import Counter
from math import inf, isnan

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.reduction import Reduction
from formulations.signs import SignPattern
from partls.search.branching import BranchingRule
from partls.search.subtree import Exploration, Incumbent, Subtree, Tolerances, round_to_signs, violations
from relaxations.active_set import OrthogonalBounder
from relaxations.bound import Bound, Bounder, BoundStatus
from relaxations.certify import SafeBound
from relaxations.sign_constrained import solve_signed

_WRONG_SIGN = 1e-9  # of the target's norm: smaller coefficients of the wrong sign count as zero


class GenericExplorer:
    """Depth-first search with any bounder; a node whose bound fails stays open and is split further."""

    def __init__(self, reduction: Reduction, bounder: Bounder, rule: BranchingRule, tolerances: Tolerances) -> None:
        self._reduction = reduction
        self._bounder = bounder
        self._exact_bounder = isinstance(bounder, OrthogonalBounder)
        self._rule = rule
        self._tolerances = tolerances
        self._safe = SafeBound(reduction)
        self._tried: dict[SignPattern, Incumbent] = {}

    def explore(self, subtree: Subtree, incumbent: Incumbent, node_budget: int, stop: NDArray[np.uint8]) -> Exploration:
        """Explore one subtree node by node."""
        out = Exploration(incumbent)
        stack = [subtree]
        while stack:
            if out.counts["nodes"] >= node_budget or stop[0]:
                out.open = stack
                return out
            node = stack.pop()
            out.counts["nodes"] += 1
            stack.extend(self._expand(node, out))
        return out

    def certified(self, subtree: Subtree, upper: float) -> float:
        """Return a certified bound of a subtree: the relaxation's own, or by orthogonal factorisation if better."""
        exact = self._exact(subtree.signs, upper)[0]
        return exact if isnan(subtree.bound) else max(exact, subtree.bound)

    def _expand(self, node: Subtree, out: Exploration) -> list[Subtree]:
        """Bound a node: close it, or return its two children, the more promising last."""
        bound = self._bound(node.signs, self._tolerances.cutoff(out.best.value), out.counts)
        trusted = bound.status in (BoundStatus.OPTIMAL, BoundStatus.CUTOFF)
        value = max(bound.value / self._reduction.scale, node.bound) if trusted else node.bound
        # An exact bounder's own number differs from its certificate by rounding alone: splitting further would
        # not help, so the box is closed at the certified value and the reported gap stays honest.
        decisive = max(value, bound.estimate / self._reduction.scale) if trusted and self._exact_bounder else value
        if decisive >= self._tolerances.cutoff(out.best.value):
            return self._close(value, out, "prunes")
        v = bound.coef
        if v is not None:
            self._offer(round_to_signs(v, self._reduction.labels, node.signs), out)
            if decisive >= self._tolerances.cutoff(out.best.value):
                return self._close(value, out, "leaves")
        if node.signs.is_complete:
            # Nothing left to split: settle the leaf by itself, whatever the relaxation said.
            exact, leaf = self._exact(node.signs, out.best.value)
            if leaf.value < out.best.value:
                out.best = leaf
            return self._close(max(exact, value), out, "leaves")
        k = self._branch_group(node, v, out.counts)
        first = 1 if v is None or v[self._reduction.labels == k].sum() >= 0 else -1
        return [Subtree(node.signs.fix(k, -first), value), Subtree(node.signs.fix(k, first), value)]

    def _close(self, value: float, out: Exploration, how: str) -> list[Subtree]:
        out.counts[how] += 1
        out.closed = min(out.closed, value)
        return []

    def _bound(self, signs: SignPattern, cutoff: float, counts: Counter[str]) -> Bound:
        """Return the relaxation's bound; anything but a certified number leaves the node at its parent's value."""
        failed = Bound(-np.inf, -np.inf, None, BoundStatus.FAILED, 0.0)
        try:
            bound = self._bounder.bound(signs, cutoff=cutoff * self._reduction.scale)
            status = "not a number" if isnan(bound.value) else bound.status.value
        except Exception as error:  # a bounder is foreign code: its failure must not end the search or be hidden
            counts[f"failed: {type(error).__name__}"] += 1
            return failed
        counts[f"bound {status}"] += 1
        if isnan(bound.value) or bound.status is BoundStatus.FAILED:
            return failed
        return bound

    def _branch_group(self, node: Subtree, v: Floats | None, counts: Counter[str]) -> int:
        undecided = list(node.signs.undecided)
        if v is None:
            return undecided[0]
        labels, tolerance = self._reduction.labels, _WRONG_SIGN * float(np.linalg.norm(self._reduction.z))
        nu = violations(v, labels, len(node.signs), tolerance)
        violated = [k for k in undecided if nu[k] > 0] or undecided
        scale = self._reduction.scale
        return self._rule.choose(
            violated, v, labels, lambda k, s: self._bound(node.signs.fix(k, s), inf, counts).value / scale
        )

    def _offer(self, signs: SignPattern, out: Exploration) -> None:
        """Solve the leaf of a rounded pattern once, and keep it if it is better."""
        if signs not in self._tried:
            self._tried[signs] = self._exact(signs, out.best.value)[1]
        leaf = self._tried[signs]
        if leaf.value < out.best.value:
            out.best = leaf

    def _exact(self, signs: SignPattern, upper: float) -> tuple[float, Incumbent]:
        """Return (certified bound, solution) of the sign-constrained least squares of a pattern."""
        reduction = self._reduction
        column_signs = reduction.column_signs(signs)
        v = solve_signed(reduction, column_signs)
        leaf = Incumbent(reduction.objective(v) / reduction.scale, v)
        return self._safe.value(v, column_signs, max(upper, leaf.value)), leaf
