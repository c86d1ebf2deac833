"""What it takes to explore subtrees of one problem, here or anywhere: the data, the bound, the rules."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import isnan

import numpy as np
from numpy.typing import NDArray

from formulations.compact import compact
from formulations.data import Floats
from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.explore.branching import BranchingRule
from partls.explore.compiled import CompiledExplorer
from partls.explore.generic import GenericExplorer
from partls.explore.subtree import Exploration, Explorer, Subtree, Task, Tolerances
from partls.explore.switching import PolicyExplorer
from partls.tree_trace import SEARCHED, NodeRecord
from relaxations.active_set import ActiveSetRelaxation, GroupedProblem, OrthogonalBounder, group_columns
from relaxations.convexified import ConvexifiedRelaxation
from relaxations.policies.policy import Policy
from relaxations.protocol import Relaxation


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """A problem to search, as plain data that can travel.

    ``upper`` is the first incumbent's value, which bounds the coefficients; ``diagonal`` and ``multipliers``
    strengthen the compiled bound, once they are known. With ``tracing`` every node, and every task of the compiled
    search, is recorded.
    """

    instance: Instance
    relaxation: Relaxation
    branching: BranchingRule
    tolerances: Tolerances
    upper: float
    diagonal: Floats | None = None
    multipliers: Floats | None = None
    tracing: bool = False

    def packed(self) -> SearchProblem:
        """Return the same problem on a few rows that stand for all, with the same reduction to the last bit."""
        return replace(self, instance=compact(self.instance))

    def explorers(self, grouped: GroupedProblem | None = None) -> Explorers:
        """Return what explores its subtrees."""
        reduction = self.instance.reduction
        orthogonal = OrthogonalBounder(reduction)
        fallback = GenericExplorer(reduction, lambda: orthogonal, self.branching, self.tolerances, "factorisation",
                                   tracing=self.tracing)
        if not isinstance(self.relaxation, Policy):
            return Explorers(self._search(self.relaxation, fallback, grouped), fallback, tracing=self.tracing)
        leaves = self.relaxation.leaves
        searches = {label: self._search(leaf, fallback, grouped) for label, leaf in leaves.items()}
        own = PolicyExplorer(
            self.instance, self.relaxation, searches, fallback, self.branching, self.tolerances, tracing=self.tracing
        )
        return Explorers(own, fallback, searches, tracing=self.tracing)

    def _search(self, relaxation: Relaxation, fallback: GenericExplorer, grouped: GroupedProblem | None) -> Explorer:
        """Return what searches whole subtrees by one relaxation: the compiled search where there is one."""
        if not isinstance(relaxation, ActiveSetRelaxation):
            return GenericExplorer(
                self.instance.reduction, lambda: relaxation.prepare(self.instance), self.branching, self.tolerances,
                relaxation.name, tracing=self.tracing,
            )
        grouped = grouped or group_columns(self.instance.reduction)
        if not kernel_applies(grouped):
            return fallback
        multipliers = self._multipliers_of(relaxation, grouped)
        return CompiledExplorer(grouped, self.branching, self.tolerances, self.upper, self.diagonal, multipliers)

    def _multipliers_of(self, relaxation: Relaxation, grouped: GroupedProblem) -> Callable[[], Floats | None] | None:
        """Return what computes the multipliers of a relaxation that has any, if they are not known yet."""
        if not isinstance(relaxation, ConvexifiedRelaxation):
            return None
        if self.multipliers is not None:
            return lambda: self.multipliers
        return partial(relaxation.multipliers, grouped, SignPattern.free(grouped.reduction.n_groups))


@dataclass(frozen=True, eq=False)
class Explorers:
    """The explorer of a problem, and the one that settles what the compiled kernel could not bound safely.

    ``searches`` are the explorers of the relaxations to which a policy hands subtrees over.
    """

    main: Explorer
    fallback: GenericExplorer
    searches: Mapping[str, Explorer] = field(default_factory=dict)
    tracing: bool = False

    def explore(self, task: Task, stop: NDArray[np.uint8]) -> Exploration:
        """Return what comes of one task; of a subtree that ``stop`` keeps from being looked at, that it is open."""
        if stop[0]:
            return Exploration(task.incumbent, open=[task.subtree])
        explorer = self.fallback if task.subtree.doubtful else self.owner(task.subtree)
        began = time.perf_counter()
        out = explorer.explore(task.subtree, task.incumbent, task.budget, stop)
        if self.tracing and isinstance(explorer, CompiledExplorer):
            out.records.append(_record(task.subtree, out, time.perf_counter() - began))
        return out

    def owner(self, subtree: Subtree) -> Explorer:
        """Return the explorer of a subtree: the one a policy has given it to, or the main one."""
        return self.searches.get(subtree.search, self.main)

    def is_compiled(self, subtree: Subtree) -> bool:
        """Return whether the compiled search explores a subtree."""
        return isinstance(self.owner(subtree), CompiledExplorer)

    def safe_bound(self, subtree: Subtree, upper: float) -> float:
        """Return a safe lower bound (reduced units) on the solutions of a subtree no worse than ``upper``."""
        return self.owner(subtree).safe_bound(subtree, upper)


def _record(subtree: Subtree, out: Exploration, seconds: float) -> NodeRecord:
    """Return the record of one task of the compiled search."""
    bound = min([out.closed, *(left.bound for left in out.open if not isnan(left.bound))])
    return NodeRecord(
        subtree.signs, subtree.origin, SEARCHED, "active-set", -1, bound, out.best.value, out.counts["nodes"],
        len(out.open), seconds,
    )


def kernel_applies(grouped: GroupedProblem) -> bool:
    """Return whether the compiled kernel serves a problem: enough digits, and no L1 penalty."""
    return grouped.reliable and not bool(grouped.reduction.l1.any())
