"""The big-M mixed-integer program, as data for any solver, and the way from its answer to an exact one.

    minimise ``||R w - z||^2 + rest``  s.t.  ``-m_j (1 - b_k) <= w_j <= m_j b_k``,  b binary, k the group of j

Every m_j is valid: a point at least as good as a known feasible one, of value ``upper``, lies in the ellipsoid
``(w - v)'Q(w - v) <= upper - f(v)`` around the least-squares point v, so
``|w_j| <= |v_j| + sqrt((upper - f(v)) (Q^-1)_jj)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks.contract import Answer, Problem

FULL_RANK = 1e-10  # of the largest diagonal entry of the triangle: below it a column repeats others
SLACK = 1.001  # on each m_j, so that no bound is tight by rounding


@dataclass(frozen=True, eq=False)
class BigM:
    """The compressed data and the bounds of the coefficients."""

    R: np.ndarray
    z: np.ndarray
    rest: float
    size: np.ndarray  # m_j
    start: np.ndarray  # signs of the groups in the known feasible point
    upper: float


def reason_to_skip(problem: Problem) -> str:
    N, M, _ = problem.shape
    if problem.fit_intercept:
        return "intercept not supported"
    return "no valid big-M: fewer rows than columns" if N < M else ""


def big_m(problem: Problem) -> BigM:
    X, y, labels = problem.X, problem.y, problem.labels
    M, K = problem.shape[1:]
    T = np.linalg.qr(np.column_stack([X, y]), mode="r")
    R, z, rest = T[:M, :M], T[:M, M], float(np.square(T[M:, M]).sum())
    diagonal = np.abs(np.diag(R))
    if diagonal.min() <= FULL_RANK * diagonal.max():
        raise ValueError("no valid big-M: dependent columns")
    inverse = np.linalg.inv(R)
    free = inverse @ z
    start = np.where(np.bincount(labels, free, K) >= 0, 1.0, -1.0)
    upper = float(nnls(R * start[labels], z)[1]) ** 2 + rest
    reach = np.sqrt(max(upper - rest, 0.0) * np.square(inverse).sum(axis=1))
    return BigM(R, z, rest, SLACK * (np.abs(free) + reach), start, upper)


def rounded_answer(problem: Problem, status: str, raw: np.ndarray, **claims) -> Answer:
    """Return the exact optimum under the signs of a solver's coefficients, the solver's own figures beside it."""
    labels, K = problem.labels, problem.shape[2]
    signs = np.where(np.bincount(labels, raw, K) >= 0, 1.0, -1.0)[labels]
    weights, norm = nnls(problem.X * signs, problem.y)
    notes = {
        "raw_objective": claims.pop("raw_objective"),
        "raw_recomputed": float(np.square(problem.X @ raw - problem.y).sum()),
        "raw_violation": float(np.maximum(-raw * signs, 0.0).max()),
    }
    return Answer(status, weights * signs, claimed=norm**2, notes=notes, **claims)
