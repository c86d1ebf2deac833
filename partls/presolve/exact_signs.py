"""The signs of freed groups made exact: each is moved along its direction until its coefficients share one sign."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from formulations.data import Floats
from formulations.instance import Instance
from formulations.signs import SignPattern
from formulations.tolerances import DEPENDENT
from partls.presolve.arbitrary_signs import Direction

_EQUAL = 1e-9  # of the larger: sizes of the two ends that count as equal


def with_exact_signs(instance: Instance, root: SignPattern, directions: Sequence[Direction], coef: Floats,
                     intercept: float) -> tuple[Floats, float]:
    """Return a model of the same fit whose freed groups share one sign each, that of ``root`` where there is one.

    A move changes the groups freed before, so the last group comes first. On the line ``w + t d`` the coefficients
    share a sign up to one point and the other sign from a second point on; both points are the same wherever on the
    line w is. Where either sign will do, the point of smaller coefficients (as contributions) is taken, of equals the
    positive one. The freed coefficients start from the shortest of the same fit, so that the answer depends neither on
    the order of the columns nor on their units.
    """
    reduction = instance.reduction
    v, sizes = reduction.project(coef, intercept), np.linalg.norm(reduction.R, axis=0)
    freed = np.concatenate([direction.columns for direction in directions])
    units = reduction.project(np.ones(instance.n_columns))[freed]
    columns = reduction.R[:, freed]
    v[freed] = units * np.linalg.lstsq(columns * units, columns @ v[freed], rcond=DEPENDENT)[0]
    for direction in reversed(directions):
        v = _moved(v, direction, root[direction.group], sizes)
    return reduction.restore(v)


def _moved(v: Floats, direction: Direction, sign: int, sizes: Floats) -> Floats:
    """Return v at the end of its line where the group has the sign given, or at the nearer of both."""
    columns, d = direction.columns, direction.step[direction.columns]
    steps = -v[columns] / d
    ends = {end: v + t * direction.step for end, t in ((1, float(steps.max())), (-1, float(steps.min())))}
    if sign == 0:
        plus, minus = (float(sizes[columns] @ np.abs(ends[end][columns])) for end in (1, -1))
        sign = 1 if plus <= minus * (1 + _EQUAL) else -1
    moved = ends[sign]
    moved[columns] = sign * np.maximum(sign * moved[columns], 0.0)  # rounding alone is cut off
    moved[columns[np.argmax(sign * steps)]] = 0.0
    return moved
