"""Pair multipliers in the tableau, compiled: how a node drops those of a group once the group is decided.

With nonnegative multipliers N of pairs inside undecided groups, every node is a sign-constrained least squares problem
on ``F = R'R - N`` instead of R'R: a higher bound at the same price. A decided group needs no N, because its products
are nonnegative by themselves; without N the bound rises further. Dropping N is an update of the tableau whose rank is
the size of the group (``drop_pairs``). It leaves some multipliers of signs with the wrong sign: their columns re-enter
(``pivoting.restore``), and the usual dual steps follow. ``stays_convex`` proves beforehand that F stays positive
definite.
"""

from __future__ import annotations

from typing import Any

from .compilation import compiled, flag, integer, integers, matrix, nothing, real, tuple_of, vector
from .tableau import (
    DIAGONAL,
    PAIRED,
    PASSIVE,
    POINT,
    KernelProblem,
    pending_row,
    problem_t,
    trial_t,
)

_UNIT = 2.3e-16
ALLOWANCE = 1e-6  # on the diagonal of Z, for all rounding


@compiled(flag, problem_t, matrix, vector, integers, integer, integer)
def stays_convex(problem: KernelProblem, L: Any, pivots: Any, order: Any, n: int, k: int) -> bool:
    """Return whether F stays positive definite when N of group k is dropped, after those in the first n rows.

    ``Z + E = L diag(pivots) L'`` for the rows in ``order``, with E below (n + 1) units of the trace of the absolute
    factors, and the allowance on Z's diagonal is larger: so the pivots have the signs of J only if Z has. By
    Haynsworth's theorem on the inertia of ``[[F, H], [H', -J]]`` the matrix ``F + H J H'`` is then positive definite.
    The rows of k are appended to L.
    """
    Z, J = problem.pairs.Z, problem.pairs.signature
    size = 0.0
    for r in range(n):
        size += L[r, r]
    for i in range(problem.start[k], problem.start[k + 1]):
        row, total = L[n], abs(Z[i, i])
        for c in range(n):  # row[c] is first l_c d_c
            other, entry = L[c], Z[i, order[c]]
            for q in range(c):
                entry -= row[q] * other[q]
            row[c] = entry
        pivot_value = Z[i, i]
        for c in range(n):
            entry = row[c] / pivots[c]
            pivot_value -= entry * row[c]
            total += abs(entry * row[c])
            row[c] = entry
        pivots[n], order[n] = pivot_value, i
        row[n] = total + abs(pivot_value)  # the diagonal of |L| |D| |L'| and more
        size += row[n]
        n += 1
        if not pivot_value * J[i] > 0.0 or (n + 2) * _UNIT * size > 0.5 * ALLOWANCE:
            return False
    return True


@compiled(nothing, problem_t, *trial_t, integer, matrix)
def group_rows(problem: KernelProblem, T: Any, U: Any, C: Any, n: int, S: Any, k: int, rows: Any) -> None:
    """Write the directions of group k's columns: minus the tableau's row if passive, the unit vector if active."""
    first = problem.start[k]
    for a in range(first, problem.start[k + 1]):
        row = rows[a - first]
        if S[PASSIVE, a] > 0.0:
            pending_row(T, a, U, C, n, row)
            row[a] = S[DIAGONAL, a]
            for b in range(row.size):
                row[b] = -row[b]
        else:
            for b in range(row.size):
                row[b] = 0.0
            row[a] = 1.0


@compiled(tuple_of((integer, real)), problem_t, *trial_t, real, integer, matrix)
def drop_pairs(problem: KernelProblem, T: Any, U: Any, C: Any, n: int, S: Any, value: float, k: int, rows: Any
            ) -> tuple[int, float]:
    """Add N of group k to F again, one pending rank-one update per column; return (pending pivots, value)."""
    H, J = problem.pairs.H, problem.pairs.signature
    first, last = problem.start[k], problem.start[k + 1]
    group_rows(problem, T, U, C, n, S, k, rows)
    d, g, p = S[DIAGONAL], S[POINT], S[PASSIVE]
    for i in range(first, last):
        t = U[n]
        for b in range(t.size):
            t[b] = 0.0
        moved = 0.0
        for a in range(first, last):
            h, row = H[a, i - first], rows[a - first]
            moved += h * p[a] * g[a]
            for b in range(t.size):
                t[b] += h * row[b]
        curvature = J[i]
        for a in range(first, last):
            curvature += H[a, i - first] * p[a] * t[a]
        c = 1.0 / curvature
        value += c * moved * moved
        step = c * moved
        for b in range(t.size):
            g[b] -= step * t[b]
            d[b] += c * t[b] * t[b]
        for a in range(first, last):
            if p[a] > 0.0:
                factor, row = c * t[a], rows[a - first]
                for b in range(t.size):
                    row[b] -= factor * t[b]
        C[n] = c
        n += 1
    for a in range(first, last):
        S[PAIRED, a] = 0.0
    return n, value
