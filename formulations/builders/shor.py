"""The Shor SDP: products of coefficients become entries of a semidefinite matrix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from formulations.builders.model import Model
from formulations.builders.quadratic import penalties
from formulations.data import Floats
from formulations.instance import Instance
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern


class SignedPairs(NamedTuple):
    """Pairs i < j of columns whose product ``w_i w_j`` has a known sign."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    signs: NDArray[np.int8]


def shor(instance: Instance, signs: SignPattern | Iterable[int] | None = None, *, cuts: bool = True) -> Model:
    """Minimise ``Q . A - 2 (R'z)'a + z'z + rest + l1'|a|``  s.t. ``[1 a'; a A]`` psd, ``A_ij >= 0`` inside groups.

    Here Q = R'R and A stands for aa'. Where signs are decided also ``s_i a_i >= 0`` and, with ``cuts``, the
    products ``s_i s_j A_ij >= 0`` across decided groups (reformulation-linearisation cuts). A lower bound under
    ``signs``, never below the quadratic form's and exact once every group has a sign.

    Parameters
    ----------
    instance : Instance
        The data.
    signs : SignPattern, optional
        The decided groups; none if left out.
    cuts : bool
        Whether to add the products across decided groups.

    Notes
    -----
    The stronger penalty ``eta (sum |w|)^2`` needs no option here. With c the penalty's row of a group and S the
    signs of a on it, ``A >= 0`` and ``A - aa'`` psd give ``c'Ac >= c'SASc >= (c'|a|)^2``: the lift contains it.
    """
    reduction = instance.reduction
    decided = reduction.column_signs(signs)
    lift = cp.Variable((reduction.n_columns + 1, reduction.n_columns + 1), symmetric=True, name="lift")
    a = lift[0, 1:]
    constraints = {"corner": lift[0, 0] == 1, "psd": lift >> 0}
    pairs = signed_pairs(reduction, signs, cuts=cuts)
    if len(pairs.rows):
        constraints["pairs"] = cp.multiply(pairs.signs, lift[1 + pairs.rows, 1 + pairs.columns]) >= 0
    if decided.any():
        where = np.flatnonzero(decided)
        constraints["signs"] = cp.multiply(decided[where], a[where]) >= 0
    objective = cp.sum(cp.multiply(gram(reduction), lift)) + penalties(reduction, cp.abs(a))
    return Model(
        name="Shor SDP",
        problem=cp.Problem(cp.Minimize(objective), list(constraints.values())),
        coefficients=a,
        reduction=reduction,
        variables={"lift": lift},
        constraints=constraints,
    )


def shor_block_only_as_printed(instance: Instance) -> Model:
    """Minimise ``Q . A - 2 (R'z)'a + z'z + rest + l1'|a|``  s.t. ``[1 a_k'; a_k A_k]`` psd, ``A_k >= 0`` for each k.

    The relaxation as the paper prints it. Not a usable bound: only the diagonal blocks A_k are constrained while
    the objective runs over all of A, so with two groups whose columns are not orthogonal the off-diagonal blocks
    ``A_kl = -c Q_kl`` send it to minus infinity as c grows. Kept to show that; use :func:`shor`.
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
