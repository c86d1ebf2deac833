"""The biconvex PartLS problem ``||X (P o alpha) beta + t - y||^2 + penalty(beta) + ridge ||w||^2``: its convex halves.

Esposito, Cerrato and Locatelli (2024), section "Alternating Least Squares approach" (ssec:als).
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from formulations.builders.form import Form
from formulations.builders.model import Model
from formulations.builders.quadratic import objective, penalty_parameters
from formulations.builders.setting import PENALTIES, Setting
from formulations.data import Floats
from formulations.equivalence import as_simplex, per_group
from formulations.instance import Instance

ALPHA_FIXED = Form(
    name="PartLS, alpha fixed",
    builder="alpha_fixed",
    formula=r"\min_{\beta}\; \lVert X (P \circ \alpha) \beta + t - y \rVert_2^2 + \textstyle\sum_k \eta_k \beta_k^2",
    variables="beta",
    cone="quadratic program, no constraints",
    size="K variables",
    proves="an upper bound: the best point with these shares",
    solvers="CLARABEL, OSQP, SCS, DAQP, HIGHS, Gurobi",
    use="one half of the alternation",
    strategy='`Alternating(backend="cvxpy")`: the beta half',
)
BETA_FIXED = Form(
    name="PartLS, beta fixed",
    builder="beta_fixed",
    formula=r"""\begin{aligned} \min_{\alpha}\; & \lVert X (P \circ \alpha) \beta + t - y \rVert_2^2 +
        \textstyle\sum_k \eta_k \beta_k^2 \\ \text{s.t. } & \alpha \ge 0, \; P^\top \alpha = 1
        \end{aligned}""",
    variables="alpha",
    cone="quadratic program",
    size="M variables, M + K constraints",
    proves="an upper bound: the best point with these effects",
    solvers="CLARABEL, OSQP, SCS, DAQP, HIGHS, Gurobi",
    use="the other half of the alternation",
    strategy='`Alternating(backend="cvxpy")`: the alpha half',
)


def alpha_fixed(instance: Instance, alpha: Any, *, parametric: bool = True) -> Model:
    """Minimise over beta  ``||X (P o alpha) beta + t - y||^2 + eta * penalty(beta)``: least squares in K unknowns.

    One half of Algorithm 1 (PartLS-alt) of Esposito, Cerrato and Locatelli (2024). Free columns and the intercept are
    optimised along with beta. Eta and ridge are parameters, for ``model.set``.

    Parameters
    ----------
    instance : Instance
        The data.
    alpha : (M,) array
        Nonnegative, summing to one in each group; entries of free columns are ignored.
    parametric : bool
        Whether the penalties stay parameters, or are numbers among the data.

    Returns
    -------
    Model
        A quadratic program without constraints.

    Raises
    ------
    InvalidInput
        If alpha is no list of shares: negative, or not summing to one in a group.

    Notes
    -----
    The variable "beta" is beta up to a power of two per group, which gives every column of the least-squares
    problem a comparable size; ``instance.group_sums(coef)`` of the solution is beta in original units.

    Examples
    --------
    >>> from formulations import Instance, alpha_fixed
    >>> instance = Instance([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 4.0], ["a", "a"], fit_intercept=False)
    >>> model = alpha_fixed(instance, [0.5, 0.5])
    >>> round(model.solve("CLARABEL"), 4), model.solution()[0].round(4).tolist()
    (0.8333, [1.8333, 1.8333])
    """
    reduction = instance.reduction
    weights = reduction.project(as_simplex(alpha, instance.partition), 1.0)
    mix = np.where(reduction.labels[:, None] == np.arange(reduction.n_groups), weights[:, None], 0.0)
    mix = np.ldexp(mix, -np.frexp(mix.max(axis=0, initial=0.0))[1])
    beta = cp.Variable(reduction.n_groups, name="beta")
    penalty = penalty_parameters(reduction) if parametric else {}
    problem = cp.Problem(cp.Minimize(objective(reduction, mix @ beta, mix @ cp.abs(beta), penalty)))
    return Model(
        name=ALPHA_FIXED.name,
        problem=problem,
        coefficients=mix @ beta,
        reduction=reduction,
        variables={"beta": beta},
        parameters=penalty,
        form=ALPHA_FIXED,
        setting=Setting.of(reduction),
        changes=PENALTIES if parametric else frozenset(),
    )


def beta_fixed(instance: Instance, beta: Any, *, parametric: bool = True) -> Model:
    """Minimise over alpha  ``||X (P o alpha) beta + t - y||^2 + eta * penalty(beta)``  s.t. alpha >= 0, P'alpha = 1.

    The other half of Algorithm 1 (PartLS-alt) of Esposito, Cerrato and Locatelli (2024). Free columns and the intercept
    are optimised along with alpha. The penalty on the group sums is a constant, and included in the value. Eta and
    ridge are parameters, for ``model.set``.

    Parameters
    ----------
    instance : Instance
        The data.
    beta : (K,) array
        The sum of each group's coefficients.
    parametric : bool
        Whether the penalties stay parameters, or are numbers among the data.

    Returns
    -------
    Model
        A quadratic program with one simplex per group.

    Raises
    ------
    InvalidInput
        If beta does not have one finite number per group.

    Notes
    -----
    The variable "alpha" is in original units, one entry per grouped column, in the order of the columns.

    Examples
    --------
    >>> from formulations import Instance, beta_fixed
    >>> instance = Instance([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 4.0], ["a", "a"], fit_intercept=False)
    >>> model = beta_fixed(instance, [3.0])
    >>> round(model.solve("CLARABEL"), 4), model.solution()[0].round(4).tolist()
    (1.0, [1.0, 2.0])
    """
    reduction = instance.reduction
    grouped = np.flatnonzero(reduction.labels < instance.n_groups)
    alpha = cp.Variable(len(grouped), name="alpha")
    v, magnitude, variables = _scaled(instance, alpha, per_group(beta, instance.partition, "beta"))
    indicator = (reduction.labels[grouped] == np.arange(instance.n_groups)[:, None]).astype(np.float64)
    constraints = {"alpha": alpha >= 0, "simplex": indicator @ alpha == 1}
    # On the simplex the group sums are beta, so the penalty terms of the objective are the constant penalty(beta).
    penalty = penalty_parameters(reduction) if parametric else {}
    problem = cp.Problem(cp.Minimize(objective(reduction, v, magnitude, penalty)), list(constraints.values()))
    return Model(
        name=BETA_FIXED.name,
        problem=problem,
        coefficients=v,
        reduction=reduction,
        variables=variables,
        parameters=penalty,
        constraints=constraints,
        form=BETA_FIXED,
        setting=Setting.of(reduction),
        changes=PENALTIES if parametric else frozenset(),
    )


def _scaled(
    instance: Instance, alpha: cp.Variable, beta: Floats
) -> tuple[cp.Expression, cp.Expression, dict[str, cp.Variable]]:
    """Return v and |v| as functions of alpha and, where the intercept is a column of R, of the intercept."""
    reduction = instance.reduction
    coef = np.append(beta, 0.0)[instance.partition.labels]  # free columns pick the zero and are not in R
    factors = reduction.project(coef)[: alpha.size]
    v, magnitude = cp.multiply(factors, alpha), cp.multiply(np.abs(factors), alpha)
    if reduction.n_columns == alpha.size:
        return v, magnitude, {"alpha": alpha}
    intercept = cp.Variable(1, name="intercept")  # the last column of R
    variables = {"alpha": alpha, "intercept": intercept}
    return cp.hstack([v, intercept]), cp.hstack([magnitude, cp.abs(intercept)]), variables
