"""First drafts of groups for columns that nobody has grouped yet: by correlation, by name, or each its own."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from partls.cli.training_data import TrainingData

DRAFTS = ("correlation", "prefix", "column")


def by_column(columns: Iterable[str]) -> dict[str, list[str]]:
    """Return one group per column."""
    return {name: [name] for name in columns}


def by_prefix(columns: Iterable[str]) -> dict[str, list[str]]:
    """Return groups of columns whose names begin alike: up to the first separator, else capital, else digit.

    So ``q1_a`` and ``q1_b`` begin with ``q1``, ``GarageCars`` and ``GarageArea`` with ``Garage``, ``x1`` and ``x2``
    with ``x``; ``LDL`` and ``SOx`` are words of their own.
    """
    groups: dict[str, list[str]] = {}
    for name in columns:
        groups.setdefault(_first_word(name), []).append(name)
    return groups


def _first_word(name: str) -> str:
    begin = re.match(r"[^\W_]+(?=[\W_]+\w)", name)
    if begin:
        return begin[0]
    letters = name[: next((i for i, c in enumerate(name) if not c.isalpha()), None)]
    capital = next((i for i in range(1, len(letters)) if letters[i].isupper() and letters[i - 1].islower()), None)
    return letters[:capital] or name


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
