"""Bounds as certificates: what a relaxation returns, and the two protocols every relaxation follows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Protocol, runtime_checkable

from formulations.data import Floats
from formulations.instance import Instance
from formulations.signs import SignPattern


class BoundStatus(Enum):
    """How a bound was obtained."""

    OPTIMAL = "optimal"  # the relaxation was solved; value and estimate agree to tolerance
    CUTOFF = "cutoff"  # stopped early: the certified value has passed the cutoff
    INACCURATE = "inaccurate"  # solved roughly: not used to close a node
    UNBOUNDED = "unbounded"  # the relaxation has no minimum: it proves nothing and value is -inf
    FAILED = "failed"  # no useful answer: value is -inf and the node stays open


@dataclass(frozen=True)
class Bound:
    """A lower bound on the objective (original units) of every solution allowed by a sign pattern.

    Attributes
    ----------
    value
        Certified: never above the true optimum under the signs, up to rounding of 1e-12 ||y||^2.
    estimate
        The solver's own number; may lie on either side and is never used to prune.
    coef
        The relaxation's point in reduced coordinates (to branch and to round), or None.
    status
        How far the solve got.
    seconds
        Wall-clock time of this bound.
    """

    value: float
    estimate: float
    coef: Floats | None
    status: BoundStatus
    seconds: float


@runtime_checkable
class Bounder(Protocol):
    """A relaxation compiled for one instance."""

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        """Return a bound for the box of ``signs``; it may stop early once the certified value reaches ``cutoff``."""
        ...


@runtime_checkable
class Relaxation(Protocol):
    """A stateless description of a relaxation, e.g. ``ActiveSetRelaxation()``."""

    @property
    def name(self) -> str:
        """The name by which ``partls.solve(relaxation=...)`` knows it."""
        ...

    def prepare(self, instance: Instance) -> Bounder:
        """Compile the relaxation for one instance; called once per solve."""
        ...
