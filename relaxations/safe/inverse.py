"""A matrix proved to be above the inverse of another."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky

from formulations.data import Floats

_UNIT = float(np.finfo(np.float64).eps) / 2
_LARGEST_SHARE = 0.05  # of its inverse that rounding may cost: the proof of convexity is the harder for it


def inverse_above(F: Floats, margin: float) -> Floats | None:
    """Return V with ``V >= inv(F - margin I)``, proved; None unless F exceeds the margin.

    A Cholesky factorisation that ends is exact for a matrix nearer than the margin. An inverse that is off by at most e
    in norm is below the true one by at most a share ``e max(F)`` of that.
    """
    identity = np.eye(len(F))
    shifted = F - margin * identity
    try:
        cholesky(shifted - margin * identity, lower=True, check_finite=False)
        V = cho_solve((cholesky(shifted, lower=True, check_finite=False), True), identity, check_finite=False)
    except LinAlgError:
        return None
    V = 0.5 * (V + V.T)
    rounding = 4.0 * len(F) * _UNIT * (np.abs(V) @ np.abs(shifted).sum(axis=1))
    left = float((np.abs(identity - V @ shifted).sum(axis=1) + rounding).max(initial=0.0))
    share = 2.0 * left * norm_above(V) * norm_above(F)
    return np.asarray(V / (1.0 - share)) if max(left, share) < _LARGEST_SHARE else None


def norm_above(A: Floats) -> float:
    """Return a bound on the norm of a symmetric matrix."""
    return float(np.abs(A).sum(axis=1).max(initial=0.0))
