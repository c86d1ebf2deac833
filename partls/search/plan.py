"""How a tree is searched: the choices of ``BranchAndBound``, checked and turned into objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from partls.search.checkpoint import Checkpoint
from partls.search.task import SearchTask


@dataclass(frozen=True, eq=False)
class SearchPlan:
    """The task, the order of the open subtrees, the limits of the tree, and who explores it."""

    task: SearchTask
    best_first: bool
    node_limit: int | None
    max_open_nodes: int | None
    executor: Any
    checkpoint: Checkpoint | None
