"""tree_size(): how many nodes and how much time branch and bound needs with each relaxation.

The search is a layer above this one, so it is handed in: ``import partls`` registers its branch and bound by
``search_with``, and ``tree_size(..., solve=...)`` takes any other. Nothing here imports upwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import inf, nan
from typing import Any, Protocol

from formulations.errors import PartLSError
from formulations.instance import Instance
from relaxations.bound import Relaxation
from relaxations.comparison import labelled
from relaxations.table import Column, ResultTable, duration, number


class Searched(Protocol):
    """What a search returns; ``partls.Result`` is one."""

    @property
    def objective(self) -> float:
        """Objective of the best solution."""
        ...

    @property
    def lower_bound(self) -> float:
        """Certified bound on every other."""
        ...

    @property
    def gap(self) -> float:
        """Relative gap between the two."""
        ...

    @property
    def status(self) -> Enum:
        """How the search ended."""
        ...

    @property
    def n_nodes(self) -> int:
        """Nodes visited."""
        ...

    @property
    def seconds(self) -> float:
        """Wall-clock time."""
        ...

    @property
    def counts(self) -> Mapping[str, int]:
        """Bounds computed and nodes closed, by relaxation."""
        ...


Search = Callable[..., Searched]  # (instance, *, relaxation, time_limit, node_limit, **options)


@dataclass(frozen=True)
class TreeSize:
    """One relaxation's search; ``counts`` says how many bounds each member gave and how many nodes it closed."""

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


_registered: list[Search] = []


def search_with(search: Search) -> None:
    """Make ``search`` the branch and bound that ``tree_size`` measures from now on."""
    _registered[:] = [search]


def tree_size(
    instance: Instance, relaxations: Iterable[Relaxation | str] | Mapping[str, Relaxation | str] | None = None, *,
    time_limit: float | None = 60.0, node_limit: int | None = None, solve: Search | None = None, **options: Any,
) -> TreeSizes:
    """Return nodes and time of branch and bound with each relaxation, each under the same limits.

    Parameters
    ----------
    instance
        The problem.
    relaxations
        As in ``compare``.
    time_limit, node_limit
        Limits of each search; one that reaches a limit is a row that says so.
    solve
        The search; default: that of ``partls``, once it has been imported.
    options
        Further options of the search, such as ``branching`` or ``gap_tol``.
    """
    if solve is None and not _registered:
        raise PartLSError("tree_size() needs a search: import partls first, or pass solve=partls.solve_instance")
    search, rows = solve or _registered[0], []
    search(instance, relaxation="active-set", time_limit=None, node_limit=1, **options)  # compile, and check options
    for label, relaxation in labelled(relaxations).items():
        try:
            found = search(instance, relaxation=relaxation, time_limit=time_limit, node_limit=node_limit, **options)
        except Exception as error:  # it could not be prepared: the others still count
            rows.append(TreeSize(label, 0, nan, nan, -inf, nan, f"failed ({type(error).__name__}: {error})"))
            continue
        rows.append(TreeSize(
            label, found.n_nodes, found.seconds, found.objective, found.lower_bound, found.gap,
            str(found.status.value), dict(found.counts),
        ))
    return TreeSizes(tuple(rows))
