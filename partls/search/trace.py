"""Record a search node by node, with the generic explorer, one node at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from formulations.instance import Instance
from formulations.signs import SignPattern
from formulations.tolerances import OPTIMAL_GAP
from partls import tree_trace
from partls.explore.branching import branching_rule
from partls.explore.generic import GenericExplorer
from partls.explore.incumbents import plain_incumbent, solve_pattern
from partls.explore.subtree import Incumbent, Subtree, Tolerances, round_to_signs
from partls.runtime.blas_threads import single_threaded_blas
from partls.runtime.options import a_priori_signs
from partls.tree_trace import SearchTrace
from relaxations import named
from relaxations.active_set import ActiveSetRelaxation, OrthogonalBounder
from relaxations.clock import OutOfTime
from relaxations.interpreter import interpreted_first, is_small

SPLIT, PRUNED, SOLVED, OPEN, SEARCHED = "split", "pruned", "solved", "open", "searched"
_OUTCOMES = {
    tree_trace.SPLIT: SPLIT, tree_trace.PRUNED: PRUNED, tree_trace.TIGHT: SOLVED, tree_trace.LEAF: SOLVED,
    tree_trace.SEARCHED: SEARCHED, tree_trace.GIVEN: OPEN,
}


@dataclass(frozen=True)
class TracedNode:
    """One node: where it hangs, how it ended, and what was known when it had been looked at (original units).

    ``parent`` is -1 for the root; ``group`` and ``sign`` say what was decided to get here. A node is pruned by its
    bound, solved (its relaxed point, or its one sign pattern, is a model), split, or left open by the limit. In a
    recorded trace ``by`` names the relaxation that closed it, and compiled code may have searched a whole subtree of
    ``nodes`` nodes.
    """

    parent: int
    depth: int
    group: int
    sign: int
    outcome: str
    bound: float
    objective: float
    lower_bound: float
    seconds: float
    by: str = ""
    nodes: int = 1


def trace_search(instance: Instance, *, relaxation: Any = "active-set", branching: Any = "strong", signs: Any = None,
                 best_first: bool = False, gap_tol: float = OPTIMAL_GAP, node_limit: int = 500
                 ) -> tuple[TracedNode, ...]:
    """Return the nodes of a search in the order they were looked at, then those left open; may raise ``OutOfTime``."""
    reduction = instance.reduction
    root = a_priori_signs(instance, signs)
    if not len(reduction.R):  # no column has any effect
        value = reduction.rest * reduction.scale
        return (TracedNode(-1, 0, -1, 0, SOLVED, value, value, value, 0.0),)
    size = float(reduction.z @ reduction.z) + reduction.rest
    tolerances = Tolerances(gap_tol / 10, size)
    bound = named(relaxation) if isinstance(relaxation, str) else relaxation
    native = isinstance(bound, ActiveSetRelaxation)
    bounder = OrthogonalBounder(reduction) if native else bound.prepare(instance)
    explorer = GenericExplorer(reduction, lambda: bounder, branching_rule(branching), tolerances, fixes=False)

    def searched() -> tuple[TracedNode, ...]:
        relaxed = solve_pattern(reduction, root).v  # undecided groups without constraint
        start = plain_incumbent(reduction, root, [round_to_signs(relaxed, reduction.labels, root)], relaxed)
        return tuple(_nodes(explorer, start, root, reduction.scale, best_first, node_limit))

    with single_threaded_blas():
        return interpreted_first(searched, small=native and is_small(instance))


def recorded_nodes(trace: SearchTrace) -> tuple[TracedNode, ...]:
    """Return the nodes of a recorded search: of its last start, if it was started again with another bound.

    A subtree that was given to the compiled search is one node with the first of its searches.
    """
    first = max((i for i, row in enumerate(trace.rows) if row.parent < 0), default=0)
    nodes: list[TracedNode] = []
    place: dict[int, int] = {}
    for i, row in enumerate(trace.rows[first:], first):
        above = trace.rows[row.parent] if row.parent >= first else None
        outcome = _OUTCOMES[row.decision]
        if above is not None and above.signs == row.signs and nodes[place[row.parent]].outcome == OPEN:
            place[i] = place[row.parent]
            nodes[place[i]] = replace(nodes[place[i]], outcome=outcome, by=row.by, nodes=row.nodes, bound=row.bound)
            continue
        decided = [] if above is None else [k for k in range(len(row.signs)) if row.signs[k] != above.signs[k]]
        group, sign = (decided[-1], 1 if row.signs[decided[-1]] == "+" else -1) if decided else (-1, 0)
        place[i] = len(nodes)
        nodes.append(TracedNode(
            -1 if above is None else place[row.parent], row.depth, group, sign, outcome, row.bound, row.objective,
            row.bound, row.seconds, row.by, row.nodes,
        ))
    return tuple(nodes)


def _nodes(explorer: GenericExplorer, best: Incumbent, root: SignPattern, scale: float, best_first: bool,
           node_limit: int) -> Iterator[TracedNode]:
    began, closed, count = time.perf_counter(), inf, 0
    waiting: list[tuple[Subtree, int, int, int, int]] = [(Subtree(root), -1, 0, -1, 0)]
    while waiting and count < node_limit:
        if best_first:
            waiting.sort(key=lambda entry: -entry[0].bound)
        subtree, parent, depth, group, sign = waiting.pop()
        out = explorer.explore(subtree, best, 1, np.zeros(1, np.uint8))
        if not out.counts["nodes"]:
            raise OutOfTime
        best, closed = out.best, min(closed, out.closed)
        for child in out.open:
            k = next(k for k in subtree.signs.undecided if child.signs[k])
            waiting.append((child, count, depth + 1, k, child.signs[k]))
        outcome = SPLIT if out.open else PRUNED if out.counts["prunes"] else SOLVED
        value = min((child.bound for child in out.open), default=out.closed)
        lower = min([closed, best.value, *(entry[0].bound for entry in waiting)])
        yield TracedNode(
            parent, depth, group, sign, outcome, value * scale, best.value * scale, max(lower, 0.0) * scale,
            time.perf_counter() - began,
        )
        count += 1
    lower = min([closed, best.value, *(entry[0].bound for entry in waiting)])
    for subtree, parent, depth, group, sign in waiting:
        yield TracedNode(
            parent, depth, group, sign, OPEN, subtree.bound * scale, best.value * scale, max(lower, 0.0) * scale,
            time.perf_counter() - began,
        )
