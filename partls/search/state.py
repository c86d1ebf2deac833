"""What a search knows of its tree: subtrees that are open, dispatched or closed, the incumbent, and what was proved."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from math import inf
from typing import Any

from partls.explore.contradiction import Contradiction, check_claim
from partls.explore.subtree import Exploration, Incumbent, Subtree, Tolerances, round_to_signs
from partls.search.checkpoint import Snapshot
from partls.search.frontier import Frontier, at_least
from partls.search.plan import SearchPlan
from partls.tree_trace import NodeRecord


@dataclass(eq=False)
class Dispatched:
    """A subtree that was dispatched and is not yet merged; without a ticket, this thread explores it."""

    subtree: Subtree
    budget: int
    ticket: Any = None


class TreeState:
    """Keep count of the tree: what is open, dispatched and closed, the best solution, and the bounds they imply.

    Attributes
    ----------
    open
        Subtrees that nobody explores.
    dispatched
        Subtrees being explored, in the order of their dispatch; if the search ends first they count as open.
    closed
        The lowest bound of what is closed.
    proved
        A bound on the whole tree that was certified before.
    incumbent
        The best solution so far.
    counts, records
        The work done, by kind; the nodes, where a trace is asked for.
    """

    def __init__(self, plan: SearchPlan, tolerances: Tolerances, incumbent: Incumbent) -> None:
        self._plan, self._tolerances = plan, tolerances
        self.root, self.incumbent = plan.task.root, incumbent
        self.dispatched: deque[Dispatched] = deque()
        self.counts: Counter[str] = Counter()
        self.records: list[NodeRecord] = []
        self.proved = 0.0  # a sum of squares and a penalty
        self.restart()

    def restart(self) -> None:
        """Open the whole tree again; the incumbent, the counts and the proved bound stay."""
        self.set_open([Subtree(self.root)], closed=inf)

    def set_open(self, subtrees: list[Subtree], *, closed: float) -> None:
        """Replace the open subtrees, and the lowest bound of what is closed."""
        self.open = Frontier(subtrees, best_first=self._plan.best_first, most=self._plan.max_open_nodes)
        self.closed = closed

    def resume(self, saved: Snapshot, incumbent: Incumbent) -> None:
        """Continue where an earlier run stopped; from the root, if that run was content with a wider gap."""
        self._improve(incumbent)
        self.counts, self.proved = Counter(saved.counts), saved.proved
        if saved.gap_tol <= self._plan.task.gap_tol or self.gap_closed(max(saved.closed, saved.proved)):
            self.set_open(saved.open, closed=saved.closed)

    def snapshot(self, labels: Any, *, strong_penalty: bool) -> Snapshot:
        """Return what a later run needs to continue from here."""
        signs = round_to_signs(self.incumbent.v, labels, self.root)
        unfinished = [*self.open, *(task.subtree for task in self.dispatched)]
        return Snapshot(
            signs, self.closed, self._plan.task.gap_tol, strong_penalty, self.proved, self.counts, unfinished
        )

    def start_over(self, contradiction: Contradiction) -> None:
        """Discard the bounds of an unsound relaxation, but keep the solution that refuted it."""
        self.counts[f"contradicted: {contradiction.relaxation}"] += 1
        self._improve(contradiction.found)
        self.proved = 0.0
        self.dispatched.clear()
        self.restart()

    def _improve(self, found: Incumbent) -> None:
        self.incumbent = min(self.incumbent, found, key=lambda one: one.value)

    def check_proved(self) -> None:
        """Raise ``Contradiction`` if the incumbent refutes what earlier runs have proved."""
        check_claim("of the checkpoint", self.root, self.proved, self.incumbent, self._tolerances.size)

    def take(self, budget: int) -> Dispatched:
        """Dispatch the next open subtree; an interrupt on the way may leave it open too, which makes no bound wrong."""
        task = Dispatched(self.open.next(), budget)
        self.dispatched.append(task)
        self.open.drop()
        return task

    def merge(self, result: Exploration) -> None:
        """Merge the result of the subtree that was dispatched first."""
        if result.best.value < self.incumbent.value:
            self.incumbent = result.best
            self.check_proved()
        self.closed = min(self.closed, result.closed)
        self.records += result.records
        self.counts.update(result.counts, tasks=1)
        self.open.push(result.open)
        self.dispatched.popleft()

    @property
    def n_nodes(self) -> int:
        """Nodes explored so far."""
        return self.counts["nodes"]

    @property
    def nodes_left(self) -> float:
        """An estimate of how many nodes are still to come: each decision halves what is left of the tree."""
        depth = len(self.root.undecided)
        left = sum(0.5 ** (depth - len(subtree.signs.undecided)) for subtree in self.open)
        return inf if left >= 1.0 else self.n_nodes * left / (1.0 - left)

    @property
    def is_explored(self) -> bool:
        """Whether nothing is open or dispatched."""
        return not (self.open or self.dispatched)

    def gap_closed(self, lower: float) -> bool:
        """Return whether a lower bound is near enough to the incumbent to end the search."""
        upper = self.incumbent.value
        return upper - lower <= max(self._plan.task.gap_tol * upper, upper - self._tolerances.cutoff(upper))

    def estimate(self) -> float:
        """Return the lower bound so far, not certified: for progress, and for deciding when to stop."""
        dispatched = min((at_least(task.subtree.bound) for task in self.dispatched), default=inf)
        return max(min(self.closed, self.open.lowest(), dispatched, self.incumbent.value), self.proved)
