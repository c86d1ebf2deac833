"""Warm-started dual steps, compiled: from a parent's optimum to a child's, one multiplier at a time.

A child fixes one more group's sign. The parent's point stays dual feasible, so only the coefficients of the
wrong sign need work; the value only rises, and the steps stop as soon as it passes the cutoff.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compilation import compiled, flag, integer, matrix, real, signs_t, tuple_of, vector
from .safe_bound import (
    disjunction,
    safe_bound,
)
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
    materialise,
    pending_row,
    pivot,
    problem_t,
    trial_t,
)

SOLVED, PRUNED, UNFINISHED = 0, 1, 2

_MIN_RATE = 1e-12  # slower multipliers cannot block a step within rounding
_MIN_EXCHANGE = 1e-7  # an undecided dependent column moves with the step only above this


@compiled(integer, vector, real)
def position(values: Any, wanted: float) -> int:
    """Return the first index at which ``wanted`` stands."""
    for a in range(values.size):
        if values[a] == wanted:
            return a
    return -1


@compiled(integer, matrix, real, vector, finite=True)
def worst_violation(S: Any, tolerance: float, scratch: Any) -> int:
    """Return the passive column of the wrong sign whose removal alone would raise the error most, or -1."""
    d, g, q = S[DIAGONAL], S[POINT], S[PASSIVE_SIGN]
    for a in range(d.size):
        wrong = min(q[a] * g[a] + tolerance, 0.0)
        scratch[a] = -wrong * wrong / d[a]
    best = 0.0
    for a in range(d.size):
        best = max(best, scratch[a])
    return position(scratch, best) if best > 0.0 else -1


@compiled(tuple_of((integer, real)), problem_t, matrix, vector, real, real, vector, finite=True)
def first_block(problem: KernelProblem, S: Any, u: Any, s: float, longest: float, scratch: Any) -> tuple[int, float]:
    """Return the active column whose multiplier reaches zero first when row u's multiplier is raised, and when.

    Among columns that tie to rounding the one with the largest pivot is taken: with a zero residual all
    multipliers vanish, and an arbitrary tie would divide by noise. An undecided column outside the passive
    set depends on it: its gradient must stay zero, so it blocks at once.
    """
    g, h = S[POINT], S[ACTIVE_SIGN]
    shortest, least = longest, np.inf
    for a in range(u.size):  # mostly nothing blocks, which is seen without a division
        least = min(least, max(-h[a] * g[a], 0.0) + problem.tie + longest * s * h[a] * u[a])
    if least < 0.0:
        for a in range(u.size):
            rate = -h[a] * s * u[a]
            scratch[a] = (max(-h[a] * g[a], 0.0) + problem.tie) / rate if rate > _MIN_RATE else np.inf
        for a in range(u.size):
            shortest = min(shortest, scratch[a])
    j, largest, step = -1, 0.0, longest
    if shortest < longest:
        for a in range(u.size):
            rate = -h[a] * s * u[a]
            if rate > largest and max(-h[a] * g[a], 0.0) <= shortest * rate:
                j, largest = a, rate
        step = max(-h[j] * g[j], 0.0) / largest
    if problem.dependent:
        largest = _MIN_EXCHANGE
        for a in range(u.size):
            if S[PASSIVE, a] == 0.0 and h[a] == 0.0 and abs(u[a]) > largest:
                largest, step, j = abs(u[a]), 0.0, a
    return j, step


@compiled(flag, problem_t, matrix)
def spans_everything(problem: KernelProblem, S: Any) -> bool:
    """Return whether the passive columns span all columns, so that any other depends on them."""
    if not problem.dependent:
        return False
    p, q = S[PASSIVE], problem.state[PASSIVE]
    more = 0.0
    for a in range(p.size):
        more += p[a] - q[a]
    return more >= 0.0  # the root's passive set is a maximal independent one


@compiled(tuple_of((integer, integer, real)), integer, problem_t, *trial_t, real, real)
def raise_multiplier(i: int, problem: KernelProblem, T: Any, U: Any, C: Any, n: int, S: Any, value: float, cutoff: float
                     ) -> tuple[int, int, float]:
    """Drive the wrong-signed column i to zero, letting blocked columns back in; return (status, n, value).

    Each step keeps every multiplier feasible, so ``value`` is a lower bound on the way and only rises.
    """
    d, g = S[DIAGONAL], S[POINT]
    s = S[PASSIVE_SIGN, i]
    multiplier = 0.0
    while n < MAX_PENDING:
        u = U[n]
        pending_row(T, i, U, C, n, u)
        size, p = abs(g[i]), d[i]
        u[i] = p
        j, step = first_block(problem, S, u, s, -size / p, U[MAX_PENDING + 2])
        if j < 0:
            value = pivot(i, -1.0, U, C, n, S, value)
            g[i] -= s * multiplier
            return SOLVED, n + 1, value
        if step > 0.0:
            move = step * s
            for a in range(u.size):
                g[a] -= move * u[a]
            value += 2.0 * step * size + step * step * p
            multiplier += step
            g[j] = 0.0
            if value > cutoff:
                return PRUNED, n, value
        if d[j] <= MIN_PIVOT or spans_everything(problem, S):  # j has no pivot of its own until i has left
            value = pivot(i, -1.0, U, C, n, S, value)
            pending_row(T, j, U, C, n + 1, U[n + 1])
            value = pivot(j, 1.0, U, C, n + 1, S, value)
            g[i] = -s * multiplier
            return SOLVED, n + 2, value
        pending_row(T, j, U, C, n, u)
        value = pivot(j, 1.0, U, C, n, S, value)
        n += 1
    return UNFINISHED, n, value


@compiled(tuple_of((integer, integer, real)), problem_t, *trial_t, real, real)
def dual_steps(problem: KernelProblem, T: Any, U: Any, C: Any, n: int, S: Any, value: float, cutoff: float
               ) -> tuple[int, int, float]:
    """Restore the signs required by S from a dual feasible point; return (status, pending pivots, value).

    SOLVED: the optimum under those signs. PRUNED: the value has passed the cutoff. UNFINISHED: the pending
    pivots are used up; materialise and go on, unless the work is to stop, where the value is a bound already. The
    first n pending pivots are there already.
    """
    while True:
        if value + disjunction(problem, S) > cutoff:
            return PRUNED, n, value
        i = worst_violation(S, problem.tolerance, U[MAX_PENDING + 2])
        if i < 0:
            return SOLVED, n, value
        if problem.stop[0] != 0:
            return UNFINISHED, n, value
        status, n, value = raise_multiplier(i, problem, T, U, C, n, S, value, cutoff)
        if value > cutoff:
            return PRUNED, n, value
        if status == UNFINISHED or np.isnan(value):  # a broken tableau
            return UNFINISHED, n, value


@compiled(integer, matrix, real, vector, finite=True)
def worst_multiplier(S: Any, tolerance: float, scratch: Any) -> int:
    """Return the active column of the wrong gradient whose re-entry alone would lower the error most, or -1."""
    d, g, h = S[DIAGONAL], S[POINT], S[ACTIVE_SIGN]
    for a in range(d.size):
        wrong = max(h[a] * g[a] - tolerance, 0.0)
        scratch[a] = wrong * wrong / max(d[a], MIN_PIVOT)
    best = 0.0
    for a in range(d.size):
        best = max(best, scratch[a])
    return position(scratch, best) if best > 0.0 else -1


@compiled(tuple_of((flag, integer, real)), problem_t, *trial_t, real)
def restore(problem: KernelProblem, T: Any, U: Any, C: Any, n: int, S: Any, value: float) -> tuple[bool, int, float]:
    """Let columns with a multiplier of the wrong sign re-enter; return (done, pending pivots, value).

    The active columns become fewer with each, so that it ends, at a dual feasible point.
    """
    tolerance = 10.0 * problem.tie
    while n < MAX_PENDING:
        i = worst_multiplier(S, tolerance, U[MAX_PENDING + 2])
        if i < 0:
            return True, n, value
        pending_row(T, i, U, C, n, U[n])
        value = pivot(i, 1.0, U, C, n, S, value)
        n += 1
    return False, n, value


@compiled(tuple_of((integer, real, real)), problem_t, real, matrix, vector, matrix, vector, matrix, real,
          matrix, glue=True)
def solve_in_place(problem: KernelProblem, cutoff: float, T: Any, T_passive: Any, U: Any, C: Any, S: Any, value: float,
                   scratch: Any) -> tuple[int, float, float]:
    """Solve the node of S, whose tableau is T, in T and S; return (status, value, safe bound).

    PRUNED is returned only if the safe bound has reached the cutoff; it is then the value too.
    """
    safe, status, n, ready = -np.inf, UNFINISHED, 0, True
    for _ in range(200):
        for a in range(S.shape[1]):
            T_passive[a] = S[PASSIVE, a]
        n, status = 0, UNFINISHED
        if problem.pairs.used:
            ready, n, value = restore(problem, T, U, C, n, S, value)
        if ready:
            status, n, value = dual_steps(problem, T, U, C, n, S, value, cutoff)
        if status != UNFINISHED:
            safe = safe_bound(problem, T, T_passive, U, C, n, S, scratch)
        if status == PRUNED and safe >= cutoff:
            return PRUNED, safe, safe
        materialise(T, T, U, C, n, S)
        if status == SOLVED or problem.stop[0] != 0:
            break
        cutoff = np.inf if status == PRUNED else cutoff
    for a in range(S.shape[1]):
        T_passive[a] = S[PASSIVE, a]
    return status, value, safe


@compiled(tuple_of((integer, real, real)), problem_t, signs_t, real, matrix, vector, matrix, vector, matrix,
          matrix, glue=True)
def solve_node(problem: KernelProblem, signs: Any, cutoff: float, T: Any, T_passive: Any, U: Any, C: Any, S: Any,
               scratch: Any) -> tuple[int, float, float]:
    """Solve the node of ``signs`` from the root, in T and S; return (status, value, safe bound)."""
    copy_state(problem.state, S)
    for i in range(S.shape[1]):
        for a in range(S.shape[1]):
            T[i, a] = problem.T[i, a]
    for k in range(signs.size):
        if signs[k] != 0:
            decide(problem, S, k, float(signs[k]))
    outcome: tuple[int, float, float] = solve_in_place(
        problem, cutoff, T, T_passive, U, C, S, problem.value, scratch
    )
    return outcome
