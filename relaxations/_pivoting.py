"""The compiled kernel: sign-constrained least squares by principal pivoting, one warm-started dual step at a time.

The tableau of a passive set P (columns allowed to be nonzero) and its complement A (columns held at zero) is

    T_PP = -inv(Q_PP),   T_AP = Q_AP inv(Q_PP),   T_AA = Q_AA - Q_AP inv(Q_PP) Q_PA,   Q = R'R,

so one pivot is one rank-one update. Pivots are *pending* until they pay: a trial keeps its factors
``U, C`` with ``T + sum_l C_l U_l U_l'`` equal to the pivoted tableau, costs O(M) per pending pivot, and
touches the M x M array only when the search descends into the child (``materialise``). Most children are
pruned and never do.

The tableau proposes, the triangular factor disposes: no value leaves this module as a bound before
``certify`` has recomputed it from R and z alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

njit: Any = numba.njit
real, integer, flag = numba.float64, numba.int64, numba.boolean
vector, matrix, cube = real[::1], real[:, ::1], real[:, :, ::1]
signs_t, signs_table, integers, bytes_t = numba.int8[::1], numba.int8[:, ::1], integer[::1], numba.uint8[::1]


def compiled(result: Any, *arguments: Any, entry: bool = False, finite: bool = False) -> Any:
    """Compile a function for these types when its module is imported, or load it from the cache.

    Explicit types keep numba from compiling a variant per literal argument, and only an ``entry`` can be
    called from Python: both cut the first start to a third. ``finite`` promises that no NaN matters inside,
    which lets minima and maxima run in vector registers.
    """
    options: dict[str, Any] = {
        "nogil": True, "error_model": "numpy", "no_cpython_wrapper": not entry, "no_cfunc_wrapper": True,
        "fastmath": {"contract", "nsz", "arcp", "reassoc"} | ({"nnan"} if finite else set()),
    }

    def compile_cached(function: Any) -> Any:
        try:
            return njit(result(*arguments), cache=True, **options)(function)
        except RuntimeError:  # no folder to cache in: compile for this process alone
            return njit(result(*arguments), **options)(function)

    return compile_cached


# Rows of a node's state: the tableau's diagonal; the coefficient of a passive and the gradient of an active
# column; the sign required of a passive and of an active column (0: undecided); 1 if passive.
DIAGONAL, POINT, PASSIVE_SIGN, ACTIVE_SIGN, PASSIVE = 0, 1, 2, 3, 4
STATE_ROWS = 5

SOLVED, PRUNED, UNFINISHED = 0, 1, 2

MAX_PENDING = 48  # pending pivots before a trial stops with the (valid) bound it has reached
PENDING_ROWS = MAX_PENDING + 3  # two more for an exchange, one for scratch
_MIN_RATE = 1e-12  # slower multipliers cannot block a step within rounding
_MIN_EXCHANGE = 1e-7  # an undecided dependent column moves with the step only above this
_MIN_PIVOT = 1e-9  # below it a column (norm about 1) depends on the passive ones
_MARGIN = 1e-14  # rounding of a certified value, relative to the norms of the residual and of the data
_CORRECTIONS = 2  # refinements of a point whose optimality residual costs too much


class Problem(NamedTuple):
    """The reduced problem with its columns grouped together, and its tableau at the root.

    ``start[k]:start[k + 1]`` are the columns of group k. ``box`` bounds the size of each coefficient among
    the solutions that could still improve: it prices what is left of the optimality conditions.
    """

    R: Any
    z: Any
    rest: float
    size: float  # squared norm of the data, rest included
    start: Any
    box: Any
    T: Any
    state: Any
    value: float
    tolerance: float  # coefficients of the wrong sign below this are zero
    tie: float  # multipliers closer than this are equal
    slack: float  # price of the optimality residual below which a bound is not refined
    dependent: bool  # whether some undecided columns may stay out of the passive set
    D: Any  # diagonal below R'R, whose rises add up over undecided groups; used if ``strengthened``
    strengthened: bool


problem_t = numba.types.NamedTuple(
    [matrix, vector, real, real, integers, vector, matrix, matrix, real, real, real, real, flag, vector, flag], Problem
)
trial_t = (matrix, matrix, vector, integer, matrix)  # T, U, C, n, S


@compiled(numba.void, matrix, integer, matrix, vector, integer, vector)
def pending_row(T: Any, i: int, U: Any, C: Any, n: int, out: Any) -> None:
    """Write row i of the tableau after n pending pivots into ``out`` (its diagonal entry is kept elsewhere)."""
    M = out.size
    base = T[i]
    done = n % 4
    for a in range(M):
        out[a] = base[a]
    for p in range(done):
        c = C[p] * U[p, i]
        row = U[p]
        for a in range(M):
            out[a] += c * row[a]
    for p in range(done, n, 4):
        c0, c1, c2, c3 = C[p] * U[p, i], C[p + 1] * U[p + 1, i], C[p + 2] * U[p + 2, i], C[p + 3] * U[p + 3, i]
        r0, r1, r2, r3 = U[p], U[p + 1], U[p + 2], U[p + 3]
        for a in range(M):
            out[a] += c0 * r0[a] + c1 * r1[a] + c2 * r2[a] + c3 * r3[a]


@compiled(real, integer, real, matrix, vector, integer, matrix, real)
def pivot(i: int, direction: float, U: Any, C: Any, n: int, S: Any, value: float) -> float:
    """Move column i, whose row is in U[n], into (+1) or out of (-1) the passive set; return the squared error.

    The pivot is a symmetric rank-one update of the whole tableau, its own row included, up to its diagonal,
    which ``S[DIAGONAL]`` carries.
    """
    d, g, u = S[DIAGONAL], S[POINT], U[n]
    p = d[i]
    u[i] = 0.0
    c = -1.0 / p
    step = c * g[i]
    rise = step * g[i]
    for a in range(d.size):
        d[a] += c * u[a] * u[a]
        g[a] += step * u[a]
    d[i] = c
    g[i] = -direction * step
    u[i] = p - direction
    C[n] = c
    sign = S[PASSIVE_SIGN, i] + S[ACTIVE_SIGN, i]
    entering = direction > 0
    S[PASSIVE_SIGN, i] = sign if entering else 0.0
    S[ACTIVE_SIGN, i] = 0.0 if entering else sign
    S[PASSIVE, i] = 1.0 if entering else 0.0
    return value + rise


@compiled(numba.void, matrix, matrix, matrix, vector, integer, matrix)
def materialise(T: Any, out: Any, U: Any, C: Any, n: int, S: Any) -> None:
    """Write the tableau after n pending pivots into ``out`` (which may be T itself)."""
    for i in range(S.shape[1]):
        pending_row(T, i, U, C, n, out[i])
        out[i, i] = S[DIAGONAL, i]


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


@compiled(numba.types.Tuple((integer, real)), problem_t, matrix, vector, real, real, vector, finite=True)
def first_block(problem: Problem, S: Any, u: Any, s: float, longest: float, scratch: Any) -> tuple[int, float]:
    """Return the active column whose multiplier reaches zero first when row u's multiplier is raised, and when.

    Among columns that tie to rounding the one with the largest pivot is taken: with a zero residual all
    multipliers vanish, and an arbitrary tie would divide by noise. An undecided column outside the passive
    set depends on it: its gradient must stay zero, so it blocks at once.
    """
    g, h = S[POINT], S[ACTIVE_SIGN]
    shortest = longest
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
def spans_everything(problem: Problem, S: Any) -> bool:
    """Return whether the passive columns span all columns, so that any other depends on them."""
    if not problem.dependent:
        return False
    p, q = S[PASSIVE], problem.state[PASSIVE]
    more = 0.0
    for a in range(p.size):
        more += p[a] - q[a]
    return more >= 0.0  # the root's passive set is a maximal independent one


@compiled(numba.types.Tuple((integer, integer, real)), integer, problem_t, *trial_t, real, real)
def raise_multiplier(i: int, problem: Problem, T: Any, U: Any, C: Any, n: int, S: Any, value: float, cutoff: float
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
        if d[j] <= _MIN_PIVOT or spans_everything(problem, S):  # j has no pivot of its own until i has left
            value = pivot(i, -1.0, U, C, n, S, value)
            pending_row(T, j, U, C, n + 1, U[n + 1])
            value = pivot(j, 1.0, U, C, n + 1, S, value)
            g[i] = -s * multiplier
            return SOLVED, n + 2, value
        pending_row(T, j, U, C, n, u)
        value = pivot(j, 1.0, U, C, n, S, value)
        n += 1
    return UNFINISHED, n, value


@compiled(real, problem_t, matrix)
def disjunction(problem: Problem, S: Any) -> float:
    """Return what the undecided groups must still cost: the sum of ``min(sum_{w>0} d w^2, sum_{w<0} d w^2)``.

    Added to the value of S it is a lower bound, because ``R'R - D`` is positive semidefinite.
    """
    total = 0.0
    if problem.strengthened:
        for k in range(problem.start.size - 1):
            first, last = problem.start[k], problem.start[k + 1]
            if S[PASSIVE_SIGN, first] + S[ACTIVE_SIGN, first] == 0.0:
                plus, minus = 0.0, 0.0
                for a in range(first, last):
                    w = S[POINT, a] * S[PASSIVE, a]
                    plus += problem.D[a] * max(w, 0.0) ** 2
                    minus += problem.D[a] * min(w, 0.0) ** 2
                total += min(plus, minus)
    return total


@compiled(numba.types.Tuple((integer, integer, real)), problem_t, *trial_t, real, real)
def dual_steps(problem: Problem, T: Any, U: Any, C: Any, n: int, S: Any, value: float, cutoff: float
               ) -> tuple[int, int, float]:
    """Restore the signs required by S from a dual feasible point; return (status, pending pivots, value).

    SOLVED: the optimum under those signs. PRUNED: the value has passed the cutoff. UNFINISHED: the pending
    pivots are used up; materialise and go on. The first n pending pivots are there already.
    """
    while True:
        if value + disjunction(problem, S) > cutoff:
            return PRUNED, n, value
        i = worst_violation(S, problem.tolerance, U[MAX_PENDING + 2])
        if i < 0:
            return SOLVED, n, value
        status, n, value = raise_multiplier(i, problem, T, U, C, n, S, value, cutoff)
        if value > cutoff:
            return PRUNED, n, value
        if status == UNFINISHED or np.isnan(value):  # a broken tableau
            return UNFINISHED, n, value


@compiled(real, matrix, vector, integer)
def infeasibility(S: Any, gradient: Any, a: int) -> float:
    """Return how far column a's gradient is from dual feasibility: zero if undecided, one-sided if decided."""
    sign = S[PASSIVE_SIGN, a] + S[ACTIVE_SIGN, a]
    if sign == 0.0:
        return float(gradient[a])
    return float(sign * max(sign * gradient[a], 0.0))


@compiled(numba.types.Tuple((real, real)), problem_t, matrix, vector, vector)
def dual_value(problem: Problem, S: Any, point: Any, gradient: Any) -> tuple[float, float]:
    """Return (certified lower bound, price of the optimality residual) of the box of S, from R and z alone.

    For any r: ``||Rw - z||^2 >= 2 r'z - r'r - 2 (R'r)'w``. With r the residual of S's point, what the
    gradient R'r lacks to zero (undecided columns) or to its sign (decided ones) is priced by the box. With D,
    only ``R'R - D`` is linearised and the undecided groups keep ``x'Dx``, least over their two orthants.
    """
    R, g, p = problem.R, S[POINT], S[PASSIVE]
    height, M = R.shape
    for a in range(M):
        gradient[a] = 0.0
        point[a] = g[a] * p[a]
    square = 0.0
    for k in range(height):
        # R is triangular; slices that start at zero let the loops run in vector registers
        row, ahead, slope = R[k, k:], point[k:], gradient[k:]
        fitted = 0.0
        for a in range(M - k):
            fitted += row[a] * ahead[a]
        r = problem.z[k] - fitted
        square += r * r
        for a in range(M - k):
            slope[a] += row[a] * r
    inner, price = 0.0, 0.0
    for a in range(M):
        inner += point[a] * gradient[a]
    rise = 0.0
    for k in range(problem.start.size - 1):
        first, last = problem.start[k], problem.start[k + 1]
        plus, minus = 0.0, 0.0
        curved = problem.strengthened and S[PASSIVE_SIGN, first] + S[ACTIVE_SIGN, first] == 0.0
        for a in range(first, last):
            d = problem.D[a] if curved else 0.0
            if d > 0.0:  # the least of d x^2 - 2 (gradient + d w) x over each orthant, at any w
                h = gradient[a] + d * point[a]
                rise += d * point[a] * point[a]
                plus += max(h, 0.0) ** 2 / d
                minus += min(h, 0.0) ** 2 / d
            else:
                price += abs(infeasibility(S, gradient, a)) * problem.box[a]
        rise -= max(plus, minus)
    square += problem.rest
    value = square + 2.0 * inner - 2.0 * price + rise
    return value - _MARGIN * np.sqrt(square * problem.size), price


@compiled(numba.void, matrix, vector, matrix, vector, integer, matrix, vector)
def correct(T: Any, base_passive: Any, U: Any, C: Any, n: int, S: Any, gradient: Any) -> None:
    """One refinement of S's passive coefficients: ``w_P += inv(Q_PP) R_P' r`` with the tableau as the inverse."""
    M = S.shape[1]
    error, moved = np.zeros(M), np.zeros(M)
    for a in range(M):
        if S[PASSIVE, a] > 0.0:
            error[a] = infeasibility(S, gradient, a)
            row = T[a]
            for b in range(M):
                moved[b] += row[b] * error[a]
            if base_passive[a] == 0.0:
                moved[a] -= 2.0 * error[a]  # a pivoted column's own diagonal is off by two in the pending form
    for p in range(n):
        row = U[p]
        dot = 0.0
        for b in range(M):
            dot += row[b] * error[b]
        for b in range(M):
            moved[b] += C[p] * dot * row[b]
    for a in range(M):
        S[POINT, a] -= S[PASSIVE, a] * moved[a]


@compiled(real, problem_t, matrix, vector, matrix, vector, integer, matrix, vector, vector)
def certify(problem: Problem, T: Any, base_passive: Any, U: Any, C: Any, n: int, S: Any, point: Any,
            gradient: Any) -> float:
    """Return a certified lower bound for the box of S, refining its point while the residual costs too much."""
    value, price = dual_value(problem, S, point, gradient)
    for _ in range(_CORRECTIONS):
        if price <= problem.slack:
            break
        before = S[POINT].copy()
        correct(T, base_passive, U, C, n, S, gradient)
        refined, price = dual_value(problem, S, point, gradient)
        if not refined > value:
            for a in range(before.size):
                S[POINT, a] = before[a]
            break
        value = refined
    return value


@compiled(numba.void, matrix, matrix)
def copy_state(source: Any, target: Any) -> None:
    """Copy one node's state (a plain loop compiles ten times faster than a slice assignment)."""
    for row in range(STATE_ROWS):
        for a in range(source.shape[1]):
            target[row, a] = source[row, a]


@compiled(numba.void, problem_t, matrix, integer, real)
def decide(problem: Problem, S: Any, k: int, sign: float) -> None:
    """Require ``sign`` of every column of group k."""
    for a in range(problem.start[k], problem.start[k + 1]):
        passive = S[PASSIVE, a] > 0.0
        S[PASSIVE_SIGN, a] = sign if passive else 0.0
        S[ACTIVE_SIGN, a] = 0.0 if passive else sign


@compiled(numba.types.Tuple((integer, real, real)), problem_t, signs_t, real, matrix, vector, matrix, vector, matrix,
          vector, vector, entry=True)
def solve_node(problem: Problem, signs: Any, cutoff: float, T: Any, T_passive: Any, U: Any, C: Any, S: Any, point: Any,
               gradient: Any) -> tuple[int, float, float]:
    """Solve the node of ``signs`` from the root, in T and S; return (status, value, certified bound).

    PRUNED is returned only if the certified bound has reached the cutoff; it is then the value too.
    """
    copy_state(problem.state, S)
    for i in range(S.shape[1]):
        for a in range(S.shape[1]):
            T[i, a] = problem.T[i, a]
    for k in range(signs.size):
        if signs[k] != 0:
            decide(problem, S, k, float(signs[k]))
    value, certified, status = problem.value, -np.inf, UNFINISHED
    for _ in range(200):
        for a in range(S.shape[1]):
            T_passive[a] = S[PASSIVE, a]
        status, n, value = dual_steps(problem, T, U, C, 0, S, value, cutoff)
        if status != UNFINISHED:
            certified = certify(problem, T, T_passive, U, C, n, S, point, gradient)
        if status == PRUNED and certified >= cutoff:
            return PRUNED, certified, certified
        materialise(T, T, U, C, n, S)
        if status == SOLVED:
            break
        cutoff = np.inf if status == PRUNED else cutoff
    for a in range(S.shape[1]):
        T_passive[a] = S[PASSIVE, a]
    return status, value, certified
