"""Independent parts: groups whose columns are orthogonal to those of all others, solved on their own.

Let the groups fall into parts such that ``R_a'R_b = 0`` for columns of two parts (free columns and the intercept are
projected out of R). Then

    ||R v - z||^2 + l1'|v|  =  constant + sum_a f_a(v_a),

the L2 penalties and ridge being rows of R that belong to one group, and the best signs of a part do not depend on the
others: p trees of K / p groups in the place of one of K.

Rounding leaves the products at e, not at zero. If c bounds the cosines between the spaces that the parts span, a model
no worse than zero coefficients has ``||R v|| <= 2 ||z||``, and its parts ``||R_a v_a|| <= 2 ||z|| / sqrt(1 - p c)``, so
that the sum above is off by at most ``8 p^2 c ||z||^2`` for ``p c <= 1/2``: that is taken off the lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.rows.reduction import Reduction

_ROUNDING = 4  # times what rounding leaves of a product of orthogonal columns, as a rule
_SMALLEST = 1e-4  # singular value of a part's columns, of norm one: cosines between nearly dependent columns are not
# those between what they span
_LARGEST = 1e-10  # cosine between two parts: more would show in the objective


@dataclass(frozen=True)
class Parts:
    """The groups of each part, and what to take off a bound that is added up from theirs (reduced units)."""

    groups: tuple[tuple[int, ...], ...]
    margin: float = 0.0


def is_linked(reduction: Reduction) -> bool:
    """Return whether one column is orthogonal to none, so that the problem is one part; False says nothing."""
    R = reduction.R
    if not R.size:
        return True
    tolerance = _ROUNDING * reduction.rounding / reduction.independence
    return bool((np.abs(R[:, 0] @ R) > 4.0 * tolerance).all())  # norms are below two


def independent_parts(reduction: Reduction) -> Parts | None:
    """Return the parts that a problem falls into; None if it is one."""
    labels, n = reduction.labels, reduction.n_groups
    norms = np.linalg.norm(reduction.R, axis=0) if len(reduction.R) else np.zeros(len(labels))
    if n < 2 or not norms.all() or is_linked(reduction):
        return None
    unit = reduction.R / norms
    tolerance = _ROUNDING * reduction.rounding / reduction.independence
    part = np.full(n, -1)
    for first in range(n):
        if part[first] < 0:
            reached = _reached(unit, labels, first, tolerance)
            if len(reached) == n:
                return None
            part[reached] = first
    members = [np.flatnonzero(part == number) for number in np.unique(part)]
    cosine = _largest_cosine(unit, labels, members)
    if cosine > _LARGEST:
        return None
    size = float(reduction.z @ reduction.z)
    return Parts(tuple(tuple(groups.tolist()) for groups in members), 8.0 * len(members) ** 2 * cosine * size)


def _reached(unit: Floats, labels: NDArray[np.intp], first: int, tolerance: float) -> NDArray[np.intp]:
    """Return the groups that a chain of columns which are not orthogonal links to the first."""
    known = np.zeros(int(labels.max()) + 1, bool)
    known[first] = True
    pending = [first]
    while pending:
        for j in np.flatnonzero(labels == pending.pop()):
            linked = np.unique(labels[np.abs(unit[:, j] @ unit) > tolerance])
            pending += linked[~known[linked]].tolist()
            known[linked] = True
            if known.all():
                return np.flatnonzero(known)
    return np.flatnonzero(known)


def _largest_cosine(unit: Floats, labels: NDArray[np.intp], members: list[NDArray[np.intp]]) -> float:
    """Return a bound on the cosines between what the parts span; infinite if columns nearly depend on each other."""
    spans = []
    for groups in members:
        left, sizes, _ = np.linalg.svd(unit[:, np.isin(labels, groups)], full_matrices=False)
        if sizes.min() < _SMALLEST:
            return np.inf
        spans.append(left)
    basis = np.hstack(spans)
    off = np.abs(basis.T @ basis - np.eye(basis.shape[1]))
    return float(np.linalg.norm(off))
