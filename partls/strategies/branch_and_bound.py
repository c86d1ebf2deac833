"""PartLS-bnb: the global optimum by branch and bound over the signs of the groups."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from math import inf

import numpy as np

from formulations.instance import Instance
from formulations.signs import SignPattern
from formulations.tolerances import ABSOLUTE_TOLERANCE
from partls.explore.explorers import SearchProblem, kernel_applies
from partls.explore.incumbents import (
    compiled_incumbent,
    exact_fit_nearby,
    find_exact_fit,
    hasty_incumbent,
    plain_incumbent,
    solve_pattern,
)
from partls.explore.subtree import Incumbent, Tolerances, round_to_signs
from partls.result import Status
from partls.search.options import SearchOptions, SearchOutcome
from partls.search.tree import TreeSearch
from relaxations.active_set import ActiveSetRelaxation, GroupedProblem, group_columns
from relaxations.clock import OutOfTime, until

_NO_LOCAL_SEARCH = 12  # groups: smaller trees need no incumbent to start with
_EXACT_FIT = 0.1 * ABSOLUTE_TOLERANCE  # of the target's squared norm: what solutions that fit exactly leave
_PRUNE_SHARE = 0.1  # of gap_tol: closing boxes this near to the incumbent leaves the rest of the gap to rounding


def branch_and_bound(instance: Instance, options: SearchOptions) -> SearchOutcome:
    """Return the best solution and a certified lower bound on all others."""
    began, reduction = time.perf_counter(), instance.reduction
    root = options.root or SignPattern.free(reduction.n_groups)
    size = float(reduction.z @ reduction.z) + reduction.rest
    tolerances = Tolerances(_PRUNE_SHARE * options.gap_tol, size)
    if not len(reduction.R):  # no column has any effect: zero coefficients are as good as any
        flat = Incumbent(reduction.rest, np.zeros(reduction.n_columns))
        return SearchOutcome(flat, flat.value, None, Counter({"nodes": 0}))
    deadline = inf if options.time_limit is None else began + options.time_limit
    try:
        with until(deadline):
            is_over = _clock(options, deadline)
            exact_fit = find_exact_fit(reduction, root, _EXACT_FIT * size, is_over)
            if exact_fit is not None:
                return SearchOutcome(exact_fit, 0.0, None, Counter({"nodes": 0}))
            grouped = group_columns(reduction)
            incumbent = _first_incumbent(grouped, root, options, tolerances, is_over)
            problem = SearchProblem(instance, options.relaxation, options.branching, tolerances, incumbent.value)
            search = TreeSearch(problem, problem.explorers(grouped), options, incumbent, root, deadline)
            if options.checkpoint is not None and (state := options.checkpoint.load(root)) is not None:
                search.resume(state, solve_pattern(reduction, state.signs))
    except OutOfTime:  # before there is a tree: a checkpoint stays as it is
        return SearchOutcome(
            hasty_incumbent(reduction, options.start or root), reduction.rest, Status.TIME_LIMIT, Counter({"nodes": 0})
        )
    return search.run()


def _first_incumbent(grouped: GroupedProblem, root: SignPattern, options: SearchOptions, tolerances: Tolerances,
                     is_over: Callable[[], bool]) -> Incumbent:
    """Return a feasible solution to start from."""
    reduction, relaxed = grouped.reduction, grouped.point
    native = isinstance(options.relaxation, ActiveSetRelaxation) and kernel_applies(grouped)
    candidates = [round_to_signs(relaxed, reduction.labels, root)]
    candidates += [options.start] if options.start is not None else []
    if native and len(root.undecided) <= _NO_LOCAL_SEARCH and options.time_limit is None and options.node_limit is None:
        return Incumbent(grouped.size, np.zeros(len(relaxed)))  # the search itself is over before a better one pays
    if native:
        found = compiled_incumbent(grouped, root, candidates)
        wide = grouped.R.shape[0] < grouped.R.shape[1] and found.value > tolerances.zero
        return exact_fit_nearby(reduction, root, found, tolerances.zero, is_over) if wide else found
    try:
        return plain_incumbent(reduction, root, candidates, relaxed, is_over)
    except OutOfTime:
        return hasty_incumbent(reduction, candidates[-1])


def _clock(options: SearchOptions, deadline: float) -> Callable[[], bool]:
    return lambda: options.keyboard.pressed or time.perf_counter() > deadline
