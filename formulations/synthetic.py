"""Random instances whose difficulty is set by a few numbers, for comparing bounds and searches."""

from __future__ import annotations

import numpy as np

from formulations.errors import InvalidInput
from formulations.instance import Instance


def random_instance(
    M: int = 20, correlation: float = 0.5, eta: float = 0.0, *, group_size: int = 5, rows_per_column: float = 2.0,
    signal: float = 0.0, seed: int = 0,
) -> Instance:
    """Return a regression problem with M correlated columns in consecutive groups.

    The columns are normal; the same arguments give the same instance.

    Parameters
    ----------
    M
        Number of columns.
    correlation
        Columns i and j are correlated as ``correlation ** |i - j|`` (Toeplitz); at least 0 and below 1.
    eta
        Strength of the L2 penalty on the group sums.
    group_size
        Columns of a group; the last group may be smaller.
    rows_per_column
        Rows for each column: 2 is overdetermined, below 1 there are fewer rows than columns.
    signal
        Weight of ``X w``, w with mixed signs within groups, in the target; the noise has unit variance. 0 is noise
        alone, which makes the largest trees.
    seed
        Seed of all random numbers.

    Returns
    -------
    Instance
        The problem.

    Raises
    ------
    InvalidInput
        If a size is not positive, or the correlation is not in [0, 1).

    Examples
    --------
    >>> from formulations import random_instance
    >>> random_instance(M=12, correlation=0.9, group_size=4)
    Instance(24 rows, 12 columns, 3 groups)
    """
    for name, value in (("M", M), ("group_size", group_size)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise InvalidInput(f"{name}={value!r} must be a whole number >= 1")
    if not 0 <= correlation < 1:
        raise InvalidInput(f"correlation={correlation!r} must be at least 0 and below 1")
    if not rows_per_column > 0:
        raise InvalidInput(f"rows_per_column={rows_per_column!r} must be above 0")
    rng = np.random.default_rng([seed, M])
    X = rng.normal(size=(max(round(rows_per_column * M), 2), M))
    for j in range(1, M):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    y = signal * X @ rng.normal(size=M) / np.sqrt(M) + rng.normal(size=len(X))
    return Instance(X, y, [j // group_size for j in range(M)], eta=eta)
