"""A diagonal D below Q = R'R: curvature that can be charged to each undecided group on its own.

With ``Q - D`` positive semidefinite, every solution x costs at least
``f(w) + sum_k min over one-signed x_k of (x_k - w_k)' D_k (x_k - w_k)`` at an unconstrained minimiser w: the
rises of different groups add up, which fixing one group at a time cannot see. This is the perspective
relaxation with diagonal D, evaluated in closed form at w.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, eigvalsh

from formulations.data import Floats
from formulations.tolerances import SAFETY

_BARRIERS, _NEWTON_STEPS, _SHRINK = 12, 3, 0.4


def scale_below(D: Floats, inverse: Floats) -> Floats:
    """Return the largest multiple of D with ``Q - D`` positive semidefinite, from the inverse of Q."""
    root = np.sqrt(D)
    top = float(eigvalsh(root[:, None] * inverse * root, subset_by_index=[len(D) - 1, len(D) - 1])[0])
    return np.asarray(D * ((1.0 - SAFETY) / top))


def group_rise(D: Floats, w: Floats, labels: NDArray[np.intp]) -> tuple[float, Floats]:
    """Return (sum over groups of the cheaper side, weight of each d_j in a smooth version of it)."""
    plus = np.bincount(labels, D * np.maximum(w, 0.0) ** 2)
    minus = np.bincount(labels, D * np.minimum(w, 0.0) ** 2)
    total = plus**3 + minus**3
    share = np.divide(minus**3, total, out=np.zeros_like(total), where=total > 0)[labels]
    return float(np.minimum(plus, minus).sum()), np.where(w > 0, share, 1.0 - share) * w**2


def optimal_diagonal(Q: Floats, inverse: Floats, w: Floats, labels: NDArray[np.intp]) -> Floats:
    """Return a diagonal D >= 0 below Q that (nearly) maximises the groups' summed rise at w.

    Newton's method on the logarithmic barrier of ``Q - D``; the sides of the groups are re-weighted as D changes.
    """
    D = 0.9 * scale_below(1.0 / np.diag(inverse), inverse)
    best, best_rise = D, group_rise(D, w, labels)[0]
    barrier = None
    for _ in range(_BARRIERS):
        weight = group_rise(D, w, labels)[1]
        weight = weight + 1e-4 * weight.mean()
        if not weight.any():
            return D
        barrier = float(weight @ D) / len(D) if barrier is None else _SHRINK * barrier
        D = _centre(Q, D, weight / barrier)
        rise = group_rise(D, w, labels)[0]
        if rise > best_rise:
            best, best_rise = D, rise
    return scale_below(best, inverse)


def _centre(Q: Floats, D: Floats, weight: Floats) -> Floats:
    """Return D after a few Newton steps on ``weight'd + log det(Q - D) + 1e-3 sum(log d)``."""
    for _ in range(_NEWTON_STEPS):
        try:
            slope, step = _newton_step(Q, D, weight)
        except LinAlgError:  # any further gain is less than rounding, and this D is below Q
            return D
        length = min(1.0, 0.95 / max(float((-step / D).max()), 1e-300))
        while length > 1e-5 and not _positive_definite(Q - np.diag(D + length * step)):
            length *= 0.6
        if length <= 1e-5:
            return D
        D = D + (length if length == 1.0 else 0.9 * length) * step
        if slope @ step < 1.0:
            return D
    return D


def _newton_step(Q: Floats, D: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return (slope of the barrier problem at D, its Newton step); raises LinAlgError where rounding is in the way."""
    Y = cho_solve(cho_factor(Q - np.diag(D)), np.eye(len(D)))
    slope = weight - np.diag(Y) + 1e-3 / D
    return slope, cho_solve(cho_factor(Y * Y + np.diag(1e-3 / D**2)), slope)


def _positive_definite(matrix: Floats) -> bool:
    try:
        cholesky(matrix, check_finite=False)
    except LinAlgError:
        return False
    return True


def reweighted_diagonal(Q: Floats, inverse: Floats, D: Floats, weight: Floats) -> Floats:
    """Return a diagonal below Q that (nearly) maximises ``weight'd``, from one that is below Q already."""
    weight = weight + 1e-4 * weight.mean()
    if not weight.any():
        return D
    moved, barrier = 0.9 * D, float(weight @ D) / len(D)
    for _ in range(_BARRIERS):
        moved = _centre(Q, moved, weight / barrier)
        barrier *= _SHRINK
    moved = scale_below(moved, inverse)
    return moved if weight @ moved > weight @ D else D
