"""The PartLS-b subproblem: least squares with the sign of every group given."""

from __future__ import annotations

from collections.abc import Iterable

import cvxpy as cp
import numpy as np

from formulations.builders.form import Form
from formulations.builders.model import Model
from formulations.builders.quadratic import objective, penalty_parameters
from formulations.builders.setting import PENALTIES, SIGNS, Setting, Value
from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern

FORM = Form(
    name="PartLS-b",
    builder="partls_b",
    formula=r"""\begin{aligned} \min_{\alpha}\; & \lVert X (P \circ \alpha) b + t - y \rVert_2^2 +
        \textstyle\sum_k \eta_k \big(\textstyle\sum_{m \in k} \alpha_m\big)^2 \\ \text{s.t. } & \alpha \ge
        0 \end{aligned}""",
    variables="alpha",
    cone="quadratic program",
    size="2M variables, 2M constraints",
    proves="the optimum under the signs b: an upper bound; the optimum is the least of 2^K",
    solvers="CLARABEL, OSQP, SCS, DAQP, HIGHS, Gurobi",
    use="enumeration; solving an answer again for its signs",
    strategy='`Enumeration(backend="cvxpy")`; `Alternating(backend="cvxpy", halves="nnls")`',
)


def partls_b(instance: Instance, b: SignPattern | Iterable[int]) -> Model:
    """Minimise over alpha >= 0  ``||X (P o alpha) b + t - y||^2 + eta * penalty(P'alpha)``  for b in {-1, +1}^K.

    Alpha is not normalised: ``b_k alpha_m`` is the coefficient of column m of group k, so the problem is nonnegative
    least squares. The least value over all 2^K vectors b is the optimum of PartLS. Esposito, Cerrato and Locatelli
    (2024), section 3.2 and equation (5). Signs, eta and ridge are parameters, for ``model.fix`` and ``model.set``.

    Parameters
    ----------
    instance : Instance
        The data.
    b : SignPattern or sequence of -1 and +1
        The sign of each group. The intercept keeps both signs open, even where an L1 penalty makes it a group
        of its own, unless b has one more entry for it.

    Returns
    -------
    Model
        A quadratic program.

    Raises
    ------
    InvalidInput
        If a group has no sign.

    Examples
    --------
    >>> from formulations import Instance, partls_b
    >>> instance = Instance([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, -1.0, 0.5], ["a", "a"], fit_intercept=False)
    >>> [round(partls_b(instance, [b]).solve("CLARABEL"), 4) for b in (-1, 1)]
    [2.125, 1.0]
    """
    reduction = instance.reduction
    n = reduction.n_columns
    alpha, v = cp.Variable(n, name="alpha"), cp.Variable(n, name="v")
    own = {name: cp.Parameter(n, name=name, nonneg=name != "b") for name in ("b", "bounded", "slack")}
    penalty = penalty_parameters(reduction)
    # The coefficients are variables of their own: b times alpha times a penalty would be a product of parameters.
    constraints = {
        "alpha": cp.multiply(own["bounded"], alpha) + own["slack"] >= 0,
        "signs": v == cp.multiply(own["b"], alpha),
    }
    error = objective(reduction, v, cp.abs(alpha), penalty)
    return Model(
        name=FORM.name,
        problem=cp.Problem(cp.Minimize(error), list(constraints.values())),
        coefficients=v,
        reduction=reduction,
        variables={"alpha": alpha, "v": v},
        parameters=own | penalty,
        constraints=constraints,
        form=FORM,
        setting=Setting.of(reduction, b),
        own_values=_VALUES,
        changes=SIGNS | PENALTIES,
    )


def _orientation(at: Setting) -> Floats:
    """Return b for each column; an intercept without a sign counts as it is."""
    reduction, signs = at.reduction, at.column_signs
    undecided = reduction.labels[(signs == 0) & (reduction.labels < reduction.n_own_groups)]
    if len(undecided):
        group = reduction.names[undecided[0]]
        raise InvalidInput(f'b leaves a sign open, of group "{group}": PartLS-b needs -1 or +1 for every group')
    return np.where(signs == 0, 1.0, signs)


_VALUES: dict[str, Value] = {"b": _orientation, "bounded": lambda at: at.column_signs != 0}
