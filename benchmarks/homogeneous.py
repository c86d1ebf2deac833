"""The published algorithms' intercept: one more column of ones, in a group of its own."""

from __future__ import annotations

import numpy as np

from benchmarks.contract import Problem


def homogeneous(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, y and the groups of the columns, with the intercept's column last, if there is one."""
    if not problem.fit_intercept:
        return problem.X, problem.y, problem.labels
    ones = np.ones((len(problem.y), 1))
    return np.hstack([problem.X, ones]), problem.y, np.append(problem.labels, problem.shape[2])


def split_intercept(problem: Problem, coef: np.ndarray | None) -> tuple[np.ndarray | None, float]:
    if coef is None or not problem.fit_intercept:
        return coef, 0.0
    return coef[:-1], float(coef[-1])
