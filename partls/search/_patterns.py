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

import numba
import numpy as np

from partls.search._node import (
    NODES,
    SCRATCH,
    UNSOLVED,
    Workspace,
    begin,
    copy_signs,
    load_pending,
    offer,
    own_tableau,
    settle,
    workspace_t,
)
from relaxations._certificate import _MARGIN, FITTED, GRADIENT
from relaxations._compile import bytes_t, compiled, integer, integers, matrix, real, signs_t, vector
from relaxations._pivoting import SOLVED, dual_steps, position
from relaxations._tableau import (
    ACTIVE_SIGN,
    DIAGONAL,
    MAX_PENDING,
    MIN_PIVOT,
    PASSIVE,
    PASSIVE_SIGN,
    POINT,
    Problem,
    copy_state,
    decide,
    pending_row,
    pivot,
    problem_t,
    trial_t,
)

_ROUNDS = 50  # tableaus in a row before a pattern is left as it is, for its certificate to judge
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
def change_sides(problem: Problem, T: Any, U: Any, C: Any, n: int, S: Any) -> int:
    """Pivot until every column is where its sign and gradient belong, or the pending pivots are used up; return n."""
    while n < MAX_PENDING:
        i = worst_side(S, problem.tolerance, U[MAX_PENDING + 2])
        if i < 0:
            break
        pending_row(T, i, U, C, n, U[n])
        pivot(i, 1.0 - 2.0 * S[PASSIVE, i], U, C, n, S, 0.0)
        n += 1
    return n


@compiled(numba.void, problem_t, matrix, matrix)
def refresh(problem: Problem, T: Any, S: Any) -> None:
    """Take coefficients and gradients from a tableau: dual steps cut short leave neither."""
    start = problem.state[POINT]
    for a in range(start.size):
        S[POINT, a] = start[a] * S[PASSIVE, a]
    for b in range(start.size):
        if S[PASSIVE, b] == 0.0:
            for a in range(start.size):
                S[POINT, a] += T[b, a] * start[b]


@compiled(numba.void, problem_t, workspace_t, integer, glue=True)
def let_in(problem: Problem, ws: Workspace, level: int) -> None:
    """Solve a node that has a tableau of its own, and no coefficient of the wrong sign, by dual steps."""
    for _ in range(_ROUNDS):
        refresh(problem, ws.T[level], ws.S[level])
        status, n, _ = dual_steps(problem, ws.T[level], ws.U[SCRATCH], ws.C[SCRATCH], 0, ws.S[level], 0.0, np.inf)
        own_tableau(ws, level, level, SCRATCH, n)
        if status == SOLVED:
            break


@compiled(integer, problem_t, workspace_t, integer, integer, real, glue=True)
def solve_child(problem: Problem, ws: Workspace, level: int, k: int, sign: float) -> int:
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


@compiled(numba.void, problem_t, workspace_t, signs_t, glue=True)
def solve_prefix(problem: Problem, ws: Workspace, signs: Any) -> None:
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


@compiled(numba.types.Tuple((real, real)), problem_t, matrix, signs_t, matrix)
def certified_value(problem: Problem, S: Any, signs: Any, scratch: Any) -> tuple[float, float]:
    """Return (squared error, certified lower bound) of a complete pattern, from R, z and S's point made feasible.

    For any r: ``||Rv - z||^2 >= 2 r'z - r'r - 2 (R'r)'v``. With r the residual of a feasible point w, what the
    gradient R'r lacks to its sign is priced by the box.
    """
    R, w, gradient = problem.R, scratch[FITTED], scratch[GRADIENT]
    height, M = R.shape
    for k in range(signs.size):
        sign = float(signs[k])
        for a in range(problem.start[k], problem.start[k + 1]):
            w[a] = sign * max(sign * S[POINT, a], 0.0) * (1.0 - S[PASSIVE, a])
            gradient[a] = 0.0
    square = problem.rest
    for i in range(height):
        # R is triangular; slices that start at zero let the loops run in vector registers
        row, ahead, slope = R[i, i:], w[i:], gradient[i:]
        fitted = 0.0
        for a in range(M - i):
            fitted += row[a] * ahead[a]
        r = problem.z[i] - fitted
        square += r * r
        for a in range(M - i):
            slope[a] += row[a] * r
    inner, price = 0.0, 0.0
    for k in range(signs.size):
        sign = float(signs[k])
        for a in range(problem.start[k], problem.start[k + 1]):
            inner += w[a] * gradient[a]
            price += max(sign * gradient[a], 0.0) * problem.box[a]
    bound = square + 2.0 * inner - 2.0 * price - _MARGIN * np.sqrt(square * problem.size)
    return square, max(bound, problem.rest)


@compiled(numba.void, problem_t, workspace_t, matrix, signs_t, integer, vector, vector, vector, matrix)
def record(problem: Problem, ws: Workspace, S: Any, signs: Any, leaf: int, values: Any, certified: Any, best: Any,
           coefs: Any) -> None:
    """Write value, certified bound and (if wanted) coefficients of one complete pattern."""
    values[leaf], certified[leaf] = certified_value(problem, S, signs, ws.scratch)
    w = ws.scratch[FITTED]
    offer(values[leaf], w, best[1:], best[:1])
    if coefs.shape[0] > 0:
        for a in range(coefs.shape[1]):
            coefs[leaf, a] = w[a]


@compiled(integer, problem_t, workspace_t, signs_t, integers, vector, vector, vector, matrix, bytes_t, integers,
          entry=True)
def complete_patterns(problem: Problem, ws: Workspace, signs: Any, groups: Any, values: Any, certified: Any,
                      best: Any, coefs: Any, stop: Any, counts: Any) -> int:
    """Solve all 2^m completions of ``signs`` over the undecided ``groups``; return how many were done.

    Leaf number b has group ``groups[i]`` negative where bit ``m - 1 - i`` of b is set. ``best`` is (best value, its
    coefficients). The last level is solved on pending pivots, without a tableau of its own.
    """
    m = groups.size
    begin(ws, signs, counts)
    solve_prefix(problem, ws, signs)
    if m == 0:
        record(problem, ws, ws.S[0], signs, 0, values, certified, best, coefs)
        return 1
    sides = np.zeros(m, np.int64)
    level, leaf = 0, 0
    while level >= 0 and stop[0] == 0:
        if sides[level] == 2:
            sides[level] = 0
            level -= 1
            continue
        sign = 1.0 - 2.0 * sides[level]
        sides[level] += 1
        counts[NODES] += 1
        copy_signs(ws.signs[level], ws.signs[level + 1])
        ws.signs[level + 1, groups[level]] = np.int8(sign)
        n = solve_child(problem, ws, level, groups[level], sign)
        if n != UNSOLVED and level < m - 1:
            if (m - level - 1) % _OWN_TABLEAU == 0:
                copy_state(ws.trial[SCRATCH], ws.S[level + 1])
                own_tableau(ws, level, level + 1, SCRATCH, n)
            else:
                settle(ws, level, level + 1, SCRATCH, n, 0.0, False, counts)
        level += 1
        if level == m:
            record(problem, ws, ws.trial[SCRATCH], ws.signs[m], leaf, values, certified, best, coefs)
            leaf += 1
            level -= 1
    return leaf
