"""Compiled enumeration: every completion of a sign pattern as one walk that reuses each parent's factorisation.

An undecided group is out of the model here, and lets its columns in as its sign is decided: a node is the optimum of
the groups decided so far. Its passive columns are few and never those of plain least squares, which may be nearly
collinear or fit exactly. Letting columns in is the search's dual step on the tableau turned around: with -T for T,
the columns held at zero for the passive ones, and the opposite signs, a gradient of the wrong sign is what a
coefficient of the wrong sign was. So "passive" means held at zero in the states below.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from partls.search._node import (
    NODES,
    SCRATCH,
    Workspace,
    begin,
    copy_signs,
    load_pending,
    offer,
    own_tableau,
    settle,
    try_child,
    workspace_t,
)
from relaxations._certificate import _MARGIN, FITTED, GRADIENT
from relaxations._compile import bytes_t, compiled, integer, integers, matrix, real, signs_t, vector
from relaxations._pivoting import SOLVED, UNFINISHED, dual_steps
from relaxations._tableau import PASSIVE, POINT, Problem, copy_state, decide, problem_t

_ROUNDS = 50  # tableaus in a row before a pattern is left as it is, for its certificate to judge


@compiled(numba.void, problem_t, workspace_t, integer)
def refresh(problem: Problem, ws: Workspace, level: int) -> None:
    """Take coefficients and gradients from the node's own tableau: steps cut short leave neither."""
    S, T, start = ws.S[level], ws.T[level], problem.state[POINT]
    for a in range(start.size):
        S[POINT, a] = start[a] * S[PASSIVE, a]
    for b in range(start.size):
        if S[PASSIVE, b] == 0.0:
            for a in range(start.size):
                S[POINT, a] += T[b, a] * start[b]


@compiled(numba.void, problem_t, workspace_t, integer, glue=True)
def finish(problem: Problem, ws: Workspace, level: int) -> None:
    """Solve a node that has a tableau of its own to the end."""
    for _ in range(_ROUNDS):
        refresh(problem, ws, level)
        status, n, ws.value[level] = dual_steps(
            problem, ws.T[level], ws.U[SCRATCH], ws.C[SCRATCH], 0, ws.S[level], 0.0, np.inf
        )
        own_tableau(ws, level, level, SCRATCH, n)
        if status == SOLVED:
            break


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
    finish(problem, ws, 0)


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
        load_pending(ws, level, SCRATCH)
        status, n, value = try_child(problem, ws, level, groups[level], -sign, np.inf, SCRATCH, counts)
        copy_signs(ws.signs[level], ws.signs[level + 1])
        ws.signs[level + 1, groups[level]] = np.int8(sign)
        S = ws.trial[SCRATCH]
        if status == UNFINISHED:
            copy_state(S, ws.S[level + 1])
            own_tableau(ws, level, level + 1, SCRATCH, n)
            finish(problem, ws, level + 1)
            S = ws.S[level + 1]
        elif level < m - 1:
            settle(ws, level, level + 1, SCRATCH, n, value, False, counts)
        level += 1
        if level == m:
            record(problem, ws, S, ws.signs[m], leaf, values, certified, best, coefs)
            leaf += 1
            level -= 1
    return leaf
