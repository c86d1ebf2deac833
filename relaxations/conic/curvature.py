"""The choice of D: how much of the curvature of Q = R'R each group is given for itself.

Any block-diagonal D with ``Q - D`` positive semidefinite makes the perspective relaxation valid. Columns that take
part in a dependence have no curvature to give (``n'Qn = 0`` forces ``D n = 0``), so groups that hold one get none.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh, qr, solve_triangular

from formulations.builders.best_curvature import best_curvature
from formulations.builders.perspective import checked_blocks
from formulations.data import Floats
from formulations.errors import InvalidInput, suggestion
from formulations.instance import Instance
from formulations.rows.reduction import Reduction
from formulations.tolerances import PART_IN_DIRECTION, SAFETY
from relaxations.conic.backend import Backend
from relaxations.protocol import BoundStatus

CHOICES = ("block", "diagonal", "bj", "lambda-min")
NAMES = (*CHOICES, "native")  # which needs no choice here

_NULL = 1e-7  # singular values of R (columns have norm about 1) below which a direction counts as a dependence
_MAX_CONDITION = 1e8  # beyond this the safety above would not cover the rounding
_EVERYWHERE = 1e-3  # share of D spread over all groups, so that no block is singular
_ROUGH = 2500  # iterations of a first-order solver: any D will do, and a good one is near by then
_LARGE = 25  # columns beyond which a first-order solver finds D sooner


@dataclass(frozen=True, eq=False)
class Room:
    """The curvature available for D: ``T'T`` on ``columns``, the part of Q left after minimising over the others.

    A matrix D on these columns is below Q exactly if ``T^-T D T^-1`` is below the identity.
    """

    columns: NDArray[np.intp]
    inverse: Floats  # T^-1

    def within(self, D: Floats, among: NDArray[np.bool_] | None = None) -> Floats:
        """Return D on the columns that have curvature to give (and are ``among`` those named), zero elsewhere."""
        inside = self.columns if among is None else self.columns[among[self.columns]]
        kept = np.zeros_like(D)
        kept[np.ix_(inside, inside)] = D[np.ix_(inside, inside)]
        return kept

    def headroom(self, D: Floats) -> float:
        """Return the largest multiple of D (zero outside ``columns``) that is safely below Q; inf if D is zero."""
        square = self.inverse.T @ D[np.ix_(self.columns, self.columns)] @ self.inverse
        top = float(eigvalsh(square).max(initial=0.0))
        return (1.0 - SAFETY) / top if top > 0 else inf

    def filled(self, D: Floats) -> Floats:
        """Return D on the columns that have curvature to give, as large as it may be."""
        kept = self.within(D)
        return kept * self.headroom(kept) if kept.any() else kept


def room(part: Reduction) -> Room:
    """Return the columns of the groups that take no part in a dependence, and the inverse of their triangle."""
    R, n = part.R, part.n_columns
    _, sizes, directions = np.linalg.svd(R, full_matrices=True)
    null = directions[np.append(sizes, np.zeros(n - len(sizes))) <= _NULL]
    load = np.sqrt(np.bincount(part.labels, (null**2).sum(axis=0), part.n_groups))
    inside = load[part.labels] <= PART_IN_DIRECTION
    columns = np.flatnonzero(inside)
    own = _beyond(R[:, ~inside], R[:, columns])
    if len(own) >= len(columns) > 0:
        T = qr(own, mode="r")[0][: len(columns)]
        if np.abs(np.diag(T)).min() > 1.0 / _MAX_CONDITION:
            inverse = solve_triangular(T, np.eye(len(columns)))
            if np.linalg.norm(inverse) <= _MAX_CONDITION:
                return Room(columns, inverse)
    return Room(columns[:0], np.zeros((0, 0)))


def _beyond(others: Floats, own: Floats) -> Floats:
    """Return what the other columns cannot explain of a group's own."""
    if others.size == 0 or own.size == 0:
        return own
    basis, triangle, _ = qr(others, mode="economic", pivoting=True)
    basis = basis[:, np.abs(np.diag(triangle)) > _NULL**2]
    for _ in range(2):  # the second pass removes the rounding of the first
        own = own - basis @ (basis.T @ own)
    return own


def chosen(instance: Instance, D: Any, space: Room, *, strengthen: bool = False) -> Floats:
    """Return the (n, n) matrix of a choice by name, or of the user's own D, safely below Q."""
    reduction = instance.reduction
    part = reduction.data_part if strengthen else reduction
    Q = part.R.T @ part.R
    if not isinstance(D, str):
        own = space.within(checked_blocks(reduction, D, Q))
        return own * min(1.0, space.headroom(own))
    if D not in CHOICES:
        raise InvalidInput(f"D={D!r} is neither a matrix nor one of {list(NAMES)}{suggestion(D, NAMES)}")
    simple = np.where(part.labels[:, None] == part.labels, Q, 0.0) if D in ("bj", "block") else np.eye(len(Q))
    filled = space.filled(simple)
    if D in ("bj", "lambda-min") or not len(space.columns):
        return filled
    best = space.filled(_multipliers(instance, space, diagonal=D == "diagonal", strengthen=strengthen))
    return space.filled((1.0 - _EVERYWHERE) * best + _EVERYWHERE * filled)


def _multipliers(instance: Instance, space: Room, *, diagonal: bool, strengthen: bool) -> Floats:
    """Return the D that is best at the root, as a solver left it; zero if none gave an answer."""
    reduction = instance.reduction
    groups = np.unique(reduction.labels[space.columns]).tolist()
    solvers = ("CLARABEL", "SCS") if reduction.n_columns <= _LARGE else ("SCS", "CLARABEL")
    backend = Backend(
        lambda signs: best_curvature(instance, diagonal=diagonal, strengthen=strengthen, groups=groups),
        solvers, {"SCS": {"max_iters": _ROUGH, "eps_abs": 1e-5, "eps_rel": 1e-5}},
    )
    solved = backend.solve()
    D = np.zeros((reduction.n_columns, reduction.n_columns))
    if solved.status not in (BoundStatus.OPTIMAL, BoundStatus.INACCURATE):
        return D
    for k in groups:
        group = np.flatnonzero(reduction.labels == k)
        multiplier: Any = solved.model.constraints[f"curvature {k}"].dual_value
        block = np.diag(multiplier) if diagonal else multiplier
        D[np.ix_(group, group)] = _nearest_psd(np.asarray(block, dtype=np.float64))
    return D


def _nearest_psd(block: Floats) -> Floats:
    values, vectors = eigh((block + block.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
