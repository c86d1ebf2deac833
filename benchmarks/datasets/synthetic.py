"""Normal features, optionally with one common factor, and a target that no sign pattern fits."""

from __future__ import annotations

import numpy as np

from benchmarks.contract import Problem


def make(
    seed: int, *, N: int, M: int, K: int, corr: float = 0.0, noise: float = 1.0, eta: float = 0.0, ridge: float = 0.0
) -> Problem:
    """Return ``y = X w + noise`` with normal w: about half the coefficients of each group have the wrong sign.

    ``corr`` is the correlation of any two columns. Columns are dealt to the groups in turn.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, M))
    if corr:
        X = np.sqrt(1 - corr) * X + np.sqrt(corr) * rng.standard_normal((N, 1))
    y = X @ rng.standard_normal(M) + noise * rng.standard_normal(N)
    return Problem(X, y, np.arange(M) % K, eta=eta, ridge=ridge)
