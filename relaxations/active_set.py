"""The fast node bound: undecided groups unconstrained, decided signs kept, by the compiled pivoting kernel."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, qr, solve_triangular

from formulations.data import Floats
from formulations.instance import Instance
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from formulations.tolerances import DEPENDENT, ZERO_COEFFICIENT
from relaxations.clock import check, factorisation, stop_flag
from relaxations.diagonal import optimal_diagonal
from relaxations.interpreter import kernel
from relaxations.nearness import MAX_COLUMNS, nearest
from relaxations.protocol import Bound, BoundStatus
from relaxations.safe.least_squares import DEPENDENT_BOUND, SafeBound
from relaxations.sign_constrained import solve_signed

if TYPE_CHECKING:
    from relaxations.kernel.tableau import KernelProblem

_OUTSIDE_TABLEAU = 1e-9  # of a column's norm: nearer to the others than this, a column starts outside the tableau
_TIE = 1e-14  # of the target's norm: gradients (columns have norm about 1) closer than this are equal
_SOLVED_AGAIN = 1e-9  # of the value: a kernel bound further than this below its own estimate is solved again
COSTLY_RESIDUAL = 1e-11  # of the root's value: an optimality residual that costs more than this is refined
_PLAINLY_INDEPENDENT = 1e4  # no need to look for dependent columns below this condition
_MAX_CONDITION = 1e6  # the tableau is an inverse of Q = R'R: beyond this its square leaves too few digits


@dataclass(frozen=True, eq=False)
class GroupedProblem:
    """The kernel's view of a reduced problem: where each group starts, a triangle, and the root tableau.

    ``reliable`` says whether the tableau has digits to spare; if not, use orthogonal factorisation instead.
    ``distance`` is about how far the nearest column is from the others, rounding aside, as a share of its norm.
    """

    reduction: Reduction
    start: NDArray[np.int64]
    R: Floats
    z: Floats
    T: Floats
    passive: NDArray[np.bool_]
    point: Floats
    floor: float  # unconstrained optimum
    reliable: bool
    distance: float

    @property
    def size(self) -> float:
        """Squared norm of the target, in reduced units."""
        return float(self.z @ self.z) + self.reduction.rest

    @property
    def work(self) -> float:
        """Multiplications of one factorisation, or of as many pivots as there are columns."""
        return factorisation(*self.T.shape)

    def coef_bounds(self, upper: float) -> Floats:
        """Return a bound on each |v_j| over the solutions no worse than ``upper``."""
        if not self.passive.all():
            return np.full(len(self.point), DEPENDENT_BOUND * np.sqrt(self.size))
        reach = np.sqrt(np.maximum(-self.T.diagonal() * max(upper - self.floor, 0.0), 0.0))
        return np.asarray(np.abs(self.point) + reach)

    def kernel_problem(self, upper: float, diagonal: Floats | None = None) -> KernelProblem:
        """Return the kernel's data for a search among the solutions no worse than ``upper``."""
        tableau, none = kernel.tableau, np.zeros((0, 0))
        norm = float(np.sqrt(self.size))
        state = np.zeros((tableau.STATE_ROWS, len(self.point)))
        state[tableau.DIAGONAL] = self.T.diagonal()
        state[tableau.POINT] = self.point
        state[tableau.PASSIVE] = self.passive
        problem: KernelProblem = tableau.KernelProblem(
            self.R, self.z, self.reduction.rest, self.size, self.start, self.coef_bounds(upper), self.T, state,
            self.floor, ZERO_COEFFICIENT * norm, _TIE * norm, COSTLY_RESIDUAL * self.floor, not self.passive.all(),
            np.zeros(len(self.point)) if diagonal is None else diagonal, diagonal is not None,
            tableau.PairMultipliers(False, none, none, np.zeros(0), none), stop_flag(self.work),
        )
        return problem

    def diagonal(self) -> Floats | None:
        """Return a diagonal below R'R that strengthens the bound of undecided groups; None for dependent columns."""
        if not self.passive.all():
            return None
        return optimal_diagonal(self.R.T @ self.R, -self.T, self.point, self.reduction.labels)


def group_columns(reduction: Reduction) -> GroupedProblem:
    """Return the kernel's problem: a triangle, and the tableau of a maximal independent set of its columns.

    The tableau comes from a pivoted orthogonal factor, never from Q = R'R, whose condition is squared. Raises
    ``OutOfTime`` between its steps.
    """
    start = np.searchsorted(reduction.labels, np.arange(reduction.n_groups + 1))
    R, z = reduction.R, reduction.z
    check(factorisation(*R.shape))
    if np.tril(R, -1).any():  # fewer rows than columns
        Q, R = qr(R, mode="economic")
        z = Q.T @ z
        check(factorisation(*R.shape))
    T, passive, point, condition, distance = _tableau(R, z, reduction.rounding)
    if not passive.all() and len(passive) <= MAX_COLUMNS:
        distance = min(distance, nearest(R, reduction.rounding))
    residual = z - R @ point
    floor = float(residual @ residual) + reduction.rest
    return GroupedProblem(
        reduction, start.astype(np.int64), np.array(R, order="C"), np.array(z), T, passive, point, floor,
        reliable=condition <= _MAX_CONDITION, distance=distance,
    )


def _tableau(R: Floats, z: Floats, rounding: float
             ) -> tuple[Floats, NDArray[np.bool_], Floats, float, float]:
    """Return (T, passive, v, condition, distance) with a maximal independent set of columns passive.

    ``distance`` is about the smallest share that is left of a column beside the others, rounding aside.
    """
    M = R.shape[1]
    if not len(R):
        return np.zeros((M, M)), np.zeros(M, bool), np.zeros(M), 1.0, 1.0
    if R.shape[0] == M and np.abs(R.diagonal()).min(initial=1.0) > 1.0 / _PLAINLY_INDEPENDENT:
        inverse = lapack.dtrtri(R)[0]
        T = -inverse @ inverse.T
        condition = float(np.sqrt(-T.diagonal().min(initial=-1.0)))
        if condition < _PLAINLY_INDEPENDENT:
            return T, np.ones(M, bool), inverse @ z, condition, 1.0 / max(condition, 1.0)
    Q, F, pivots = qr(R, mode="economic", pivoting=True)
    left = np.abs(np.diag(F))
    rank = int((left > _OUTSIDE_TABLEAU).sum())
    P, A = pivots[:rank], pivots[rank:]
    check(factorisation(*R.shape))
    inverse = solve_triangular(F[:rank, :rank], np.eye(rank)) if rank else np.zeros((0, 0))
    T = np.zeros((M, M))
    T[np.ix_(P, P)] = -inverse @ inverse.T
    T[np.ix_(P, A)] = inverse @ F[:rank, rank:]
    T[np.ix_(A, P)] = T[np.ix_(P, A)].T
    passive = np.zeros(M, bool)
    passive[P] = True
    point = np.zeros(M)
    point[P] = inverse @ (Q.T @ z)[:rank]
    condition = float(np.sqrt(-np.diag(T)[P].min(initial=-1.0)))
    # A column that is near the others and yet independent of them has coefficients no tableau can carry.
    distance = min(1.0 / max(condition, 1.0), float(left.min(initial=1.0, where=left > rounding)))
    return T, passive, point, inf if (left[rank:] > DEPENDENT).any() else condition, distance


@dataclass(frozen=True)
class ActiveSetRelaxation:
    """Minimise ``||R v - z||^2 + penalty``  s.t.  ``s_k v_m >= 0`` for decided groups; undecided ones are free.

    The cheap bound of Esposito, Cerrato and Locatelli (2024), section 3.4, from the compiled kernel (or, for
    ill-conditioned data and the L1 penalty, from orthogonal factorisation). Use it first: it is exact at leaves, costs
    microseconds to milliseconds, and was the fastest nearly everywhere.

    Parameters
    ----------
    name : str
        The name in tables and counts.

    Examples
    --------
    >>> from formulations import SignPattern, random_instance
    >>> from relaxations import ActiveSetRelaxation
    >>> bound = ActiveSetRelaxation().prepare(random_instance(M=6, group_size=3)).bound(SignPattern.free(2))
    >>> bound.status, round(bound.value, 3)
    (<BoundStatus.OPTIMAL: 'optimal'>, 2.287)
    """

    name: str = "active-set"

    def prepare(self, instance: Instance) -> ActiveSetBounder:
        """Return the bounder of this instance."""
        return ActiveSetBounder(instance.reduction)


def quick_floor(grouped: GroupedProblem) -> float:
    """Return a safe bound (reduced units) on every solution, near that of least squares: no factorisation."""
    problem = grouped.kernel_problem(grouped.size)._replace(stop=np.zeros(1, np.uint8))
    free, workspace = np.zeros(grouped.reduction.n_groups, np.int8), kernel.node.make_workspace(problem, levels=1)
    safe = kernel.one_node.bound_node(problem, workspace, free, inf)[2]
    return float(safe) if safe > grouped.reduction.rest else grouped.reduction.rest


class OrthogonalBounder:
    """The bound by orthogonal factorisation: exact on every rank and condition, and for the L1 penalty."""

    def __init__(self, reduction: Reduction) -> None:
        self._reduction = reduction
        self._safe = SafeBound(reduction)
        self._upper = float(reduction.z @ reduction.z) + reduction.rest

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        """Return the bound of one node, solved in full whatever the cutoff."""
        began = time.perf_counter()
        red = self._reduction
        column_signs = red.column_signs(signs)
        v = solve_signed(red, column_signs)
        value = self._safe.value(v, column_signs, self._upper) * red.scale
        return Bound(value, red.objective(v), v, BoundStatus.OPTIMAL, time.perf_counter() - began)


class ActiveSetBounder:
    """The safe bound by the compiled kernel; by orthogonal factorisation where the kernel has too few digits.

    Solves each node from the root, so that nodes may come in any order; the search itself goes from parent to
    child inside the kernel. Not to be shared between threads.
    """

    def __init__(self, reduction: Reduction) -> None:
        self._reduction = reduction
        self._orthogonal = OrthogonalBounder(reduction)
        self._grouped = group_columns(reduction)
        self._native = self._grouped.reliable and not reduction.l1.any()
        if self._native:
            self._problem = self._kernel_problem()
            self._workspace = kernel.node.make_workspace(self._problem, levels=1)

    def _kernel_problem(self) -> KernelProblem:
        return self._grouped.kernel_problem(self._grouped.size)

    @property
    def grouped(self) -> GroupedProblem:
        """The kernel's view of the problem."""
        return self._grouped

    @property
    def native(self) -> bool:
        """Whether the kernel serves this problem: enough digits, and no L1 penalty."""
        return self._native

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        """Return the bound of one node, stopping early once its safe value reaches the cutoff."""
        if not self._native:
            return self._orthogonal.bound(signs, cutoff=cutoff)
        began = time.perf_counter()
        red = self._reduction
        status, value, safe = kernel.one_node.bound_node(
            self._problem._replace(stop=stop_flag(self._grouped.work)), self._workspace,
            np.array(signs.values, np.int8), cutoff / red.scale,
        )
        S = self._workspace.S[0]
        far = _SOLVED_AGAIN * value + COSTLY_RESIDUAL * self._grouped.size
        if status == kernel.pivoting.UNFINISHED or value - safe > far:
            return self._orthogonal.bound(signs, cutoff=cutoff)
        v = S[kernel.tableau.POINT] * S[kernel.tableau.PASSIVE]
        reached = BoundStatus.CUTOFF if status == kernel.pivoting.PRUNED else BoundStatus.OPTIMAL
        return Bound(safe * red.scale, max(value, safe) * red.scale, v, reached, time.perf_counter() - began)
