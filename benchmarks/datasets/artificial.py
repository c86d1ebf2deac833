"""The data set "Artificial" of Esposito, Cerrato and Locatelli (2024), section 5.3: the right partition is known.

70 rows to learn from and 930 to predict. Normal features, uniform shares alpha in each group, a uniform intercept, and
normal noise added to X after y has been computed. The article says that its standard deviation is 0.05; only 0.1 gives
errors of the published size, so 0.1 it is. The draw of alpha sets the scale of all errors; the authors' own cannot be
had. A data set is drawn once (``draw``, by default one whose errors are of the published size; the study shows others)
and split by the seed.
"""

from __future__ import annotations

import numpy as np

from benchmarks.contract import Problem
from benchmarks.original_files import split

SIZES, BETA = (5, 10, 4, 12, 6), (-11.0, 4.0, 2.0, -1.0, 3.0)
ROWS, TRAINING_ROWS = 1000, 70


def make(seed: int, *, draw: int = 1, noise: float = 0.1) -> Problem:
    rng = np.random.default_rng(draw)
    shares = [rng.uniform(size=size) for size in SIZES]
    coef = np.concatenate([beta * share / share.sum() for beta, share in zip(BETA, shares, strict=True)])
    intercept = rng.uniform()
    X = rng.standard_normal((ROWS, len(coef)))
    y = X @ coef + intercept
    X += noise * rng.standard_normal(X.shape)
    return split(X, y, SIZES, train=slice(0, TRAINING_ROWS), test=slice(TRAINING_ROWS, ROWS), shuffle=seed)
