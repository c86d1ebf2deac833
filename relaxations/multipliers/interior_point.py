"""Mehrotra's predictor-corrector method on programs of pairs: any iterate's multipliers are feasible.

Steps that end close to the boundary of the cone would jam the method: a step keeps a distance from it that shrinks as
steps get longer, and a step that rounding takes outside is shortened until both factorisations succeed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scipy.linalg import LinAlgError

from formulations.data import Floats
from relaxations.clock import check
from relaxations.multipliers.iterate import Iterate, factor, inverse
from relaxations.multipliers.newton import Direction, NewtonSystem, gap_after, longest
from relaxations.multipliers.program import PairProgram

_STEPS = 80
_SHORTER, _SHORTEST = 0.8, 1e-6  # factor of a step that left a cone; the step from which there is no progress
_NEAREST, _BOLD = 0.90, 0.09  # of the longest step: 0.90 to 0.99
_POWER = 3.0  # of the predictor's length, in the choice of the next mu (Mehrotra 1992; Toh, Todd, Tutuncu 1999)

Test = Callable[[Iterate], bool]


@dataclass(frozen=True, eq=False)
class Path:
    """The last iterate, the steps that led to it, and whether the caller's test stopped the method there."""

    last: Iterate
    steps: int
    stopped: bool


def central(program: PairProgram, t: float, y: Floats, mu: float) -> Iterate | None:
    """Return the iterate with these multipliers whose products all equal mu; None if they are not inside the cone."""
    L = factor(program.cost - program.combined(t, y))
    if L is None or (y <= -program.lower).any() or (y >= program.upper).any():
        return None
    return Iterate.at(program, (t, y), (mu * inverse(L), mu / (y + program.lower), mu / (program.upper - y)))


def follow(start: Iterate, stop: Test) -> Path:
    """Return the path from ``start`` until ``stop`` holds, or until rounding allows no further step."""
    at = start
    for steps in range(_STEPS):
        if stop(at):
            return Path(at, steps, True)
        check(float(len(at.y)) ** 3 / 3 + 20.0 * float(len(at.Z)) ** 3)
        try:
            moved = _step(at)
        except LinAlgError:
            moved = None
        if moved is None:
            return Path(at, steps, False)
        at = moved
    return Path(at, _STEPS, stop(at))


def _step(at: Iterate) -> Iterate | None:
    """Return the next iterate, or None where rounding leaves no step worth the name."""
    system = NewtonSystem(at)
    guess = system.direction(0.0)
    primal, dual = (min(1.0, length) for length in longest(at, guess))
    left = max(gap_after(at, guess, primal, dual) / at.gap, 0.0)
    share = min(1.0, left ** max(1.0, _POWER * min(primal, dual) ** 2))
    step = system.direction(share * at.mu, guess)
    kept = _NEAREST + _BOLD * min(primal, dual)
    primal, dual = (min(1.0, kept * length) for length in longest(at, step))
    while min(primal, dual) > _SHORTEST:
        moved = _moved(at, step, primal, dual)
        if moved is not None:
            return moved
        primal, dual = _SHORTER * primal, _SHORTER * dual
    return None


def _moved(at: Iterate, step: Direction, primal: float, dual: float) -> Iterate | None:
    return Iterate.at(
        at.program, (at.t + dual * step.t, at.y + dual * step.y),
        (at.Y + primal * step.Y, at.p + primal * step.p, at.r + primal * step.r),
    )
