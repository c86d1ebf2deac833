"""The Shor SDP: products of coefficients become entries of a semidefinite matrix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from formulations.builders.form import Form
from formulations.builders.model import Model
from formulations.builders.quadratic import penalties
from formulations.builders.setting import PENALTIES, SIGNS, Setting, Value
from formulations.data import Floats
from formulations.instance import Instance
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern


class SignedPairs(NamedTuple):
    """Pairs i < j of columns whose product ``w_i w_j`` has a known sign."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    signs: NDArray[np.int8]


FORM = Form(
    name="Shor SDP",
    builder="shor",
    formula=r"""\begin{aligned} \min_{a, A}\; & Q \bullet A - 2 c^\top a + y^\top y \\ \text{s.t. } &
        \begin{pmatrix} 1 & a^\top \\ a & A \end{pmatrix} \succeq 0, \quad A_{ij} \ge 0 \text{ inside
        groups} \end{aligned}""",
    variables="a and A, which stands for aa'",
    cone="semidefinite",
    size="order M + 1; M (M - 1) / 2 signed products",
    proves="a lower bound, never below the perspective form's; the optimum once every group has a sign",
    solvers="CLARABEL, SCS",
    use="near the root of hard trees, to M of 60",
    strategy='`BranchAndBound(relaxation="shor", backend="cvxpy")`',
)


def shor(
    instance: Instance,
    signs: SignPattern | Iterable[int] | None = None,
    *,
    cuts: bool = True,
    parametric: bool = True,
) -> Model:
    """Minimise ``Q . A - 2 (R'z)'a + z'z + rest + l1'|a|``  s.t. ``[1 a'; a A]`` psd, ``A_ij >= 0`` inside groups.

    Here Q = R'R and A stands for aa'. Where signs are decided also ``s_i a_i >= 0`` and, with ``cuts``, the
    products ``s_i s_j A_ij >= 0`` across decided groups (reformulation-linearisation cuts). A lower bound under
    ``signs``, never below the quadratic form's and exact once every group has a sign. Esposito, Cerrato and Locatelli
    (2024), equation (9) without its rank constraint, but with A psd as a whole.

    Parameters
    ----------
    instance : Instance
        The data.
    signs : SignPattern, optional
        The decided groups; none if left out.
    cuts : bool
        Whether to add the products across decided groups.
    parametric : bool
        Whether signs and penalties stay parameters, so that ``fix`` and ``set`` compile nothing again. If not, the
        products of undecided groups take no rows.

    Returns
    -------
    Model
        A semidefinite program of order M + 1.

    Notes
    -----
    The stronger penalty ``eta (sum |w|)^2`` needs no option here. With c the penalty's row of a group and S the
    signs of a on it, ``A >= 0`` and ``A - aa'`` psd give ``c'Ac >= c'SASc >= (c'|a|)^2``: the lift contains it.

    Eta and ridge enter through the parameter "cost", the matrix of the objective: it is linear in eta and ridge, and
    a parameter per group would have to be multiplied by units beyond the range of floats. "products" are the signs of
    the products, and "free products" 1 where there is none.

    References
    ----------
    N. Z. Shor (1987), "Quadratic optimization problems", Soviet Journal of Computer and Systems Sciences 25, 1-11.

    Examples
    --------
    >>> from formulations import Instance, shor
    >>> instance = Instance([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, -1.0, 0.5], ["a", "a"], fit_intercept=False)
    >>> round(shor(instance).solve("CLARABEL"), 3)
    1.0
    """
    reduction = instance.reduction
    lift = cp.Variable((reduction.n_columns + 1, reduction.n_columns + 1), symmetric=True, name="lift")
    a = lift[0, 1:]
    constraints = {"corner": lift[0, 0] == 1, "psd": lift >> 0}
    if parametric:
        parameters, signed = _parameters(reduction, lift, cuts=cuts)
        constraints |= signed
        cost: Any = parameters["cost"]
    else:
        parameters, cost = {}, gram(reduction)
        constraints |= _signed(reduction, lift, signs, cuts=cuts)
    l1 = parameters["l1"] @ cp.abs(a) if "l1" in parameters else penalties(reduction, cp.abs(a))
    return Model(
        name=FORM.name,
        problem=cp.Problem(cp.Minimize(cp.sum(cp.multiply(cost, lift)) + l1), list(constraints.values())),
        coefficients=a,
        reduction=reduction,
        variables={"lift": lift},
        parameters=parameters,
        constraints=constraints,
        form=FORM,
        setting=Setting.of(reduction, signs),
        own_values=lifted_values(reduction, cuts=cuts),
        changes=SIGNS | PENALTIES if parametric else frozenset(),
    )


def _signed(
    reduction: Reduction, lift: cp.Variable, signs: SignPattern | Iterable[int] | None, *, cuts: bool
) -> dict[str, cp.Constraint]:
    """Return the constraints of the known signs at one node."""
    decided, constraints = reduction.column_signs(signs), {}
    pairs = signed_pairs(reduction, signs, cuts=cuts)
    if len(pairs.rows):
        constraints["pairs"] = cp.multiply(pairs.signs, lift[1 + pairs.rows, 1 + pairs.columns]) >= 0
    if decided.any():
        where = np.flatnonzero(decided)
        constraints["signs"] = cp.multiply(decided[where], lift[0, 1 + where]) >= 0
    return constraints


def _parameters(
    reduction: Reduction, lift: cp.Variable, *, cuts: bool
) -> tuple[dict[str, cp.Parameter], dict[str, cp.Constraint]]:
    """Return the parameters of the lift, and the constraints that hold them for every node."""
    n = reduction.n_columns
    parameters = {"cost": cp.Parameter((n + 1, n + 1), name="cost"), "signs": cp.Parameter(n, name="signs")}
    parameters["slack"] = cp.Parameter(n, name="slack", nonneg=True)
    constraints = {"signs": cp.multiply(parameters["signs"], lift[0, 1:]) + parameters["slack"] >= 0}
    pairs = possible_pairs(reduction, cuts=cuts)
    if len(pairs.rows):
        for name in ("products", "free products"):
            parameters[name] = cp.Parameter(len(pairs.rows), name=name)
        products = cp.multiply(parameters["products"], lift[1 + pairs.rows, 1 + pairs.columns])
        constraints["pairs"] = products + parameters["free products"] >= 0
    if reduction.strengths.kind == "l1":
        parameters["l1"] = cp.Parameter(n, name="l1", nonneg=True)
    return parameters, constraints


def possible_pairs(reduction: Reduction, *, cuts: bool) -> SignedPairs:
    """Return the pairs whose product has a known sign at some node: all with ``cuts``, else those inside groups."""
    everywhere = np.ones(reduction.n_columns, np.int8) if cuts else np.zeros(reduction.n_columns, np.int8)
    product = product_signs(reduction, everywhere, cuts=cuts)
    rows, columns = np.triu_indices(reduction.n_columns, k=1)
    known = product[rows, columns] != 0
    return SignedPairs(rows[known], columns[known], product[rows[known], columns[known]])


def lifted_values(reduction: Reduction, *, cuts: bool) -> dict[str, Value]:
    """Return what the parameters of the lift are at a setting."""
    rows, columns, _ = possible_pairs(reduction, cuts=cuts)

    def products(at: Setting) -> NDArray[np.int8]:
        return product_signs(reduction, at.column_signs, cuts=cuts)[rows, columns]

    return {"cost": gram_at, "products": products, "free products": lambda at: products(at) == 0}


def shor_block_only_as_printed(instance: Instance) -> Model:
    """Minimise ``Q . A - 2 (R'z)'a + z'z + rest + l1'|a|``  s.t. ``[1 a_k'; a_k A_k]`` psd, ``A_k >= 0`` for each k.

    The relaxation as Esposito, Cerrato and Locatelli (2024), section 3.4, print it. It gives no usable bound: only the
    diagonal blocks A_k are constrained while the objective runs over all of A. With two groups whose columns are not
    orthogonal, the off-diagonal blocks ``A_kl = -c Q_kl`` send it to minus infinity as c grows. It is kept to show
    that, with the penalties as numbers; use :func:`shor`.

    Parameters
    ----------
    instance : Instance
        The data.

    Returns
    -------
    Model
        A semidefinite program, unbounded with two or more groups in general.

    Examples
    --------
    >>> from formulations import Instance, shor_block_only_as_printed
    >>> instance = Instance([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, -1.0, 0.5], ["a", "b"], fit_intercept=False)
    >>> shor_block_only_as_printed(instance).solve("CLARABEL")
    -inf
    """
    reduction = instance.reduction
    lift = cp.Variable((reduction.n_columns + 1, reduction.n_columns + 1), symmetric=True, name="lift")
    constraints: dict[str, cp.Constraint] = {"corner": lift[0, 0] == 1}
    for k, name in enumerate(reduction.names):
        block = np.append(0, 1 + np.flatnonzero(reduction.labels == k))
        constraints[f"psd {name}"] = lift[np.ix_(block, block)] >> 0
    pairs = signed_pairs(reduction)
    if len(pairs.rows):
        constraints["pairs"] = lift[1 + pairs.rows, 1 + pairs.columns] >= 0
    objective = cp.sum(cp.multiply(gram(reduction), lift)) + penalties(reduction, cp.abs(lift[0, 1:]))
    return Model(
        name="block-only Shor SDP as printed",
        problem=cp.Problem(cp.Minimize(objective), list(constraints.values())),
        coefficients=lift[0, 1:],
        reduction=reduction,
        variables={"lift": lift},
        constraints=constraints,
    )


def gram(reduction: Reduction) -> Floats:
    """Return H with ``H . [1 v'; v vv'] = ||R v - z||^2 + rest``."""
    system = np.column_stack([-reduction.z, reduction.R])
    product = system.T @ system
    product[0, 0] += reduction.rest
    return np.asarray(product)


def gram_at(at: Setting) -> Floats:
    """Return the same with the L2 penalties of a setting in place of the reduction's own."""
    product, rows = gram(at.reduction.bare_part), at.penalty_rows
    product[1:, 1:] += rows.T @ rows
    return product


def signed_pairs(
    reduction: Reduction, signs: SignPattern | Iterable[int] | None = None, *, cuts: bool = True
) -> SignedPairs:
    """Return the pairs inside groups and, with ``cuts``, across decided groups, in the order of "pairs" in a model."""
    product = product_signs(reduction, reduction.column_signs(signs), cuts=cuts)
    rows, columns = np.triu_indices(reduction.n_columns, k=1)
    known = product[rows, columns] != 0
    return SignedPairs(rows[known], columns[known], product[rows[known], columns[known]])


def product_signs(reduction: Reduction, decided: NDArray[np.int8], *, cuts: bool = True) -> NDArray[np.int8]:
    """Return the known sign of every product ``w_i w_j``, 0 where there is none: +1 inside groups, ``cuts`` across."""
    product = np.outer(decided, decided) if cuts else np.zeros((len(decided), len(decided)), dtype=np.int8)
    product[reduction.labels[:, None] == reduction.labels] = 1
    return product
