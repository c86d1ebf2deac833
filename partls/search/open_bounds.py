"""Certified bounds of the subtrees that are still open: the search stops, and reports, on these alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from partls.explore.subtree import Subtree
from partls.search.frontier import at_least
from partls.search.limits import Limits
from partls.search.state import TreeState
from relaxations.clock import until

SafeBound = Callable[[Subtree, float], float]  # of a subtree, computed as far as the second argument makes it matter


def close_certified(state: TreeState, safe_bound: SafeBound, limits: Limits) -> bool:
    """Close the open subtrees whose certified bounds suffice; return whether the search has to go on."""
    limits.renew()
    closed, left = state.closed, []
    aim = min([closed, state.incumbent.value, *(at_least(subtree.bound) for subtree in state.open)])
    for subtree in state.open:
        if limits.is_over():
            return True
        with until(limits.deadline):
            bound = safe_bound(subtree, aim)
        bound = max(bound, state.proved)  # as in the estimate it has to meet
        if state.gap_closed(bound):
            closed = min(closed, bound)
        else:  # the kernel's own bound was wrong
            left.append(replace(subtree, bound=bound, doubtful=True))
    state.set_open(left, closed=closed)
    return bool(left)


def certified_bound(state: TreeState, safe_bound: SafeBound, deadline: float) -> float:
    """Return the lower bound with every open subtree certified, each as far as the others make it matter."""
    bounds = [subtree.bound for subtree in state.open if np.isfinite(subtree.bound)]
    lower = aim = min([state.closed, state.incumbent.value, *bounds])
    if not state.open:  # a search that has ended needs no clock, which is a thread
        return max(lower, 0.0)
    with until(deadline):
        for subtree in state.open:
            if lower <= 0.0:  # a sum of squares and a penalty
                return 0.0
            if time.perf_counter() > deadline:  # the whole tree's bound holds for every part of it
                return max(min(lower, safe_bound(Subtree(state.root), aim)), 0.0)
            lower = min(lower, safe_bound(subtree, aim))
    return max(lower, 0.0)
