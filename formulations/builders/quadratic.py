"""The quadratic form of PartLS with the sign constraints of undecided groups dropped, and the terms it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import cvxpy as cp
import numpy as np

from formulations.builders.form import Form
from formulations.builders.model import Model
from formulations.builders.setting import PENALTIES, SIGNS, Setting
from formulations.instance import Instance
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern

FORM = Form(
    name="quadratic form",
    builder="quadratic",
    formula=r"""\begin{aligned} \min_w\; & \lVert Xw + t - y \rVert_2^2 + \textstyle\sum_k \eta_k \beta_k^2 +
        \gamma \lVert w \rVert_2^2 \\ \text{s.t. } & s_k w_m \ge 0 \text{ where group } k \ni m \text{ has
        a sign} \end{aligned}""",
    variables="w",
    cone="quadratic program",
    size="M variables, M constraints",
    proves="a lower bound; the optimum once every group has a sign",
    solvers="CLARABEL, OSQP, SCS, DAQP, HIGHS, Gurobi",
    use="the cheapest bound at a node",
    strategy='`BranchAndBound(relaxation="active-set", backend="cvxpy")`, or `"unconstrained"`',
)


def quadratic(
    instance: Instance,
    signs: SignPattern | Iterable[int] | None = None,
    *,
    strengthen: bool = False,
    parametric: bool = True,
) -> Model:
    """Minimise ``||R v - z||^2 + rest + sum_j l1_j |v_j|``  s.t.  ``s_j v_j >= 0`` where group k[j] has a sign.

    A lower bound of PartLS under ``signs``: unconstrained at the root, exact once every group has a sign and
    whenever the solution happens to be sign-consistent. Esposito, Cerrato and Locatelli (2024), equation (8),
    without the constraints of undecided groups. Signs, eta and ridge are parameters: ``model.fix(signs)`` and
    ``model.set(eta=..., ridge=...)`` compile nothing again.

    Parameters
    ----------
    instance : Instance
        The data.
    signs : SignPattern, optional
        The node to start from; the root if left out.
    strengthen : bool
        Penalise ``eta (sum_m |w_m|)^2`` instead of ``eta (sum_m w_m)^2``: the two agree where a group
        shares one sign, and the first is larger elsewhere. No effect without an L2 penalty.
    parametric : bool
        Whether the penalties stay parameters. If not, they are numbers among the data: fewer rows, no ``set``.

    Returns
    -------
    Model
        A quadratic program.

    Examples
    --------
    >>> from formulations import Instance, quadratic
    >>> instance = Instance([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, -1.0, 0.5], ["a", "a"], fit_intercept=False)
    >>> model = quadratic(instance)
    >>> round(model.solve("CLARABEL"), 4), round(model.fix([1]).solve("CLARABEL"), 4)
    (0.4444, 1.0)
    """
    reduction = instance.reduction
    v = cp.Variable(reduction.n_columns, name="v")
    s = cp.Parameter(reduction.n_columns, name="signs")
    # A dropped row reads 0 v + 1 >= 0 rather than 0 >= 0, which would leave interior-point solvers no interior.
    slack = cp.Parameter(reduction.n_columns, name="slack", nonneg=True)
    orthant = cp.multiply(s, v) + slack >= 0
    penalty = penalty_parameters(reduction) if parametric else {}
    error = objective(reduction, v, cp.abs(v), penalty, strengthen=strengthen)
    return Model(
        name=FORM.name,
        problem=cp.Problem(cp.Minimize(error), [orthant]),
        coefficients=v,
        reduction=reduction,
        variables={"v": v},
        parameters={"signs": s, "slack": slack, **penalty},
        constraints={"signs": orthant},
        form=FORM,
        setting=Setting.of(reduction, signs),
        changes=SIGNS | PENALTIES if parametric else SIGNS,
    )


def penalty_parameters(reduction: Reduction) -> dict[str, cp.Parameter]:
    """Return the parameters of the penalties of this kind: nonnegative, one number per column."""
    names = ["l1" if reduction.strengths.kind == "l1" else "eta"] + ["ridge"] * (not reduction.has_free_columns)
    return {name: cp.Parameter(reduction.n_columns, name=name, nonneg=True) for name in names}


def objective(
    reduction: Reduction,
    v: cp.Expression,
    magnitude: cp.Expression,
    penalty: Mapping[str, cp.Parameter],
    *,
    strengthen: bool = False,
) -> cp.Expression:
    """Return the reduced objective at v; ``magnitude`` stands for |v| in the penalties that depend on it.

    The penalties are the parameters, or, without any, the numbers of the reduction.
    """
    if not penalty:
        part = reduction.data_part if strengthen else reduction
        plain: cp.Expression = squared_error(part, v) + penalties(reduction, magnitude, strengthen=strengthen)
        return plain
    rows: list[cp.Expression] = [cp.multiply(penalty["ridge"], v)] if "ridge" in penalty else []
    groups = (reduction.labels == np.arange(reduction.n_groups)[:, None]).astype(np.float64)
    if "eta" in penalty and not strengthen:
        rows.append(groups @ cp.multiply(penalty["eta"], v))
    total = squared_error(reduction.bare_part, v, rows)
    if "eta" in penalty and strengthen:
        total += cp.sum_squares(groups @ cp.multiply(penalty["eta"], magnitude))
    return total + penalty["l1"] @ magnitude if "l1" in penalty else total


def penalties(reduction: Reduction, magnitude: cp.Expression, *, strengthen: bool = False) -> cp.Expression | float:
    """Return the terms of the objective that are functions of |v|: L1 and, in the stronger form, L2 on group sums."""
    total: cp.Expression | float = 0.0
    if reduction.l1.any():
        total += reduction.l1 @ magnitude
    if strengthen and reduction.data_part is not reduction:
        total += cp.sum_squares(reduction.penalty_rows @ magnitude)
    return total


def squared_error(reduction: Reduction, v: cp.Expression, more: Sequence[cp.Expression] = ()) -> cp.Expression:
    """Return ``||R v - z||^2 + rest``, and the squares of more rows."""
    R, z = reduction.R, reduction.z
    if not len(R):  # nothing to fit: one empty row keeps v in the problem, so that it gets a value
        R, z = np.zeros((1, reduction.n_columns)), np.zeros(1)
    rows = cp.hstack([R @ v - z, *more]) if more else R @ v - z
    error: cp.Expression = cp.sum_squares(rows) + reduction.rest
    return error
