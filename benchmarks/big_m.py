"""The big-M mixed-integer program, as data for any solver, and the way from its answer to an exact one.

    minimise ``||R w - z||^2 + rest``  s.t.  ``-m_j (1 - b_k) <= w_j <= m_j b_k``,  b binary, k the group of j

Every m_j is valid: ``formulations.builders.coefficient_bounds`` proves it from the value ``upper`` of a known
feasible point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks.contract import Answer, Problem
from formulations.builders.coefficient_bounds import level_set_bounds

SLACK = 1.001  # on the bounds of residuals and objective, so that none is tight by rounding


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
    free = np.linalg.lstsq(R, z, rcond=None)[0]
    start = np.where(np.bincount(labels, free, K) >= 0, 1.0, -1.0)
    upper = float(nnls(R * start[labels], z)[1]) ** 2 + rest
    size = level_set_bounds(R, z, rest, upper)
    if not np.isfinite(size).all():
        raise ValueError("no valid big-M: dependent columns")
    return BigM(R, z, rest, size, start, upper)


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
