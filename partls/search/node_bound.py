"""The bound at the nodes; "auto" may strengthen it once, when the tree has grown large enough to pay for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from formulations.signs import SignPattern
from partls.explore.compiled import CompiledExplorer
from partls.explore.explorers import Explorers, SearchProblem
from partls.explore.subtree import Subtree
from partls.explore.switching import PolicyExplorer
from partls.runtime.daemon_threads import run_with_deadline
from partls.search.limits import UNLIMITED
from relaxations import named
from relaxations.convexified import ConvexifiedRelaxation
from relaxations.policies.auto import Auto
from relaxations.policies.prices import price_of

_FIRST_WORK = 1e7  # nodes times M^2 explored in the caller's thread, which cannot be interrupted, before any other
_STRENGTHEN_AFTER = 1000  # nodes: the diagonal then costs about what the search has cost so far
_ROOT_AFTER = 100  # nodes bounded by "strengthened", at least, before the root is bounded by "shor"
_NODE = 4e-9  # seconds of a node with the cheap bound per squared number of columns, measured for 200 to 400
_MOST = 0.5  # share of the gap: a bound that closes more of it at the root is worth a hundred times the time per node
_DEPTH_FIRST_BUDGET, _BEST_FIRST_BUDGET = 512, 32  # nodes per task
_GENERIC_BUDGET = 8
_POLICY_BUDGET = 2**20  # a policy ends its tasks itself, and counts the nodes of compiled trials in them
STRONG_PENALTY, CONVEXIFIED = "strengthened", "convexified"  # the relaxations to which a search may switch


class NodeBound:
    """Choose how nodes are bounded: as the user has said, and with "auto" by a stronger bound for a large tree.

    Attributes
    ----------
    problem, explorers
        The problem with the relaxation in use, and those who compute its bounds.
    is_compiled
        Whether the compiled search explores.
    is_final
        Whether the bound stays as it is however large the tree becomes.
    root_is_due
        Whether the root is still to be bounded once more, by ``prove_root``.
    """

    def __init__(self, problem: SearchProblem, explorers: Explorers, *, best_first: bool) -> None:
        self.problem, self.explorers = problem, explorers
        self.is_compiled = isinstance(explorers.main, CompiledExplorer)
        self.is_final = not self.is_compiled
        self.root_is_due = False
        self._due = _STRENGTHEN_AFTER
        self._reduction = problem.instance.reduction
        self.first_budget = int(min(max(_FIRST_WORK / self._reduction.n_columns**2, 64), _STRENGTHEN_AFTER))
        self._budget = _GENERIC_BUDGET
        self._compiled_budget = _BEST_FIRST_BUDGET if best_first else _DEPTH_FIRST_BUDGET
        if self.is_compiled:
            self._budget = self._compiled_budget

    def least_budget(self, subtree: Subtree, *, depth_first: bool) -> int:
        """Return the nodes of a task while the tree is small."""
        if self.explorers.is_compiled(subtree):
            return _DEPTH_FIRST_BUDGET if depth_first else self._compiled_budget
        return _POLICY_BUDGET if isinstance(self.explorers.owner(subtree), PolicyExplorer) else self._budget

    def nodes_until_due(self, nodes: int) -> int:
        """Return how many more nodes to explore before the search is taken for a large one."""
        return UNLIMITED if self.is_final and not self.root_is_due else self._due - nodes

    def strengthen(self, root: SignPattern, lower: float, upper: float, is_over: Callable[[], bool], *,
                   nodes_left: float) -> str:
        """Strengthen the bound of a large tree if it may be; return by what, "" if by nothing.

        With "strengthened" or "convexified" the search has to start again from the root.
        """
        self.is_final = True
        auto = self.problem.relaxation
        if not isinstance(auto, Auto):
            return ""
        if self._penalty_pays(root, lower, upper, is_over):
            self.strengthen_penalty()
            return STRONG_PENALTY
        if not isinstance(self.explorers.main, CompiledExplorer):
            return ""
        if auto.convexify and self._convexify(self.explorers.main, root, is_over, nodes_left):
            return CONVEXIFIED
        diagonal = run_with_deadline(self.explorers.main.add_diagonal, is_over)
        self.problem = replace(self.problem, diagonal=diagonal)
        return "" if diagonal is None else "diagonal"

    def look_at_root_after(self, nodes: int) -> None:
        """Bound the root by "shor" if the tree is still open when its nodes have cost as much as that."""
        instance = self.problem.instance
        price = ConvexifiedRelaxation().price(instance).prepare / price_of(self.problem.relaxation, instance).bound
        self.root_is_due, self._due = True, nodes + int(min(max(price, _ROOT_AFTER), UNLIMITED))

    def prove_root(self, root: SignPattern, is_over: Callable[[], bool]) -> float:
        """Return the Shor bound of the whole tree (reduced units): where a strong tree stays open, often the best."""
        self.root_is_due = False
        instance = self.problem.instance
        bound = run_with_deadline(lambda: named("shor").prepare(instance).bound(root), is_over)
        return 0.0 if bound is None else bound.value / self._reduction.scale

    def _penalty_pays(self, root: SignPattern, lower: float, upper: float, is_over: Callable[[], bool]) -> bool:
        """Return whether the L2 penalty made strong, which no compiled bound knows, closes most of the gap at once."""
        if not self._has_penalty:
            return False
        instance = self.problem.instance
        bound = run_with_deadline(lambda: named(STRONG_PENALTY).prepare(instance).bound(root), is_over)
        return bound is not None and bound.value / self._reduction.scale - lower > _MOST * (upper - lower)

    def _convexify(self, explorer: CompiledExplorer, root: SignPattern, is_over: Callable[[], bool], nodes_left: float
                   ) -> bool:
        """Bound by "convexified" from now on if it applies and its multipliers cost less than the nodes left."""
        relaxation = ConvexifiedRelaxation()
        if relaxation.price(self.problem.instance).prepare > nodes_left * _NODE * self._reduction.n_columns**2:
            return False
        multipliers = run_with_deadline(lambda: relaxation.multipliers(explorer.grouped, root), is_over)
        if multipliers is None or not explorer.convexify(multipliers):
            return False
        self.problem = replace(self.problem, relaxation=relaxation, multipliers=multipliers)
        return True

    @property
    def _has_penalty(self) -> bool:
        return self._reduction.data_part is not self._reduction

    @property
    def has_strong_penalty(self) -> bool:
        """Whether the relaxation in use is that of the strong penalty."""
        return self.problem.relaxation.name == STRONG_PENALTY

    @property
    def can_strengthen_penalty(self) -> bool:
        """Whether the compiled bound is in use, may be changed, and there is an L2 penalty to make strong."""
        return self.is_compiled and self._has_penalty and isinstance(self.problem.relaxation, Auto)

    def strengthen_penalty(self) -> None:
        """Bound nodes by the relaxation that knows the L2 penalty."""
        self.problem = replace(self.problem, relaxation=named(STRONG_PENALTY))
        self._explore_with(self.problem.explorers())
        self.is_final = True

    def fall_back(self) -> None:
        """Bound nodes by factorisation, which needs no trust."""
        self._explore_with(Explorers(self.explorers.fallback, self.explorers.fallback))

    def _explore_with(self, explorers: Explorers) -> None:
        self.explorers, self.is_compiled, self.is_final, self._budget = explorers, False, True, _GENERIC_BUDGET
