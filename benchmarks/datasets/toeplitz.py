"""Columns whose correlation falls with their distance, and a target that is noise or depends on all of them."""

from __future__ import annotations

import numpy as np

from benchmarks.contract import Problem


def make(seed: int, *, N: int, M: int, K: int, rho: float, target: str = "noise", groups: str = "shuffled"
         ) -> Problem:
    """Return centred data: columns i and j correlate by ``rho^|i - j|``; groups are "shuffled", or of "neighbours".

    The target is "noise" alone, or "dense": X times normal coefficients, plus that noise.
    """
    rng = np.random.default_rng(seed)
    places = np.arange(M)
    root = np.linalg.cholesky(rho ** np.abs(places[:, None] - places))
    X = rng.standard_normal((N, M)) @ root.T
    y = rng.standard_normal(N)
    if target == "dense":
        y = y + X @ rng.standard_normal(M)
    labels = places * K // M
    if groups == "shuffled":
        labels = rng.permutation(labels)
    return Problem(X - X.mean(axis=0), y - y.mean(), labels)
