"""Sign-constrained least squares on R'R less the multipliers of a Shor bound: a strong bound at the kernel's price.

Let N be symmetric and nonnegative, zero on the diagonal and outside groups. Every w whose groups share signs has
``w'N w >= 0``, hence ``||R w - z||^2 >= ||R w - z||^2 - w'N w``. The right side is convex if ``F = R'R - N`` is
positive semidefinite. Its minimum is then a bound, and at the best N it is the Shor bound. N of any groups may be left
out as long as F stays positive semidefinite: the kernel does so, with a proof, as groups are decided. Without any N the
bound is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_solve, cholesky

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern
from relaxations.active_set import COSTLY_RESIDUAL, ActiveSetBounder, ActiveSetRelaxation, GroupedProblem
from relaxations.clock import check, factorisation
from relaxations.interpreter import kernel
from relaxations.multipliers.cost import step_seconds
from relaxations.multipliers.flatness import most_curved
from relaxations.multipliers.shor import ShorProblem, shor_multipliers
from relaxations.price import Price
from relaxations.protocol import Bound, BoundStatus
from relaxations.safe.inverse import inverse_above, norm_above

if TYPE_CHECKING:
    from relaxations.kernel.tableau import KernelProblem, PairMultipliers

_UNIT = float(np.finfo(np.float64).eps) / 2
_CURVED = 1e-4  # least eigenvalue of R'R - N (columns have norm about 1) that dependent columns need
_REACH = 1.01  # of coefficients: the inverse is rounded
_STEPS = 12.0  # of the interior-point method, to the default accuracy
_NODE, _NODE_BY_COLUMNS = 1.2e-5, 5e-9  # seconds of a node; more per squared number of columns
LARGEST_GROUP = 40  # columns: dropping a group's multipliers takes as many pending updates of the tableau


@dataclass(frozen=True)
class ConvexifiedRelaxation(ActiveSetRelaxation):
    """Minimise ``||R v - z||^2 - theta v'N v``  s.t.  ``s_k v_m >= 0`` for decided groups; undecided ones are free.

    N are the multipliers of the root's Shor bound, computed once and dropped for groups that are decided: nearly the
    strength of "shor" at nearly the price of "active-set", and exact at leaves. The compiled search runs on it. Use it
    for large trees. Dependent columns are allowed if multipliers can make R'R - N positive definite; as many rows as
    columns mostly suffice. Where it does not apply (no such multipliers, nearly dependent columns, L1 penalty, groups
    of more than 40 columns) it is "active-set".

    Parameters
    ----------
    name : str
        The name in tables and counts.
    theta : float
        The share of N that is used, between 0 and 1. At the Shor bound itself R'R - N is nearly singular.
    accuracy : float
        How near to the Shor bound N is computed, as a share of the bound's rise.

    Examples
    --------
    >>> from formulations import SignPattern, random_instance
    >>> from relaxations import ActiveSetRelaxation, ConvexifiedRelaxation
    >>> instance, root = random_instance(M=12, group_size=3), SignPattern.free(4)
    >>> cheap, strong = (kind().prepare(instance).bound(root) for kind in (ActiveSetRelaxation, ConvexifiedRelaxation))
    >>> strong.value > cheap.value
    True
    """

    theta: float = 0.9
    accuracy: float = 0.03
    name: str = "convexified"

    def __post_init__(self) -> None:
        """Refuse shares that are none."""
        if not 0.0 <= self.theta < 1.0:
            raise InvalidInput(f"ConvexifiedRelaxation: theta={self.theta!r} must be at least 0 and less than 1")
        if not 0.0 < self.accuracy < 1.0:
            raise InvalidInput(f"ConvexifiedRelaxation: accuracy={self.accuracy!r} must lie between 0 and 1")

    def prepare(self, instance: Instance) -> ActiveSetBounder:
        """Compute the multipliers of the root, once."""
        return _ConvexifiedBounder(instance, self)

    def price(self, instance: Instance) -> Price:
        """Return the seconds of the multipliers and of a node of the compiled search."""
        columns = instance.reduction.n_columns
        return Price(_STEPS * step_seconds(instance.reduction), _NODE + _NODE_BY_COLUMNS * columns**2)

    def multipliers(self, grouped: GroupedProblem, root: SignPattern) -> Floats | None:
        """Return theta N for the box of ``root``, a row per column with the entries of its own group.

        None where no multipliers help or apply. Raises ``OutOfTime``.
        """
        reduction, sizes = grouped.reduction, np.diff(grouped.start)
        if not applies(grouped):
            return None
        check(factorisation(*grouped.R.shape))
        column_signs = reduction.column_signs(root)
        paired = (reduction.labels[:, None] == reduction.labels) & (column_signs == 0)
        np.fill_diagonal(paired, False)
        problem = ShorProblem(
            grouped.R.T @ grouped.R, grouped.R.T @ grouped.z, paired.astype(np.int8), column_signs, reduction.l1
        )
        base = _base(grouped, problem) if paired.any() else None
        found = None if base is None else shor_multipliers(problem, accuracy=self.accuracy, inner=base)
        if base is None or found is None:
            return None
        share = base + self.theta * (found.N - base)
        N = np.zeros((reduction.n_columns, int(sizes.max())))
        for first, last in _groups(grouped):
            block = share[first:last, first:last]
            N[first:last, : last - first] = np.maximum(0.5 * (block + block.T), 0.0)
            N[np.arange(first, last), np.arange(last - first)] = 0.0
        return N


def _base(grouped: GroupedProblem, problem: ShorProblem) -> Floats | None:
    """Return multipliers that leave curvature: none are needed for independent columns; None if no others do."""
    if grouped.passive.all():
        return np.zeros_like(problem.Q)
    N = most_curved(problem.Q, problem.products)[0]
    least = float(np.linalg.eigvalsh(problem.Q - N)[0])
    return N if least > _CURVED else None


class _ConvexifiedBounder(ActiveSetBounder):
    """The bounds of nodes in any order, on the multipliers of the root."""

    def __init__(self, instance: Instance, relaxation: ConvexifiedRelaxation) -> None:
        self._relaxation = relaxation
        super().__init__(instance.reduction)

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        """Return the bound of one node.

        Where a decided group has to keep its multipliers, or F is so flat that the value falls below what no column
        explains, the better one of this bound and that of least squares.
        """
        found = super().bound(signs, cutoff=cutoff)
        if not self.native or not self._problem.pairs.used or found.status is BoundStatus.CUTOFF:
            return found
        held = self._workspace.S[0, kernel.tableau.PAIRED] > 0
        decided = self.grouped.reduction.column_signs(signs) != 0
        if not (self._problem.dependent or (held & decided).any()):  # then the multipliers were chosen to be better
            return found
        exact = self._orthogonal.bound(signs, cutoff=cutoff)
        return max(found, exact, key=lambda bound: bound.value)

    def _kernel_problem(self) -> KernelProblem:
        plain = super()._kernel_problem()
        N = self._relaxation.multipliers(self.grouped, SignPattern.free(self.grouped.reduction.n_groups))
        return plain if N is None else convexified(self.grouped, plain, N) or plain


def applies(grouped: GroupedProblem) -> bool:
    """Return whether pair multipliers can serve a problem."""
    small = bool(np.diff(grouped.start).max(initial=0) <= LARGEST_GROUP)
    return small and grouped.reliable and not grouped.reduction.l1.any()


def convexified(grouped: GroupedProblem, plain: KernelProblem, N: Floats) -> KernelProblem | None:
    """Return the kernel's problem with ``F = R'R - N`` for R'R; None where F cannot be proved positive definite."""
    Q = grouped.R.T @ grouped.R
    F, margin = Q.copy(), 4.0 * (len(Q) + 2) * _UNIT * max(float(np.trace(Q)), 1.0)
    for first, last in _groups(grouped):
        F[first:last, first:last] -= N[first:last, : last - first]
    V = inverse_above(F, margin)
    pairs = None if V is None else _pair_multipliers(grouped, N, V)
    if V is None or pairs is None:
        return None
    tableau, c = kernel.tableau, grouped.R.T @ grouped.z
    T = cho_solve((cholesky(F, lower=True, check_finite=False), True), np.eye(len(F)), check_finite=False)
    T = -0.5 * (T + T.T)
    point = -T @ c
    state = plain.state.copy()
    state[tableau.DIAGONAL], state[tableau.POINT], state[tableau.PASSIVE] = np.diag(T), point, 1.0
    for first, last in _groups(grouped):
        state[tableau.PAIRED, first:last] = N[first:last].any()
    value = grouped.size - float(c @ point)
    coef_bounds = np.minimum(plain.coef_bounds, _REACH * (np.abs(point) + np.sqrt(np.diag(V) * max(c @ point, 0.0))))
    return plain._replace(
        T=T, state=state, value=value, coef_bounds=coef_bounds, slack=max(plain.slack, COSTLY_RESIDUAL * value),
        pairs=pairs, has_diagonal=False,
    )


def _groups(grouped: GroupedProblem) -> list[tuple[int, int]]:
    return [(int(first), int(last)) for first, last in zip(grouped.start[:-1], grouped.start[1:], strict=True)]


def _pair_multipliers(grouped: GroupedProblem, N: Floats, V: Floats) -> PairMultipliers | None:
    """Return N, its factors and ``Z = J + H'V H``, or None where rounding exceeds what Z allows for."""
    H, J, strength = np.zeros_like(N), np.ones(len(N)), 0.0
    half, Z = np.empty_like(V), np.empty_like(V)
    for first, last in _groups(grouped):
        values, vectors = np.linalg.eigh(N[first:last, : last - first])
        order = np.argsort(-values)
        H[first:last, : last - first] = vectors[:, order] * np.sqrt(np.abs(values[order]))
        J[first:last] = np.where(values[order] > 0, 1.0, -1.0)
        strength = max(strength, 1.01 * float(np.abs(values).max()))  # of H squared
        half[:, first:last] = V[:, first:last] @ H[first:last, : last - first]
    for first, last in _groups(grouped):
        Z[first:last] = H[first:last, : last - first].T @ half[first:last]
    allowance = kernel.pairs.ALLOWANCE
    if strength * 4.0 * len(V) * _UNIT * norm_above(V) > 0.5 * allowance:
        return None
    Z = 0.5 * (Z + Z.T)
    Z[np.diag_indices(len(Z))] += J + allowance
    pairs: PairMultipliers = kernel.tableau.PairMultipliers(True, np.ascontiguousarray(N), H, J, Z)
    return pairs
