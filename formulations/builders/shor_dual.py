"""The dual of the Shor SDP: every feasible point of it is a lower bound.

Let N be symmetric with ``N_ij`` of the known sign of ``v_i v_j`` and zero where that is unknown, lambda >= 0 on decided
columns with signs s, and ``|u_j| <= l1_j``. Every v that the signs allow has ``v'N v >= 0``, ``(s lambda)'v >= 0`` and
``l1'|v| >= u'v``, so its objective is at least ``||R v - z||^2 + rest - v'N v - (s lambda - u)'v``; and that is at
least t for every v exactly if

    ``[ z'z + rest - t    -(R'z)' - (s lambda - u)'/2 ]``
    ``[ .                  R'R - N                    ]``   is positive semidefinite.

This is the dual of the lift of Shor (1987) that Esposito, Cerrato and Locatelli (2024) state in section 3.4, equation
(9), with A psd as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

from formulations.builders.form import Form
from formulations.builders.model import Model
from formulations.builders.setting import PENALTIES, SIGNS, Setting
from formulations.builders.shor import lifted_values, possible_pairs
from formulations.data import Floats
from formulations.instance import Instance
from formulations.signs import SignPattern

FORM = Form(
    name="Shor dual",
    builder="shor_dual",
    formula=r"""\begin{aligned} \max_{t, N, \lambda}\; & t \\ \text{s.t. } & \begin{pmatrix} y^\top y -
        t & -(c + s \circ \lambda / 2)^\top \\ -(c + s \circ \lambda / 2) & Q - N \end{pmatrix}
        \succeq 0, \quad \lambda \ge 0, \quad N_{ij} \ge 0 \text{ inside groups, else } 0
        \end{aligned}""",
    variables="t and the multipliers N, lambda",
    cone="semidefinite",
    size="order M + 1; as many multipliers as signed products",
    proves="a lower bound from every feasible point; equal to the Shor SDP at its optimum",
    solvers="CLARABEL, SCS",
    use="to see what certifies a Shor bound",
    strategy='`BranchAndBound(relaxation="shor", backend="cvxpy")`: what makes its bounds safe',
)


def shor_dual(instance: Instance, signs: SignPattern | Iterable[int] | None = None, *, cuts: bool = True) -> Model:
    """Maximise t over the multipliers of the Shor SDP; the module's docstring states the problem.

    Its value equals that of ``shor(instance, signs, cuts=cuts)``. Signs, eta and ridge are parameters, for
    ``model.fix`` and ``model.set``; eta and ridge enter through "cost", as there.

    Parameters
    ----------
    instance : Instance
        The data.
    signs : SignPattern, optional
        The decided groups; none if left out.
    cuts : bool
        Whether the products across decided groups have multipliers.

    Returns
    -------
    Model
        A semidefinite program; each of its feasible points is a lower bound.

    Notes
    -----
    The solution's coefficients are those of the Shor SDP, which is the dual of this problem.

    Examples
    --------
    >>> from formulations import Instance, shor_dual
    >>> instance = Instance([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, -1.0, 0.5], ["a", "a"], fit_intercept=False)
    >>> round(shor_dual(instance).solve("CLARABEL"), 3)
    1.0
    """
    reduction = instance.reduction
    n, pairs = reduction.n_columns, possible_pairs(reduction, cuts=cuts)
    parameters = {"cost": cp.Parameter((n + 1, n + 1), name="cost", symmetric=True)}
    parameters |= {name: cp.Parameter(n, name=name) for name in ("signs", "slack")}
    bound, slopes = cp.Variable(1, name="bound"), cp.Variable(n, nonneg=True, name="sign multipliers")
    variables = {"bound": bound, "sign multipliers": slopes}
    constraints: dict[str, cp.Constraint] = {"signs": cp.multiply(parameters["slack"], slopes) <= 1}
    linear: cp.Expression = cp.multiply(parameters["signs"], slopes)
    if reduction.strengths.kind == "l1":
        variables["size multipliers"] = cp.Variable(n, name="size multipliers")
        parameters["l1"] = cp.Parameter(n, name="l1", nonneg=True)
        constraints["sizes"] = cp.abs(variables["size multipliers"]) <= 1
        linear = linear - cp.multiply(parameters["l1"], variables["size multipliers"])
    taken = [bound, linear]
    if len(pairs.rows):
        parameters |= {name: cp.Parameter(len(pairs.rows), name=name) for name in ("products", "free products")}
        products = cp.Variable(len(pairs.rows), nonneg=True, name="product multipliers")
        variables["product multipliers"] = products
        # A multiplier of a product without a known sign has no effect: this bound keeps it finite.
        constraints["pairs"] = cp.multiply(parameters["free products"], products) <= 1
        taken.append(cp.multiply(parameters["products"], products))
    places = _places(n, np.asarray(pairs.rows), np.asarray(pairs.columns))
    removed = cp.reshape(places @ cp.hstack(taken), (n + 1, n + 1), order="C")
    constraints["psd"] = parameters["cost"] - removed >> 0
    return Model(
        name=FORM.name,
        problem=cp.Problem(cp.Maximize(bound[0]), list(constraints.values())),
        coefficients=_FromDual(constraints["psd"]),
        reduction=reduction,
        variables=variables,
        parameters=parameters,
        constraints=constraints,
        form=FORM,
        setting=Setting.of(reduction, signs),
        own_values=lifted_values(reduction, cuts=cuts),
        changes=SIGNS | PENALTIES,
    )


@dataclass(frozen=True, eq=False)
class _FromDual:
    """The coefficients of the Shor SDP: the first row of the multiplier of the semidefinite constraint."""

    psd: cp.Constraint

    @property
    def value(self) -> Any:
        lift = self.psd.dual_value
        return None if lift is None else np.asarray(lift)[0, 1:]


def _places(n: int, rows: Any, columns: Any) -> Any:
    """Return the matrix that puts (t, n slopes, products) into the entries of a symmetric matrix, row by row."""
    first = np.append(np.zeros(n + 1, np.intp), 1 + rows)
    second = np.concatenate([np.arange(n + 1), 1 + columns])
    weight: Floats = np.append(1.0, np.full(len(first) - 1, 0.5))
    which = np.arange(len(first))
    upper = sparse.csr_matrix((weight, (first * (n + 1) + second, which)), ((n + 1) ** 2, len(first)))
    lower = sparse.csr_matrix((weight[1:], (second[1:] * (n + 1) + first[1:], which[1:])), upper.shape)
    return upper + lower
