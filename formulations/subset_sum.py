"""PARTITION as a PartLS instance: the reduction that proves the problem NP-complete for groups of two columns.

Esposito, Cerrato and Locatelli (2024), section 4 and Theorem 4, where the problem is called SUBSET SUM.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from formulations.errors import InvalidInput
from formulations.instance import Instance


def subset_sum(numbers: Sequence[int], rho: float = 1.0) -> Instance:
    """Minimise ``sum_k (u_k - v_k - s_k)^2 + rho (u_k^2 + v_k^2)  +  (sum_k u_k + v_k)^2``  s.t. ``u_k v_k >= 0``.

    Group k has the two columns u_k and v_k. Without the last term its best points are ``u_k = s_k / (1 + rho)``
    (number k on one side) and ``v_k = -s_k / (1 + rho)`` (on the other); the last term vanishes when the sides
    balance. So the optimum is ``balanced_value(numbers, rho)`` if the numbers split into two sets of equal sum,
    and larger if they do not. Esposito, Cerrato and Locatelli (2024), Theorem 4.

    Parameters
    ----------
    numbers : sequence of K positive integers
        The numbers to split.
    rho : float
        Weight of the squared coefficients, > 0.

    Returns
    -------
    Instance
        3K + 1 rows, 2K columns, no intercept, no penalty.

    Raises
    ------
    InvalidInput
        If a number is not a positive integer, or rho is not positive.

    Notes
    -----
    The target is ``+s_k``, as the problem above requires. The data listed in section 4 of the article have ``-s_k``:
    the mirror image, which has the same optimum with all coefficients negated.

    Examples
    --------
    >>> import partls
    >>> from formulations import balanced_value, subset_sum
    >>> round(partls.solve_instance(subset_sum([3, 2, 1])).objective, 6), balanced_value([3, 2, 1])  # 3 = 2 + 1
    (7.0, 7.0)
    """
    s, root = _checked(numbers, rho), np.sqrt(rho)
    K = len(s)
    X = np.zeros((3 * K + 1, 2 * K))
    k = np.arange(K)
    X[k, 2 * k], X[k, 2 * k + 1] = 1.0, -1.0
    X[K + k, 2 * k] = root
    X[2 * K + k, 2 * k + 1] = root
    X[3 * K] = 1.0
    y = np.concatenate([s, np.zeros(2 * K + 1)])
    groups = {f"number {i}": [2 * i, 2 * i + 1] for i in range(K)}
    return Instance(X, y, groups, fit_intercept=False)


def balanced_value(numbers: Sequence[int], rho: float = 1.0) -> float:
    """Return ``rho / (1 + rho) * sum_k s_k^2``: the optimum if and only if the numbers split into equal halves.

    See :func:`subset_sum` for the problem.

    Parameters
    ----------
    numbers : sequence of K positive integers
        The numbers to split.
    rho : float
        Weight of the squared coefficients, > 0.

    Returns
    -------
    float
        The objective of a balanced split.

    Raises
    ------
    InvalidInput
        If a number is not a positive integer, or rho is not positive.

    Examples
    --------
    >>> from formulations import balanced_value
    >>> balanced_value([3, 2, 1])
    7.0
    """
    s = _checked(numbers, rho)
    return float(rho * (s @ s) / (1.0 + rho))


def _checked(numbers: Sequence[int], rho: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if not (np.isfinite(rho) and rho > 0):
        raise InvalidInput(f"rho={rho!r} must be a finite number > 0")
    if not len(numbers):
        raise InvalidInput("there are no numbers to split")
    for i, number in enumerate(numbers):
        if number != int(number) or number <= 0:
            raise InvalidInput(f"number {i} is {number!r}: only positive integers can be split")
    return np.array([float(number) for number in numbers])
