"""Powers of a few variables: the columns of a group are nearly collinear, and get more so with the degree."""

from __future__ import annotations

import numpy as np

from benchmarks.contract import Problem


def make(seed: int, *, N: int, K: int, degree: int, noise: float = 0.1) -> Problem:
    """Return ``y = sum_k f_k(x_k) + noise`` with waves f_k that no combination of powers of one sign follows."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 1.0, (N, K))
    X = np.hstack([x[:, [k]] ** np.arange(1, degree + 1) for k in range(K)])
    waves = np.sin(2 * np.pi * (x * rng.uniform(0.5, 1.5, K) + rng.uniform(size=K)))
    y = waves @ rng.standard_normal(K) + noise * rng.standard_normal(N)
    return Problem(X, y, np.repeat(np.arange(K), degree))
