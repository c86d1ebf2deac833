"""The tableau of sign-constrained least squares and its pivots, compiled.

For a passive set P (columns allowed to be nonzero) and its complement A (columns held at zero) it is

    T_PP = -inv(Q_PP),   T_AP = Q_AP inv(Q_PP),   T_AA = Q_AA - Q_AP inv(Q_PP) Q_PA,   Q = R'R,

so one pivot is one rank-one update. Pivots are *pending* until they pay: a trial keeps its factors
``U, C`` with ``T + sum_l C_l U_l U_l'`` equal to the pivoted tableau, costs O(M) per pending pivot, and
touches the M x M array only when the search descends into the child (``materialise``). Most children are
pruned and never do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .compilation import bytes_t, compiled, flag, integer, integers, matrix, named_tuple_of, nothing, real, vector

# Rows of a node's state: the tableau's diagonal; the coefficient of a passive and the gradient of an active
# column; the sign required of a passive and of an active column (0: undecided); 1 if passive; 1 if the tableau holds
# the pair multipliers of the column's group.
DIAGONAL, POINT, PASSIVE_SIGN, ACTIVE_SIGN, PASSIVE, PAIRED = 0, 1, 2, 3, 4, 5
STATE_ROWS = 6

MAX_PENDING = 64  # pending pivots before a trial stops with the (valid) bound it has reached
PENDING_ROWS = MAX_PENDING + 3  # two more for an exchange, one for scratch
MIN_PIVOT = 1e-9  # below it a column (norm about 1) depends on the passive ones


class PairMultipliers(NamedTuple):
    """Nonnegative multipliers N of pairs inside groups: the tableau is then that of ``F = R'R - N``.

    Row a of ``N`` and of ``H`` belongs to column a, their entries to the columns of its group, and N of a group is
    ``H J H'`` with J the ``signature``, positive entries first. ``Z = J + H' inv(F) H`` with all rounding added to its
    diagonal: N of some groups can be left out, and F stays positive definite, if the block of Z that belongs to them
    has as many negative eigenvalues as J (``node.stays_convex``).
    """

    used: bool
    N: Any
    H: Any
    signature: Any
    Z: Any


class KernelProblem(NamedTuple):
    """The reduced problem with its columns grouped together, and its tableau at the root.

    ``start[k]:start[k + 1]`` are the columns of group k. ``coef_bounds`` are those of the size of each coefficient
    among the solutions that could still improve: it prices what is left of the optimality conditions.
    """

    R: Any
    z: Any
    rest: float
    size: float  # squared norm of the data, rest included
    start: Any
    coef_bounds: Any
    T: Any
    state: Any
    value: float
    tolerance: float  # coefficients of the wrong sign below this are zero
    tie: float  # multipliers closer than this are equal
    slack: float  # price of the optimality residual below which a bound is not refined
    dependent: bool  # whether some undecided columns may stay out of the passive set
    D: Any  # diagonal below R'R, whose rises add up over undecided groups; used if ``has_diagonal``
    has_diagonal: bool
    pairs: PairMultipliers
    stop: Any  # one number, which is not zero once the work is to end


pairs_t = named_tuple_of([flag, matrix, matrix, vector, matrix], PairMultipliers)
problem_t = named_tuple_of(
    [matrix, vector, real, real, integers, vector, matrix, matrix, real, real, real, real, flag, vector, flag,
     pairs_t, bytes_t], KernelProblem
)
trial_t = (matrix, matrix, vector, integer, matrix)  # T, U, C, n, S


@compiled(nothing, matrix, integer, matrix, vector, integer, vector)
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


@compiled(nothing, matrix, matrix, matrix, vector, integer, matrix)
def materialise(T: Any, out: Any, U: Any, C: Any, n: int, S: Any) -> None:
    """Write the tableau after n pending pivots into ``out`` (which may be T itself)."""
    for i in range(S.shape[1]):
        pending_row(T, i, U, C, n, out[i])
        out[i, i] = S[DIAGONAL, i]


@compiled(nothing, matrix, matrix)
def copy_state(source: Any, target: Any) -> None:
    """Copy one node's state (a plain loop compiles ten times faster than a slice assignment)."""
    for row in range(STATE_ROWS):
        for a in range(source.shape[1]):
            target[row, a] = source[row, a]


@compiled(nothing, problem_t, matrix, integer, real)
def decide(problem: KernelProblem, S: Any, k: int, sign: float) -> None:
    """Require ``sign`` of every column of group k."""
    for a in range(problem.start[k], problem.start[k + 1]):
        passive = S[PASSIVE, a] > 0.0
        S[PASSIVE_SIGN, a] = sign if passive else 0.0
        S[ACTIVE_SIGN, a] = 0.0 if passive else sign
