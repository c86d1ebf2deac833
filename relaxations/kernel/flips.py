"""Compiled local search over complete sign patterns: flip one group, or a pair, and repair by principal pivoting.

A heuristic for incumbents only: whatever it returns is scored from R and z, and nothing is ever pruned on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compilation import compiled, integer, matrix, nothing, real, signs_t, vector
from .node import (
    N_COUNTS,
    TIE,
    Workspace,
    begin,
    close_leaf,
    own_tableau,
    workspace_t,
)
from .pivoting import solve_node
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
)

_WORTH = 1e-10  # relative improvement below which a flip is not worth a move


@compiled(integer, matrix, real)
def most_out_of_place(S: Any, tolerance: float) -> int:
    """Return the column that most wants to change sides: wrong sign if passive, descent if active; -1 if none."""
    best, i = 0.0, -1
    for a in range(S.shape[1]):
        g, d = S[POINT, a], S[DIAGONAL, a]
        wrong = min(S[PASSIVE_SIGN, a] * g + tolerance, 0.0) - max(S[ACTIVE_SIGN, a] * g - tolerance, 0.0)
        gain = wrong * wrong / abs(d)
        if gain > best and abs(d) > MIN_PIVOT:
            best, i = gain, a
    return i


@compiled(integer, vector)
def cheapest(values: Any) -> int:
    """Return the index of the smallest value, the first of those that tie."""
    k = 0
    for other in range(values.size):
        if values[other] < values[k] * (1.0 - TIE):
            k = other
    return k


@compiled(real, problem_t, workspace_t, integer, integer, vector, vector, glue=True)
def flip(problem: KernelProblem, ws: Workspace, first: int, second: int, best: Any, bounds: Any) -> float:
    """Flip the sign of one or two groups and keep the flip if it pays; return the value it would have.

    Principal pivoting from the neighbouring pattern's optimum; not guaranteed to end, so it is cut short (inf).
    """
    T, U, C, S = ws.T[0], ws.U[0], ws.C[0], ws.trial[0]
    copy_state(ws.S[0], S)
    decide(problem, S, first, -float(ws.signs[0, first]))
    if second != first:
        decide(problem, S, second, -float(ws.signs[0, second]))
    value, n = ws.value[0], 0
    i = most_out_of_place(S, problem.tolerance)
    while i >= 0 and n < MAX_PENDING:
        pending_row(T, i, U, C, n, U[n])
        value = pivot(i, -1.0 if S[PASSIVE, i] > 0.0 else 1.0, U, C, n, S, value)
        n += 1
        i = most_out_of_place(S, problem.tolerance)
    if i >= 0:
        return np.inf
    if n > 0 and value < ws.value[0] * (1.0 - _WORTH):
        copy_state(S, ws.S[0])
        own_tableau(ws, 0, 0, 0, n)
        ws.value[0] = value
        ws.signs[0, first] = -ws.signs[0, first]
        if second != first:
            ws.signs[0, second] = -ws.signs[0, second]
        close_leaf(problem, ws, 0, best, bounds)
    return float(value)


@compiled(nothing, problem_t, workspace_t, signs_t, vector, vector, integer, integer, entry=True)
def improve(problem: KernelProblem, ws: Workspace, signs: Any, best: Any, bounds: Any, n_rounds: int, n_paired: int
            ) -> None:
    """Solve the leaf of ``signs``, then descend by flips of one group and of pairs of the cheapest groups.

    ``bounds[0]`` and ``best`` receive the best objective and its coefficients; they do if the work is stopped, too.
    """
    counts = np.zeros(N_COUNTS, np.int64)
    K = signs.size
    begin(ws, signs, counts)
    _, ws.value[0], _ = solve_node(
        problem, signs, np.inf, ws.T[0], ws.T_passive[0], ws.U[0], ws.C[0], ws.S[0], ws.scratch
    )
    ws.base[0], ws.n_pending[0] = 0, 0
    close_leaf(problem, ws, 0, best, bounds)
    values, order = np.empty(K), np.zeros(K, np.int64)
    n_paired = min(n_paired, K)
    for _ in range(n_rounds):
        before = ws.value[0]
        if problem.stop[0] != 0:
            break
        for trial in range(K + n_paired * n_paired):
            first = second = trial
            if trial >= K:  # pairs, once no single flip has paid, of the groups that were cheapest to flip
                a, b = divmod(trial - K, n_paired)
                if ws.value[0] < before:
                    break
                if b == 0:
                    order[a] = cheapest(values)
                    values[order[a]] = np.inf
                if b >= a:
                    continue
                first, second = order[a], order[b]
            if problem.stop[0] != 0:
                break
            value = flip(problem, ws, first, second, best, bounds)
            if trial < K:
                values[trial] = value
        if ws.value[0] == before:
            break
