"""Safe bounds inside the kernel: the tableau proposes, the triangular factor disposes.

No value leaves the kernel as a bound before it has been recomputed here from R and z alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compilation import compiled, integer, matrix, nothing, real, tuple_of, vector
from .tableau import ACTIVE_SIGN, PAIRED, PASSIVE, PASSIVE_SIGN, POINT, KernelProblem, problem_t

_MARGIN = 1e-14  # rounding of a safe value, relative to the norms of the residual and of the data
_PRODUCT_MARGIN = 1e-14  # the same of what N adds: some tens of roundings, for groups of up to a hundred columns
_CORRECTIONS = 2  # refinements of a point whose optimality residual costs too much

FITTED, GRADIENT, ERROR, MOVED, BEFORE = 0, 1, 2, 3, 4  # rows of scratch, given by the caller: allocating costs
SCRATCH_ROWS = 5  # compile time in every function that takes safe bounds


@compiled(real, matrix, vector, integer)
def infeasibility(S: Any, gradient: Any, a: int) -> float:
    """Return how far column a's gradient is from dual feasibility: zero if undecided, one-sided if decided."""
    sign = S[PASSIVE_SIGN, a] + S[ACTIVE_SIGN, a]
    if sign == 0.0:
        return float(gradient[a])
    return float(sign * max(sign * gradient[a], 0.0))


@compiled(real, problem_t, matrix)
def disjunction(problem: KernelProblem, S: Any) -> float:
    """Return what the undecided groups must still cost: the sum of ``min(sum_{w>0} d w^2, sum_{w<0} d w^2)``.

    Added to the value of S it is a lower bound, because ``R'R - D`` is positive semidefinite.
    """
    total = 0.0
    if problem.has_diagonal:
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


@compiled(tuple_of((real, real)), problem_t, matrix, matrix)
def pair_products(problem: KernelProblem, S: Any, scratch: Any) -> tuple[float, float]:
    """Return (w'N w, what rounding may have added to it and to N w), with N w added to the gradient."""
    N, point, gradient = problem.pairs.N, scratch[FITTED], scratch[GRADIENT]
    total, size = 0.0, 0.0
    for k in range(problem.start.size - 1):
        first, last = problem.start[k], problem.start[k + 1]
        if S[PAIRED, first] == 0.0:
            continue
        for a in range(first, last):
            pull, pulls = 0.0, 0.0
            for b in range(first, last):
                pull += N[a, b - first] * point[b]
                pulls += N[a, b - first] * abs(point[b])
            gradient[a] += pull
            total += point[a] * pull
            size += pulls * (abs(point[a]) + problem.coef_bounds[a])
    return total, _PRODUCT_MARGIN * size


@compiled(tuple_of((real, real)), problem_t, matrix, matrix)
def dual_value(problem: KernelProblem, S: Any, scratch: Any) -> tuple[float, float]:
    """Return (safe lower bound, price of the optimality residual) of the box of S, from R and z alone.

    For any r: ``||Rw - z||^2 >= 2 r'z - r'r - 2 (R'r)'w``. With r the residual of S's point, what the
    gradient R'r lacks to zero (undecided columns) or to its sign (decided ones) is priced by the bound of its
    coefficient. With N, ``w'N w >= 0`` for every solution w, so that F = R'R - N, positive semidefinite, may stand for
    R'R: the gradient is then R'r + N w. With D, only ``R'R - D`` is linearised and the undecided groups keep ``x'Dx``,
    least over their two orthants.
    """
    R, g, p, point, gradient = problem.R, S[POINT], S[PASSIVE], scratch[FITTED], scratch[GRADIENT]
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
    inner, price, products, rounded = 0.0, 0.0, 0.0, 0.0
    if problem.pairs.used:
        products, rounded = pair_products(problem, S, scratch)
    for a in range(M):
        inner += point[a] * gradient[a]
    rise = 0.0
    for k in range(problem.start.size - 1):
        first, last = problem.start[k], problem.start[k + 1]
        plus, minus = 0.0, 0.0
        curved = problem.has_diagonal and S[PASSIVE_SIGN, first] + S[ACTIVE_SIGN, first] == 0.0
        for a in range(first, last):
            d = problem.D[a] if curved else 0.0
            if d > 0.0:  # the least of d x^2 - 2 (gradient + d w) x over each orthant, at any w
                h = gradient[a] + d * point[a]
                rise += d * point[a] * point[a]
                plus += max(h, 0.0) ** 2 / d
                minus += min(h, 0.0) ** 2 / d
            else:
                price += abs(infeasibility(S, gradient, a)) * problem.coef_bounds[a]
        rise -= max(plus, minus)
    square += problem.rest
    value = square - products + 2.0 * inner - 2.0 * price + rise - rounded
    return value - _MARGIN * np.sqrt(square * problem.size), price


@compiled(nothing, matrix, vector, matrix, vector, integer, matrix, matrix)
def correct(T: Any, base_passive: Any, U: Any, C: Any, n: int, S: Any, scratch: Any) -> None:
    """One refinement of S's passive coefficients: ``w_P += inv(Q_PP) R_P' r`` with the tableau as the inverse."""
    M = S.shape[1]
    gradient, error, moved = scratch[GRADIENT], scratch[ERROR], scratch[MOVED]
    for a in range(M):
        error[a] = infeasibility(S, gradient, a) if S[PASSIVE, a] > 0.0 else 0.0
        moved[a] = 0.0
    for a in range(M):
        if error[a] != 0.0:
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


@compiled(real, problem_t, matrix, vector, matrix, vector, integer, matrix, matrix)
def safe_bound(problem: KernelProblem, T: Any, base_passive: Any, U: Any, C: Any, n: int, S: Any, scratch: Any
               ) -> float:
    """Return a safe lower bound for the box of S, refining its point while the residual costs too much."""
    value, price = dual_value(problem, S, scratch)
    for _ in range(_CORRECTIONS):
        if price <= problem.slack:
            break
        before = scratch[BEFORE]
        for a in range(S.shape[1]):
            before[a] = S[POINT, a]
        correct(T, base_passive, U, C, n, S, scratch)
        refined, price = dual_value(problem, S, scratch)
        if not refined > value:
            for a in range(S.shape[1]):
                S[POINT, a] = before[a]
            break
        value = refined
    return value
