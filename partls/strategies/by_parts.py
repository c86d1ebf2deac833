"""A strategy run part by part, where a problem falls into independent parts: their costs add up, not their trees."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, is_dataclass, replace
from typing import Any

from formulations.signs import SignPattern
from partls.explore.incumbents import compiled_incumbent, solve_pattern
from partls.explore.subtree import Incumbent, round_to_signs
from partls.presolve.independent_parts import Parts
from partls.result import Status
from partls.search.task import Outcome, SearchTask
from partls.strategies.strategy import Strategy
from relaxations.active_set import group_columns
from relaxations.safe.least_squares import SafeBound

_FEW = 12  # groups: local search over more of them gives the parts a better start


def can_run_by_parts(strategy: Strategy) -> bool:
    """Return whether a strategy gains: it proves something, and keeps no state of one tree in a file."""
    return strategy.proves and getattr(strategy, "checkpoint", None) is None


def run_by_parts(strategy: Strategy, task: SearchTask, parts: Parts) -> Outcome:
    """Return the outcome of solving part after part, the signs of the others as they are.

    With the others fixed, a part's tree has the nodes that it has alone. With m_a the least a part can contribute, F_a
    the value reached and L_a the bound proved in its turn, ``m_a >= m_a(signs) - (F_a - L_a)``: the sum of these gaps,
    taken off the optimum of the final signs, bounds the whole.
    """
    signs = _start(task)
    gap, counts, limit, distance = 0.0, Counter[str](), None, 1.0
    best: Incumbent | None = None
    for groups in parts.groups:
        undecided = [k for k in groups if task.root[k] == 0]
        if not undecided:
            continue
        root = SignPattern(tuple(0 if k in undecided else sign for k, sign in enumerate(signs)))
        found = _within(strategy, counts["nodes"]).run(
            replace(task, root=root, start=signs, gap_tol=task.gap_tol / len(parts.groups))
        )
        counts.update(found.counts)
        gap += max(found.incumbent.value - found.lower_bound, 0.0)
        best, distance, limit = found.incumbent, min(distance, found.distance), limit or found.limit
        signs = round_to_signs(best.v, task.instance.reduction.labels, root)
        if limit is Status.INTERRUPTED:
            break
    lower = _bound(task, signs) - gap - parts.margin
    if limit is not None:  # a part may not have had its turn
        lower = min(lower, _bound(task, task.root))
    best = best or solve_pattern(task.instance.reduction, signs)
    return Outcome(best, max(lower, 0.0), limit, counts, distance=distance)


def _start(task: SearchTask) -> SignPattern:
    """Return the signs to begin with."""
    reduction = task.instance.reduction
    grouped = group_columns(reduction)
    start = task.start or round_to_signs(grouped.point, reduction.labels, task.root)
    if len(task.root.undecided) <= _FEW or not grouped.reliable or reduction.l1.any():
        return start
    return round_to_signs(compiled_incumbent(grouped, task.root, [start]).v, reduction.labels, task.root)


def _bound(task: SearchTask, signs: SignPattern) -> float:
    """Return a safe bound on the models of some signs (reduced units)."""
    reduction = task.instance.reduction
    columns = reduction.column_signs(signs)
    upper = float(reduction.z @ reduction.z) + reduction.rest
    v = solve_pattern(reduction, signs).v
    return SafeBound(reduction).value(v, columns, upper)


def _within(strategy: Any, spent: int) -> Strategy:
    """Return the strategy with the nodes that are left of its limit."""
    known = {one.name for one in fields(strategy)} if is_dataclass(strategy) else set()
    limit = getattr(strategy, "node_limit", None)
    changed: Strategy = strategy
    if limit is not None and "node_limit" in known:
        changed = replace(strategy, node_limit=max(limit - spent, 0))
    return changed
