"""The unit of search work: a subtree in, its closed part, its open part and any better solution out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.signs import SignPattern
from formulations.tolerances import ROUNDING, ZERO
from partls.tree_trace import NodeRecord


@dataclass(frozen=True)
class Subtree:
    """All solutions allowed by ``signs``; ``bound`` orders the work (reduced units, not yet safe).

    ``doubtful`` marks a box that the compiled kernel could not close by a safe bound. ``search`` is the relaxation that
    a policy has chosen for the whole subtree, ``floor`` a safe bound known from above, and ``asked`` are the members
    of the policy that have bounded an ancestor. ``origin`` is the node it hangs from in a trace.
    """

    signs: SignPattern
    bound: float = -inf
    doubtful: bool = False
    search: str = ""
    floor: float = -inf
    asked: frozenset[str] = frozenset()
    origin: SignPattern | None = None


@dataclass(frozen=True, eq=False)
class Incumbent:
    """The best feasible solution so far: objective (reduced units) and reduced coefficients."""

    value: float
    v: Floats


@dataclass(frozen=True, eq=False)
class Task:
    """One subtree to explore: with what incumbent, and for how many nodes."""

    subtree: Subtree
    incumbent: Incumbent
    budget: int


@dataclass(frozen=True)
class Tolerances:
    """How near to the incumbent a safe bound has to come for its box to be closed.

    To a ``relative`` part of it, to what rounding leaves of a sum of squares (a residual is known to some 1e-16 of the
    target, of squared norm ``size``), or to both being zero beside the target.
    """

    relative: float
    size: float

    @property
    def rounding(self) -> float:
        """Error of a squared residual, as a multiple of the residual."""
        return ROUNDING * sqrt(self.size)

    @property
    def zero(self) -> float:
        """What counts as zero: nothing can be better."""
        return ZERO * self.size

    def cutoff(self, upper: float) -> float:
        """Return the value from which a box cannot improve on ``upper`` by more than the tolerances."""
        return upper - max(self.relative * upper, self.rounding * sqrt(max(upper, 0.0)), self.zero)


@dataclass
class Exploration:
    """What came of one subtree: nothing of it is lost between ``best``, ``closed`` and ``open``.

    ``closed`` is the lowest safe bound of the boxes that were closed (inf when there is none). ``closing`` says how,
    by what and at which value the last node was closed; ``records`` are the nodes, where a trace is asked for.
    """

    best: Incumbent
    closed: float = inf
    open: list[Subtree] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    closing: tuple[str, str, float] | None = None
    records: list[NodeRecord] = field(default_factory=list)


class Explorer(Protocol):
    """Explores subtrees of one instance; safe to call from several threads."""

    def explore(self, subtree: Subtree, incumbent: Incumbent, node_budget: int, stop: NDArray[np.uint8]) -> Exploration:
        """Explore until done, until ``node_budget`` nodes, or until ``stop[0]`` is set."""
        ...

    def safe_bound(self, subtree: Subtree, upper: float) -> float:
        """Return a safe lower bound (reduced units) on the solutions of a subtree no worse than ``upper``."""
        ...


def violations(v: Floats, labels: NDArray[np.intp], n_groups: int, tolerance: float = 0.0) -> Floats:
    """Return nu_k, the sum over pairs of a group of ``max(0, -v_i v_j)``: zero iff the group shares one sign."""
    plus = np.bincount(labels, np.where(v > tolerance, v, 0.0), n_groups)
    minus = np.bincount(labels, np.where(v < -tolerance, -v, 0.0), n_groups)
    return np.asarray(2.0 * plus * minus, dtype=np.float64)


def round_to_signs(v: Floats, labels: NDArray[np.intp], signs: SignPattern) -> SignPattern:
    """Return a complete pattern: decided signs kept, each undecided group takes the sign of its sum."""
    sums = np.bincount(labels, v, len(signs))
    return SignPattern(tuple(s if s else (1 if total >= 0 else -1) for s, total in zip(signs, sums, strict=True)))


Try = Callable[[int, int], float]
