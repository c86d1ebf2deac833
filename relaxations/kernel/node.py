"""The nodes of the compiled search: their memory, how a child is tried, kept, and closed as a leaf."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .compilation import (
    compiled,
    cube,
    flag,
    integer,
    integers,
    matrix,
    named_tuple_of,
    nothing,
    real,
    signs_t,
    signs_table,
    tuple_of,
    vector,
)
from .pairs import drop_pairs, stays_convex
from .pivoting import PRUNED, SOLVED, UNFINISHED, dual_steps, restore, solve_in_place
from .safe_bound import FITTED, SCRATCH_ROWS, safe_bound
from .tableau import (
    PAIRED,
    PASSIVE,
    PENDING_ROWS,
    POINT,
    STATE_ROWS,
    KernelProblem,
    copy_state,
    decide,
    materialise,
    problem_t,
)

SCRATCH = 0  # the trial slot for a single trial
REFUSED = 0.5  # in PAIRED: a group that must keep its pair multipliers
TIE = 1e-13  # relative: values nearer than this differ by rounding, and the first met counts
CARRIED = 12  # pivots a node may carry to its children before it gets a tableau of its own
UNSOLVED = -1  # pending pivots of a node whose trial ran out of room

# Entries of the counts array.
NODES, TRIALS, PRUNES, LEAVES, MATERIALISED, DOUBTFUL = 0, 1, 2, 3, 4, 5
N_COUNTS = 6
COUNT_NAMES = ("nodes", "trials", "prunes", "leaves", "materialised", "doubtful")


class Workspace(NamedTuple):
    """Memory of one search: a tableau and a state per level, three trials, O(K M^2) in all.

    A level without a tableau of its own carries its pending pivots and names the level whose tableau they
    start from (``base``); ``T_passive`` is the passive set of each tableau. ``L``, ``pivots`` and ``order`` factor the
    block of Z that belongs to the groups without pair multipliers, in the order in which they dropped them; a level
    uses the first ``n_rows`` rows.
    """

    T: Any
    T_passive: Any
    base: Any
    pending: Any
    pending_c: Any
    n_pending: Any
    S: Any
    value: Any
    signs: Any
    later_group: Any  # the group whose other sign is still to be explored at this level, or -1
    later_sign: Any
    later_value: Any
    U: Any
    C: Any
    trial: Any
    scratch: Any
    score: Any
    candidates: Any
    L: Any
    pivots: Any
    order: Any
    n_rows: Any
    rows: Any


workspace_t = named_tuple_of(
    [
        cube, matrix, integers, cube, matrix, integers, cube, vector, signs_table, integers, signs_t, vector,
        cube, matrix, cube, matrix, vector, integers, matrix, vector, integers, integers, matrix,
    ],
    Workspace,
)
at_t = (problem_t, workspace_t, integer)  # problem, workspace, level
trial_outcome_t = tuple_of((integer, integer, real))


def make_workspace(problem: KernelProblem, levels: int | None = None) -> Workspace:
    """Return the memory of one search over this problem."""
    M = problem.R.shape[1]
    K = len(problem.start) - 1
    levels = levels or K + 1
    return Workspace(
        T=np.empty((levels, M, M)), T_passive=np.empty((levels, M)), base=np.zeros(levels, np.int64),
        pending=np.empty((levels, CARRIED, M)), pending_c=np.empty((levels, CARRIED)),
        n_pending=np.zeros(levels, np.int64), S=np.empty((levels, STATE_ROWS, M)), value=np.empty(levels),
        signs=np.zeros((levels, K), np.int8), later_group=np.full(levels, -1),
        later_sign=np.zeros(levels, np.int8), later_value=np.zeros(levels),
        U=np.empty((3, PENDING_ROWS, M)), C=np.empty((3, PENDING_ROWS)), trial=np.empty((3, STATE_ROWS, M)),
        scratch=np.empty((SCRATCH_ROWS, M)), score=np.empty(K), candidates=np.empty(K, np.int64),
        L=np.empty(problem.pairs.Z.shape), pivots=np.empty(M), order=np.zeros(M, np.int64),
        n_rows=np.zeros(levels, np.int64), rows=np.empty((problem.pairs.N.shape[1], M)),
    )


@compiled(nothing, signs_t, signs_t)
def copy_signs(source: Any, target: Any) -> None:
    """Copy one sign pattern."""
    for k in range(source.size):
        target[k] = source[k]


@compiled(flag, workspace_t, integer, integer)
def is_proved(ws: Workspace, level: int, first: int) -> bool:
    """Return whether the rows of a level are about the group that begins at column ``first``."""
    found = False
    for r in range(ws.n_rows[level]):
        found = found or ws.order[r] == first
    return found


@compiled(flag, problem_t, workspace_t, integer)
def nothing_stays(problem: KernelProblem, ws: Workspace, level: int) -> bool:
    """Return whether all groups with pair multipliers are decided: without any, F is R'R, and definite."""
    stays = problem.dependent  # then R'R is singular, and the tableau would break down
    for k in range(ws.signs.shape[1]):
        stays = stays or (ws.signs[level, k] == 0 and ws.S[level, PAIRED, problem.start[k]] > 0.0)
    return not stays


@compiled(integer, problem_t, workspace_t, integer)
def next_to_drop(problem: KernelProblem, ws: Workspace, level: int) -> int:
    """Return a decided group of a node whose pair multipliers can be dropped; -1 if there is none."""
    free = nothing_stays(problem, ws, level)
    for k in range(ws.signs.shape[1]):
        first = problem.start[k]
        held = ws.S[level, PAIRED, first]
        if ws.signs[level, k] == 0 or held == 0.0:
            continue
        if free or is_proved(ws, level, first):
            return k
        if held == 1.0 and stays_convex(problem, ws.L, ws.pivots, ws.order, ws.n_rows[level], k):
            ws.n_rows[level] += problem.start[k + 1] - first
            for a in range(ws.S.shape[2]):  # what was refused may be possible now
                ws.S[level, PAIRED, a] = np.ceil(ws.S[level, PAIRED, a])
            return k
        for a in range(first, problem.start[k + 1]):
            ws.S[level, PAIRED, a] = REFUSED
    return -1


@compiled(tuple_of((integer, real)), *at_t, real, real, glue=True)
def drop_all_pairs(problem: KernelProblem, ws: Workspace, level: int, cutoff: float, value: float) -> tuple[int, float]:
    """Drop the pair multipliers of all decided groups of a node with a tableau of its own, and solve it again."""
    S, T, U, C = ws.S[level], ws.T[level], ws.U[SCRATCH], ws.C[SCRATCH]
    k = next_to_drop(problem, ws, level)
    if k < 0:
        return SOLVED, value
    while k >= 0:
        n, value = drop_pairs(problem, T, U, C, 0, S, value, k, ws.rows)
        materialise(T, T, U, C, n, S)
        k = next_to_drop(problem, ws, level)
    status, value, _ = solve_in_place(problem, cutoff, T, ws.T_passive[level], U, C, S, value, ws.scratch)
    return status, value


@compiled(trial_outcome_t, *at_t, integer, real, real, integer, integers, glue=True)
def try_child(problem: KernelProblem, ws: Workspace, level: int, k: int, sign: float, cutoff: float, slot: int,
              counts: Any) -> tuple[int, int, float]:
    """Bound the child that fixes group k, on pending pivots only; return (status, pending pivots, value).

    PRUNED is returned with a safe value at or above the cutoff, never on the tableau's word alone.
    """
    base = ws.base[level]
    S, T, U, C = ws.trial[slot], ws.T[base], ws.U[slot], ws.C[slot]
    counts[TRIALS] += 1
    safe, limit = np.inf, cutoff
    while True:  # a second time, to the end, if the safe bound does not confirm the prune
        copy_state(ws.S[level], S)
        decide(problem, S, k, sign)
        status, n, value = dual_steps(problem, T, U, C, ws.n_pending[level], S, ws.value[level], limit)
        if status != PRUNED:
            return status, n, value
        safe = safe_bound(problem, T, ws.T_passive[base], U, C, n, S, ws.scratch)
        if safe >= cutoff:
            return PRUNED, n, safe
        limit = np.inf


@compiled(nothing, workspace_t, integer, integer)
def load_pending(ws: Workspace, level: int, slot: int) -> None:
    """Put the pivots a node carries at the head of a trial slot."""
    for p in range(ws.n_pending[level]):
        ws.C[slot, p] = ws.pending_c[level, p]
        for a in range(ws.pending.shape[2]):
            ws.U[slot, p, a] = ws.pending[level, p, a]


@compiled(nothing, workspace_t, integer, integer, integer, integer, glue=True)
def own_tableau(ws: Workspace, source: int, target: int, slot: int, n: int) -> None:
    """Give a node a tableau of its own: the base of ``source`` with n pending pivots of the slot applied."""
    S = ws.S[target]
    materialise(ws.T[ws.base[source]], ws.T[target], ws.U[slot], ws.C[slot], n, S)
    for a in range(S.shape[1]):
        ws.T_passive[target, a] = S[PASSIVE, a]
    ws.base[target] = target
    ws.n_pending[target] = 0


@compiled(nothing, workspace_t, integer, integer, integer, integer, real, flag, integers, glue=True)
def settle(ws: Workspace, source: int, target: int, slot: int, n: int, value: float, unfinished: bool, counts: Any
           ) -> None:
    """Make the trial in ``slot`` the node at level ``target``; an unfinished one has still to be solved there."""
    S = ws.S[target]
    copy_state(ws.trial[slot], S)
    ws.value[target] = value
    if unfinished:
        ws.n_pending[target] = UNSOLVED
    elif n <= CARRIED:
        for p in range(n):
            ws.pending_c[target, p] = ws.C[slot, p]
            for a in range(S.shape[1]):
                ws.pending[target, p, a] = ws.U[slot, p, a]
        ws.base[target] = ws.base[source]
        ws.n_pending[target] = n
    else:
        counts[MATERIALISED] += 1
        own_tableau(ws, source, target, slot, n)


@compiled(integer, *at_t, real, integers, glue=True)
def sharpen(problem: KernelProblem, ws: Workspace, level: int, cutoff: float, counts: Any) -> int:
    """Drop the pair multipliers of groups that have been decided and solve the node again; return PRUNED or SOLVED.

    On pending pivots where they have room. PRUNED is returned with a safe value of the node.
    """
    k = next_to_drop(problem, ws, level)
    while k >= 0:
        base = ws.base[level]
        S, T, U, C = ws.trial[SCRATCH], ws.T[base], ws.U[SCRATCH], ws.C[SCRATCH]
        load_pending(ws, level, SCRATCH)
        copy_state(ws.S[level], S)
        n, value = drop_pairs(problem, T, U, C, ws.n_pending[level], S, ws.value[level], k, ws.rows)
        ready, n, value = restore(problem, T, U, C, n, S, value)
        status, limit = UNFINISHED, cutoff
        if ready:
            status, n, value = dual_steps(problem, T, U, C, n, S, value, limit)
        if status == PRUNED:
            safe = safe_bound(problem, T, ws.T_passive[base], U, C, n, S, ws.scratch)
            if safe >= cutoff:
                ws.value[level] = safe
                return PRUNED
        if status != SOLVED:  # to the end, on a tableau of its own
            copy_state(S, ws.S[level])
            own_tableau(ws, level, level, SCRATCH, n)
            status, ws.value[level], _ = solve_in_place(
                problem, cutoff, ws.T[level], ws.T_passive[level], ws.U[SCRATCH], ws.C[SCRATCH], ws.S[level], value,
                ws.scratch,
            )
            if status == PRUNED:
                return PRUNED
        else:
            settle(ws, level, level, SCRATCH, n, value, False, counts)
        k = next_to_drop(problem, ws, level)
    return SOLVED


@compiled(real, problem_t, matrix, signs_t, vector)
def feasible_value(problem: KernelProblem, S: Any, signs: Any, w: Any) -> float:
    """Make the signs of S's point exact, in w, and return its error recomputed from R and z: an upper bound."""
    R = problem.R
    for k in range(signs.size):
        sign = float(signs[k])
        if sign == 0.0:
            for a in range(problem.start[k], problem.start[k + 1]):
                sign += S[POINT, a] * S[PASSIVE, a]
        for a in range(problem.start[k], problem.start[k + 1]):
            v = S[POINT, a] * S[PASSIVE, a]
            w[a] = v if v * sign > 0.0 else 0.0
    square = problem.rest
    for i in range(R.shape[0]):
        row, ahead = R[i, i:], w[i:]
        fitted = 0.0
        for a in range(R.shape[1] - i):
            fitted += row[a] * ahead[a]
        square += (problem.z[i] - fitted) ** 2
    return square


@compiled(nothing, real, vector, vector, vector)
def offer(value: float, w: Any, best: Any, bounds: Any) -> None:
    """Keep a feasible point if it is the best so far, and the first of those that tie."""
    if value < bounds[0] * (1.0 - TIE):
        bounds[0] = value
        for a in range(best.size):
            best[a] = w[a]


@compiled(real, *at_t, vector, vector, glue=True)
def close_leaf(problem: KernelProblem, ws: Workspace, level: int, best: Any, bounds: Any) -> float:
    """Offer the sign-consistent point of a node as incumbent; return the node's safe bound."""
    S = ws.S[level]
    base, n = ws.base[level], ws.n_pending[level]
    U, C = ws.pending[level], ws.pending_c[level]
    safe = safe_bound(problem, ws.T[base], ws.T_passive[base], U, C, n, S, ws.scratch)
    w = ws.scratch[FITTED]
    offer(feasible_value(problem, S, ws.signs[level], w), w, best, bounds)
    return safe


@compiled(nothing, workspace_t, signs_t, integers)
def begin(ws: Workspace, signs: Any, counts: Any) -> None:
    """Make level 0 the root of a subtree, still to be solved."""
    ws.later_group[0], ws.n_pending[0], ws.n_rows[0] = -1, UNSOLVED, 0
    copy_signs(signs, ws.signs[0])
    counts[NODES] += 1
