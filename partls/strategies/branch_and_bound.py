"""Branch and bound over the signs of the groups."""

from __future__ import annotations

from collections import Counter
from copy import copy, deepcopy
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from formulations.tolerances import ABSOLUTE_TOLERANCE
from partls.explore.branching import branching_rule
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
from partls.parallel.make_pool import checked_executor
from partls.result import Status
from partls.runtime.options import chosen, flag, nonnegative, writable
from partls.search.checkpoint import Checkpoint
from partls.search.plan import SearchPlan
from partls.search.task import Outcome, SearchTask
from partls.search.tree import TreeSearch
from partls.strategies.option import backend_option, checked_backend, documented, option, solver_option
from partls.strategies.strategy import Strategy
from relaxations import Relaxation, as_relaxation, through_cvxpy
from relaxations.active_set import ActiveSetRelaxation, GroupedProblem, group_columns
from relaxations.clock import OutOfTime, until
from relaxations.interpreter import kernel
from relaxations.policies.policy import Policy, constant, leaves_of

SEARCHES = ("depth-first", "best-first")
_NO_LOCAL_SEARCH = 12  # groups: smaller trees need no incumbent to start with
_EXACT_FIT = 0.1 * ABSOLUTE_TOLERANCE  # of the target's squared norm: what solutions that fit exactly leave
_PRUNE_SHARE = 0.1  # of gap_tol: closing boxes this near to the incumbent leaves the rest of the gap to rounding


@documented
@dataclass(frozen=True)
class BranchAndBound(Strategy):
    """Split on the signs of groups, and prune by a relaxation's bound: the optimum, proved.

    Esposito, Cerrato and Locatelli (2024), Algorithm 3, with safe bounds.

    Examples
    --------
    >>> import numpy as np, partls
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> search = partls.BranchAndBound(search="best-first", node_limit=100)
    >>> partls.solve(X, [1.0, 2.0, 3.0], ["size", "size"], method=search).status
    <Status.OPTIMAL: 'optimal'>
    """

    name: ClassVar[str] = "bnb"
    proves: ClassVar[bool] = True

    relaxation: Any = option(
        "auto", 'Lower bound at the nodes: a name, any Relaxation, or a policy that switches between several. "auto" '
        'is "active-set", and may change to a stronger bound after 1,000 nodes; Result.counts says which.',
    )
    branching: Any = option(
        "strong", 'Which group to split next: "strong", "bound-score", "max-violation" or a BranchingRule.'
    )
    search: str = option(
        "depth-first", 'Order of the open subtrees: "depth-first", or "best-first", the lowest bound first.'
    )
    node_limit: int | None = option(None, "Nodes after which the best solution so far is returned with its bound.")
    executor: Any = option(
        None, "Executor for large trees, instead of threads: a dask.distributed.Client, an executor of "
        'concurrent.futures, or "loky" (n_jobs processes). Tree and answer do not depend on it.',
    )
    checkpoint: Any = option(
        None, "File that keeps the state of the search. If it exists, the search resumes from it, and counts and "
        "node_limit continue, too.", refusal='checkpoint is for branch and bound: use method="bnb" and keep="best"',
    )
    checkpoint_interval: float = option(10.0, "Seconds between two writes of the checkpoint.")
    max_open_nodes: int | None = option(
        None, "Bounds the memory of best-first search: with more open subtrees than this, the search goes on "
        "depth-first.",
    )
    trace: bool = option(False, "Keep a row per node in Result.trace: its signs, bounds and decision; see SearchTrace.")
    backend: str = backend_option()
    solver: str | None = solver_option()

    def __post_init__(self) -> None:
        """Refuse invalid options."""
        chosen("search", self.search, SEARCHES)
        nonnegative("node_limit", self.node_limit, integer=True)
        nonnegative("max_open_nodes", self.max_open_nodes, integer=True)
        nonnegative("checkpoint_interval", self.checkpoint_interval)
        writable("checkpoint", self.checkpoint)
        branching_rule(self.branching)
        flag("trace", self.trace)
        checked_backend(self.backend, self.solver)
        _ = self.bound_by
        checked_executor(self.executor)

    def __deepcopy__(self, memo: dict[int, Any]) -> BranchAndBound:
        """Copy the options but share the executor, a connection to workers that has no copy."""
        memo[id(self.executor)] = self.executor
        copied = copy(self)
        for one in fields(self):
            object.__setattr__(copied, one.name, deepcopy(getattr(self, one.name), memo))
        return copied

    @property
    def bound_by(self) -> Relaxation:
        """The relaxation, as its backend has it."""
        relaxation = as_relaxation(self.relaxation)
        return relaxation if self.backend == "kernel" else through_cvxpy(relaxation, self.solver)

    def prepare(self) -> None:
        """Load the compiled search where it will run."""
        if _uses_kernel(self.bound_by):
            _ = kernel.one_node, kernel.flips, kernel.walk

    def run(self, task: SearchTask) -> Outcome:
        """Return the best solution and a safe lower bound on all others."""
        reduction = task.instance.reduction
        if not len(reduction.R):  # no column has any effect: zero coefficients are as good as any
            flat = Incumbent(reduction.rest, np.zeros(reduction.n_columns))
            return Outcome(flat, flat.value, None, Counter({"nodes": 0}))
        try:
            with until(task.deadline):
                tree = self._tree(task)
        except OutOfTime:  # leaves a checkpoint unchanged
            hasty = hasty_incumbent(reduction, task.start or task.root)
            return Outcome(hasty, reduction.rest, Status.TIME_LIMIT, Counter({"nodes": 0}))
        return tree if isinstance(tree, Outcome) else tree.run()

    def _tree(self, task: SearchTask) -> TreeSearch | Outcome:
        """Return the tree to search, or the answer where a solution fits the data exactly."""
        reduction, relaxation = task.instance.reduction, constant(self.bound_by)
        size = float(reduction.z @ reduction.z) + reduction.rest
        tolerances = Tolerances(_PRUNE_SHARE * task.gap_tol, size)
        exact_fit = find_exact_fit(reduction, task.root, _EXACT_FIT * size, task.is_over)
        if exact_fit is not None:
            return Outcome(exact_fit, 0.0, None, Counter({"nodes": 0}))
        grouped, plan = group_columns(reduction), self._plan(task)
        native = _uses_kernel(relaxation) and kernel_applies(grouped)
        unlimited = not isinstance(relaxation, Policy) and task.time_limit is None and self.node_limit is None
        incumbent = _first_incumbent(grouped, task, tolerances, native=native, unlimited=unlimited)
        problem = SearchProblem(
            task.instance, relaxation, branching_rule(self.branching), tolerances, incumbent.value, tracing=self.trace
        )
        tree = TreeSearch(problem, problem.explorers(grouped), plan, incumbent, grouped.distance)
        if plan.checkpoint is not None and (state := plan.checkpoint.load(task.root)) is not None:
            tree.resume(state, solve_pattern(reduction, state.signs))
        return tree

    def _plan(self, task: SearchTask) -> SearchPlan:
        """Return the choices that concern the tree, as the objects they stand for."""
        path = writable("checkpoint", self.checkpoint)
        return SearchPlan(
            task, self.search == "best-first", nonnegative("node_limit", self.node_limit, integer=True),
            nonnegative("max_open_nodes", self.max_open_nodes, integer=True), self.executor,
            None if path is None else Checkpoint.of(path, task.instance, task.root, self.checkpoint_interval or 0.0),
        )


def _uses_kernel(relaxation: Relaxation) -> bool:
    """Return whether a relaxation, or a member of a policy, is bounded in compiled code."""
    return any(isinstance(leaf, ActiveSetRelaxation) for leaf in leaves_of(relaxation))


def _first_incumbent(grouped: GroupedProblem, task: SearchTask, tolerances: Tolerances, *, native: bool,
                     unlimited: bool) -> Incumbent:
    """Return a feasible solution to start from."""
    reduction, relaxed, root = grouped.reduction, grouped.point, task.root
    candidates = [round_to_signs(relaxed, reduction.labels, root)]
    candidates += [task.start] if task.start is not None else []
    if native and unlimited and len(root.undecided) <= _NO_LOCAL_SEARCH:
        return Incumbent(grouped.size, np.zeros(len(relaxed)))  # the search itself is over before a better one pays
    if native:
        found = compiled_incumbent(grouped, root, candidates)
        wide = grouped.R.shape[0] < grouped.R.shape[1] and found.value > tolerances.zero
        return exact_fit_nearby(reduction, root, found, tolerances.zero, task.is_over) if wide else found
    try:
        return plain_incumbent(reduction, root, candidates, relaxed, task.is_over)
    except OutOfTime:
        return hasty_incumbent(reduction, candidates[-1])
