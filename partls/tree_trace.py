"""The record of a tree search: a row per node, with every bound computed there and what was decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from formulations.signs import SignPattern
from relaxations.comparison.table import Column, ResultTable, duration, number

SPLIT, PRUNED, TIGHT, LEAF = "split", "pruned", "tight", "leaf"
SEARCHED, GIVEN = "searched", "given"


@dataclass(frozen=True)
class TracedBound:
    """One bound computed at a node.

    Attributes
    ----------
    relaxation
        The relaxation.
    value
        The certified bound, in original units; -inf if nothing was proved.
    status
        How far the solve got; a value of ``relaxations.BoundStatus``.
    seconds
        Wall-clock time.

    Examples
    --------
    >>> import partls
    >>> partls.TracedBound("shor", 3.5, "optimal", 0.01).value
    3.5
    """

    relaxation: str
    value: float
    status: str
    seconds: float

    def __str__(self) -> str:
        """Name the relaxation, its value, its time, and its status if that is not optimal."""
        status = "" if self.status == "optimal" else f" {self.status}"
        return f"{self.relaxation} {number(self.value, '.8g')}{status} ({duration(self.seconds)})"


@dataclass(frozen=True)
class NodeTrace:
    """One node, or one subtree searched in compiled code.

    Attributes
    ----------
    parent
        The row of the parent node; -1 for the root.
    depth
        Number of decided groups.
    signs
        The sign pattern: "+", "-" or "0" for each group.
    decision
        "split"; "pruned" by a bound; "tight": the relaxed point is a solution that meets its bound; "leaf": solved by
        itself; "given": the subtree was given to the search by one relaxation; "searched" by it.
    by
        The relaxation whose bound closed the node, or which searches the subtree.
    group
        The group on which a node was split; else empty.
    bound
        The bound known when the node was done.
    objective
        The incumbent then.
    nodes
        Nodes counted in this row: 1, or those of a compiled search.
    left
        Subtrees that a compiled search left open.
    seconds
        Wall-clock time of the node.
    bounds
        Every bound computed at the node.

    Examples
    --------
    >>> import partls
    >>> from formulations import random_instance
    >>> search = partls.BranchAndBound(trace=True)
    >>> root = partls.solve_instance(random_instance(M=12, group_size=3), method=search).trace.rows[0]
    >>> root.parent, root.depth, root.signs
    (-1, 0, '0000')
    """

    parent: int
    depth: int
    signs: str
    decision: str
    by: str
    group: str
    bound: float
    objective: float
    nodes: int
    left: int
    seconds: float
    bounds: tuple[TracedBound, ...] = ()


@dataclass(frozen=True)
class NodeRecord:
    """What an explorer notes of one node, in reduced units; ``origin`` is the pattern of the node it hangs from."""

    signs: SignPattern
    origin: SignPattern | None
    decision: str
    by: str
    group: int
    bound: float
    objective: float
    nodes: int
    left: int
    seconds: float
    bounds: tuple[TracedBound, ...] = ()


@dataclass(frozen=True)
class SearchTrace(ResultTable):
    """The nodes of a search in the order they were merged.

    Attributes
    ----------
    rows
        One ``NodeTrace`` per node, or per subtree searched in compiled code.
    groups
        The names of the groups, in the order of the signs.

    Examples
    --------
    >>> import partls
    >>> from formulations import random_instance
    >>> search = partls.BranchAndBound(trace=True)
    >>> trace = partls.solve_instance(random_instance(M=12, group_size=3), method=search).trace
    >>> trace.groups, trace.rows[0].depth
    (('0', '1', '2', '3'), 0)
    """

    rows: tuple[NodeTrace, ...]
    groups: tuple[str, ...]

    columns = (
        Column("signs", lambda row: row.signs, text=True),
        Column("bounds", lambda row: "; ".join(map(str, row.bounds)) or "–", text=True),  # noqa: RUF001
        Column("decision", lambda row: _told(row), text=True),
        Column("bound", lambda row: number(row.bound, ".8g")),
        Column("incumbent", lambda row: number(row.objective, ".8g")),
        Column("nodes", lambda row: str(row.nodes)),
        Column("time", lambda row: duration(row.seconds)),
    )

    @property
    def caption(self) -> str:
        """What the signs stand for, and how many nodes there are."""
        return f"{sum(row.nodes for row in self.rows)} nodes; signs of {', '.join(self.groups)}"

    @classmethod
    def of(cls, records: Iterable[NodeRecord], groups: Sequence[str], scale: float) -> SearchTrace:
        """Return records in original units, each with the row of its parent."""
        rows: list[NodeTrace] = []
        last: dict[SignPattern, int] = {}
        for record in records:
            parent = last.get(record.origin, -1) if record.origin is not None else -1
            rows.append(NodeTrace(
                parent, len(record.signs) - len(record.signs.undecided), str(record.signs), record.decision, record.by,
                groups[record.group] if record.group >= 0 else "", record.bound * scale, record.objective * scale,
                record.nodes, record.left, record.seconds, record.bounds,
            ))
            last[record.signs] = len(rows) - 1
        return cls(tuple(rows), tuple(groups))

    def to_pandas(self) -> Any:
        """Return a data frame with a row per node; the column ``bounds`` holds text (see :meth:`bounds_to_pandas`)."""
        return ResultTable.to_pandas(_Plain(tuple(
            replace(row, bounds="; ".join(map(str, row.bounds)))  # type: ignore[arg-type]
            for row in self.rows
        )))

    def bounds_to_pandas(self) -> Any:
        """Return a data frame with a row per bound; ``node`` is the row of :meth:`to_pandas` it belongs to."""
        import pandas as pd

        return pd.DataFrame([
            {"node": i, "signs": row.signs, **asdict(bound)} for i, row in enumerate(self.rows) for bound in row.bounds
        ])


@dataclass(frozen=True)
class _Plain(ResultTable):
    rows: tuple[NodeTrace, ...]


def _told(row: NodeTrace) -> str:
    """Return a decision in words."""
    if row.decision == SPLIT:
        return f"split on {row.group}"
    if row.decision == GIVEN:
        return f"given to {row.by}"
    left = f", {row.left} open" if row.left else ""
    return f"{row.decision} by {row.by}{left}"
