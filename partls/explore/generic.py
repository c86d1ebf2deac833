"""The explorer for any relaxation: the same tree, nodes bounded one at a time through the Bounder protocol."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, isnan

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from partls.explore.branching import BranchingRule
from partls.explore.contradiction import check_claim
from partls.explore.subtree import Exploration, Incumbent, Subtree, Tolerances, round_to_signs, violations
from partls.tree_trace import GIVEN, LEAF, PRUNED, SPLIT, TIGHT, NodeRecord, TracedBound
from relaxations.active_set import ActiveSetBounder, OrthogonalBounder
from relaxations.clock import OutOfTime
from relaxations.protocol import Bound, Bounder, BoundStatus, ask
from relaxations.safe.least_squares import SafeBound
from relaxations.sign_constrained import solve_signed

_ROUNDED_TO_ZERO = 1e-9  # of the target's norm: smaller coefficients of the wrong sign count as zero
_REMEMBERED = 4096  # rounded patterns whose solutions are kept
_HOW = {"prunes": PRUNED, "tight": TIGHT, "leaves": LEAF}  # in counts, and in a trace
_NEARLY_TIGHT = 1e-5  # of the objective: a rounded point this near to its bound may be the node's answer


@dataclass(frozen=True)
class _Claim:
    """What is known of a node: no solution in it is below ``value``; ``decisive`` closes it; ``source`` proved it."""

    value: float
    decisive: float
    source: str
    trusted: bool


class GenericExplorer:
    """Depth-first search with any bounder; a node whose bound fails stays open and is split further.

    Each thread prepares its own bounder, since bounders need not be thread-safe.
    """

    def __init__(self, reduction: Reduction, prepare: Callable[[], Bounder], rule: BranchingRule,
                 tolerances: Tolerances, name: str = "", *, tracing: bool = False, fixes: bool = True) -> None:
        self._reduction = reduction
        self._prepare = prepare
        self._name = name
        self._tracing, self._fixes = tracing, fixes
        self._rule = rule
        self._tolerances = tolerances
        self._safe = SafeBound(reduction)
        self._size = float(reduction.z @ reduction.z) + reduction.rest
        self._tried: dict[SignPattern, Incumbent] = {}
        self._local = threading.local()

    def explore(self, subtree: Subtree, incumbent: Incumbent, node_budget: int, stop: NDArray[np.uint8]) -> Exploration:
        """Explore one subtree node by node."""
        out = Exploration(incumbent)
        stack = [subtree]
        try:
            if not hasattr(self._local, "bounder"):
                self._local.bounder = self._prepare()  # first: it may take until the time is up
            while stack and out.counts["nodes"] < node_budget and not stop[0] and self._goes_on(stack[-1]):
                expand = self._recorded if self._tracing else self._expand
                stack[-1:] = expand(stack[-1], out)
        except OutOfTime:  # in the middle of a node, which stays open
            pass
        out.open = stack
        return out

    def _goes_on(self, node: Subtree) -> bool:
        """Return whether this explorer takes the next node, too."""
        return True

    def safe_bound(self, subtree: Subtree, upper: float) -> float:
        """Return a safe bound of a subtree: the relaxation's own, or by orthogonal factorisation if better.

        Where the relaxation's own reaches ``upper``, it is enough: factorising hundreds of open subtrees takes seconds.
        """
        own = max([subtree.floor, *([] if isnan(subtree.bound) else [subtree.bound])])
        if own >= upper:
            return own
        try:
            exact = self._exact(subtree.signs, upper, self._safe.least_squares)[0]
        except OutOfTime:
            exact = self._reduction.rest
        return max(exact, own)

    def _recorded(self, node: Subtree, out: Exploration) -> list[Subtree]:
        """Expand a node, and keep a record of it."""
        began, before = time.perf_counter(), out.counts["nodes"]
        out.closing, self._local.bounds = None, []
        below = self._expand(node, out)
        bounds = tuple(
            TracedBound(part.source, part.value, part.status.value, part.seconds) for part in self._local.bounds
        )
        value = min((child.bound for child in below if not isnan(child.bound)), default=inf)
        decision, by, group = SPLIT, "", -1
        if out.closing is not None:
            decision, by, value = out.closing
        elif below and below[0].search != node.search:
            decision, by = GIVEN, below[0].search
        elif below:
            group = next(k for k in node.signs.undecided if below[0].signs[k] != below[1].signs[k])
        out.records.append(NodeRecord(
            node.signs, node.origin, decision, by, group, value, out.best.value, out.counts["nodes"] - before,
            0, time.perf_counter() - began, bounds,
        ))
        return below

    def _expand(self, node: Subtree, out: Exploration) -> list[Subtree]:
        """Bound a node: close it, or return its two children, the more promising last."""
        if self._closes(node.bound, out):  # an incumbent found since its parent was split is enough
            return close(node.bound, out, "prunes", "a parent's bound")
        cutoff = self._tolerances.cutoff(out.best.value)
        bound = self._bound(node.signs, cutoff, out.counts)
        return self._close_or_split(self._settled(node, bound, cutoff, out), bound, out, node.signs)

    def _settled(self, node: Subtree, bound: Bound, cutoff: float, out: Exploration) -> Subtree:
        """Return the node with the signs of every solution below the cutoff, which closes what has others."""
        if bound.settled is None or bound.settled == node.signs or not bound.status.trusted:
            return node
        out.closed = min(out.closed, cutoff)
        out.counts[f"signs settled by {bound.source}"] += len(node.signs.undecided) - len(bound.settled.undecided)
        return replace(node, signs=bound.settled)

    def _close_or_split(self, node: Subtree, bound: Bound, out: Exploration, at: SignPattern) -> list[Subtree]:
        """Close a node that has been bounded, or return its two children; ``at`` is its pattern in a trace."""
        claim, v = self._closed_or_claimed(node, bound, out)
        if claim is None:
            return []
        if node.signs.is_complete:
            return self._settle(node, claim.value, out)
        branch = self._branch(node, v, out)
        if branch is None:
            return []
        signs, k = branch
        if k is None:
            return self._settle(replace(node, signs=signs), claim.value, out)
        first = 1 if v is None or v[self._reduction.labels == k].sum() >= 0 else -1
        out.counts["nodes"] += 1
        below = replace(node, bound=claim.value, doubtful=False, origin=at)
        return [replace(below, signs=signs.fix(k, sign)) for sign in (-first, first)]

    def _closed_or_claimed(self, node: Subtree, bound: Bound, out: Exploration) -> tuple[_Claim | None, Floats | None]:
        """Return (claim, point) of a bounded node; the claim is None if the bound or the rounded point closes it."""
        claim, v = self._claim(node, bound), self._point(bound)
        if self._closes(claim.decisive, out):
            if not self._is_exact:
                self._look_for_a_contradiction(node.signs, claim.value, out.best.v if v is None else v, out)
            close(claim.value, out, "prunes", claim.source)
            return None, v
        if v is not None:
            claim = self._try_rounded(node, claim, v, out)
            if self._closes(claim.decisive, out):
                close(claim.value, out, "tight", claim.source)
                return None, v
        return claim, v

    def _closes(self, value: float, out: Exploration) -> bool:
        """Return whether a box with this bound holds nothing better than the incumbent."""
        return value >= self._tolerances.cutoff(out.best.value)

    @property
    def _is_exact(self) -> bool:
        """Whether the bounder solves a node's problem by factorisation."""
        return isinstance(self._local.bounder, OrthogonalBounder)

    def _claim(self, node: Subtree, bound: Bound) -> _Claim:
        """Return what is known of a node once it has been bounded: the better of its bound and its parent's.

        An exact bounder's own number differs from its safe bound by rounding alone: splitting further would not help,
        so that number decides. The box is closed at the safe value, and the reported gap stays honest.
        """
        if not bound.status.trusted:
            return _Claim(node.bound, node.bound, "a parent's bound", trusted=False)
        scaled = bound.value / self._reduction.scale
        value = max(scaled, node.bound)
        decisive = max(value, bound.estimate / self._reduction.scale) if self._is_exact else value
        return _Claim(value, decisive, bound.source if value == scaled else "a parent's bound", trusted=True)

    def _try_rounded(self, node: Subtree, claim: _Claim, v: Floats, out: Exploration) -> _Claim:
        """Offer the relaxed point, rounded to signs; return the claim, raised where the two nearly meet."""
        rounded = self._offer(round_to_signs(v, self._reduction.labels, node.signs), out)
        check_claim(self._name, node.signs, claim.value, rounded, self._size)
        near = claim.trusted and rounded.value - claim.value <= _NEARLY_TIGHT * rounded.value
        if self._closes(claim.decisive, out) or not near:
            return claim
        # The relaxed point is feasible to a solver's few digits; a factorisation may supply the others.
        value = max(claim.value, self._exact(node.signs, out.best.value)[0])
        return _Claim(value, value, "factorisation", trusted=True)

    def _settle(self, node: Subtree, value: float, out: Exploration) -> list[Subtree]:
        """Close a node where nothing is left to split: solved by itself, whatever the relaxation said."""
        exact, solution = self._exact(node.signs, out.best.value)
        check_claim(self._name, node.signs, value, solution, self._size)
        if solution.value < out.best.value:
            out.best = solution
        return close(max(exact, value), out, "leaves", "factorisation")

    def _look_for_a_contradiction(self, signs: SignPattern, claimed: float, v: Floats, out: Exploration) -> None:
        """Compare a claim that closes a box with solutions in it: the incumbent if it is there, and v rounded."""
        if (self._reduction.column_signs(signs) * out.best.v >= 0).all():
            check_claim(self._name, signs, claimed, out.best, self._size)
        rounded = self._solution(round_to_signs(v, self._reduction.labels, signs), out.best.value)
        check_claim(self._name, signs, claimed, rounded, self._size)

    def _bound(self, signs: SignPattern, cutoff: float, counts: Counter[str]) -> Bound:
        """Return the relaxation's bound, counted; anything but a safe number proves nothing."""
        bound = ask(self._local.bounder, signs, cutoff=cutoff * self._reduction.scale, source=self._name)
        self._count(bound, counts)
        return bound

    def _count(self, bound: Bound, counts: Counter[str]) -> None:
        parts = bound.parts or (bound,)
        if self._tracing:
            self._local.bounds += parts
        for part in parts:
            counts[f"bounds by {part.source}"] += 1
            failed = part.error and part.status is BoundStatus.FAILED
            counts[f"failed: {part.error}" if failed else f"bound {part.status.value}"] += 1

    def _point(self, bound: Bound) -> Floats | None:
        """Return the relaxed point, if there is one to round and to branch on."""
        v = bound.coef
        if v is None or bound.status is BoundStatus.FAILED or np.shape(v) != self._reduction.labels.shape:
            return None
        return v if np.isfinite(v).all() else None

    def _branch(self, node: Subtree, v: Floats | None, out: Exploration) -> tuple[SignPattern, int | None] | None:
        """Return (signs, group to split next), the signs being those of the node and those that trials have fixed.

        A child tried for branching whose bound reaches the cutoff is closed, and fixes the other sign without a node
        of its own, as in the compiled search. The group is None if none is left to split. If both children of a group
        are closed, the node is, and None is returned.
        """
        signs, tried = node.signs, dict[tuple[int, int], float]()
        while signs.undecided:
            undecided = list(signs.undecided)
            if v is None:
                return signs, undecided[0]
            k = self._choose(signs, undecided, v, tried, out)
            for (group, sign), value in tried.items():
                if signs[group] == 0 and self._fixes and self._closes(value, out):
                    close(value, out, "prunes", "active-set", node=False)
                    if self._closes(tried.get((group, -sign), -inf), out):
                        close(tried[group, -sign], out, "prunes", "active-set")
                        return None
                    signs = signs.fix(group, -sign)
            if signs[k] == 0:
                return signs, k
        return signs, None

    def _choose(self, signs: SignPattern, undecided: list[int], v: Floats, tried: dict[tuple[int, int], float],
                out: Exploration) -> int:
        """Return the group that the branching rule chooses; keep the bounds of the children it tries."""
        labels, tolerance = self._reduction.labels, _ROUNDED_TO_ZERO * float(np.linalg.norm(self._reduction.z))
        nu = violations(v, labels, len(signs), tolerance)
        violated = [k for k in undecided if nu[k] > 0] or undecided

        def try_child(k: int, sign: int) -> float:
            if (k, sign) not in tried:
                out.counts["trials"] += 1
                tried[k, sign] = self._trial_bounder.bound(signs.fix(k, sign)).value / self._reduction.scale
            return tried[k, sign]

        return self._rule.choose(violated, v, labels, try_child)

    @property
    def _trial_bounder(self) -> ActiveSetBounder:
        """The cheapest bound: children tried for branching must not cost what they are meant to save."""
        if not hasattr(self._local, "trial_bounder"):
            self._local.trial_bounder = ActiveSetBounder(self._reduction)
        bounder: ActiveSetBounder = self._local.trial_bounder
        return bounder

    def _offer(self, signs: SignPattern, out: Exploration) -> Incumbent:
        """Return the solution of a rounded pattern and keep it if it is better."""
        solution = self._solution(signs, out.best.value)
        if solution.value < out.best.value:
            out.best = solution
        return solution

    def _solution(self, signs: SignPattern, upper: float) -> Incumbent:
        """Return the solution of a complete pattern, remembered for a while: nodes round to few different ones."""
        solution = self._tried.get(signs)
        if solution is None:
            solution = self._exact(signs, upper)[1]
            if len(self._tried) >= _REMEMBERED:
                self._tried.clear()
            self._tried[signs] = solution
        return solution

    def _exact(self, signs: SignPattern, upper: float, start: Floats | None = None) -> tuple[float, Incumbent]:
        """Return (safe bound, solution) of the sign-constrained least squares of a pattern."""
        reduction = self._reduction
        column_signs = reduction.column_signs(signs)
        v = solve_signed(reduction, column_signs, start)
        solution = Incumbent(reduction.objective(v) / reduction.scale, v)
        return self._safe.value(v, column_signs, max(upper, solution.value)), solution


def close(value: float, out: Exploration, how: str, source: str, *, node: bool = True) -> list[Subtree]:
    """Close a box at its safe value; ``source`` is what proved it. A child tried for branching is no ``node``."""
    out.counts["nodes"] += node
    out.counts[how] += 1
    out.closing = (_HOW[how], source, value) if node else None
    out.counts[f"closed by {source}"] += 1
    out.closed = min(out.closed, value)
    return []
