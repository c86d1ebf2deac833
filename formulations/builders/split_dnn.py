"""The doubly nonnegative relaxation of the coefficients split into positive and negative parts."""

from __future__ import annotations

from collections.abc import Iterable

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from formulations.builders.form import Form
from formulations.builders.model import Model
from formulations.builders.setting import PENALTIES, SIGNS, Setting
from formulations.builders.shor import gram, gram_at
from formulations.data import Floats
from formulations.instance import Instance
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern

FORM = Form(
    name="split DNN",
    builder="split_dnn",
    formula=r"""\begin{aligned} \min_{x, Y}\; & H \bullet \begin{pmatrix} 1 & x^\top \\ x & Y \end{pmatrix}, \quad
        w = x^+ - x^- \\ \text{s.t. } & \begin{pmatrix} 1 & x^\top \\ x & Y \end{pmatrix} \succeq 0 \text{
        and} \ge 0, \quad Y_{ij} = 0 \text{ between opposite parts of a group} \end{aligned}""",
    variables="positive and negative parts x, and Y, which stands for xx'",
    cone="doubly nonnegative",
    size="order 2M + 1",
    proves="the strongest lower bound here, exact at nearly every root that was tried",
    solvers="CLARABEL, SCS",
    use="where every other bound leaves a gap, and where N < M",
    strategy='`BranchAndBound(relaxation="split-dnn", backend="cvxpy")`',
)


def split_dnn(
    instance: Instance, signs: SignPattern | Iterable[int] | None = None, *, parametric: bool = True
) -> Model:
    """Minimise ``H . [1 x'; x Y] + l1'x``  s.t. ``[1 x'; x Y]`` psd and >= 0, ``Y = 0`` between opposite parts.

    x holds the positive part of every coefficient and, behind it, the negative part, so that ``v = E x`` with E
    = [I, -I]; H is the squared error written in x. Inside a group the product of a positive and a negative part is
    zero. A decided group keeps the part of its own sign only. The strongest relaxation here, of order 2M + 1 at the
    root; the penalty ``eta (sum |w|)^2`` is contained in it, as in the Shor SDP. It goes beyond Esposito, Cerrato and
    Locatelli (2024): it lifts their equation (8).

    Parameters
    ----------
    instance : Instance
        The data.
    signs : SignPattern, optional
        The decided groups; none if left out.
    parametric : bool
        Whether signs and penalties stay parameters, so that ``fix`` and ``set`` compile nothing again. If not,
        decided groups have at most one part of each coefficient.

    Returns
    -------
    Model
        A doubly nonnegative program of order 2M + 1.

    Notes
    -----
    Signs, eta and ridge enter through the parameter "cost", the matrix of the objective. A part that the signs
    forbid enters it only by the cost 1 of its own square, which brings it to zero; setting it to zero by a
    constraint would leave interior-point solvers no interior. "parts" is 1 for the parts that count.

    Examples
    --------
    >>> from formulations import Instance, split_dnn
    >>> instance = Instance([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, -1.0, 0.5], ["a", "a"], fit_intercept=False)
    >>> round(split_dnn(instance).solve("CLARABEL"), 3)
    1.0
    """
    reduction = instance.reduction
    at = Setting.of(reduction, signs)
    parts = split_parts(np.zeros_like(at.column_signs) if parametric else at.column_signs)
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
    parameters: dict[str, cp.Parameter] = {}
    if parametric:
        parameters = {"cost": cp.Parameter((size, size), name="cost"), "parts": cp.Parameter(size - 1, name="parts")}
        objective = cp.sum(cp.multiply(parameters["cost"], lift))
    else:
        cost = _widened(gram(reduction), parts)
        objective = cp.sum(cp.multiply(cost, lift)) + (reduction.l1 @ np.abs(parts)) @ x
    return Model(
        name=FORM.name,
        problem=cp.Problem(cp.Minimize(objective), list(constraints.values())),
        coefficients=parts @ (cp.multiply(parameters["parts"], x) if parametric else x),
        reduction=reduction,
        variables={"lift": lift},
        parameters=parameters,
        constraints=constraints,
        form=FORM,
        setting=at,
        own_values={"cost": _cost, "parts": _allowed},
        changes=SIGNS | PENALTIES if parametric else frozenset(),
    )


def _cost(at: Setting) -> Floats:
    """Return the matrix of the objective over all parts; forbidden ones cost their own squares alone."""
    parts, allowed = split_parts(np.zeros_like(at.column_signs)), _allowed(at)
    cost = _widened(gram_at(at), parts * allowed)
    linear = allowed * (at.l1 @ np.abs(parts)) / 2
    cost[0, 1:] += linear
    cost[1:, 0] += linear
    cost[1:, 1:] += np.diag(1.0 - allowed)
    return cost


def _allowed(at: Setting) -> Floats:
    """Return 1 for the parts that the signs allow, positive ones first, and 0 for the others."""
    return np.append(at.column_signs >= 0, at.column_signs <= 0).astype(np.float64)


def _widened(cost: Floats, parts: Floats) -> Floats:
    """Return the matrix of the objective in ``v = parts x`` as one in x."""
    wide = np.zeros((len(cost), parts.shape[1] + 1))
    wide[0, 0], wide[1:, 1:] = 1.0, parts
    return np.asarray(wide.T @ cost @ wide)


def split_parts(decided: NDArray[np.int8]) -> Floats:
    """Return E with v = E x, x >= 0: columns +e_j unless coefficient j is <= 0, then -e_j unless it is >= 0."""
    identity = np.eye(len(decided))
    return np.hstack([identity[:, decided >= 0], -identity[:, decided <= 0]])


def opposed_parts(reduction: Reduction, parts: Floats) -> NDArray[np.bool_]:
    """Return which pairs of parts belong to one group and have opposite signs."""
    labels = reduction.labels[np.abs(parts).argmax(axis=0)]
    side = parts.sum(axis=0)
    return np.asarray((labels[:, None] == labels) & (side[:, None] != side))
