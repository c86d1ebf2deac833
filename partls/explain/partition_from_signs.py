"""The partition in which the sign constraint costs nothing: features grouped by the sign least squares gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulations.instance import Instance
from formulations.partition import Partition


def partition_from_signs(
    X: Any, y: Any, *, ridge: float = 0.0, fit_intercept: bool = True, sample_weight: Any = None
) -> Partition:
    """Return the groups "positive" and "negative" of the features, by the signs of unconstrained least squares.

    Fitted to the training rows these groups are "P from LS" of Esposito, Cerrato and Locatelli (2024), section 5.3: a
    fit with them equals least squares. Fitted to all rows, those held out included, they are their "P opt", which
    represents domain knowledge that is correct. Where least squares has many solutions, the shortest one on columns of
    equal length counts; a feature whose coefficient is zero is called positive.

    Parameters
    ----------
    X, y
        The data, as in ``partls.solve``.
    ridge : float
        Take the signs of ridge regression: the constraint then costs nothing in a fit with the same ridge and without
        eta.
    fit_intercept : bool
        Whether least squares has an intercept.
    sample_weight : (N,) array, optional
        Nonnegative row weights.

    Returns
    -------
    Partition
        One or two groups.

    Examples
    --------
    >>> from partls import partition_from_signs
    >>> X, y = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [2.0, 1.0, 2.0]], [1.0, 2.0, 4.0, 5.0]
    >>> partition_from_signs(X, y).to_dict()
    {'positive': [0, 1], 'negative': [2]}
    """
    instance = Instance(X, y, ridge=ridge, fit_intercept=fit_intercept, sample_weight=sample_weight)
    root = np.sqrt(instance.weights)
    mean = root**2 / (root @ root) if fit_intercept else np.zeros(len(root))
    A = (instance.X - mean @ instance.X) * root[:, None]
    b = (instance.y - mean @ instance.y) * root
    if instance.ridge > 0:
        A = np.vstack([A, np.sqrt(instance.ridge) * np.eye(A.shape[1])])
        b = np.append(b, np.zeros(A.shape[1]))
    norms = np.linalg.norm(A, axis=0)
    coef = np.linalg.lstsq(A / np.where(norms > 0, norms, 1.0), b, rcond=None)[0]
    return Partition.from_labels(["negative" if w < 0 else "positive" for w in coef], instance.partition.columns)
