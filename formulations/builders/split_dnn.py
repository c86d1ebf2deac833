"""The doubly nonnegative relaxation of the coefficients split into positive and negative parts."""

from __future__ import annotations

from collections.abc import Iterable

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from formulations.builders.model import Model
from formulations.builders.shor import gram
from formulations.data import Floats
from formulations.instance import Instance
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern


def split_dnn(instance: Instance, signs: SignPattern | Iterable[int] | None = None) -> Model:
    """Minimise ``H . [1 x'; x Y] + l1'x``  s.t. ``[1 x'; x Y]`` psd and >= 0, ``Y = 0`` between opposite parts.

    x holds the positive part of every coefficient and, behind it, the negative part, so that ``v = E x`` with E
    = [I, -I]; H is the squared error written in x. Inside a group no positive part may meet a negative part. A
    decided group keeps the part of its own sign only. The strongest relaxation here, of order 2M + 1 at the root;
    the penalty ``eta (sum |w|)^2`` is contained in it, as in the Shor SDP.

    Parameters
    ----------
    instance : Instance
        The data.
    signs : SignPattern, optional
        The decided groups; none if left out.
    """
    reduction = instance.reduction
    parts = split_parts(reduction.column_signs(signs))
    size = parts.shape[1] + 1
    lift = cp.Variable((size, size), symmetric=True, name="lift")
    x = lift[0, 1:]
    constraints = {"corner": lift[0, 0] == 1, "psd": lift >> 0, "nonneg": x >= 0}
    rows, columns = np.triu_indices(size - 1, k=1)
    opposed = opposed_parts(reduction, parts)[rows, columns]
    if opposed.any():
        constraints["opposed"] = lift[1 + rows[opposed], 1 + columns[opposed]] == 0
    if not opposed.all():
        constraints["pairs"] = lift[1 + rows[~opposed], 1 + columns[~opposed]] >= 0
    wide = np.zeros((reduction.n_columns + 1, size))
    wide[0, 0], wide[1:, 1:] = 1.0, parts
    objective = cp.sum(cp.multiply(wide.T @ gram(reduction) @ wide, lift)) + (reduction.l1 @ np.abs(parts)) @ x
    return Model(
        name="split DNN",
        problem=cp.Problem(cp.Minimize(objective), list(constraints.values())),
        coefficients=parts @ x,
        reduction=reduction,
        variables={"lift": lift},
        constraints=constraints,
    )


def split_parts(decided: NDArray[np.int8]) -> Floats:
    """Return E with v = E x, x >= 0: columns +e_j unless coefficient j is <= 0, then -e_j unless it is >= 0."""
    identity = np.eye(len(decided))
    return np.hstack([identity[:, decided >= 0], -identity[:, decided <= 0]])


def opposed_parts(reduction: Reduction, parts: Floats) -> NDArray[np.bool_]:
    """Return which pairs of parts belong to one group and have opposite signs."""
    labels = reduction.labels[np.abs(parts).argmax(axis=0)]
    side = parts.sum(axis=0)
    return np.asarray((labels[:, None] == labels) & (side[:, None] != side))
