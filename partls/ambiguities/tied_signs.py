"""Signs that a model could do without: groups that fit as well with the other one.

A sign is arbitrary where presolve's rule says so, whatever the model. It is tied where some model with the same fit and
the same penalty has the group on the other side, the other groups as they are: a linear program, whose answer is
scored, and is not looked for where the programs would take long. Groups whose columns repeat those of another group, of
the other sign, can take its place.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.instance import Instance
from formulations.rounding import Rounded, rounded
from partls.ambiguities.columns import column_kinds
from partls.ambiguities.face import Face
from partls.presolve.arbitrary_signs import arbitrary_signs

_PROGRAMS = 1_000_000  # entries of linear programs that take a second or so, all together


def tied_signs(instance: Instance, face: Face, given: tuple[int, ...] | None, reached: Rounded) -> tuple[int, ...]:
    """Return the groups that fit equally well with either sign; one that is zero or was given is not in question."""
    fixed = given or (0,) * instance.n_groups
    labels = face.reduction.labels
    zero = {k for k in range(instance.n_groups) if not bool(face.v[labels == k].any())}
    arbitrary = [direction.group for direction in arbitrary_signs(instance)]
    movable = np.zeros(face.reduction.n_groups, bool)
    movable[labels[face.movable]] = True
    in_use = np.isin(np.arange(len(labels)), face.loose)
    others = [
        k for k in np.flatnonzero(movable[: instance.n_groups]).tolist()
        if k not in {*zero, *arbitrary} and fixed[k] == 0
        and not (face.reduction.R[:, labels == k].any(axis=0) & ~in_use[labels == k]).any()
    ]
    affordable = len(others) * face.null_space.size <= _PROGRAMS
    tied = [k for k in others if affordable and _is_tied(instance, face, k, reached)]
    exchanged = _exchangeable(instance, face, [k for k in range(instance.n_groups) if fixed[k] == 0], reached)
    return tuple(k for k in sorted({*arbitrary, *tied, *exchanged} - zero) if fixed[k] == 0)


def _exchangeable(instance: Instance, face: Face, candidates: list[int], reached: Rounded) -> set[int]:
    """Return groups of opposite signs that hold the same columns, and can change places."""
    reduction = face.reduction
    kinds, factors = column_kinds(reduction)
    held: dict[tuple[int, ...], list[int]] = {}
    for k in candidates:
        held.setdefault(tuple(sorted(kinds[reduction.labels == k].tolist())), []).append(k)
    found: set[int] = set()
    for groups in held.values():
        sums = {k: float(np.sign((face.v)[reduction.labels == k].sum())) for k in groups}
        for k, other in combinations(groups, 2):
            if sums[k] * sums[other] < 0 and not {k, other} <= found:
                v = _exchanged(face, k, other, kinds, factors)
                if v is not None and _is_as_good(instance, face, v, reached):
                    found |= {k, other}
    return found


def _exchanged(face: Face, k: int, other: int, kinds: NDArray[np.intp], factors: Floats) -> Floats | None:
    """Return the point in which two groups have changed places; None if that breaks a sign."""
    labels, v = face.reduction.labels, face.v.copy()
    for kind in np.unique(kinds[(labels == k) & (kinds >= 0)]):
        here, there = (np.flatnonzero((labels == group) & (kinds == kind)) for group in (k, other))
        parts = [float(factors[places] @ face.v[places]) for places in (there, here)]
        for places, part in zip((here, there), parts, strict=True):
            v[places] = 0.0
            v[places[0]] = part / factors[places[0]]
    signs = [v[labels == group] for group in (k, other)]
    return v if all((own >= 0).all() or (own <= 0).all() for own in signs) else None


def _is_tied(instance: Instance, face: Face, k: int, reached: Rounded) -> bool:
    """Return whether a model with group k on the other side is as good."""
    v = _other_side(face, k)
    return v is not None and _is_as_good(instance, face, v, reached)


def _is_as_good(instance: Instance, face: Face, v: Floats, reached: Rounded) -> bool:
    """Return whether a point has the objective of the model, up to rounding."""
    coef, intercept = face.reduction.restore(v)
    return rounded(instance, coef, intercept, instance.objective(coef, intercept)).above(reached) <= 0


def _other_side(face: Face, k: int) -> Floats | None:
    """Return a point of the same fit with group k turned, the other groups as they are; None if there is none."""
    from scipy.optimize import linprog  # a slow import that most results do without

    E, Z = face.loose, face.null_space
    signs = np.where(face.reduction.labels[E] == k, -face.signs[E], face.signs[E])
    some, point = signs != 0, face.v[E] * face.norms
    found = linprog(
        np.zeros(Z.shape[1]), A_ub=-signs[some, None] * Z[some], b_ub=(signs * point)[some], bounds=(None, None),
        method="highs",
    )
    if found.status != 0:
        return None
    moved = point + Z @ found.x
    v = face.v.copy()
    v[E] = np.where(some, signs * np.maximum(signs * moved, 0.0), moved) / face.norms
    return v
