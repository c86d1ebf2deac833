"""The PartLS-b subproblem: least squares with the sign of every group given."""

from __future__ import annotations

from collections.abc import Iterable

import cvxpy as cp
import numpy as np

from formulations.builders.model import Model
from formulations.builders.quadratic import objective
from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern


def partls_b(instance: Instance, b: SignPattern | Iterable[int]) -> Model:
    """Minimise over alpha >= 0  ``||X (P o alpha) b + t - y||^2 + eta * penalty(P'alpha)``  for b in {-1, +1}^K.

    Alpha is not normalised: ``b_k alpha_m`` is the coefficient of column m of group k, so the problem is least
    squares with nonnegative unknowns. The least value over all 2^K vectors b is the optimum of PartLS.

    Parameters
    ----------
    instance : Instance
        The data.
    b : SignPattern or sequence of -1 and +1
        The sign of each group. The intercept keeps both signs open, even where an L1 penalty makes it a group
        of its own, unless b has one more entry for it.
    """
    reduction = instance.reduction
    pattern = SignPattern.of(b)
    if not pattern.is_complete:
        raise InvalidInput(f"b = {pattern} leaves a sign open: PartLS-b needs -1 or +1 for every group")
    signs = reduction.column_signs(pattern)
    alpha = cp.Variable(reduction.n_columns, name="alpha")
    v = cp.multiply(np.where(signs == 0, 1, signs), alpha)
    orthant = alpha[signs != 0] >= 0
    problem = cp.Problem(cp.Minimize(objective(reduction, v, cp.abs(alpha))), [orthant])
    return Model(
        name="PartLS-b",
        problem=problem,
        coefficients=v,
        reduction=reduction,
        variables={"alpha": alpha},
        constraints={"alpha": orthant},
    )
