"""The multipliers of the Shor bound of a quadratic form under known signs.

For N elementwise nonnegative on the pairs whose product is nonnegative, and slopes lambda of the known signs,

    w'Q w - 2 c'w  >=  w'(Q - N) w - 2 (c + lambda)'w  >=  -(c + lambda)'(Q - N)^-1 (c + lambda)

for every w under the signs, wherever ``Q - N`` is positive definite. What stands here is computed, not proved.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from relaxations.multipliers.interior_point import Path, central, follow
from relaxations.multipliers.iterate import Iterate, factor, inverse
from relaxations.multipliers.program import PairProgram

CENTRED = 0.4  # of what the bound rises by: the gap of the iterate from which a child starts
_FEASIBLE = 1e-3  # infeasibility (relative to Y) up to which the gap is meaningful
_FIRST = 0.5  # first multipliers beside 1 / sqrt(V_ii V_jj), V = Q^-1, shrunk until Q - N keeps enough curvature
_KEPT, _SHRINK, _SHRINKINGS = 0.4, 0.7, 40  # the curvature it keeps, as the share of trace V; factor; tries
_TURNED = 0.2  # of the squared coefficients: those of the wrong sign
_NEW = 0.01  # first multipliers of a child beside those of a cold start
_VANISHING = 1e-30  # stands for a square that is zero


@dataclass(frozen=True, eq=False)
class ShorProblem:
    """minimise ``w'Q w - 2 c'w + l1'|w|``  s.t. ``s_j w_j >= 0`` and ``p_ij w_i w_j >= 0`` where the signs are known.

    Attributes
    ----------
    Q, c
        Gram matrix and right-hand side.
    products
        +1 or -1 where the sign of ``w_i w_j`` is known, else 0; the diagonal does not count.
    signs
        The sign of each coefficient, 0 where undecided.
    l1
        The cost of each absolute value.
    """

    Q: Floats
    c: Floats
    products: NDArray[np.int8]
    signs: NDArray[np.int8]
    l1: Floats

    def program(self, pairs: tuple[NDArray[np.intp], NDArray[np.intp]]) -> PairProgram:
        """Return the program in coefficients turned so that every known sign is +1, with these pairs."""
        n, turn = len(self.c), self.turn
        cost = np.zeros((n + 1, n + 1))
        cost[1:, 1:] = self.Q * np.outer(turn, turn)
        cost[0, 1:] = cost[1:, 0] = -self.c * turn
        bent = np.flatnonzero((self.signs != 0) | (self.l1 > 0))  # coefficients with a slope of their own
        half = self.l1[bent] / 2
        none = np.zeros(len(pairs[0]))
        return PairProgram(
            cost=cost, weights=np.append(1.0, np.zeros(n)),
            rows=np.append(1 + pairs[0], np.zeros(len(bent), np.intp)), columns=np.append(1 + pairs[1], 1 + bent),
            lower=np.append(none, half), upper=np.append(none + inf, np.where(self.signs[bent] != 0, inf, half)),
        )

    @property
    def turn(self) -> Floats:
        """-1 where a coefficient is known to be negative, else 1."""
        return np.where(self.signs < 0, -1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Centre:
    """Multipliers near the central path, far from its end: a start from the end itself would jam.

    ``coef`` are the coefficients there, in the units of the problem: where a decided sign turns many of them round,
    the path leads far away, and a cold start is nearer.
    """

    N: Floats
    slopes: Floats
    coef: Floats
    mu: float

    def suits(self, problem: ShorProblem) -> bool:
        """Return whether the coefficients have most of the problem's signs."""
        wrong = np.minimum(problem.signs * self.coef, 0.0)
        right = np.where(problem.signs != 0, self.coef, 0.0)
        return bool(wrong @ wrong <= _TURNED * (right @ right))


@dataclass(frozen=True, eq=False)
class ShorMultipliers:
    """Multipliers of one problem, and what they are worth.

    Attributes
    ----------
    N
        Symmetric, of the signs of the products, with ``Q - N`` positive definite to rounding.
    slopes
        What is added to c: lambda with the signs, and the subgradients of the absolute values.
    value
        ``-(c + slopes)'(Q - N)^-1 (c + slopes)``, to rounding; add the target's square.
    estimate
        The other side: no multipliers are worth more, to the accuracy of Y.
    coef
        The coefficients of the relaxation.
    steps
        Newton steps.
    centre
        Where to start when one more sign is decided.
    """

    N: Floats
    slopes: Floats
    value: float
    estimate: float
    coef: Floats
    steps: int
    centre: Centre | None


@dataclass
class _Watch:
    """Stops at the accuracy asked for or at the cutoff, and keeps the first iterate near enough for a child."""

    floor: float
    accuracy: float
    cutoff: float
    centre: Iterate | None = field(default=None)

    def __call__(self, at: Iterate) -> bool:
        value = at.best_t
        if at.infeasibility > _FEASIBLE:
            return value >= self.cutoff
        rise = max(value + at.gap - self.floor, 0.0)
        if self.centre is None and at.gap <= CENTRED * rise:
            self.centre = at
        return value >= self.cutoff or at.gap <= self.accuracy * rise


def shor_multipliers(
    problem: ShorProblem, *, accuracy: float = 1e-4, cutoff: float = inf, floor: float = -inf,
    start: Centre | None = None, inner: Floats | None = None,
) -> ShorMultipliers | None:
    """Return (nearly) the best multipliers, or None if there is nowhere to start.

    Parameters
    ----------
    problem : ShorProblem
        The problem.
    accuracy : float
        When to stop: the gap left, as a share of the rise above ``floor`` (or above no multipliers at all).
    cutoff : float
        A value (without the target's square) at which to stop early.
    floor : float
        A value already known.
    start : Centre, optional
        The centre of a parent.
    inner : array, optional
        Multipliers that make ``Q - N`` well definite; none are needed where Q is.
    """
    rows, columns = np.nonzero(np.triu(problem.products, 1))
    program = problem.program((rows, columns))
    base = _entries(problem, program, np.zeros_like(problem.Q) if inner is None else inner, np.zeros(len(problem.c)))
    scale = _Scale.of(program, base)
    if scale is None:
        return None
    first = None
    if start is not None and start.suits(problem):
        known = _entries(problem, program, start.N, start.slopes)
        first = _inside(program, known, _NEW * scale.natural - program.lower, (start.mu, inf))
    if first is None:
        least = np.where(np.isfinite(program.upper), 0.0, scale.natural - program.lower)
        first = _inside(program, base, least, (scale.fit / program.degree, scale.most))
    if first is None:
        return None
    watch = _Watch(max(floor, -scale.fit), accuracy, cutoff)
    return _read(problem, follow(first, watch), watch.centre)


@dataclass(frozen=True, eq=False)
class _Scale:
    """The sizes at the base multipliers: of further ones, of what is explained there, and of the most V may grow to."""

    natural: Floats
    fit: float
    most: float

    @classmethod
    def of(cls, program: PairProgram, base: Floats) -> _Scale | None:
        """Return the scale, or None if the base leaves no curvature."""
        matrix = program.cost - program.combined(0.0, base)
        L, c = factor(matrix[1:, 1:]), program.cost[0, 1:]
        if L is None:
            return None
        V = inverse(L)
        fit = max(float(c @ V @ c), _VANISHING)
        share = 1.0 / np.sqrt(np.append(1.0, np.diag(V)))
        size = np.where(program.rows > 0, _FIRST, np.sqrt(fit) / program.degree)
        return cls(share[program.rows] * share[program.columns] * size, fit, float(np.trace(V)) / _KEPT)


def _entries(problem: ShorProblem, program: PairProgram, N: Floats, slopes: Floats) -> Floats:
    """Return the entries of turned multipliers that belong to the program."""
    turned = np.zeros(program.cost.shape)
    turned[1:, 1:] = N * np.outer(problem.turn, problem.turn)
    turned[0, 1:] = slopes * problem.turn
    return np.asarray(turned[program.rows, program.columns])


def _inside(program: PairProgram, y: Floats, least: Floats, limits: tuple[float, float]) -> Iterate | None:
    """Return the iterate at which all products are mu, with y raised towards the least values that it should have.

    As far as ``Q - N`` stays definite, its inverse of no larger trace than allowed; ``limits`` are mu and that trace.
    """
    mu, most = limits
    raised = np.maximum(least - y, 0.0)
    for _ in range(_SHRINKINGS):
        matrix = program.cost - program.combined(0.0, y + raised)
        L = factor(matrix[1:, 1:])
        V = None if L is None else inverse(L)
        if V is not None and np.trace(V) <= most:
            return central(program, -float(matrix[0, 1:] @ V @ matrix[0, 1:]) - mu, y + raised, mu)
        raised = np.where(program.rows > 0, _SHRINK * raised, raised)
    return None


def _read(problem: ShorProblem, path: Path, centre: Iterate | None) -> ShorMultipliers:
    """Return the multipliers at the end of a path, turned back."""
    at = path.last
    N, slopes, coef = _turned_back(problem, at)
    return ShorMultipliers(
        N=N, slopes=slopes, value=at.best_t, estimate=at.best_t + max(at.gap, 0.0), coef=coef, steps=path.steps,
        centre=None if centre is None else Centre(*_turned_back(problem, centre), centre.mu),
    )


def _turned_back(problem: ShorProblem, at: Iterate) -> tuple[Floats, Floats, Floats]:
    """Return (N, slopes, coefficients)."""
    matrix, turn = at.program.combined(0.0, at.y), problem.turn
    return matrix[1:, 1:] * np.outer(turn, turn), matrix[0, 1:] * turn, at.Y[0, 1:] * turn
