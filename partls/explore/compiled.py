"""The explorer that runs whole subtrees inside the compiled kernel."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.signs import SignPattern
from formulations.tolerances import PROVED
from partls.explore.branching import BranchingRule, number_of_candidates
from partls.explore.subtree import Exploration, Incumbent, Subtree, Tolerances
from relaxations import kernel
from relaxations.active_set import GroupedProblem, quick_floor
from relaxations.clock import OutOfTime, stop_flag
from relaxations.safe.least_squares import SafeBound
from relaxations.sign_constrained import solve_signed

_DOUBTFUL_AT_ONCE = 64
_CONFIRMED_TO = (PROVED, 1e-6)  # relative accuracy to which the bound of an open subtree is confirmed


class CompiledExplorer:
    """Depth-first search with the active-set bound; one workspace per thread, nothing shared but data."""

    def __init__(self, grouped: GroupedProblem, rule: BranchingRule, tolerances: Tolerances, upper: float,
                 diagonal: Floats | None = None) -> None:
        candidates = number_of_candidates(rule, grouped.reduction.labels)
        self._grouped = grouped
        self._upper = upper
        self._problem = grouped.kernel_problem(upper, diagonal)
        self._rules = kernel.walk.Rules(
            rule.ranking, candidates, tolerances.relative, tolerances.rounding, tolerances.zero
        )
        self._safe = SafeBound(grouped.reduction)
        self._local = threading.local()

    def explore(self, subtree: Subtree, incumbent: Incumbent, node_budget: int, stop: NDArray[np.uint8]) -> Exploration:
        """Explore one subtree inside the kernel, the GIL released."""
        return self._walk(self._rules, subtree, incumbent, node_budget, stop)

    def _walk(self, rules: Any, subtree: Subtree, incumbent: Incumbent, node_budget: int, stop: NDArray[np.uint8]
              ) -> Exploration:
        nodes, K = kernel.node, self._grouped.reduction.n_groups
        if not hasattr(self._local, "workspace"):
            self._local.workspace = nodes.make_workspace(self._problem)
        best = np.empty(self._grouped.reduction.n_columns)
        bounds = np.array([incumbent.value, np.inf])
        counts = np.zeros(nodes.N_COUNTS, np.int64)
        open_signs = np.zeros((K + 3 + _DOUBTFUL_AT_ONCE, K), np.int8)
        open_values = np.zeros(len(open_signs))
        n_open = kernel.walk.walk(
            self._problem._replace(stop=stop), rules, self._local.workspace,
            np.array(subtree.signs.values, np.int8), best, bounds, node_budget, counts, open_signs, open_values,
        )
        if bounds[0] < incumbent.value:
            incumbent = Incumbent(float(bounds[0]), best)
        left = [
            replace(
                subtree, signs=SignPattern(tuple(signs.tolist())), bound=float(np.maximum(value, subtree.floor)),
                doubtful=bool(np.isnan(value)), origin=subtree.signs,
            )
            for signs, value in zip(open_signs[:n_open], open_values[:n_open], strict=True)
        ]
        tally = Counter(dict(zip(nodes.COUNT_NAMES, counts.tolist(), strict=True)))
        tally["closed by active-set"] = tally["prunes"] + tally["leaves"]
        return Exploration(incumbent, float(bounds[1]), left, tally)

    def add_diagonal(self) -> Floats | None:
        """From now on add up the rises of undecided groups: dearer to prepare, for trees that turn out large.

        Return the diagonal that does it, for explorers of the same problem elsewhere.
        """
        diagonal = self._grouped.diagonal()
        self._problem = self._grouped.kernel_problem(self._upper, diagonal)
        return diagonal

    def safe_bound(self, subtree: Subtree, upper: float) -> float:
        """Return a safe bound of a subtree: from the kernel if it reaches ``upper``, else by factorisation.

        Once the time is up, that of the whole tree's relaxation, which is at hand.
        """
        try:
            return max(self._safe_bound(subtree, upper), subtree.floor)
        except OutOfTime:
            return max(self._floor, subtree.floor)

    @cached_property
    def _floor(self) -> float:
        return quick_floor(self._grouped)

    def _safe_bound(self, subtree: Subtree, upper: float) -> float:
        exact = self._rules._replace(relative=0.0, rounding=0.0, zero=0.0)
        for slack in _CONFIRMED_TO if subtree.bound >= upper else ():
            claim = Incumbent(upper * (1.0 - slack), np.empty(0))
            confirmed = self._walk(exact, subtree, claim, 0, stop_flag(self._grouped.work)).closed
            if confirmed < np.inf:  # closed at this cutoff, by a safe bound
                return confirmed
        signs = self._grouped.reduction.column_signs(subtree.signs)
        return self._safe.value(solve_signed(self._grouped.reduction, signs), signs, upper)
