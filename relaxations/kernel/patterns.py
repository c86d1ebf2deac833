"""Compiled enumeration: every completion of a sign pattern as one walk that reuses each parent's factorisation.

An undecided group is out of the model here, and lets its columns in as its sign is decided: a node is the optimum of
the groups decided so far. Its passive columns are few and never those of plain least squares, which may be nearly
collinear or fit exactly.

Nothing is pruned, so that pivots need no ratio test: a column of the wrong sign or the wrong gradient changes sides,
the worst one first (``change_sides``). Where that does not settle soon, or columns are dependent, the search's dual
steps do (``let_in``): on the tableau turned around, with -T for T, the columns held at zero for the passive ones and
the opposite signs, a gradient of the wrong sign is what a coefficient of the wrong sign was. All states below are
turned around: "passive" means held at zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compilation import compiled, integer, integers, matrix, nothing, real, signs_t, tuple_of, vector
from .node import (
    SCRATCH,
    UNSOLVED,
    Workspace,
    load_pending,
    offer,
    own_tableau,
    settle,
    workspace_t,
)
from .pivoting import SOLVED, dual_steps, position
from .safe_bound import _MARGIN, ERROR, FITTED, GRADIENT
from .tableau import (
    ACTIVE_SIGN,
    DIAGONAL,
    MAX_PENDING,
    MIN_PIVOT,
    PASSIVE,
    PASSIVE_SIGN,
    POINT,
    KernelProblem,
    copy_state,
    decide,
    pending_row,
    pivot,
    problem_t,
    trial_t,
)

_ROUNDS = 50  # tableaus in a row before a pattern is left as it is, for its safe bound to judge
_OWN_TABLEAU = 3  # levels between the nodes that get a tableau of their own at the latest


@compiled(integer, matrix, real, vector, finite=True)
def worst_side(S: Any, tolerance: float, scratch: Any) -> int:
    """Return the column whose change of sides alone would change the error most, or -1 if each is where it belongs."""
    d, g, q, h = S[DIAGONAL], S[POINT], S[PASSIVE_SIGN], S[ACTIVE_SIGN]
    for a in range(d.size):
        wrong = max((h[a] - q[a]) * g[a] - tolerance, 0.0)
        scratch[a] = wrong * wrong / max(abs(d[a]), MIN_PIVOT)
    best = 0.0
    for a in range(d.size):
        best = max(best, scratch[a])
    return position(scratch, best) if best > 0.0 else -1


@compiled(integer, problem_t, *trial_t)
def change_sides(problem: KernelProblem, T: Any, U: Any, C: Any, n: int, S: Any) -> int:
    """Pivot until every column is where its sign and gradient belong, or the pending pivots are used up; return n."""
    while n < MAX_PENDING:
        i = worst_side(S, problem.tolerance, U[MAX_PENDING + 2])
        if i < 0:
            break
        pending_row(T, i, U, C, n, U[n])
        pivot(i, 1.0 - 2.0 * S[PASSIVE, i], U, C, n, S, 0.0)
        n += 1
    return n


@compiled(nothing, problem_t, matrix, matrix)
def refresh(problem: KernelProblem, T: Any, S: Any) -> None:
    """Take coefficients and gradients from a tableau: dual steps cut short leave neither."""
    start = problem.state[POINT]
    for a in range(start.size):
        S[POINT, a] = start[a] * S[PASSIVE, a]
    for b in range(start.size):
        if S[PASSIVE, b] == 0.0:
            for a in range(start.size):
                S[POINT, a] += T[b, a] * start[b]


@compiled(nothing, problem_t, workspace_t, integer, glue=True)
def let_in(problem: KernelProblem, ws: Workspace, level: int) -> None:
    """Solve a node that has a tableau of its own, and no coefficient of the wrong sign, by dual steps."""
    for _ in range(_ROUNDS):
        refresh(problem, ws.T[level], ws.S[level])
        status, n, _ = dual_steps(problem, ws.T[level], ws.U[SCRATCH], ws.C[SCRATCH], 0, ws.S[level], 0.0, np.inf)
        own_tableau(ws, level, level, SCRATCH, n)
        if status == SOLVED or problem.stop[0] != 0:
            break


@compiled(integer, problem_t, workspace_t, integer, integer, real, glue=True)
def solve_child(problem: KernelProblem, ws: Workspace, level: int, k: int, sign: float) -> int:
    """Let group k in with its sign; return the pending pivots in the trial, or UNSOLVED if they had no room.

    The child has then got a tableau of its own.
    """
    T, U, C, S, n = ws.T[ws.base[level]], ws.U[SCRATCH], ws.C[SCRATCH], ws.trial[SCRATCH], MAX_PENDING
    load_pending(ws, level, SCRATCH)
    if not problem.dependent:
        copy_state(ws.S[level], S)
        decide(problem, S, k, -sign)
        n = change_sides(problem, T, U, C, ws.n_pending[level], S)
    if n < MAX_PENDING:
        return n
    copy_state(ws.S[level], S)
    decide(problem, S, k, -sign)
    status, n, _ = dual_steps(problem, T, U, C, ws.n_pending[level], S, 0.0, np.inf)
    if status == SOLVED:
        return n
    copy_state(S, ws.S[level + 1])
    own_tableau(ws, level, level + 1, SCRATCH, n)
    let_in(problem, ws, level + 1)
    copy_state(ws.S[level + 1], S)
    return UNSOLVED


@compiled(nothing, problem_t, workspace_t, signs_t, glue=True)
def solve_prefix(problem: KernelProblem, ws: Workspace, signs: Any) -> None:
    """Solve level 0: the groups decided beforehand."""
    copy_state(problem.state, ws.S[0])
    for a in range(problem.T.shape[0]):
        for b in range(problem.T.shape[0]):
            ws.T[0, a, b] = problem.T[a, b]
    for k in range(signs.size):
        if signs[k] != 0:
            decide(problem, ws.S[0], k, -float(signs[k]))
    ws.base[0] = 0
    let_in(problem, ws, 0)


@compiled(tuple_of((real, real)), problem_t, matrix, matrix)
def value_and_safe_bound(problem: KernelProblem, S: Any, scratch: Any) -> tuple[float, float]:
    """Return (squared error, safe lower bound) of a complete pattern, from R, z and S's point made feasible.

    For any r: ``||Rv - z||^2 >= 2 r'z - r'r - 2 (R'r)'v``. With r the residual of a feasible point w, what the
    gradient R'r lacks to its sign is priced by the bound of its coefficient. ``(x + |x|) / 2`` is the
    positive part, NaN kept.
    """
    R, z, w, gradient, sign = problem.R, problem.z, scratch[FITTED], scratch[GRADIENT], scratch[ERROR]
    height, M = R.shape
    for a in range(M):
        v = S[POINT, a] * (1.0 - S[PASSIVE, a])
        sign[a] = -S[PASSIVE_SIGN, a] - S[ACTIVE_SIGN, a]
        w[a] = 0.5 * (v + sign[a] * abs(v))
        gradient[a] = 0.0
    square = problem.rest
    for i in range(0, height, 4):  # four rows of the triangle at a time; slices that start at zero are vectorised
        R0, R1, R2, R3, ahead, slope = R[i, i:], R[i + 1, i:], R[i + 2, i:], R[i + 3, i:], w[i:], gradient[i:]
        r0, r1, r2, r3 = z[i], z[i + 1], z[i + 2], z[i + 3]
        for a in range(M - i):
            r0 -= R0[a] * ahead[a]
            r1 -= R1[a] * ahead[a]
            r2 -= R2[a] * ahead[a]
            r3 -= R3[a] * ahead[a]
        square += r0 * r0 + r1 * r1 + r2 * r2 + r3 * r3
        for a in range(M - i):
            slope[a] += R0[a] * r0 + R1[a] * r1 + R2[a] * r2 + R3[a] * r3
    inner, price = 0.0, 0.0
    for a in range(M):
        inner += w[a] * gradient[a]
        price += 0.5 * (sign[a] * gradient[a] + abs(gradient[a])) * problem.coef_bounds[a]
    bound = square + 2.0 * inner - 2.0 * price - _MARGIN * np.sqrt(square * problem.size)
    return square, max(bound, problem.rest)


@compiled(nothing, problem_t, matrix, matrix, integer, vector, vector, vector, matrix)
def record(problem: KernelProblem, S: Any, scratch: Any, leaf: int, values: Any, safe_bounds: Any, best: Any, coefs: Any
           ) -> None:
    """Write value, safe bound and (if wanted) coefficients of one complete pattern."""
    values[leaf], safe_bounds[leaf] = value_and_safe_bound(problem, S, scratch)
    w = scratch[FITTED]
    offer(values[leaf], w, best[1:], best[:1])
    if coefs.shape[0] > 0:
        for a in range(coefs.shape[1]):
            coefs[leaf, a] = w[a]


@compiled(nothing, problem_t, workspace_t, signs_t, integers, vector, vector, vector, matrix, integers, entry=True)
def complete_patterns(problem: KernelProblem, ws: Workspace, signs: Any, groups: Any, values: Any, safe_bounds: Any,
                      best: Any, coefs: Any, counts: Any) -> None:
    """Solve all 2^m completions of ``signs`` over the undecided ``groups``.

    Leaf number b has group ``groups[i]`` negative where bit ``m - 1 - i`` of b is set. ``best`` is (best value, its
    coefficients). The last level is solved on pending pivots, without a tableau of its own. Work that is stopped leaves
    values of inf.
    """
    m = groups.size
    solve_prefix(problem, ws, signs)
    for b in range(values.size):
        values[b], safe_bounds[b] = np.inf, -np.inf
    if m == 0:
        record(problem, ws.S[0], ws.scratch, 0, values, safe_bounds, best, coefs)
    sides = np.zeros(m + 1, np.int64)
    level, leaf = 0, 0
    while leaf < values.size and m > 0 and problem.stop[0] == 0:
        if sides[level] == 2:
            sides[level] = 0
            level -= 1
            continue
        n = solve_child(problem, ws, level, groups[level], 1.0 - 2.0 * sides[level])
        sides[level] += 1
        if level == m - 1:
            record(problem, ws.trial[SCRATCH], ws.scratch, leaf, values, safe_bounds, best, coefs)
            leaf += 1
            continue
        if n != UNSOLVED:
            if (m - level - 1) % _OWN_TABLEAU == 0:
                copy_state(ws.trial[SCRATCH], ws.S[level + 1])
                own_tableau(ws, level, level + 1, SCRATCH, n)
            else:
                settle(ws, level, level + 1, SCRATCH, n, 0.0, False, counts)
        level += 1
