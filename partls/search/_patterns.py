"""Compiled enumeration: every completion of a sign pattern as one walk that reuses each parent's factorisation."""

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
    feasible_value,
    load_pending,
    offer,
    settle,
    try_child,
    workspace_t,
)
from relaxations._certificate import FITTED, certify
from relaxations._compile import bytes_t, compiled, integer, integers, matrix, signs_t, vector
from relaxations._pivoting import UNFINISHED, solve_node
from relaxations._tableau import Problem, problem_t


@compiled(numba.void, problem_t, workspace_t, *(integer,) * 3, matrix, signs_t, *(vector,) * 3, matrix)
def record(problem: Problem, ws: Workspace, level: int, n: int, leaf: int, S: Any, signs: Any, values: Any,
           certified: Any, best_and_bounds: Any, coefs: Any) -> None:
    """Write value, certified bound and (if wanted) coefficients of one complete pattern."""
    base = ws.base[level]
    w = ws.scratch[FITTED]
    certified[leaf] = certify(
        problem, ws.T[base], ws.T_passive[base], ws.U[SCRATCH], ws.C[SCRATCH], n, S, ws.scratch
    )
    values[leaf] = feasible_value(problem, S, signs, w)
    offer(values[leaf], w, best_and_bounds[1:], best_and_bounds[:1])
    if coefs.shape[0] > 0:
        for a in range(coefs.shape[1]):
            coefs[leaf, a] = w[a]


@compiled(integer, problem_t, workspace_t, signs_t, integers, vector, vector, vector, matrix, bytes_t, integers,
          entry=True)
def complete_patterns(problem: Problem, ws: Workspace, signs: Any, groups: Any, values: Any, certified: Any,
                      best_and_bounds: Any, coefs: Any, stop: Any, counts: Any) -> int:
    """Solve all 2^m completions of ``signs`` over the undecided ``groups``; return how many were done.

    Leaf number b has group ``groups[i]`` negative where bit ``m - 1 - i`` of b is set. ``best_and_bounds`` is
    (best value, its coefficients). The last level is solved on pending pivots, without a tableau of its own.
    """
    m = groups.size
    begin(ws, signs, counts)
    sides = np.zeros(m + 1, np.int64)
    level, leaf = 0, 0
    while level >= 0 and stop[0] == 0:
        if ws.n_pending[level] == UNSOLVED:
            _, ws.value[level], _ = solve_node(
                problem, ws.signs[level], np.inf, ws.T[level], ws.T_passive[level], ws.U[0], ws.C[0], ws.S[level],
                ws.scratch,
            )
            ws.base[level], ws.n_pending[level] = level, 0
        if level == m or sides[level] == 2:
            if level == m:  # a leaf that needed more than a trial's room
                record(problem, ws, m, 0, leaf, ws.S[m], ws.signs[m], values, certified, best_and_bounds, coefs)
                leaf += 1
            sides[level] = 0
            level -= 1
            continue
        sign = 1.0 - 2.0 * sides[level]
        sides[level] += 1
        counts[NODES] += 1
        load_pending(ws, level, SCRATCH)
        status, n, value = try_child(problem, ws, level, groups[level], sign, np.inf, SCRATCH, counts)
        copy_signs(ws.signs[level], ws.signs[level + 1])
        ws.signs[level + 1, groups[level]] = np.int8(sign)
        if level < m - 1 or status == UNFINISHED:
            settle(ws, level, level + 1, SCRATCH, n, value, status == UNFINISHED, counts)
            level += 1
        else:
            record(problem, ws, level, n, leaf, ws.trial[SCRATCH], ws.signs[m], values, certified, best_and_bounds,
                   coefs)
            leaf += 1
    return leaf
