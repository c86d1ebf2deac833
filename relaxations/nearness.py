"""How near columns come to each other where they are too many to be independent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from formulations.data import Floats

MAX_COLUMNS = 40  # compared in pairs
_IN_TRIPLES = 12  # columns: the work grows with their cube
_ALIKE = 1e-8  # squared distance, as a share of the squared norm, below which a Gram matrix has no digits to tell it


def nearest(R: Floats, rounding: float) -> float:
    """Return the smallest distance of a column from the span of one or two others, as a share of its norm.

    Where columns depend on each other, a factor tells only how far they are from a basis, which may hold what two
    nearly equal columns differ in. Distances up to ``rounding`` count as dependence, and those of columns that are
    not alike at all as one.
    """
    norms = np.linalg.norm(R, axis=0)
    U = R[:, norms > 0] / norms[norms > 0]
    gram = U.T @ U
    apart = 1.0 - gram**2
    alike = (apart <= _ALIKE) & ~np.eye(len(gram), dtype=bool)
    sets: list[tuple[int, ...]] = [(int(i), int(j)) for i, j in np.argwhere(np.triu(alike))]
    if len(U) > 2 and len(gram) <= _IN_TRIPLES:
        sets += _alike_beside(gram, apart, alike)
    shares = np.array([_left(U, *some) for some in sets])
    return float(shares.min(initial=1.0, where=shares > rounding))


def _alike_beside(gram: Floats, apart: Floats, alike: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """Return (a, b, c), b < c, where b and c are alike beside a, and no two of them by themselves."""
    left = (gram - gram[:, :, None] * gram[:, None, :]) ** 2
    known = alike | np.eye(len(gram), dtype=bool)
    distinct = ~(known[:, :, None] | known[:, None, :] | known[None])
    found = distinct & (left >= (1.0 - _ALIKE) * apart[:, :, None] * apart[:, None, :])
    return [(int(a), int(b), int(c)) for a, b, c in np.argwhere(found) if b < c]


def _left(U: Floats, *some: int) -> float:
    """Return the smallest share that the others of a few columns leave of one."""
    return float(np.abs(np.diag(qr(U[:, some], mode="r", pivoting=True)[0])).min(initial=1.0))
