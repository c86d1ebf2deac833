"""The perspective form at its best: the semidefinite program over all curvatures D, whose multipliers are that D."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from formulations.builders.model import Model
from formulations.builders.quadratic import penalties
from formulations.builders.shor import gram
from formulations.instance import Instance


def best_curvature(
    instance: Instance, *, diagonal: bool = False, strengthen: bool = False, groups: Iterable[int] | None = None
) -> Model:
    """Minimise ``Q . A - 2 (R'z)'a + z'z + rest + l1'(u + n)``  s.t. ``[1 a'; a A]`` psd, ``a = u - n``, ``u, n >= 0``.

    And for each group, with a share ``0 <= p_k <= 1``:  ``A_kk - U_k - N_k`` psd,  ``[p_k u_k'; u_k U_k]`` and
    ``[1 - p_k n_k'; n_k N_k]`` psd. The value is the largest value of the perspective form at the root over all
    block-diagonal D. The multipliers of "curvature k" are the block D_k that attains it.

    Parameters
    ----------
    instance : Instance
        The data.
    diagonal : bool
        Constrain the diagonals only: D is then diagonal, and the multiplier of "curvature k" holds its entries.
    strengthen : bool
        Penalise ``eta (sum_m |w_m|)^2`` outside the reach of D, as in ``perspective(strengthen=True)``.
    groups : iterable of int, optional
        The groups that may carry curvature; D_k = 0 for the others. All if left out.

    Returns
    -------
    Model
        A semidefinite program.

    Examples
    --------
    >>> from formulations import Instance, best_curvature
    >>> instance = Instance([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, -1.0, 0.5], ["a", "a"], fit_intercept=False)
    >>> model = best_curvature(instance)
    >>> round(model.solve("CLARABEL"), 3)
    1.0
    >>> model.duals["curvature 0"].shape
    (2, 2)
    """
    reduction = instance.reduction
    n = reduction.n_columns
    lift = cp.Variable((n + 1, n + 1), symmetric=True, name="lift")
    u, w = (cp.Variable(n, name=name, nonneg=True) for name in ("positive", "negative"))
    constraints: dict[str, Any] = {"corner": lift[0, 0] == 1, "psd": lift >> 0, "split": lift[0, 1:] == u - w}
    for k in range(reduction.n_groups) if groups is None else groups:
        group = np.flatnonzero(reduction.labels == k)
        constraints |= (_diagonal_hull if diagonal else _hull)(k, lift, group, (u[group], w[group]))
    part = reduction.data_part if strengthen else reduction
    value = cp.sum(cp.multiply(gram(part), lift)) + penalties(reduction, u + w, strengthen=strengthen)
    return Model(
        name="perspective form over all curvatures",
        problem=cp.Problem(cp.Minimize(value), list(constraints.values())),
        coefficients=lift[0, 1:],
        reduction=reduction,
        variables={"lift": lift, "positive": u, "negative": w},
        constraints=constraints,
    )


def _hull(k: int, lift: cp.Variable, group: NDArray[np.intp], sides: tuple[Any, Any]) -> dict[str, Any]:
    """Return ``A_kk >= U_k + N_k`` in the semidefinite order, each of them a square in perspective."""
    up, down = (cp.Variable((len(group) + 1, len(group) + 1), PSD=True) for _ in sides)
    return {
        f"share {k}": up[0, 0] + down[0, 0] == 1,
        f"positive {k}": up[0, 1:] == sides[0],
        f"negative {k}": down[0, 1:] == sides[1],
        f"curvature {k}": lift[np.ix_(1 + group, 1 + group)] - up[1:, 1:] - down[1:, 1:] >> 0,
    }


def _diagonal_hull(k: int, lift: cp.Variable, group: NDArray[np.intp], sides: tuple[Any, Any]) -> dict[str, Any]:
    """Return ``A_jj >= u_j^2 / p_k + n_j^2 / (1 - p_k)`` for the columns j of the group."""
    share = cp.Variable()
    up, down = (cp.Variable(len(group)) for _ in sides)
    return {
        f"positive {k}": _square_in_perspective(sides[0], share, up),
        f"negative {k}": _square_in_perspective(sides[1], 1 - share, down),
        f"curvature {k}": cp.diag(lift)[1 + group] - up - down >= 0,
    }


def _square_in_perspective(side: Any, share: Any, square: Any) -> Any:
    """Return ``side_j^2 <= share square_j`` and ``share >= 0`` as cones."""
    return cp.SOC(square + share, cp.vstack([2 * side, square - share]), axis=0)
