"""The perspective form: part of the curvature of each undecided group is convexified over its two orthants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, eigh

from formulations.builders.form import Form
from formulations.builders.model import Model
from formulations.builders.quadratic import penalties
from formulations.builders.setting import PENALTIES, SIGNS, Setting
from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern

_TOLERANCE = 1e-9  # of the largest eigenvalue of Q: how negative an eigenvalue may be and still count as zero


FORM = Form(
    name="perspective form",
    builder="perspective",
    formula=r"""\begin{aligned} \min_{w, u, n}\; & w^\top (Q - D) w - 2 c^\top w + y^\top y + \textstyle\sum_k
        \big( \lVert D_k^{1/2} u_k \rVert + \lVert D_k^{1/2} n_k \rVert \big)^2 \\ \text{s.t. } & w = u -
        n, \quad u, n \ge 0 \end{aligned}""",
    variables="w and its two sides u, n",
    cone="second-order cones",
    size="3M variables, 2K cones",
    proves="a lower bound; the optimum once every group has a sign",
    solvers="CLARABEL, SCS, Gurobi",
    use="a strong bound at a node, where N > M",
    strategy='`BranchAndBound(relaxation="perspective", backend="cvxpy")`',
)


def perspective(
    instance: Instance,
    D: Any,
    signs: SignPattern | Iterable[int] | None = None,
    *,
    strengthen: bool = False,
    parametric: bool = True,
) -> Model:
    """Minimise ``v'(Q - D)v - 2 (R'z)'v + z'z + rest + l1'|v| + sum_k h_k(v_k)``,  D = blkdiag(D_k), Q - D psd.

    ``h_k(v_k)`` is ``v_k'D_k v_k`` for a decided group, whose sign is imposed, and for an undecided one

        ``min (||D_k^(1/2) u|| + ||D_k^(1/2) n||)^2   s.t.  v_k = u - n,  u >= 0,  n >= 0``,

    the convex hull of that square over the union of the two orthants. With ``strengthen`` the penalty
    ``eta (sum_m w_m)^2`` of a group joins this square and leaves Q: if D_k = 0, it becomes ``eta (sum_m |w_m|)^2``.

    One D serves every node: bounds never drop as signs are fixed and are exact once all are. Signs, eta and ridge are
    parameters, for ``model.fix`` and ``model.set``; the latter refuses penalties under which D is no longer below Q.
    With ``strengthen``, an L2 penalty shapes the cones and keeps the value it was built with. The form goes beyond
    Esposito, Cerrato and Locatelli (2024): it convexifies their equation (8) group by group.

    Parameters
    ----------
    instance : Instance
        The data.
    D : sequence of blocks, or an (n, n) block-diagonal array
        In the reduced coordinates: one block per group of ``instance.reduction``, the columns of a group in
        increasing order. D and Q - D must be psd, with ``Q = R'R`` of ``instance.reduction``, or of its
        ``data_part`` if ``strengthen``.
    signs : SignPattern, optional
        The node to start from; the root if left out.
    strengthen : bool
        Convexify the L2 penalty of each group together with its part of D. No effect without an L2 penalty.
    parametric : bool
        Whether the penalties stay parameters, or are numbers among the data.

    Returns
    -------
    Model
        A second-order cone program.

    Raises
    ------
    InvalidInput
        If D or Q - D is not positive semidefinite, or D has the wrong blocks.

    Notes
    -----
    Eta and ridge enter through the parameter "root", a square root of Q - D.

    Examples
    --------
    >>> import numpy as np
    >>> from formulations import Instance, perspective, quadratic
    >>> instance = Instance([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, -1.0, 0.5], ["a", "a"], fit_intercept=False)
    >>> Q = instance.reduction.R.T @ instance.reduction.R
    >>> D = 0.99 * np.linalg.eigvalsh(Q)[0] * np.eye(2)
    >>> round(quadratic(instance).solve("CLARABEL"), 3), round(perspective(instance, D).solve("CLARABEL"), 3)
    (0.444, 1.0)
    """
    reduction = instance.reduction
    parametric = parametric and not (strengthen and reduction.strengths.kind == "l2")
    part = reduction.data_part if strengthen else reduction
    taken = checked_blocks(reduction, D, part.R.T @ part.R)
    blocks = taken if part is reduction else taken + reduction.penalty_rows.T @ reduction.penalty_rows
    split = np.flatnonzero(blocks.any(axis=0))
    whole = np.setdiff1d(np.arange(reduction.n_columns), split)
    v = cp.Variable(reduction.n_columns, name="v")
    sides = [cp.Variable(len(split), name=name, nonneg=True) for name in ("positive", "negative") if len(split)]
    names = (["signs", "slack"] if len(whole) else []) + [side.name() for side in sides]
    parameters = {name: cp.Parameter(reduction.n_columns, name=name) for name in names}
    constraints = {}
    if sides:
        # A side that the signs forbid is left out of v; its own cost then brings it to zero. Setting it to zero by a
        # constraint would leave interior-point solvers no interior.
        up, down = (cp.multiply(parameters[side.name()][split], side) for side in sides)
        constraints["split"] = v[split] == up - down
    if len(whole):
        s, slack = parameters["signs"][whole], parameters["slack"][whole]
        constraints["signs"] = cp.multiply(s, v[whole]) + slack >= 0
    magnitude = _magnitude(v, split, sides)
    if parametric:
        parameters["root"] = cp.Parameter(taken.shape, name="root")
    if parametric and reduction.strengths.kind == "l1":
        parameters["l1"] = cp.Parameter(len(taken), name="l1", nonneg=True)
    cost = parameters["l1"] @ magnitude if "l1" in parameters else penalties(reduction, magnitude)
    root = parameters["root"] if parametric else _root(part.R.T @ part.R - taken)
    hulls = _hulls(blocks[np.ix_(split, split)], reduction.labels[split], sides)
    return Model(
        name=FORM.name,
        problem=cp.Problem(cp.Minimize(_remainder(part, root, v) + hulls + cost), list(constraints.values())),
        coefficients=v,
        reduction=reduction,
        variables={"v": v} | {side.name(): side for side in sides},
        parameters=parameters,
        constraints=constraints,
        form=FORM,
        setting=Setting.of(reduction, signs),
        own_values={"root": lambda at: _square_root_at(at, taken)},
        changes=SIGNS | PENALTIES if parametric else SIGNS,
    )


def checked_blocks(reduction: Reduction, D: Any, Q: Floats) -> Floats:
    """Return D as one (n, n) matrix once it is proved block-diagonal, psd and below Q."""
    matrix = _assembled(reduction, D)
    if not np.isfinite(matrix).all():
        raise InvalidInput("D has a value that is not finite")
    scale = float(np.linalg.norm(Q, 2)) if Q.size else 0.0
    if (np.abs(matrix - matrix.T) > _TOLERANCE * scale).any():
        raise InvalidInput("D is not symmetric")
    outside = reduction.labels[:, None] != reduction.labels
    if (np.abs(matrix[outside]) > _TOLERANCE * scale).any():
        raise InvalidInput("D has an entry between two groups: it must be block-diagonal")
    matrix = np.where(outside, 0.0, (matrix + matrix.T) / 2)
    for name, candidate in {"D": matrix, "Q - D": Q - matrix}.items():
        lowest = float(np.linalg.eigvalsh(candidate).min(initial=0.0))
        if lowest < -_TOLERANCE * scale:
            raise InvalidInput(f"{name} has the negative eigenvalue {lowest:.3g}: it must be positive semidefinite")
    return matrix


def _assembled(reduction: Reduction, D: Any) -> Floats:
    """Return the matrix of a list of blocks, rows and columns in the order of R; a matrix is returned as it is."""
    n, K = reduction.n_columns, reduction.n_groups
    if not isinstance(D, Sequence):
        matrix = np.asarray(D, dtype=np.float64)
        if matrix.shape != (n, n):
            raise InvalidInput(f"D has shape {matrix.shape}: it needs {n} rows and columns, or one block per group")
        return matrix
    wanted = [(int(m), int(m)) for m in np.bincount(reduction.labels, minlength=K)]
    given = [np.shape(block) for block in D]
    if given != wanted:
        raise InvalidInput(f"D has blocks of shapes {given}: the groups need {wanted}")
    order = np.argsort(reduction.labels, kind="stable")
    matrix = np.zeros((n, n))
    matrix[np.ix_(order, order)] = block_diag(*D)
    return matrix


def _remainder(part: Reduction, root: Any, v: cp.Variable) -> cp.Expression:
    """Return ``||R v - z||^2 + rest - v'D v``, given a square root of ``R'R - D``."""
    linear, constant = -2.0 * (part.z @ part.R), float(part.z @ part.z + part.rest)
    error: cp.Expression = cp.sum_squares(root @ v) + linear @ v + constant
    return error


def _square_root_at(at: Setting, taken: Floats) -> Floats:
    """Return a square root of ``Q - D`` under other penalties, once D is proved to be below that Q."""
    rows = np.vstack([at.reduction.bare_part.R, at.penalty_rows])
    Q = rows.T @ rows
    root = _root(Q - checked_blocks(at.reduction, taken, Q))
    return np.vstack([root, np.zeros((len(Q) - len(root), len(Q)))])


def _hulls(blocks: Floats, labels: NDArray[np.intp], sides: list[cp.Variable]) -> Any:
    """Return the sum over the split groups of ``(||D_k^(1/2) u_k|| + ||D_k^(1/2) n_k||)^2``."""
    if not sides:
        return 0.0
    # One norm over all groups, their roots padded with zero rows to one height: CVXPY's time grows with its atoms.
    groups = np.unique(labels)
    height = int(np.bincount(labels).max())
    roots = np.zeros((len(groups), height, len(labels)))
    for padded, k in zip(roots, groups, strict=True):
        group = np.flatnonzero(labels == k)
        root = _root(blocks[np.ix_(group, group)])
        padded[: len(root), group] = root
    stacked = [cp.reshape(roots.reshape(-1, len(labels)) @ side, (height, len(groups)), order="F") for side in sides]
    return cp.sum_squares(sum(cp.norm(lengths, 2, axis=0) for lengths in stacked))


def _magnitude(v: cp.Variable, split: NDArray[np.intp], sides: list[cp.Variable]) -> cp.Expression:
    """Return an expression not below |v|: the sum of both sides where v is split."""
    whole, identity = np.setdiff1d(np.arange(v.size), split), np.eye(v.size)
    terms = [identity[:, split] @ side for side in sides]
    terms += [identity[:, whole] @ cp.abs(v[whole])] if len(whole) else []
    total: cp.Expression = sum(terms[1:], terms[0])
    return total


def _root(matrix: Floats) -> Floats:
    """Return F with F'F the psd part of a symmetric matrix, without rows for its null space, but at least one row."""
    values, vectors = eigh(matrix)
    keep = values > 0
    keep[-1:] = True
    return np.asarray(np.sqrt(np.maximum(values[keep], 0.0))[:, None] * vectors[:, keep].T)
