"""PartLS and PartLS-b are the same problem: maps between their solutions, and to and from the coefficients.

Each map takes a feasible point of one problem to a feasible point of the other with the same coefficients, hence
the same objective. A group whose coefficients are all zero has beta 0 and uniform alpha. Free columns belong to no
group: their alpha is 0 and their coefficients are passed along by the caller.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats, as_vector
from formulations.errors import InvalidInput
from formulations.partition import Partition

_SIMPLEX_TOLERANCE = 1e-8  # how far the alphas of a group may be from summing to one


def to_partls(alpha: Any, b: Any, partition: Partition) -> tuple[Floats, Floats]:
    """Return the PartLS solution ``(alpha_hat, beta_hat)`` of a PartLS-b solution: alpha >= 0, b in {-1, +1}^K.

    One of the two maps of Theorem 3 of Esposito, Cerrato and Locatelli (2024): both solutions have equal coefficients.

    Parameters
    ----------
    alpha : (M,) array
        The size of each coefficient.
    b : (K,) array
        The sign of each group.
    partition : Partition
        The groups.

    Returns
    -------
    alpha_hat : (M,) array
        The share of each column.
    beta_hat : (K,) array
        The effect of each group.

    Raises
    ------
    InvalidInput
        If an alpha is negative, or a sign is neither -1 nor +1.

    Examples
    --------
    >>> from formulations import Partition, to_partls
    >>> alpha, beta = to_partls([1.0, 3.0, 2.0], [1, -1], Partition.from_labels(["a", "a", "b"]))
    >>> alpha.tolist(), beta.tolist()
    ([0.25, 0.75, 1.0], [4.0, -2.0])
    """
    weights = per_column(alpha, partition, "alpha")
    signs = per_group(b, partition, "b")
    if not np.isin(signs, (-1.0, 1.0)).all():
        raise InvalidInput("b must be -1 or +1 in every group")
    _refuse_negative(weights, partition)
    labels, K = partition.labels, partition.n_groups
    largest = np.zeros(K)
    np.maximum.at(largest, labels[labels >= 0], weights[labels >= 0])
    # Dividing by the largest first keeps sums of very large and very small weights accurate.
    divisor = np.where(largest > 0, largest, 1.0)
    shares = np.where((largest == 0)[labels], 1.0, weights / divisor[labels])
    shares[labels < 0] = 0.0
    sums = np.bincount(labels[labels >= 0], shares[labels >= 0], minlength=K)
    return shares / np.where(labels >= 0, sums[labels], 1.0), signs * sums * largest + 0.0  # + 0.0: no negative zero


def to_partls_b(alpha_hat: Any, beta_hat: Any, partition: Partition) -> tuple[Floats, NDArray[np.int8]]:
    """Return the PartLS-b solution ``(alpha, b)`` of a PartLS solution; a group with beta 0 gets b = +1.

    The other map of Theorem 3 of Esposito, Cerrato and Locatelli (2024).

    Parameters
    ----------
    alpha_hat : (M,) array
        The share of each column.
    beta_hat : (K,) array
        The effect of each group.
    partition : Partition
        The groups.

    Returns
    -------
    alpha : (M,) array
        The size of each coefficient.
    b : (K,) array of int
        The sign of each group.

    Raises
    ------
    InvalidInput
        If shares are negative or do not sum to one in a group.

    Examples
    --------
    >>> from formulations import Partition, to_partls_b
    >>> alpha, b = to_partls_b([0.25, 0.75, 1.0], [4.0, -2.0], Partition.from_labels(["a", "a", "b"]))
    >>> alpha.tolist(), b.tolist()
    ([1.0, 3.0, 2.0], [1, -1])
    """
    weights = as_simplex(alpha_hat, partition)
    beta = per_group(beta_hat, partition, "beta")
    return _spread(np.abs(beta), partition) * weights, np.where(beta < 0, -1, 1).astype(np.int8)


def to_coef(alpha: Any, beta: Any, partition: Partition, free: Any = None) -> Floats:
    """Return the coefficients ``w_m = alpha_m beta_k[m]``; PartLS-b solutions are read with b in place of beta.

    Parameters
    ----------
    alpha : (M,) array
        The share of each column, or its size in PartLS-b.
    beta : (K,) array
        The effect of each group, or its sign in PartLS-b.
    partition : Partition
        The groups.
    free : array, optional
        The coefficients of the columns in no group, in the order of ``partition.free``; zero by default.

    Returns
    -------
    (M,) array
        The coefficients.

    Raises
    ------
    InvalidInput
        If a length does not fit the partition.

    Examples
    --------
    >>> from formulations import Partition, to_coef
    >>> to_coef([0.25, 0.75, 1.0], [4.0, -2.0], Partition.from_labels(["a", "a", "b"])).tolist()
    [1.0, 3.0, -2.0]
    """
    coef = per_column(alpha, partition, "alpha") * _spread(per_group(beta, partition, "beta"), partition) + 0.0
    if free is not None:
        coef[partition.free] = _checked(free, len(partition.free), "free", "free column")
    return coef


def from_coef(coef: Any, partition: Partition) -> tuple[Floats, Floats]:
    """Return ``(alpha, beta)`` of sign-consistent coefficients: beta the group sums, alpha each column's share.

    Parameters
    ----------
    coef : (M,) array
        Coefficients, of one sign in each group.
    partition : Partition
        The groups.

    Returns
    -------
    alpha : (M,) array
        Shares: nonnegative, summing to one in each group; equal shares in a group of zeros, zero for free columns.
    beta : (K,) array
        The sum of each group's coefficients.

    Raises
    ------
    InvalidInput
        If coefficients of one group have opposite signs.

    Examples
    --------
    >>> from formulations import Partition, from_coef
    >>> alpha, beta = from_coef([1.0, 3.0, -2.0], Partition.from_labels(["a", "a", "b"]))
    >>> alpha.tolist(), beta.tolist()
    ([0.25, 0.75, 1.0], [4.0, -2.0])
    """
    w = per_column(coef, partition, "coef")
    labels = partition.labels
    positive = np.bincount(labels[(labels >= 0) & (w > 0)], minlength=partition.n_groups) > 0
    negative = np.bincount(labels[(labels >= 0) & (w < 0)], minlength=partition.n_groups) > 0
    for k in np.flatnonzero(positive & negative)[:1]:
        raise InvalidInput(f'group "{partition.names[k]}" has coefficients of both signs: it has no alpha and beta')
    return to_partls(np.abs(w), np.where(negative, -1, 1), partition)


def as_simplex(alpha: Any, partition: Partition) -> Floats:
    """Return alpha as floats once it is proved nonnegative and to sum to one in each group."""
    weights = per_column(alpha, partition, "alpha")
    _refuse_negative(weights, partition)
    labels = partition.labels
    sums = np.bincount(labels[labels >= 0], weights[labels >= 0], minlength=partition.n_groups)
    for k in np.flatnonzero(np.abs(sums - 1.0) > _SIMPLEX_TOLERANCE)[:1]:
        raise InvalidInput(f'alpha sums to {sums[k]:.9g} in group "{partition.names[k]}" and should sum to 1')
    return weights


def per_column(values: Any, partition: Partition, name: str) -> Floats:
    """Return one finite float per column."""
    return _checked(values, partition.n_columns, name, "column")


def per_group(values: Any, partition: Partition, name: str) -> Floats:
    """Return one finite float per group."""
    return _checked(values, partition.n_groups, name, "group")


def _spread(per_group_values: Floats, partition: Partition) -> Floats:
    """Return each column's group value; 0 for a free column, which the label -1 finds at the end."""
    return np.append(per_group_values, 0.0)[partition.labels]


def _checked(values: Any, length: int, name: str, owner: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (length,):
        raise InvalidInput(f"{name} has shape {array.shape}: it needs one value for each {owner}, {length} in all")
    return as_vector(array, name, length)


def _refuse_negative(weights: Floats, partition: Partition) -> None:
    bad = np.flatnonzero((weights < 0) & (partition.labels >= 0))
    if len(bad):
        raise InvalidInput(f"alpha, column {bad[0]} is {weights[bad[0]]}: alpha must be >= 0")
