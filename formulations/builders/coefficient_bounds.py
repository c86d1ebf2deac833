"""Bounds on the coefficients that no optimum exceeds: what a big-M program may rely on, and why.

Let ``f(v) = ||R v - z||^2 + rest + cost`` with a cost >= 0, ``upper`` the value of one feasible point, and v^ the least
squares point, of value ``f^ = ||R v^ - z||^2 + rest``. Every v no worse than that feasible point has

    ``(v - v^)'Q (v - v^) <= upper - f^``,  Q = R'R,   hence   ``|v_j - v^_j| <= sqrt((upper - f^) (Q^-1)_jj)``.

So much for curvature. A penalty bounds columns even where the data are flat: a cost ``l1_j |v_j|`` is at most
``upper - f^``; and a one-signed group with the L2 penalty row c pays ``(c'|v|)^2``, at most ``upper`` less the least
squared error of the data alone, so ``c_j |v_j|`` is at most its square root.

Rounding moves v^ by up to ``(||residual|| / s + ||v^||) / s`` units in the last place along a direction of singular
value s (relative to the largest): this is added, a hundredfold. Directions with s below ``_FLAT_DIRECTION`` count as
flat.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import nnls

from formulations.builders.setting import Setting
from formulations.data import Floats
from formulations.errors import InvalidInput, listing
from formulations.instance import Instance
from formulations.signs import SignPattern
from formulations.tolerances import PART_IN_DIRECTION

_FLAT_DIRECTION = 1e-11  # of the largest singular value: above it Q^-1 is accurate to the margin below
_WIDER = 1e-3  # of each bound
_EXCESS_ROUNDING = 1e-12  # of the target's square: what rounding takes off the excess
_UNITS = 100.0 * float(np.finfo(float).eps)


def coefficient_bounds(
    instance: Instance, signs: SignPattern | Iterable[int] | None = None, *, reduced: bool = False
) -> Floats:
    """Return a bound on the size of each coefficient that the best model under ``signs`` does not exceed.

    The M of a big-M constraint: ``-M_j <= w_j <= M_j`` cuts off no optimum of the node. Of several optima at least one
    is kept: a column without any effect has the bound zero. Free columns, whose sign is not constrained, have none.

    Parameters
    ----------
    instance : Instance
        The data.
    signs : SignPattern, optional
        The node; bounds of the root do not hold at every node below, whose optimum is larger.
    reduced : bool
        Whether to bound the coefficients of ``instance.reduction`` instead of those of the data.

    Returns
    -------
    array
        One bound per column of X, in the units of the coefficients, inf for free columns; or one per reduced column.

    Raises
    ------
    InvalidInput
        If a coefficient can grow without end at no cost; the message names its column.

    Examples
    --------
    >>> import numpy as np
    >>> from formulations import Instance, coefficient_bounds
    >>> coefficient_bounds(Instance(np.eye(3), [1.0, 2.0, 3.0], [0, 0, 1], fit_intercept=False)).round(2).tolist()
    [1.0, 2.0, 3.0]
    """
    reduction = instance.reduction
    bounds = proved_bounds(Setting.of(reduction, signs))
    refuse_unbounded(bounds, reduction.column_names)
    return bounds if reduced else reduction.sizes(bounds)


def proved_bounds(at: Setting, upper: float | None = None) -> Floats:
    """Return a bound on each ``|v_j|`` over the solutions no worse than ``upper``; inf where there is none.

    ``upper`` is the value of a feasible point of the setting if left out: no optimum there exceeds the bounds then.
    """
    bare, roots, l1 = at.reduction.bare_part, at.roots, at.l1
    R, z = _penalised_rows(at)
    upper = value_to_beat(at) if upper is None else upper
    bounds = np.where(at.left, level_set_bounds(R, z, bare.rest, upper), 0.0)
    for weights, squared in ((roots, True), (l1, False)):
        if weights.any():
            bounds = np.minimum(bounds, penalty_bounds(bare.R, bare.z, bare.rest, upper, weights, squared=squared))
    return bounds


def value_to_beat(at: Setting) -> float:
    """Return the objective, in reduced units, of a feasible point of the setting."""
    R, z = _penalised_rows(at)
    return feasible_value(R, z, at.reduction.bare_part.rest, at.l1, _completed(at, R, z))


def _penalised_rows(at: Setting) -> tuple[Floats, Floats]:
    """Return the rows of the data and, below them, those whose squares are the penalties."""
    bare, rows = at.reduction.bare_part, at.penalty_rows
    return np.vstack([bare.R, rows]), np.append(bare.z, np.zeros(len(rows)))


def _completed(at: Setting, R: Floats, z: Floats) -> NDArray[np.int8]:
    """Return a sign for every column: its group's, or that of the sum of the group's least squares coefficients."""
    labels = at.reduction.labels
    least = np.linalg.lstsq(R, z, rcond=None)[0] if R.size else np.zeros(len(labels))
    likely = np.where(np.bincount(labels, least, at.reduction.n_groups) < 0, -1, 1)
    return np.where(at.column_signs != 0, at.column_signs, likely[labels]).astype(np.int8)


def level_set_bounds(R: Floats, z: Floats, rest: float, upper: float) -> Floats:
    """Return a bound on each ``|v_j|`` over ``||R v - z||^2 + rest <= upper``; inf along flat directions."""
    lengths = np.linalg.norm(R, axis=0)
    lengths[lengths == 0] = 1.0
    return np.asarray(_unit_bounds(R / lengths, z, rest, upper) / lengths)


def _unit_bounds(R: Floats, z: Floats, rest: float, upper: float) -> Floats:
    """Return the bounds for columns of norm one, or what is left of such columns."""
    n = R.shape[1]
    if not n:
        return np.zeros(0)
    U, sizes, V = np.linalg.svd(R, full_matrices=True)
    sizes = np.append(sizes, np.zeros(n - len(sizes)))
    curved = sizes > _FLAT_DIRECTION * max(float(sizes[0]), np.finfo(float).tiny)
    flat = np.sqrt(np.square(V[~curved]).sum(axis=0)) > PART_IN_DIRECTION
    if not curved.all() and not flat.all():  # the curved columns, with the flat ones projected out
        Q, T, _ = qr(R[:, flat], mode="economic", pivoting=True)
        basis = Q[:, np.abs(np.diag(T)) > _FLAT_DIRECTION]
        below, left = R[:, ~flat] - basis @ (basis.T @ R[:, ~flat]), z - basis @ (basis.T @ z)
        bounds = np.full(n, np.inf)
        bounds[~flat] = _unit_bounds(below, left, rest, upper)
        return bounds
    if not curved.all():
        return np.full(n, np.inf)
    least = V.T @ ((U.T @ z)[:n] / sizes)
    residual = R @ least - z
    reach = np.sqrt(np.square(V / sizes[:, None]).sum(axis=0) * _excess(residual, z, rest, upper))
    lost = _UNITS * n * sizes[0] / sizes * (np.linalg.norm(residual) / sizes + np.linalg.norm(least))
    return np.asarray((1 + _WIDER) * (np.abs(least) + reach + lost @ np.abs(V)))


def penalty_bounds(R: Floats, z: Floats, rest: float, upper: float, weights: Floats, *, squared: bool) -> Floats:
    """Return a bound on each ``|v_j|`` from its weight in the penalty alone, on top of the error of R; inf without."""
    least = np.linalg.lstsq(R, z, rcond=None)[0] if R.size else np.zeros(R.shape[1])
    most = _excess(R @ least - z, z, rest, upper)
    bounds = np.full(R.shape[1], np.inf)
    counted = weights > 0
    bounds[counted] = (1 + _WIDER) * (np.sqrt(most) if squared else most) / weights[counted]
    return bounds


def _excess(residual: Floats, z: Floats, rest: float, upper: float) -> float:
    """Return ``upper`` less the least value, and not less than its rounding."""
    rounded = _EXCESS_ROUNDING * (float(z @ z) + rest + upper)
    return max(upper - float(residual @ residual) - rest, 0.0) + rounded


def feasible_value(R: Floats, z: Floats, rest: float, l1: Floats, signs: NDArray[np.int8]) -> float:
    """Return the objective of one point whose columns have the signs given: zero, or nonnegative least squares."""
    zero = float(z @ z) + rest
    if not R.size:
        return zero
    try:
        v = signs * np.maximum(nnls(R * signs, z)[0], 0.0)
    except RuntimeError:  # it gave up
        return zero
    value = float(np.square(R @ v - z).sum()) + rest + float(l1 @ np.abs(v))
    return min(zero, value) if np.isfinite(value) else zero


def refuse_unbounded(bounds: Floats, columns: Sequence[str]) -> None:
    """Refuse columns that can grow without end at no cost, by name."""
    flat = [name for name, bound in zip(columns, bounds, strict=True) if not np.isfinite(bound)]
    if flat:
        raise InvalidInput(
            f"no bound on the coefficients of {listing(flat)}: the data are flat there (dependent columns, or fewer "
            "rows than columns); leave columns out, or penalise with ridge or eta"
        )
