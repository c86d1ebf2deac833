"""Columns whose condition number is prescribed, and a target with noise: the test of accuracy."""

from __future__ import annotations

import numpy as np

from benchmarks.contract import Problem

WELL_POSED = 1e10  # above this, coefficients grow until a rounded product of a row hides the residual


def make(seed: int, *, N: int, M: int, K: int, condition: float, noise: float = 0.1) -> Problem:
    """Return ``X = U diag(s) V'`` with s from 1 down to 1 / condition; all methods get the same rounded doubles."""
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((n, M)))[0] for n in (N, M))
    X = (U * np.geomspace(1.0, 1.0 / condition, M)) @ V.T
    y = X @ rng.standard_normal(M) + noise * rng.standard_normal(N) / np.sqrt(N)
    return Problem(X, y, np.arange(M) % K, rational=True, well_posed=condition <= WELL_POSED)
