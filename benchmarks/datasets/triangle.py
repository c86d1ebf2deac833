"""The training rows of a large data set of the article, folded into the triangular factor R of ``[X 1 y]``.

``||X w + t - y||`` is ``||R (w, t, -1)||`` for every w and t, so the objective over the training rows, and every curve
of objective against time, needs no more than R. The intercept is a column of its own in the last group, as Esposito,
Cerrato and Locatelli (2024) have it. R is computed from the original file where that is here, otherwise read from
``$PARTLS_DATA/triangles/<name>.npz`` (arrays ``R`` and ``groups``).

The code behind the published results divides each column by its sum over the training rows. That changes no optimum
where the sum is positive; where it is negative the column changes its sign, and with it the problem. ``as_published``
does the same.
"""

from __future__ import annotations

import os
import zipfile
from importlib import import_module
from pathlib import Path

import numpy as np

from benchmarks.contract import MissingDataError, Problem
from benchmarks.homogeneous import homogeneous
from benchmarks.original_files import FOLDER


def make(seed: int, *, name: str, as_published: bool = False) -> Problem:
    """Return the triangle of the article's training rows; the seed changes nothing."""
    source = import_module(f"benchmarks.datasets.{name}")
    path = Path(os.environ.get(FOLDER, "")) / "triangles" / f"{name}.npz"
    try:
        X, y, labels = homogeneous(source.make(seed))
        R = np.linalg.qr(np.column_stack([X, y]), mode="r")
    except MissingDataError as missing:
        if not os.environ.get(FOLDER) or not path.exists():
            raise MissingDataError(f"{missing}; or put its triangle into ${FOLDER}/triangles/{path.name}") from missing
        R, labels = _read(path, [*source.GROUPS, 1])
    X, y = R[:, :-1], R[:, -1]
    if as_published:
        sums = X.T @ X[:, -1]  # the last column of X stands for the ones, and keeps its length
        X = X / np.append(np.where(sums == 0, 1.0, sums)[:-1], 1.0)
    return Problem(X, y, labels)


def _read(path: Path, sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return R and the groups of the columns from a file, refused if they are not what the data set has."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            R, labels = np.asarray(kept["R"], float), np.asarray(kept["groups"])
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise MissingDataError(f"{path.name} holds no arrays R and groups ({error}): replace the file") from error
    expected, n = np.repeat(np.arange(len(sizes)), sizes), sum(sizes) + 1
    if R.shape != (n, n) or np.tril(R, -1).any() or not np.isfinite(R).all():
        raise MissingDataError(f"R in {path.name} is no upper triangle of order {n}: replace the file")
    if not np.array_equal(labels, expected):
        raise MissingDataError(f"groups in {path.name} are not blocks of {sizes} columns: replace the file")
    return R, expected
