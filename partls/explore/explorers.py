"""What it takes to explore subtrees of one problem, here or anywhere: the data, the bound, the rules."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from formulations.compact import compact
from formulations.data import Floats
from formulations.instance import Instance
from partls.explore.branching import BranchingRule
from partls.explore.compiled import CompiledExplorer
from partls.explore.generic import GenericExplorer
from partls.explore.subtree import Exploration, Explorer, Task, Tolerances
from relaxations.active_set import ActiveSetRelaxation, GroupedProblem, OrthogonalBounder, group_columns
from relaxations.protocol import Relaxation


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """A problem to search, as plain data that can travel.

    ``upper`` is the first incumbent's value, which bounds the coefficients; ``diagonal`` strengthens the compiled
    bound, once it is known.
    """

    instance: Instance
    relaxation: Relaxation
    branching: BranchingRule
    tolerances: Tolerances
    upper: float
    diagonal: Floats | None = None

    def packed(self) -> SearchProblem:
        """Return the same problem on a few rows that stand for all, with the same reduction to the last bit."""
        return replace(self, instance=compact(self.instance))

    def explorers(self, grouped: GroupedProblem | None = None) -> Explorers:
        """Return what explores its subtrees."""
        reduction = self.instance.reduction
        orthogonal = OrthogonalBounder(reduction)
        fallback = GenericExplorer(reduction, lambda: orthogonal, self.branching, self.tolerances, "factorisation")
        if not isinstance(self.relaxation, ActiveSetRelaxation):
            own = GenericExplorer(
                reduction, lambda: self.relaxation.prepare(self.instance), self.branching, self.tolerances,
                self.relaxation.name,
            )
            return Explorers(own, fallback)
        grouped = grouped or group_columns(reduction)
        if not kernel_applies(grouped):
            return Explorers(fallback, fallback)
        compiled = CompiledExplorer(grouped, self.branching, self.tolerances, self.upper, self.diagonal)
        return Explorers(compiled, fallback)


@dataclass(frozen=True, eq=False)
class Explorers:
    """The explorer of a problem, and the one that settles what the compiled kernel could not bound safely."""

    main: Explorer
    fallback: GenericExplorer

    def explore(self, task: Task, stop: NDArray[np.uint8]) -> Exploration:
        """Return what comes of one task; of a subtree that ``stop`` keeps from being looked at, that it is open."""
        if stop[0]:
            return Exploration(task.incumbent, open=[task.subtree])
        explorer = self.fallback if task.subtree.doubtful else self.main
        return explorer.explore(task.subtree, task.incumbent, task.budget, stop)


def kernel_applies(grouped: GroupedProblem) -> bool:
    """Return whether the compiled kernel serves a problem: enough digits, and no L1 penalty."""
    return grouped.reliable and not bool(grouped.reduction.l1.any())
