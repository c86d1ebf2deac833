"""How to search and when to stop, and how a search ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from formulations.signs import SignPattern
from partls.explore.branching import BranchingRule, StrongBranching
from partls.explore.subtree import Incumbent
from partls.result import Status
from partls.runtime.interrupts import Keyboard
from partls.runtime.progress import Observer
from partls.search.checkpoint import Checkpoint
from relaxations.active_set import ActiveSetRelaxation
from relaxations.protocol import Relaxation


@dataclass(frozen=True)
class SearchOptions:
    """How to search and when to stop; see ``partls.solve``."""

    relaxation: Relaxation = field(default_factory=ActiveSetRelaxation)
    branching: BranchingRule = field(default_factory=StrongBranching)
    best_first: bool = False
    gap_tol: float = 1e-9
    time_limit: float | None = None
    node_limit: int | None = None
    n_jobs: int = 1
    executor: Any = None
    progress: bool | Observer = False
    root: SignPattern | None = None
    start: SignPattern | None = None
    checkpoint: Checkpoint | None = None
    max_open_nodes: int | None = None
    keyboard: Keyboard = field(default_factory=Keyboard)


@dataclass
class SearchOutcome:
    """The incumbent (reduced units), the certified lower bound and how the search ended.

    ``distance`` is that of the nearest column to the others, as a share of its norm.
    """

    incumbent: Incumbent
    lower_bound: float
    limit: Status | None
    counts: Counter[str]
    distance: float = 1.0
