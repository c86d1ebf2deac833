"""tree_size(): how many nodes and how much time branch and bound needs with each relaxation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any

from formulations.instance import Instance
from partls.result import Result
from partls.solve import solve_instance
from relaxations.comparison.members import labelled
from relaxations.comparison.table import Column, ResultTable, duration, number
from relaxations.protocol import Relaxation


@dataclass(frozen=True)
class TreeSize:
    """One relaxation's search.

    Attributes
    ----------
    relaxation
        Its label.
    nodes
        Sign patterns that were closed or split, counted alike whatever bounds them. ``Result.n_nodes`` is smaller where
        the compiled search closes children while it tries them for branching: it counts them with their parent.
    seconds, objective, lower_bound, gap, status
        As in ``Result``.
    counts
        How many bounds each member gave, and how many nodes it closed.
    """

    relaxation: str
    nodes: int
    seconds: float
    objective: float
    lower_bound: float
    gap: float
    status: str
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def closed(self) -> str:
        """The relaxations that closed nodes, with their numbers."""
        prefix = "closed by "
        return ", ".join(f"{key.removeprefix(prefix)} {n}" for key, n in self.counts.items() if key.startswith(prefix))


@dataclass(frozen=True)
class TreeSizes(ResultTable):
    """What ``tree_size`` measured."""

    rows: tuple[TreeSize, ...]

    columns = (
        Column("relaxation", lambda row: row.relaxation, text=True),
        Column("nodes", lambda row: str(row.nodes)),
        Column("time", lambda row: duration(row.seconds)),
        Column("objective", lambda row: number(row.objective, ".8g")),
        Column("gap", lambda row: number(row.gap, ".1e")),
        Column("status", lambda row: row.status, text=True),
        Column("nodes closed by", lambda row: row.closed, text=True),
    )

    @property
    def caption(self) -> str:
        """What a row is."""
        return "one branch and bound per relaxation, on the same instance"


def tree_size(
    instance: Instance, relaxations: Iterable[Relaxation | str] | Mapping[str, Relaxation | str] | None = None, *,
    time_limit: float | None = 60.0, node_limit: int | None = None, **options: Any,
) -> TreeSizes:
    """Return nodes and time of branch and bound with each relaxation, each under the same limits.

    A search that reaches a limit is a row that says so.

    Parameters
    ----------
    instance
        The problem.
    relaxations
        As in ``relaxations.compare``.
    time_limit, node_limit
        Limits of each search.
    **options
        Further options of the search, such as ``branching`` or ``gap_tol``.

    Returns
    -------
    TreeSizes
        One row per relaxation; printed as a table.

    Examples
    --------
    >>> import partls
    >>> from formulations import random_instance
    >>> sizes = partls.tree_size(random_instance(M=12, group_size=3), ["active-set", "perspective"])
    >>> [row.relaxation for row in sizes.rows]
    ['active-set', 'perspective']
    """
    rows = []
    limits: dict[str, Any] = {"time_limit": time_limit, "node_limit": node_limit}
    solve_instance(instance, relaxation="active-set", node_limit=1, **options)  # compile, and check the options
    for label, relaxation in labelled(relaxations).items():
        try:
            found = solve_instance(instance, relaxation=relaxation, **limits, **options)
        except Exception as error:  # it could not be prepared: the others still count
            rows.append(TreeSize(label, 0, nan, nan, -inf, nan, f"failed ({type(error).__name__}: {error})"))
            continue
        rows.append(TreeSize(
            label, nodes_of(found), found.seconds, found.objective, found.lower_bound, found.gap,
            str(found.status.value), dict(found.counts),
        ))
    return TreeSizes(tuple(rows))


def nodes_of(found: Result) -> int:
    """Return how many sign patterns a search has closed or split.

    Every split has two children, so a tree with c closed nodes has 2 c - 1 nodes, however they are counted.
    """
    closed = sum(found.counts.get(how, 0) for how in ("prunes", "tight", "leaves")) - found.counts.get("doubtful", 0)
    return max(found.n_nodes, 2 * closed - 1)
