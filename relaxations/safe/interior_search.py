"""Where a lift has curvature, and where it is flat: what every safe bound of one needs to know of the data first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from relaxations.safe.lift import Interior, LiftedProblem, interior, projected_gram

_DEEP = 1e-4  # least eigenvalue of A'A - N0 that needs no better N0: rounding costs a part of 1e-9
_COUNTS = 1e-4  # of the largest: a diagonal entry of a direction that counts
_EXPLAINED_SQUARE = 1e-18  # squared norm of a column (norm about 1) that the flat ones explain

Directions = Callable[[LiftedProblem, Floats], tuple[Floats, Floats] | None]


@dataclass(frozen=True, eq=False)
class InteriorSearch:
    """Finds interior multipliers of a lift.

    ``directions`` takes a part of the problem and its Gram matrix, and returns multipliers N that give ``gram - N`` as
    much curvature as it can have, and how far each entry moves where that is none; None if it has no answer.
    """

    directions: Directions

    def __call__(self, problem: LiftedProblem, guess: Floats) -> Interior | None:
        """Return the guess if it is well inside, else what a few semidefinite programs find.

        Entries that can grow at no cost are set aside as flat, one round after another, until the others cannot.
        None if none is left: then the lift proves nothing beyond the cheap bound.
        """
        flat = np.zeros(problem.A.shape[1], bool)
        found = interior(problem, guess, flat)
        if found is not None and found.least >= _DEEP:
            return found
        while True:
            _set_aside_explained(problem, flat)
            kept = np.flatnonzero(~flat)
            if not len(kept):
                return found
            part = restricted(problem, kept)
            answer = self.directions(part, projected_gram(problem, flat))
            if answer is None:
                return found
            N = np.zeros((len(flat), len(flat)))
            N[np.ix_(kept, kept)], moved = answer
            better = interior(problem, N, flat)
            if found is not None or better is not None:
                return max((found, better), key=lambda inner: 0.0 if inner is None else inner.least)
            flat[kept[moved >= _COUNTS * moved.max()]] = True


def _set_aside_explained(problem: LiftedProblem, flat: NDArray[np.bool_]) -> None:
    """Mark as flat, in place, the columns that those marked before explain, and zero columns."""
    explained = np.diag(projected_gram(problem, flat)) <= _EXPLAINED_SQUARE
    flat[np.flatnonzero(~flat)[explained]] = True


def restricted(problem: LiftedProblem, kept: NDArray[np.intp]) -> LiftedProblem:
    """Return the problem in some of the entries of x."""
    block = np.ix_(kept, kept)
    return replace(
        problem, A=problem.A[:, kept], cost=problem.cost[kept], signs=problem.signs[kept],
        products=problem.products[block], opposed=problem.opposed[block], columns=problem.columns[kept],
    )
