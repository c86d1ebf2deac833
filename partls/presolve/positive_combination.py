"""Whether some combination of columns, every weight positive, vanishes: a linear program."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack, qr, solve_triangular

from formulations.data import Floats

_PIVOT = 1e-9  # of a column's norm: what is left of one that may depend on others; the combination itself decides
_APART = 1e-4  # of a column's norm: what is left of one that is plainly independent, whatever rounding did to B'B
_WIDEST = 1e8  # ratio of weights beyond which nothing is left of the smallest ones' digits


def positive_combination(B: Floats, rounding: float, guess: Floats) -> Floats | None:
    """Return d >= 1 with ``B d = 0`` up to ``rounding`` times ``sum_j d_j ||b_j||``, or None if there is none.

    The columns of B have norms of about one; one whose norm is below ``rounding`` is zero. With Z a basis of the null
    space of B, ``d = Z a`` exists if and only if ``Z a >= 1`` is feasible; of all solutions the one of the smallest
    sum is taken, so that moving along d moves as little as it can. A ``guess`` that does is taken at once.
    """
    if _last_is_independent(B):  # most often, and at next to no cost
        return None
    norms = np.linalg.norm(B, axis=0)
    d, some = np.ones(B.shape[1]), norms > rounding
    if not some.any():
        return d
    if guess.min() > 0 and _vanishes(B, guess / guess.min(), norms, rounding):
        return np.asarray(guess / guess.min())
    Z = _null_space(B[:, some] / norms[some])
    positive = _positive_in(Z)
    if positive is None:
        return None
    d[some] = positive / norms[some]
    d /= d.min()
    return d if _vanishes(B, d, norms, rounding) else None


def _vanishes(B: Floats, d: Floats, norms: Floats, rounding: float) -> bool:
    """Return whether ``B d`` is zero up to rounding, and d has not too wide a range."""
    return bool(d.max() <= _WIDEST and np.linalg.norm(B @ d) <= rounding * float(d @ norms))


def _last_is_independent(B: Floats) -> bool:
    """Return whether the last of these columns, of norm about one, is plainly independent of those before it.

    No d is then what is wanted: with ``B = Q U``, U triangular, ``||B d|| >= u_nn d_n``, far above rounding unless d_n
    is smaller than the other weights by more than ``_WIDEST``.
    """
    if B.shape[0] < B.shape[1]:
        return False
    U, failed = lapack.dpotrf(B.T @ B)
    return not failed and bool(U[-1, -1] > _APART)


def _null_space(B: Floats) -> Floats:
    """Return a basis of the null space of columns of norm one, its columns not orthogonal."""
    T, pivots = qr(B, mode="r", pivoting=True)
    left = np.abs(np.diag(T))
    rank = int((left > _PIVOT).sum())
    Z = np.zeros((B.shape[1], B.shape[1] - rank))
    if Z.shape[1]:
        Z[pivots[:rank]] = -solve_triangular(T[:rank, :rank], T[:rank, rank:]) if rank else 0.0
        Z[pivots[rank:]] = np.eye(Z.shape[1])
    return Z


def _positive_in(Z: Floats) -> Floats | None:
    """Return the point of the span of Z with every entry at least one and the smallest sum; None if there is none."""
    if Z.shape[1] == 0:
        return None
    if Z.shape[1] == 1:  # most often: one identity, such as that of one-hot columns
        z = Z[:, 0] * np.sign(Z[0, 0])
        return np.asarray(z / z.min()) if z.min() > z.max() / _WIDEST else None
    from scipy.optimize import linprog  # a slow import that most fits do without

    found = linprog(Z.sum(axis=0), A_ub=-Z, b_ub=-np.ones(len(Z)), bounds=(None, None), method="highs")
    if found.status != 0:
        return None
    point = np.asarray(Z @ found.x)
    return point if point.min() > 0 else None
