"""First drafts of groups for columns that nobody has grouped yet: by correlation, by name, or each its own."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from partls.training_data import TrainingData

DRAFTS = ("correlation", "prefix", "column")


def by_column(columns: Iterable[str]) -> dict[str, list[str]]:
    """Return one group per column."""
    return {name: [name] for name in columns}


def by_prefix(columns: Iterable[str]) -> dict[str, list[str]]:
    """Return groups of columns whose names begin alike, up to the first separator or digit."""
    groups: dict[str, list[str]] = {}
    for name in columns:
        begin = re.match(r"[^\W\d_]+", name)
        groups.setdefault(begin[0] if begin else name, []).append(name)
    return groups


def by_correlation(rows: TrainingData, threshold: float) -> dict[str, list[str]]:
    """Return groups of columns that rise and fall together: mean correlation of at least ``threshold``.

    Columns that move against each other stay apart, for they can hardly share a sign. A group is named after the
    member that is closest to the others.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    if len(rows.columns) == 1:
        return by_column(rows.columns)
    correlation = _correlation(rows)
    distance = np.clip(1.0 - correlation, 0.0, 2.0)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), method="average")
    labels = fcluster(tree, t=1.0 - threshold, criterion="distance")
    groups: dict[str, list[str]] = {}
    for label in dict.fromkeys(labels.tolist()):
        members = np.flatnonzero(labels == label)
        centre = members[np.argmax(correlation[np.ix_(members, members)].sum(axis=1))]
        groups[rows.columns[centre]] = [rows.columns[j] for j in members]
    return groups


def _correlation(rows: TrainingData) -> np.ndarray:
    """Return the correlations of standardised columns; a constant column has none with the others."""
    weights = np.ones(len(rows.y)) if rows.sample_weight is None else rows.sample_weight
    product = (rows.X * (weights / weights.sum())[:, None]).T @ rows.X
    return np.asarray((product + product.T) / 2)
