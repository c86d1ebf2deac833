"""The synthetic data of the table of computing times of Esposito, Cerrato and Locatelli (2024), section 5.1.

The article gives the entries of X in [-10, 10], noise in [-50, 50] added to ``X w_ref``, random sets of columns.
It does not give the distribution of w_ref; here it is uniform in [-10, 10]. Each column goes to a set drawn
uniformly, after one column for each set.
"""

from __future__ import annotations

import numpy as np

from benchmarks.contract import Problem


def make(seed: int, *, N: int, M: int, K: int) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-10, 10, (N, M))
    y = X @ rng.uniform(-10, 10, M) + rng.uniform(-50, 50, N)
    labels = np.concatenate([np.arange(K), rng.integers(0, K, M - K)])
    return Problem(X, y, rng.permutation(labels))
