"""Signs that every solution below a cutoff has, from the multipliers that prove a lifted bound.

They prove more than a value: ``f(x) >= value + (x - u)'S (x - u)`` with S positive definite. The solutions below the
cutoff lie in an ellipsoid around u: ``|a'(x - u)| <= sqrt((cutoff - value) a'V a)`` for any a, where ``V >= inv(S)``.
Let a >= 0 belong to one group. If ``a'u`` is larger than that, ``a'x > 0`` in all of them, and the group's sign is +1.
A bound that meets the optimum but for a solver's accuracy so decides every group that has an effect.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from formulations.data import Floats
from formulations.signs import SignPattern
from relaxations.safe.inverse import inverse_above
from relaxations.safe.lift import LiftedProblem, Proof, curvature

_SAFELY = 1.0 + 1e-6  # by so much a'u has to be larger


def settled(problem: LiftedProblem, proof: Proof, flat: NDArray[np.bool_], cutoff: float, signs: SignPattern,
            labels: NDArray[np.intp]) -> SignPattern:
    """Return the signs of a node with those that every solution below the cutoff has (reduced units).

    A proof holds for solutions no worse than zero: nothing is known with a higher cutoff.

    The entries of x are the coefficients or, where there are more at the root, first their positive parts and then
    their negative ones.
    """
    kept, M = np.flatnonzero(~flat), len(labels)
    room = cutoff - proof.value
    proves = signs.undecided and cutoff <= problem.size and 0.0 <= room < np.inf
    V = inverse_above(*curvature(problem, proof, flat)) if proves else None
    if V is None:
        return signs
    column, split = problem.columns[kept] % M, bool(problem.opposed.any())
    side = np.where(problem.columns[kept] < M, 1.0, -1.0)  # of a part: the sign of the coefficients it stands for
    for k in signs.undecided:
        for sign in (1, -1):
            mine = np.flatnonzero((labels[column] == k) & (not split or side == sign))
            turn = 1.0 if split else float(sign)
            if _positive(turn * proof.u[kept[mine]], V[np.ix_(mine, mine)], room):
                signs = signs.fix(k, sign)
                break  # if the other sign is proved, too, there is no such solution
    return signs


def _positive(u: Floats, V: Floats, room: float) -> bool:
    """Return whether some ``a >= 0`` proves that ``a'x > 0`` wherever ``(x - u)'inv(V) (x - u) <= room``."""
    for a in _weights(u, V):
        reach = float(a @ V @ a) + _rounding(u) * float(a @ np.abs(V) @ a)
        least = float(a @ u) - _rounding(u) * float(a @ np.abs(u))
        if least > 0.0 and least**2 > _SAFELY * room * reach:
            return True
    return False


def _weights(u: Floats, V: Floats) -> Iterator[Floats]:
    """Yield candidates for a: the entry that is proved most clearly, and the nonnegative part of the best a at all."""
    if not len(u) or u.max() <= 0.0:
        return
    clear = u / np.sqrt(np.diag(V))
    yield np.eye(len(u))[clear.argmax()]
    try:
        best = np.maximum(np.linalg.solve(V, u), 0.0)
    except LinAlgError:
        return
    if np.isfinite(best).all():
        yield best


def _rounding(u: Floats) -> float:
    return 4.0 * (len(u) + 2) * float(np.finfo(np.float64).eps)
