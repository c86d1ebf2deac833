"""The neutral referee: recomputes everything from the raw data, reports what is wrong and repairs nothing.

A method's own figures are compared with the data, its signs are counted as they are, and its bound is held against
the best feasible objective that any method found for the same problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.contract import Answer, Problem
from benchmarks.rational import exact_objective

AGREEMENT = 1e-9  # relative: what two exact methods, or a claim and the data, may differ by
VANISHING = 1e-12  # of ||y||^2: an objective below this is zero to working precision


@dataclass(frozen=True)
class Score:
    """What the data say about an answer."""

    objective: float
    sign_violations: int  # coefficients that would have to change sign
    worst_violation: float  # the largest such coefficient
    gap: float  # between the recomputed objective and the claimed bound
    test_error: float = np.nan  # mean squared error on the rows to predict

    @property
    def feasible(self) -> bool:
        return bool(np.isfinite(self.objective)) and self.sign_violations == 0


@dataclass(frozen=True, eq=False)
class Entry:
    """One method's answer to a problem, its score, and what the method claims to be."""

    answer: Answer
    score: Score
    exact: bool
    signed: bool


def score(problem: Problem, answer: Answer) -> Score:
    """Recompute objective, sign violations and gap of an answer."""
    if answer.coef is None:
        return Score(np.nan, 0, 0.0, np.nan)
    coef = np.asarray(answer.coef, dtype=float)
    objective = (exact_objective if problem.rational else _objective)(problem, coef, answer.intercept)
    wrong = np.concatenate([_wrong_side(coef[problem.labels == k]) for k in range(problem.shape[2])])
    gap = max(objective - answer.lower_bound, 0.0) / max(objective, VANISHING * _size(problem))
    test_error = _test_error(problem, coef, answer.intercept)
    return Score(objective, len(wrong), float(wrong.max(initial=0.0)), gap, test_error)


def faults(problem: Problem, entries: Sequence[Entry]) -> list[list[str]]:
    """Return what is wrong with each of the answers to one problem; an empty list is a clean sheet."""
    best = min((entry.score.objective for entry in entries if entry.score.feasible), default=np.inf)
    return [_faults(problem, entry, best) for entry in entries]


def tolerance(problem: Problem, objective: float) -> float:
    """Return how much two values of an objective of this problem may differ."""
    return AGREEMENT * objective + VANISHING * _size(problem)


def _faults(problem: Problem, entry: Entry, best: float) -> list[str]:
    found, answer, scored = [], entry.answer, entry.score
    slack = tolerance(problem, best)
    if answer.coef is not None:
        if not np.isfinite(scored.objective):
            found.append("coefficients not finite")
        if not problem.fit_intercept and answer.intercept != 0:
            found.append("intercept where there is none")
        if entry.signed and scored.sign_violations:
            found.append(f"{scored.sign_violations} sign violations, worst {scored.worst_violation:.1e}")
        if abs(answer.claimed - scored.objective) > tolerance(problem, scored.objective):
            found.append(f"claims {answer.claimed:.12g}, the data say {scored.objective:.12g}")
    if entry.exact and answer.status == "optimal" and not scored.objective - best <= slack:
        found.append(f"not optimal: {_relative(scored.objective, best)} above the best known")
    if answer.lower_bound - best > slack:
        found.append(f"invalid bound: {_relative(answer.lower_bound, best)} above the best known")
    return found


def _objective(problem: Problem, coef: np.ndarray, intercept: float) -> float:
    beta = np.bincount(problem.labels, coef)
    penalty = problem.eta * beta @ beta + problem.ridge * coef @ coef
    return float(np.square(problem.X @ coef + intercept - problem.y).sum() + penalty)


def _test_error(problem: Problem, coef: np.ndarray, intercept: float) -> float:
    if problem.X_test is None:
        return np.nan
    return float(np.square(problem.X_test @ coef + intercept - problem.y_test).mean())


def _wrong_side(coef: np.ndarray) -> np.ndarray:
    """Return the sizes of the coefficients on the side of zero that has fewer, or smaller, ones."""
    up, down = coef[coef > 0], -coef[coef < 0]
    return min(up, down, key=lambda side: (len(side), side.sum()))


def _size(problem: Problem) -> float:
    return float(problem.y @ problem.y)


def _relative(value: float, best: float) -> str:
    return f"{(value - best) / best:.1e}" if best > 0 else f"{value - best:.1e} (absolute)"
