"""Sign-constrained least squares by orthogonal factorisation: slow, and right on every rank and condition.

Solves, for signs s in {-1, 0, +1} per column of the reduced problem,

    minimise  ||R v - z||^2 + sum_j l1_j |v_j|    s.t.  s_j v_j >= 0  where s_j is decided.

It settles what the pivoting kernel leaves in doubt, re-solves every final answer, and carries the L1 penalty.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, qr, solve_triangular

from formulations.data import Floats
from formulations.rows.reduction import Reduction
from formulations.tolerances import DEPENDENT
from relaxations.clock import check, check_ahead, factorisation

_LARGE = 1e3  # of the target's norm: a coefficient (columns have norm about 1) that costs its row three digits
_BLOCK = 32  # columns that LAPACK factors at a time
_GRADIENT = 1e-14  # of the residual's norm: a descent direction below this is rounding


def solve_signed(reduction: Reduction, column_signs: NDArray[np.int8], start: Floats | None = None) -> Floats:
    """Return the optimal v under the column signs; zeros are exact and no sign is violated.

    ``start`` (any v) suggests the support to begin with; it changes the time, not the answer's value. Raises
    ``OutOfTime`` between its factorisations.
    """
    return signed_least_squares(reduction.R, reduction.z, reduction.l1, column_signs, start)


def signed_least_squares(R: Floats, z: Floats, l1: Floats, signs: NDArray[np.int8], start: Floats | None = None
                         ) -> Floats:
    """Return the same optimum for a matrix, target and L1 weights that come from no reduction."""
    source, orientation, constrained = _oriented_columns(l1, signs)
    A, cost = R[:, source] * orientation, l1[source]
    if start is not None:
        guess = start[source] * orientation > 0
    else:
        guess = quick_support(A, z) if constrained.all() and not cost.any() else np.zeros(A.shape[1], bool)
    x = _nonnegative_least_squares(A, z, cost, constrained, guess)
    if len(source) == R.shape[1]:
        return orientation * x + 0.0  # no -0.0
    v = np.zeros(R.shape[1])
    np.add.at(v, source, orientation * x)
    return v


def _oriented_columns(l1: Floats, signs: NDArray[np.int8]) -> tuple[NDArray[np.intp], Floats, NDArray[np.bool_]]:
    """Return columns turned so that decided ones are >= 0; an undecided column with an L1 cost appears both ways."""
    everything, turned = np.arange(len(l1)), np.where(signs < 0, -1.0, 1.0)
    if not l1.any():
        return everything, turned, signs != 0
    twice = everything[(signs == 0) & (l1 > 0)]
    source = np.concatenate([everything, twice])
    orientation = np.concatenate([turned, -np.ones(len(twice))])
    return source, orientation, (signs[source] != 0) | (l1[source] > 0)


def quick_support(A: Floats, z: Floats) -> NDArray[np.bool_]:
    """Return the support that SciPy's compiled solver proposes; on dependent columns it may be wrong, or none."""
    if not A.size or not A.any():
        return np.zeros(A.shape[1], bool)
    from scipy.optimize import nnls  # a slow import that most fits do without

    check_ahead(factorisation(*A.shape))  # in one piece, and no other thread runs
    try:
        return np.asarray(nnls(A, z)[0] > 0)
    except RuntimeError:  # too many iterations
        return np.zeros(A.shape[1], bool)


def _nonnegative_least_squares(A: Floats, z: Floats, cost: Floats, constrained: NDArray[np.bool_],
                               guess: NDArray[np.bool_]) -> Floats:
    """Return argmin ||A x - z||^2 + cost'x with x >= 0 on the constrained columns (active set, primal feasible)."""
    norms = np.sqrt(np.einsum("ij,ij->j", A, A))
    free = _independent(A, np.flatnonzero(~constrained), norms)
    guessed = [int(j) for j in np.flatnonzero(guess & constrained) if norms[j] > 0]
    passive, x = _feasible_start(A, z, cost, constrained, free + guessed)
    refused: set[int] = set()
    for _ in range(30 * A.shape[1] + 30):
        residual = _residual(A, z, cost, passive, x)
        descent = A.T @ residual - cost / 2
        threshold = _GRADIENT * (np.linalg.norm(residual) + 1e-3 * np.linalg.norm(z)) * norms * np.sqrt(len(z) + 1)
        eligible = constrained & (descent > threshold)
        eligible[passive] = False
        if refused:
            eligible[list(refused)] = False
        if not eligible.any():
            return x
        slope = np.divide(descent, norms, out=np.full_like(norms, -np.inf), where=eligible)
        entering = int(np.argmax(slope))
        moved = _enter(A, z, cost, constrained, passive, x, entering)
        if moved is None:
            refused.add(entering)
            continue
        refused.clear()
        passive, x = moved
    return x


def _residual(A: Floats, z: Floats, cost: Floats, passive: list[int], x: Floats) -> Floats:
    """Return z - A x for an x that is stationary on its passive columns.

    Large coefficients round their products with the rows by more than the gradient: then it is taken as what the
    columns leave of z, which does not pass through the coefficients.
    """
    if np.abs(x).max(initial=0.0) < _LARGE * np.linalg.norm(z) or not passive:
        return z - A @ x
    Q, T = qr(A[:, passive], mode="economic", check_finite=False)
    residual = z - Q @ (Q.T @ z)
    residual = residual - Q @ (Q.T @ residual)
    if cost.any():
        residual = residual + Q @ solve_triangular(T, cost[passive] / 2, trans="T", check_finite=False)
    return np.asarray(residual)


def _enter(A: Floats, z: Floats, cost: Floats, constrained: NDArray[np.bool_], passive: list[int], x: Floats,
           entering: int) -> tuple[list[int], Floats] | None:
    """Return (passive, x) after letting one column in, or None if it depends on the passive ones."""
    trial = [*passive, entering]
    target = _stationary(A, z, cost, trial)
    if target is None:
        return _exchange(A, z, cost, constrained, passive, x.copy(), entering)
    if target[-1] <= 0:
        return None
    return _walk_to_feasible(A, z, cost, constrained, trial, x.copy(), target)


def _exchange(A: Floats, z: Floats, cost: Floats, constrained: NDArray[np.bool_], passive: list[int], x: Floats,
              entering: int) -> tuple[list[int], Floats] | None:
    """Trade a passive column for a dependent one that fits as well and costs less (L1), or return None."""
    if not passive:
        return None
    move = np.linalg.lstsq(A[:, passive], A[:, entering], rcond=None)[0]
    blocking = np.flatnonzero(constrained[passive] & (move > 1e-12))
    saving = cost[passive] @ move - cost[entering]
    if saving <= 1e-13 * (cost[entering] + np.abs(cost[passive] * move).sum()) or not len(blocking):
        return None
    steps = x[passive][blocking] / move[blocking]
    leaving = passive[blocking[int(np.argmin(steps))]]
    x[passive] -= steps.min() * move
    x[entering] = steps.min()
    x[leaving] = 0.0
    x = np.where(constrained, np.maximum(x, 0.0), x)
    passive = [j for j in passive if j != leaving] + [entering]
    return _walk_to_feasible(A, z, cost, constrained, passive, x, _stationary(A, z, cost, passive))


def _walk_to_feasible(A: Floats, z: Floats, cost: Floats, constrained: NDArray[np.bool_], passive: list[int],
                      x: Floats, target: Floats | None) -> tuple[list[int], Floats]:
    """Move from the feasible x towards the stationary point of the passive columns, dropping those that reach zero."""
    while target is not None:
        current = x[passive]
        bound = constrained[passive] & (target <= 0)
        if not bound.any():
            x[:] = 0.0
            x[passive] = target
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(bound, current / (current - target), np.inf)
        step = float(np.nanmin(np.where(bound & (current <= 0), 0.0, ratios)))
        moved = current + min(step, 1.0) * (target - current)
        leaving = bound & ((moved <= 0) | (ratios <= step))
        moved[leaving] = 0.0
        x[:] = 0.0
        x[passive] = moved
        passive = [j for j, leaves in zip(passive, leaving, strict=True) if not leaves]
        target = _stationary(A, z, cost, passive)
    return passive, x


def _feasible_start(A: Floats, z: Floats, cost: Floats, constrained: NDArray[np.bool_], passive: list[int]
                    ) -> tuple[list[int], Floats]:
    """Return a passive set whose stationary point is feasible, dropping guessed columns of the wrong sign."""
    x = np.zeros(A.shape[1])
    while True:
        target = _stationary(A, z, cost, passive)
        if target is None:  # the guess holds dependent columns: do without it
            passive = [j for j in passive if not constrained[j]]
            continue
        wrong = constrained[passive] & (target <= 0)
        if not wrong.any():
            x[passive] = target
            return passive, x
        passive = [j for j, drop in zip(passive, wrong, strict=True) if not drop]


def _stationary(A: Floats, z: Floats, cost: Floats, passive: list[int]) -> Floats | None:
    """Return the unconstrained minimiser over the passive columns, or None if they are dependent."""
    n = len(passive)
    if n == 0:
        return np.zeros(0)
    if n > A.shape[0]:
        return None
    check(factorisation(A.shape[0], n))
    columns = A[:, passive]
    # LAPACK itself, as SciPy's wrappers take longer than a small factorisation; below T's diagonal are reflectors.
    factor = lapack.dgeqrf(np.column_stack([columns, z]), lwork=_BLOCK * (n + 1))[0]
    T, right = np.asfortranarray(factor[:n, :n]), factor[:n, n]
    if (np.abs(T.diagonal()) <= DEPENDENT * np.sqrt(np.einsum("ij,ij->j", columns, columns))).any():
        return None
    price = cost[passive] / 2
    if cost.any():
        right = right - lapack.dtrtrs(T, price, trans=1)[0]
    solution = lapack.dtrtrs(T, right)[0]
    # One step of refinement: the gradient at the solution shows what the factorisation has rounded away.
    slope = columns.T @ (z - columns @ solution) - price
    return np.asarray(solution + lapack.dtrtrs(T, lapack.dtrtrs(T, slope, trans=1)[0])[0])


def _independent(A: Floats, columns: NDArray[np.intp], norms: Floats) -> list[int]:
    """Return a maximal independent subset of the columns."""
    columns = columns[norms[columns] > 0]
    if not len(columns):
        return []
    check(factorisation(A.shape[0], len(columns)))
    _, T, pivots = qr(A[:, columns] / norms[columns], mode="economic", pivoting=True, check_finite=False)
    rank = int((np.abs(np.diag(T)) > DEPENDENT).sum())
    return [int(j) for j in np.sort(columns[pivots[:rank]])]
