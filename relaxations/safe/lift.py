"""Safe lower bounds from approximate dual values of a lifted relaxation, with linear algebra alone.

Let N be symmetric with ``N_ij`` of the sign of ``x_i x_j`` where that is known, anything where ``x_i x_j = 0``, and
zero elsewhere: then ``x'N x >= 0`` for every feasible x. With ``S = A'A - N`` positive semidefinite, for any u,

    ||A x - z||^2  >=  x'S x - 2 z'A x + z'z  >=  z'z - u'S u - 2 (A'z - S u)'x.

The dual values of a solver propose N. Nothing else of the solver is used. N is clipped to its signs, and drawn towards
multipliers N0 for which ``A'A - N0`` is known to be positive definite until Cholesky proves S to be. Then u is the
exact solution of the sign-constrained least squares problem that S leaves, and the dual infeasibility of ``A'z - S u``
is charged at its worst over the solutions that can still improve.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, eigh, eigvalsh, qr, solve_triangular

from formulations.data import Floats
from formulations.tolerances import DEPENDENT, ROUNDING
from relaxations.safe.least_squares import DEPENDENT_BOUND, infeasible_part
from relaxations.sign_constrained import signed_least_squares

_UNIT = np.finfo(np.float64).eps / 2
_INTERIOR = 1e-8  # least eigenvalue from which A'A - N0 counts as positive definite
_GROWTH, _STEPS = 4.0, 30  # trial shares of N0 from 1e-14 to one

Rotated = tuple[Floats, Floats, Floats, Floats]


@dataclass(frozen=True, eq=False)
class LiftedProblem:
    """minimise ``||A x - z||^2 + rest + cost'|x|``  s.t. the known signs of entries and of products of x.

    Attributes
    ----------
    signs
        ``s_i x_i >= 0`` where s is not zero.
    products
        ``p_ij x_i x_j >= 0``; zero where nothing is known.
    opposed
        Pairs with ``x_i x_j = 0``.
    columns
        The place of each entry of x among those of the root, which may have more of them.
    """

    A: Floats
    z: Floats
    rest: float
    cost: Floats
    signs: NDArray[np.int8]
    products: NDArray[np.int8]
    opposed: NDArray[np.bool_]
    columns: NDArray[np.intp]

    @property
    def size(self) -> float:
        """The objective at x = 0: no optimum is larger."""
        return float(self.z @ self.z) + self.rest

    def multipliers(self, pairs: Any, opposed: Any) -> Floats:
        """Return N from the dual values of the pairs (i < j, row by row) with a sign and of the opposed ones."""
        N = np.zeros(self.products.shape)
        rows, columns = np.triu_indices(len(N), k=1)
        zero = self.opposed[rows, columns]
        known = ~zero & (self.products[rows, columns] != 0)
        for where, dual, sign in ((known, pairs, self.products), (zero, opposed, -np.ones_like(self.products))):
            i, j = rows[where], columns[where]
            N[i, j] = 0.0 if dual is None else sign[i, j] * np.asarray(dual, dtype=np.float64) / 2
        return N + N.T

    def admissible(self, N: Floats, flat: NDArray[np.bool_]) -> Floats:
        """Return N without its diagonal, its wrong signs, and its rows and columns on flat entries."""
        clipped = np.where(self.opposed, N, self.products * np.maximum(self.products * N, 0.0))
        clipped[flat[:, None] | flat] = 0.0
        np.fill_diagonal(clipped, 0.0)
        return np.asarray(clipped)


@dataclass(frozen=True, eq=False)
class Interior:
    """Multipliers N0 with ``A'A - N0`` positive definite once the ``flat`` entries of x are projected out.

    N0 vanishes on flat entries. ``coef_bounds`` bound the size of each x_i over the solutions no worse than zero: by N0
    itself, and on flat entries, which can grow without changing the fit, by ``DEPENDENT_BOUND``. ``least`` is
    below the least eigenvalue.
    """

    N: Floats
    flat: NDArray[np.bool_]
    coef_bounds: Floats
    least: float

    def restricted(self, columns: NDArray[np.intp]) -> Interior:
        """Return the same for fewer columns."""
        return Interior(self.N[np.ix_(columns, columns)], self.flat[columns], self.coef_bounds[columns], self.least)


@dataclass(frozen=True, eq=False)
class Proof:
    """What multipliers prove: ``f(x) >= value + (x - u)'S (x - u)`` for every feasible x that is no worse than zero.

    ``S = A'A - N`` once the flat entries are projected out.
    """

    value: float
    N: Floats
    u: Floats


def interior(problem: LiftedProblem, N: Floats, flat: NDArray[np.bool_]) -> Interior | None:
    """Return N as interior multipliers, or None where it is too near to the boundary to be proved so."""
    N, curved = problem.admissible(N, flat), ~flat
    if not curved.any() or not np.isfinite(N).all():
        return None
    _, below, _, z = _rotated(problem, flat)
    S = below[:, curved].T @ below[:, curved] - N[np.ix_(curved, curved)]
    least = float(eigvalsh(S, subset_by_index=[0, 0])[0]) / 2
    if least < _INTERIOR or not _positive_definite(S, least):
        return None
    inverse = cho_solve((cholesky(S, lower=True), True), np.eye(len(S)))
    slope = below[:, curved].T @ z
    centre = inverse @ slope
    excess = max(problem.size - (float(z @ z) - float(slope @ centre) + problem.rest), 0.0)
    coef_bounds = np.full(len(flat), DEPENDENT_BOUND * float(np.linalg.norm(problem.z)))
    coef_bounds[curved] = 1.01 * (np.abs(centre) + np.sqrt(np.diag(inverse) * excess))  # 1.01: the inverse is rounded
    return Interior(N, flat, coef_bounds, least)


def projected_gram(problem: LiftedProblem, flat: NDArray[np.bool_]) -> Floats:
    """Return the Gram matrix of the columns that are not flat, less what the flat ones explain."""
    below = _rotated(problem, flat)[1][:, ~flat]
    return np.asarray(below.T @ below)


def curvature(problem: LiftedProblem, proof: Proof, flat: NDArray[np.bool_]) -> tuple[Floats, float]:
    """Return (S of a proof on the entries that are not flat, what rounding can do to its least eigenvalue)."""
    C = projected_gram(problem, flat)
    return C - proof.N[np.ix_(~flat, ~flat)], margin(C)


def projected_target(problem: LiftedProblem, flat: NDArray[np.bool_]) -> tuple[Floats, float]:
    """Return (the products of those columns with the target, the objective at x = 0), both without the flat ones."""
    _, below, _, z = _rotated(problem, flat)
    return np.asarray(below[:, ~flat].T @ z), float(z @ z) + problem.rest


def lift_bound(problem: LiftedProblem, N: Floats, inner: Interior, start: Floats | None = None) -> Proof:
    """Prove a lower bound of the lifted problem from any N at all; ``start`` guesses the support of its solution.

    The bound is concave in the share of N0. The least share that can be proved is not the best: an error of N along
    a direction in which S nearly vanishes is divided by what curvature S has there.
    """
    best = Proof(-inf, inner.N, np.zeros(len(N)))
    if not np.isfinite(N).all():
        return best
    rotated = _rotated(problem, inner.flat)
    N = problem.admissible(N, inner.flat)
    share = _least_share(rotated[1], N, inner)
    for _ in range(_STEPS):
        proof = _bound_at(problem, (1.0 - share) * N + share * inner.N, inner, rotated, start)
        worse = proof.value <= best.value
        if share >= 1.0 or (worse and best.value > -inf):
            break
        best, share = best if worse else proof, min(_GROWTH * share, 1.0)
    return proof if proof.value > best.value else best


def multiplier_bound(problem: LiftedProblem, N: Floats, slopes: Floats, inner: Interior) -> Proof:
    """Prove the bound of the given N and slopes; its value is -inf unless ``A'A - N`` is proved psd.

    No more than one factorisation and its solution u; ``slopes`` are what is added to ``A'z``, so that u has all the
    signs that are worth having.
    """
    nothing = Proof(-inf, inner.N, np.zeros(len(N)))
    if inner.flat.any() or not (np.isfinite(N).all() and np.isfinite(slopes).all()):
        return nothing
    N = problem.admissible(N, inner.flat)
    C = problem.A.T @ problem.A
    S = C - N
    if not _positive_definite(S, margin(C)):
        return nothing
    u = cho_solve((cholesky(S, lower=True, check_finite=False), True), problem.A.T @ problem.z + slopes)
    return Proof(_dual_value(problem, N, u, inner.coef_bounds), N, u)


def _bound_at(problem: LiftedProblem, N: Floats, inner: Interior, rotated: Rotated, start: Floats | None) -> Proof:
    """Prove the bound of given multipliers: exact, and safe whatever they are; -inf unless S is proved psd."""
    top, below, z_top, z_below = rotated
    flat, curved = inner.flat, ~inner.flat
    C = below[:, curved].T @ below[:, curved]
    S = C - N[np.ix_(curved, curved)]
    if not _positive_definite(S, margin(C)):
        return Proof(-inf, N, np.zeros(len(flat)))
    L = cholesky(S, lower=True, check_finite=False)
    factor = np.zeros((len(top) + len(L), len(flat)))
    factor[: len(top)] = top
    factor[len(top) :, curved] = L.T
    target = np.append(z_top, solve_triangular(L, below[:, curved].T @ z_below, lower=True, check_finite=False))
    u = signed_least_squares(factor, target, problem.cost, problem.signs, start)
    # What rounding left of the flat columns below their own rows meets the curved ones.
    reach = inner.coef_bounds + np.abs(u)
    leak = 2.0 * float(reach[flat] @ np.abs(below[:, flat].T @ below[:, curved]) @ reach[curved])
    return Proof(_dual_value(problem, N, u, inner.coef_bounds) - leak, N, u)


def _dual_value(problem: LiftedProblem, N: Floats, u: Floats, coef_bounds: Floats) -> float:
    """Return ``z'z + rest - u'S u`` less the price of the infeasible part of ``A'z - S u``, in extended precision."""
    A, x = problem.A.astype(np.longdouble), u.astype(np.longdouble)
    r, pull = problem.z - A @ x, N.astype(np.longdouble) @ x
    lacking = np.abs(infeasible_part(A.T @ r + pull, problem.signs, problem.cost)).astype(np.float64)
    value = float(r @ (2 * problem.z - r) + x @ pull) + problem.rest
    return value - 2.0 * float(lacking @ coef_bounds) - ROUNDING * problem.size


def _least_share(below: Floats, N: Floats, inner: Interior) -> float:
    """Return the share of N0, up to rounding, from which ``A'A - (1 - share) N - share N0`` is positive definite."""
    block, columns = np.ix_(~inner.flat, ~inner.flat), below[:, ~inner.flat]
    C = columns.T @ columns
    lowest = float(eigh(C - N[block], C - inner.N[block], eigvals_only=True, subset_by_index=[0, 0])[0])
    return (-lowest / (1.0 - lowest) if lowest < 0 else 0.0) + 2.0 * margin(C) / inner.least


def margin(C: Floats) -> float:
    """Return what rounding can do to the least eigenvalue of ``C - N``.

    A Cholesky factorisation of order n that ends is exact for a matrix within ``(n + 1) unit trace`` in norm; what
    forming C from the columns rounds away is of the same kind.
    """
    return 4.0 * (len(C) + 2) * float(_UNIT) * max(float(np.trace(C)), 1.0)


def _positive_definite(S: Floats, margin: float) -> bool:
    """Return whether S less the margin has a Cholesky factor."""
    try:
        cholesky(S - margin * np.eye(len(S)), lower=True, check_finite=False)
    except LinAlgError:
        return False
    return True


def _rotated(problem: LiftedProblem, flat: NDArray[np.bool_]) -> Rotated:
    """Return (top, below, z_top, z_below): A and z turned so that the flat columns end in the top rows."""
    A, z = problem.A, problem.z
    if not flat.any() or not len(A):
        return A[:0], A, z[:0], z
    Q, T, _ = qr(A[:, flat], pivoting=True)
    rank = int((np.abs(np.diag(T)) > DEPENDENT).sum())
    A, z = Q.T @ A, Q.T @ z
    return A[:rank], A[rank:], z[:rank], z[rank:]
