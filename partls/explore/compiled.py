"""The explorer that runs whole subtrees inside the compiled kernel."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.signs import SignPattern
from formulations.tolerances import PROVED
from partls.explore.branching import BranchingRule, number_of_candidates
from partls.explore.subtree import Exploration, Incumbent, Subtree, Tolerances
from relaxations.active_set import GroupedProblem, quick_floor
from relaxations.clock import OutOfTime, stop_flag
from relaxations.convexified import convexified
from relaxations.interpreter import kernel
from relaxations.safe.least_squares import SafeBound
from relaxations.sign_constrained import solve_signed

if TYPE_CHECKING:
    from relaxations.kernel.tableau import KernelProblem

_DOUBTFUL_AT_ONCE = 64
_CANDIDATES = 8  # groups to bound at a convexified node, at least: nodes cost more and are fewer
_CONFIRMED_TO = (PROVED, 1e-6)  # relative accuracy to which the bound of an open subtree is confirmed


class CompiledExplorer:
    """Depth-first search with a compiled bound; one workspace per thread, nothing shared but data.

    The bound is "active-set", or "convexified" with ``multipliers``, which are computed when they are first needed.
    """

    def __init__(self, grouped: GroupedProblem, rule: BranchingRule, tolerances: Tolerances, upper: float,
                 diagonal: Floats | None = None, multipliers: Callable[[], Floats | None] | None = None) -> None:
        self._candidates = number_of_candidates(rule, grouped.reduction.labels)
        self.grouped, self._rule = grouped, rule
        self._upper = upper
        self._problem = self._plain = grouped.kernel_problem(upper, diagonal)
        self._rules = kernel.walk.Rules(
            rule.ranking, self._candidates, tolerances.relative, tolerances.rounding, tolerances.zero
        )
        self._safe = SafeBound(grouped.reduction)
        self._local = threading.local()
        self._multipliers, self._preparing = multipliers, threading.Lock()

    def _prepare(self) -> None:
        """Compute the multipliers, if there are any to compute; raises ``OutOfTime``."""
        with self._preparing:
            if self._multipliers is not None:
                N = self._multipliers()
                self._multipliers = None
                if N is not None:
                    self.convexify(N)

    def convexify(self, multipliers: Floats) -> bool:
        """Bound by "convexified" from now on; return whether rounding allows it."""
        problem = convexified(self.grouped, self.grouped.kernel_problem(self._upper), multipliers)
        if problem is None:
            return False
        self._problem, self._local = problem, threading.local()
        self.__dict__.pop("_floor", None)  # a higher one now
        if not self._rule.candidates:
            self._rules = self._rules._replace(n_candidates=max(self._candidates, _CANDIDATES))
        return True

    def explore(self, subtree: Subtree, incumbent: Incumbent, node_budget: int, stop: NDArray[np.uint8]) -> Exploration:
        """Explore one subtree inside the kernel, the GIL released."""
        try:
            self._prepare()
        except OutOfTime:
            return Exploration(incumbent, open=[subtree])
        found = self._walk(self._problem, self._rules, subtree, incumbent, node_budget, stop)
        if self._problem.pairs.used and any(left.doubtful for left in found.open):
            self._settle(found, node_budget, stop)
        return found

    def _settle(self, found: Exploration, node_budget: int, stop: NDArray[np.uint8]) -> None:
        """Explore by "active-set" what "convexified" has left in doubt: a group had to keep its multipliers."""
        doubtful = [left for left in found.open if left.doubtful]
        found.open = [left for left in found.open if not left.doubtful]
        for subtree in doubtful:
            budget = max(node_budget - found.counts["nodes"], 0)
            part = self._walk(self._plain, self._rules, replace(subtree, doubtful=False), found.best, budget, stop)
            found.best, found.closed = part.best, min(found.closed, part.closed)
            found.open += part.open
            found.counts.update(part.counts)

    @property
    def _workspace(self) -> Any:
        if not hasattr(self._local, "workspace"):
            self._local.workspace = kernel.node.make_workspace(self._problem)
        return self._local.workspace

    def _walk(self, problem: KernelProblem, rules: Any, subtree: Subtree, incumbent: Incumbent, node_budget: int,
              stop: NDArray[np.uint8]) -> Exploration:
        nodes, K = kernel.node, self.grouped.reduction.n_groups
        best = np.empty(self.grouped.reduction.n_columns)
        bounds = np.array([incumbent.value, np.inf])
        counts = np.zeros(nodes.N_COUNTS, np.int64)
        open_signs = np.zeros((K + 3 + _DOUBTFUL_AT_ONCE, K), np.int8)
        open_values = np.zeros(len(open_signs))
        n_open = kernel.walk.walk(
            problem._replace(stop=stop), rules, self._workspace,
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
        tally[f"closed by {'convexified' if problem.pairs.used else 'active-set'}"] = tally["prunes"] + tally["leaves"]
        return Exploration(incumbent, float(bounds[1]), left, tally)

    def add_diagonal(self) -> Floats | None:
        """From now on add up the rises of undecided groups: costs more to prepare, for trees that turn out large.

        Return the diagonal that does it, for explorers of the same problem elsewhere.
        """
        diagonal = self.grouped.diagonal()
        self._problem = self._plain = self.grouped.kernel_problem(self._upper, diagonal)
        return diagonal

    def safe_bound(self, subtree: Subtree, upper: float) -> float:
        """Return a safe bound of a subtree: from the kernel if it reaches ``upper``, else by factorisation.

        Once the time is up, that of the whole tree's relaxation, which is at hand.
        """
        try:
            self._prepare()
            return max(self._safe_bound(subtree, upper), subtree.floor)
        except OutOfTime:
            return max(self._floor, subtree.floor)

    @cached_property
    def _floor(self) -> float:
        """A safe bound on the whole tree, with the multipliers there are: one node, whatever the time."""
        plain = quick_floor(self.grouped)
        if not self._problem.pairs.used:
            return plain
        problem = self._problem._replace(stop=np.zeros(1, np.uint8))
        root, workspace = np.zeros(self.grouped.reduction.n_groups, np.int8), kernel.node.make_workspace(problem, 1)
        return max(plain, float(kernel.one_node.bound_node(problem, workspace, root, np.inf)[2]))

    def _safe_bound(self, subtree: Subtree, upper: float) -> float:
        exact = self._rules._replace(relative=0.0, rounding=0.0, zero=0.0)
        for slack in _CONFIRMED_TO if subtree.bound >= upper else ():
            claim = Incumbent(upper * (1.0 - slack), np.empty(0))
            confirmed = self._walk(self._problem, exact, subtree, claim, 0, stop_flag(self.grouped.work)).closed
            if confirmed < np.inf:  # closed at this cutoff, by a safe bound
                return confirmed
        signs = self.grouped.reduction.column_signs(subtree.signs)
        factored = self._safe.value(solve_signed(self.grouped.reduction, signs), signs, upper)
        if not self._problem.pairs.used:
            return factored
        problem = self._problem._replace(stop=stop_flag(self.grouped.work))
        pattern = np.array(subtree.signs.values, np.int8)
        return max(factored, float(kernel.one_node.bound_node(problem, self._workspace, pattern, np.inf)[2]))
