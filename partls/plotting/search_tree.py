"""The branch-and-bound tree, coloured by how each node was closed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from formulations.data import Floats
from formulations.errors import InvalidInput, counted
from partls.plotting.bars import axes_for, shortened
from partls.plotting.display import Display
from partls.result import Result
from partls.search.trace import OPEN, PRUNED, SEARCHED, SOLVED, SPLIT, TracedNode, recorded_nodes, trace_search
from partls.strategies.branch_and_bound import BranchAndBound
from partls.tree_trace import SearchTrace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colour and shape: outcome -> (colour, marker, words for the legend).
OUTCOMES = {
    SPLIT: ("#BBBBBB", "o", "split"),
    PRUNED: ("#0072B2", "v", "pruned by its bound"),
    SOLVED: ("#E69F00", "D", "solved"),
    OPEN: ("#D55E00", "s", "left open"),
    SEARCHED: ("#009E73", "s", "searched in compiled code"),
}
_VERBS = {PRUNED: "pruned", SOLVED: "solved", SEARCHED: "searched"}
_MORE = ("#CC79A7", "#56B4E9", "#F0E442", "#000000")  # of the same shape: other relaxations
_NAMED = 16  # nodes up to which the decisions are written on the branches


@dataclass(eq=False)
class SearchTreeDisplay(Display):
    """The nodes in levels, children below their parents, by how they ended."""

    nodes: tuple[TracedNode, ...]
    groups: tuple[str, ...]

    @classmethod
    def from_estimator(cls, estimator: Any, *, node_limit: int = 500, ax: Axes | None = None,
                       output: int | None = None) -> Self:
        """Search again, node by node, with the options of a fitted model, and draw the tree.

        The fit itself runs in compiled code that keeps no record of its nodes; this search uses the same bound and
        the same rule of branching, so that the tree is like the one of the fit, not always equal to it. A fit by
        ``BranchAndBound(trace=True)`` has kept its record, which is then drawn.
        """
        result = estimator._one_result(output)
        if isinstance(result.trace, SearchTrace):
            return cls.from_result(result, ax=ax)
        instance = result.instance
        search = estimator.method if isinstance(estimator.method, BranchAndBound) else BranchAndBound()
        nodes = trace_search(
            instance, relaxation=search.relaxation, branching=search.branching, signs=estimator.signs,
            best_first=search.search == "best-first", gap_tol=estimator.gap_tol, node_limit=node_limit,
        )
        return cls(nodes, instance.reduction.names).plot(ax=ax)

    @classmethod
    def from_result(cls, result: Result, *, ax: Axes | None = None) -> Self:
        """Draw the recorded tree of a search with ``trace=True``, coloured by the relaxation that closed each node."""
        if not isinstance(result.trace, SearchTrace):
            raise InvalidInput("the result has no record of its nodes: solve with BranchAndBound(trace=True)")
        return cls(recorded_nodes(result.trace), result.trace.groups).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw branches, then nodes."""
        from matplotlib.ticker import MaxNLocator

        ax = axes_for(ax, 12, width=8.0)
        x, depth = _places(self.nodes), np.array([node.depth for node in self.nodes])
        for i, node in enumerate(self.nodes):
            if node.parent >= 0:
                ax.plot(x[[node.parent, i]], depth[[node.parent, i]], color="#BBBBBB", linewidth=0.7, zorder=1)
                if len(self.nodes) <= _NAMED:
                    self._name_branch(ax, node, x[[node.parent, i]].mean(), depth[[node.parent, i]].mean())
        size = float(np.clip(4000 / len(self.nodes), 6, 70))
        for colour, marker, words, own in self._kinds():
            ax.scatter(x[own], depth[own], s=size, c=colour, marker=marker, zorder=2, linewidths=0,
                       label=f"{words} ({len(own)})")
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_ylim(depth.max() + 0.6, -0.6)
        ax.set_xticks([])
        ax.set(ylabel="signs decided", title=counted(sum(node.nodes for node in self.nodes), "node"))
        ax.spines[["top", "right", "bottom"]].set_visible(False)
        ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4)
        return self._drawn_on(ax)

    def _kinds(self) -> Iterator[tuple[str, str, str, list[int]]]:
        """Yield colour, shape, words and nodes of every way to end, by relaxation where that is known."""
        for outcome, (colour, marker, words) in OUTCOMES.items():
            found: dict[str, list[int]] = {}
            for i, node in enumerate(self.nodes):
                if node.outcome == outcome:
                    found.setdefault(node.by, []).append(i)
            for shade, (by, own) in zip(cycle((colour, *_MORE)), sorted(found.items()), strict=False):
                told = words if not by else f"{_VERBS.get(outcome, words)} by {by}"
                yield shade if len(found) > 1 else colour, marker, told, own

    def _name_branch(self, ax: Axes, node: TracedNode, x: float, y: float) -> None:
        sign = "+" if node.sign > 0 else "\N{MINUS SIGN}"
        ax.text(x, y, f"{shortened(self.groups[node.group], 16)} {sign}", fontsize="small", ha="center", va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0})


def _places(nodes: tuple[TracedNode, ...]) -> Floats:
    """Return a horizontal place per node: ends side by side from left (-) to right (+), parents amid their children."""
    children: list[list[int]] = [[] for _ in nodes]
    for i, node in enumerate(nodes):
        if node.parent >= 0:
            children[node.parent].append(i)
    x, taken = np.zeros(len(nodes)), 0
    stack = [(0, False)]
    while stack:
        i, ready = stack.pop()
        below = sorted(children[i], key=lambda j: nodes[j].sign)
        if ready:
            x[i] = x[below].mean()
        elif below:
            stack += [(i, True), *((j, False) for j in reversed(below))]
        else:
            x[i], taken = float(taken), taken + 1
    return x
