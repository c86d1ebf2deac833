"""Safe bounds: what a relaxation returns, and the two protocols every relaxation follows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import inf, isnan, nan
from typing import Protocol, runtime_checkable

import numpy as np

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern
from relaxations.clock import OutOfTime


class BoundStatus(Enum):
    """How a bound was obtained, and whether it may close a node.

    Examples
    --------
    >>> from relaxations import BoundStatus
    >>> [status.value for status in BoundStatus if status.trusted]
    ['optimal', 'cutoff']
    """

    OPTIMAL = "optimal"  # the relaxation was solved, as far as its solver can tell
    CUTOFF = "cutoff"  # stopped early: the safe value has passed the cutoff
    INACCURATE = "inaccurate"  # solved roughly: not used to close a node
    UNPROVEN = "unproven"  # solved, but nothing follows from it: value is -inf and estimate the solver's own number
    UNBOUNDED = "unbounded"  # the relaxation has no minimum: it proves nothing and value is -inf
    FAILED = "failed"  # no useful answer: value is -inf and the node stays open

    @property
    def trusted(self) -> bool:
        """Whether a value with this status may close a node."""
        return self in (BoundStatus.OPTIMAL, BoundStatus.CUTOFF)


@dataclass(frozen=True)
class Bound:
    """A lower bound on the objective (original units) of every solution allowed by a sign pattern.

    Attributes
    ----------
    value
        Safe: never above the true optimum under the signs, up to rounding of 1e-12 ||y||^2. -inf if nothing is proved.
    estimate
        What the solver reported. It may lie on either side of the optimum and is never used to prune.
    coef
        The relaxation's point in reduced coordinates (to branch and to round), or None.
    status
        How far the solve got.
    seconds
        Wall-clock time of this bound.
    source
        The relaxation the value comes from, where a policy had several to choose from.
    error
        What went wrong in a bounder that raised, returned no number or whose solvers failed; else empty.
    parts
        Every bound a policy computed for this node, failed ones included; empty for a single relaxation.
    settled
        The node's signs with those that every solution below the cutoff has, proved; None where nothing is known.

    Examples
    --------
    >>> import partls
    >>> from formulations import SignPattern, random_instance
    >>> from relaxations import named
    >>> instance = random_instance(M=6, group_size=3)
    >>> bound = named("perspective").prepare(instance).bound(SignPattern.free(2))
    >>> bound.value <= partls.solve_instance(instance).objective
    True
    """

    value: float
    estimate: float
    coef: Floats | None
    status: BoundStatus
    seconds: float
    source: str = ""
    error: str = ""
    parts: tuple[Bound, ...] = ()
    settled: SignPattern | None = None


@runtime_checkable
class Bounder(Protocol):
    """A relaxation prepared for one instance.

    Examples
    --------
    >>> from formulations import random_instance
    >>> from relaxations import Bounder, named
    >>> isinstance(named("shor").prepare(random_instance(M=4, group_size=2)), Bounder)
    True
    """

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        """Return a bound for the box of ``signs``; it may stop early once the safe value reaches ``cutoff``."""
        ...


@runtime_checkable
class Relaxation(Protocol):
    """A stateless description of a relaxation, e.g. ``ActiveSetRelaxation()``.

    A relaxation whose bounder learns from node to node sets ``sequential = True``: its nodes are then bounded one
    after another, so that the search stays the same for any number of threads. Others get one bounder per thread.
    A relaxation may state its cost by a method ``price(instance)``, which returns a ``Price`` in seconds.

    Examples
    --------
    >>> from relaxations import Relaxation, named
    >>> isinstance(named("shor"), Relaxation)
    True
    """

    @property
    def name(self) -> str:
        """The name by which ``partls.solve(relaxation=...)`` knows it."""
        ...

    def prepare(self, instance: Instance) -> Bounder:
        """Compile the relaxation for one instance; called once per solve."""
        ...


def ask(bounder: Bounder, signs: SignPattern, *, cutoff: float = inf, source: str = "") -> Bound:
    """Return the bounder's answer; an exception or an answer that is none becomes a FAILED bound that says so.

    A bounder may be the user's code: none of its faults may end a search, and none may be hidden. ``InvalidInput``, an
    error in the chosen options, and ``OutOfTime`` pass through.
    """
    began = time.perf_counter()
    try:
        bound = _checked(bounder.bound(signs, cutoff=cutoff), signs)
        error = "not a number" if isnan(bound.value) else ""
        bound = replace(bound, source=bound.source or source)
    except (InvalidInput, OutOfTime):
        raise
    except Exception as raised:
        error = type(raised).__name__
    if error:
        return Bound(-inf, nan, None, BoundStatus.FAILED, time.perf_counter() - began, source, error)
    return bound


def _checked(bound: Bound, signs: SignPattern) -> Bound:
    """Return a bound whose fields are of their types; lists and other numbers are converted."""
    if not isinstance(bound.status, BoundStatus) or not all(isinstance(part, Bound) for part in bound.parts):
        raise TypeError(bound)
    settled = bound.settled
    if settled is not None and not (isinstance(settled, SignPattern) and signs.contains(settled)):
        raise TypeError(bound)
    coef = bound.coef
    if coef is not None:
        if np.iscomplexobj(coef):
            raise TypeError(bound)
        coef = np.asarray(coef, dtype=np.float64)
    return replace(bound, value=float(bound.value), coef=coef, parts=tuple(bound.parts))


def strongest(bounds: Sequence[Bound]) -> Bound:
    """Return the highest trusted bound of one node (the last one if none is), with all of them as its parts."""
    trusted = [bound for bound in bounds if bound.status.trusted]
    best = max(trusted, key=lambda bound: bound.value, default=bounds[-1])
    points = [bound.coef for bound in (best, *trusted) if bound.coef is not None]
    parts = tuple(part for bound in bounds for part in bound.parts or (bound,))
    known = max((bound.settled for bound in trusted if bound.settled is not None),
                key=lambda signs: -len(signs.undecided), default=None)
    return replace(
        best, coef=points[0] if points else None, seconds=sum(b.seconds for b in bounds), parts=parts, settled=known
    )


def is_sequential(relaxation: Relaxation) -> bool:
    """Return whether the bounds of a relaxation depend on the nodes asked for before."""
    return bool(getattr(relaxation, "sequential", False))
