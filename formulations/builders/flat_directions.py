"""The directions in which a lifted relaxation has little or no curvature, as a semidefinite program."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from formulations.builders.model import Model
from formulations.data import Floats
from formulations.rows.reduction import Reduction


def flat_directions(
    reduction: Reduction, gram: Floats, products: NDArray[np.int8], opposed: NDArray[np.bool_]
) -> Model:
    """Minimise ``gram . A``  s.t. A psd, ``tr A = 1``, ``p_ij A_ij >= 0`` for known products, ``A = 0`` if opposed.

    If the minimum t is positive, the level sets of the lift with this Gram matrix are bounded: the dual values N of the
    pairs make ``gram - N`` at least t. If it is zero, the diagonal of A shows which coefficients can grow at no cost.

    Parameters
    ----------
    reduction : Reduction
        The reduced problem.
    gram : (n, n) array
        The matrix of the lift.
    products : (n, n) array
        The known sign of each product ``v_i v_j``; 0 if it is unknown.
    opposed : (n, n) array of bool
        Pairs whose product is zero.

    Returns
    -------
    Model
        A semidefinite program of order n.

    Examples
    --------
    >>> import numpy as np
    >>> from formulations import Instance, flat_directions
    >>> reduction = Instance(np.eye(2), [1.0, 2.0], ["a", "a"], fit_intercept=False).reduction
    >>> none = np.zeros((2, 2), dtype=bool)
    >>> model = flat_directions(reduction, np.eye(2), np.ones((2, 2), dtype=np.int8), none)
    >>> round(float(model.problem.solve(solver="CLARABEL")), 4)
    1.0
    """
    lift = cp.Variable(gram.shape, symmetric=True, name="lift")
    constraints: dict[str, cp.Constraint] = {"trace": cp.sum(cp.diag(lift)) == 1, "psd": lift >> 0}
    rows, columns = np.triu_indices(len(gram), k=1)
    zero = opposed[rows, columns]
    known = ~zero & (products[rows, columns] != 0)
    if zero.any():
        constraints["opposed"] = lift[rows[zero], columns[zero]] == 0
    if known.any():
        signs = products[rows[known], columns[known]]
        constraints["pairs"] = cp.multiply(signs, lift[rows[known], columns[known]]) >= 0
    return Model(
        name="flat directions",
        problem=cp.Problem(cp.Minimize(cp.sum(cp.multiply(gram, lift))), list(constraints.values())),
        coefficients=cp.diag(lift),
        reduction=reduction,
        variables={"lift": lift},
        constraints=constraints,
    )
