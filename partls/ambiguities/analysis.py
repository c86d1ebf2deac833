"""ambiguities_of(): everything that the data leave open about a model, found from the reduced problem."""

from __future__ import annotations

from itertools import islice

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.instance import Instance
from formulations.rounding import Rounded
from partls.ambiguities.ambiguities import Ambiguities, Move
from partls.ambiguities.columns import constant_columns, is_constant_target, repeated_columns
from partls.ambiguities.face import Face
from partls.ambiguities.tied_signs import tied_signs
from partls.ambiguities.uniqueness import Shared, shared

_MOST_MOVES = 50
_DIGITS = 12  # of a weight: the others are rounding
_ZERO = 1e-12  # of the largest coefficient, as contributions: an end of a range nearer than this is where the model is


def ambiguities_of(instance: Instance, coef: Floats, intercept: float, given: tuple[int, ...] | None,
                   reached: Rounded) -> Ambiguities:
    """Return what the data leave open about a model of this objective; signs that were given are not in question."""
    reduction, names = instance.reduction, instance.partition.names
    v = reduction.project(coef, intercept)
    v = np.where(reduction.R.any(axis=0), v, 0.0) if len(reduction.R) else np.zeros(len(v))
    face = Face(reduction, v, _signs(instance, v))
    tied = tied_signs(instance, face, given, reached)
    zero = {k for k in range(instance.n_groups) if not bool(v[reduction.labels == k].any())}
    loose = face.movable
    proved = Shared()
    unique: bool | None = None
    if len(loose) or tied:
        unique = False
    elif face.is_point and not (face.null_space.shape[1] and zero):
        proved = shared(instance, face, given, reached)
        unique = True if set(proved.signs) | zero == set(range(instance.n_groups)) else None
    return Ambiguities(
        either_sign=tuple(names[k] for k in tied), zero_groups=tuple(names[k] for k in sorted(zero)),
        moves=_moves(face), n_loose=len(loose),
        constant_columns=constant_columns(reduction), repeated_columns=repeated_columns(reduction),
        constant_target=is_constant_target(instance), exact_fit=reached.vanishes, n_rows=instance.n_rows,
        n_columns=instance.n_columns, proved_signs=tuple(names[k] for k in proved.signs),
        proved_zeros=tuple(reduction.column_names[j] for j in proved.zeros if reduction.labels[j] < instance.n_groups),
        unique=unique,
    )


def _signs(instance: Instance, v: Floats) -> Floats:
    """Return the sign of each reduced column, + in groups that are zero and 0 for an intercept with an L1 cost."""
    reduction = instance.reduction
    sums = np.bincount(reduction.labels, v, reduction.n_groups)
    signs = np.where(sums < 0, -1.0, 1.0)[reduction.labels]
    return np.where(reduction.labels < instance.n_groups, signs, 0.0)


def _moves(face: Face) -> tuple[Move, ...]:
    """Return the first moves of a basis that do not end where the model is."""
    moves = (_move(face, direction) for direction in face.directions.T)
    return tuple(islice((move for move in moves if move is not None), _MOST_MOVES))


def _move(face: Face, direction: Floats) -> Move | None:
    """Return a move with its range in coefficients, or None if it cannot be made either way."""
    E = face.loose
    point, signs = face.v[E] * face.norms, face.signs[E]
    smallest = _ZERO * float(np.abs(point).max(initial=0.0))
    point = np.where(np.abs(point) <= smallest, 0.0, point)
    some = np.flatnonzero(direction)
    bound = some[signs[some] != 0]
    falls = bound[signs[bound] * direction[bound] < 0]
    rises = bound[signs[bound] * direction[bound] > 0]
    high = float((-point[falls] / direction[falls]).min()) if len(falls) else None
    low = float((-point[rises] / direction[rises]).max()) if len(rises) else None
    if low is not None and high is not None and high <= low:
        return None
    return _in_coefficients(face, direction, some, (low, high))


def _in_coefficients(face: Face, direction: Floats, some: NDArray[np.intp], ends: tuple[float | None, float | None]
                     ) -> Move:
    """Return the move with its weights per coefficient of the data, the largest of them one."""
    reduction = face.reduction
    units = reduction.project(np.ones(reduction.problem.n_columns), 1.0)[face.loose][some]
    weights = direction[some] / face.norms[some] / units
    largest = weights[np.abs(weights).argmax()]
    low, high = (None if end is None else float(end * largest) + 0.0 for end in (ends if largest > 0 else ends[::-1]))
    names = np.array(reduction.column_names, dtype=object)[face.loose[some]].tolist()
    return Move(tuple(names), tuple((weights / largest).round(_DIGITS).tolist()), low, high)
