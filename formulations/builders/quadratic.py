"""The quadratic form of PartLS with the sign constraints of undecided groups dropped, and the terms it is made of."""

from __future__ import annotations

from collections.abc import Iterable

import cvxpy as cp
import numpy as np

from formulations.builders.model import Model
from formulations.instance import Instance
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern


def quadratic(
    instance: Instance, signs: SignPattern | Iterable[int] | None = None, *, strengthen: bool = False
) -> Model:
    """Minimise ``||R v - z||^2 + rest + sum_j l1_j |v_j|``  s.t.  ``s_j v_j >= 0`` where group k[j] has a sign.

    A lower bound of PartLS under ``signs``: unconstrained at the root, exact once every group has a sign and
    whenever the solution happens to be sign-consistent. The signs are parameters, so ``model.fix(signs)``
    moves to another node without compiling again.

    Parameters
    ----------
    instance : Instance
        The data.
    signs : SignPattern, optional
        The node to start from; the root if left out.
    strengthen : bool
        Penalise ``eta (sum_m |w_m|)^2`` in place of ``eta (sum_m w_m)^2``: the two agree wherever a group
        shares one sign, and the first is larger elsewhere. No effect without an L2 penalty.
    """
    reduction = instance.reduction
    v = cp.Variable(reduction.n_columns, name="v")
    s = cp.Parameter(reduction.n_columns, name="signs")
    # A dropped row reads 0 v + 1 >= 0 rather than 0 >= 0, which would leave interior-point solvers no interior.
    slack = cp.Parameter(reduction.n_columns, name="slack", nonneg=True)
    orthant = cp.multiply(s, v) + slack >= 0
    problem = cp.Problem(cp.Minimize(objective(reduction, v, cp.abs(v), strengthen=strengthen)), [orthant])
    model = Model(
        name="quadratic form",
        problem=problem,
        coefficients=v,
        reduction=reduction,
        variables={"v": v},
        parameters={"signs": s, "slack": slack},
        constraints={"signs": orthant},
    )
    return model.fix(signs)


def objective(
    reduction: Reduction, v: cp.Expression, magnitude: cp.Expression, *, strengthen: bool = False
) -> cp.Expression:
    """Return the reduced objective at v; ``magnitude`` stands for |v| in the penalties that depend on it."""
    part = reduction.data_part if strengthen else reduction
    total: cp.Expression = squared_error(part, v) + penalties(reduction, magnitude, strengthen=strengthen)
    return total


def penalties(reduction: Reduction, magnitude: cp.Expression, *, strengthen: bool = False) -> cp.Expression | float:
    """Return the terms of the objective that are functions of |v|: L1 and, in the stronger form, L2 on group sums."""
    total: cp.Expression | float = 0.0
    if reduction.l1.any():
        total += reduction.l1 @ magnitude
    if strengthen and reduction.data_part is not reduction:
        total += cp.sum_squares(reduction.penalty_rows @ magnitude)
    return total


def squared_error(reduction: Reduction, v: cp.Expression) -> cp.Expression:
    """Return ``||R v - z||^2 + rest``."""
    R, z = reduction.R, reduction.z
    if not len(R):  # nothing to fit: one empty row keeps v in the problem, so that it gets a value
        R, z = np.zeros((1, reduction.n_columns)), np.zeros(1)
    error: cp.Expression = cp.sum_squares(R @ v - z) + reduction.rest
    return error
