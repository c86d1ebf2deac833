"""The published alternation (PartLS-alt as its authors implement it), on SciPy's compiled NNLS.

From alpha uniform and beta signed, T times: one cold NNLS in alpha on all N rows, the sums of the groups moved into
beta, then least squares in beta. A group that has become all zero gets equal shares again. An intercept is one more
column, in a group of its own. The published objective is the norm, not its square: it stands beside, as ``norm``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks.contract import Answer, Method, Problem
from benchmarks.homogeneous import homogeneous, split_intercept


@dataclass
class ReferenceAlternating(Method):
    name = "reference_alternating"
    trusted = False
    exact = False

    n_starts: int = 20
    max_iter: int = 20

    def set_up(self, problem: Problem, time_limit: float) -> None:
        self._problem, self._time_limit = problem, time_limit
        self._X, self._y, self._labels = homogeneous(problem)
        self._K = int(self._labels.max()) + 1
        self._indicator = (self._labels[:, None] == np.arange(self._K)).astype(float)
        self._objective, self._coef, self._made, self._revived, self._status = np.inf, None, 0, 0, "heuristic"
        self._trace: list[tuple[float, float]] = []

    def run(self) -> None:
        self._began = time.perf_counter()
        rng = np.random.default_rng(0)
        for _ in range(self.n_starts):
            self._alternate(rng.uniform(size=len(self._labels)), 10 * (rng.uniform(size=self._K) - 0.5))
            self._made += 1
            self._trace.append((self._elapsed(), self._objective))
            if self._elapsed() > self._time_limit:
                self._status = "time limit"
                return

    def _elapsed(self) -> float:
        return time.perf_counter() - self._began

    def _alternate(self, alpha: np.ndarray, beta: np.ndarray) -> None:
        for _ in range(self.max_iter):
            weights = nnls(self._X * beta[self._labels], self._y)[0]
            self._offer(weights * beta[self._labels])
            sums = self._indicator.T @ weights
            empty = sums == 0
            if empty.any():
                self._revived += int(empty.sum())
                weights = np.where(empty[self._labels], 1.0 / self._indicator.sum(axis=0)[self._labels], weights)
                sums = np.where(empty, 1.0, sums)
            alpha, beta = weights / sums[self._labels], beta * sums
            beta = np.linalg.lstsq(self._X @ (self._indicator * alpha[:, None]), self._y, rcond=None)[0]
            self._offer(alpha * beta[self._labels])
            if self._elapsed() > self._time_limit:
                return

    def _offer(self, coef: np.ndarray) -> None:
        objective = float(np.square(self._X @ coef - self._y).sum())
        if objective < self._objective:
            self._objective, self._coef = objective, coef

    def answer(self) -> Answer:
        notes = {"starts": self._made, "revived": self._revived, "norm": float(np.sqrt(self._objective)),
                 "trace": improvements(self._trace)}
        coef, intercept = split_intercept(self._problem, self._coef)
        return Answer(self._status, coef, intercept, claimed=self._objective, notes=notes)


def improvements(trace: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return (seconds, best objective so far) where it fell, and at the end."""
    kept, best = [], np.inf
    for seconds, objective in trace:
        if objective < best:
            best = objective
            kept.append((round(seconds, 6), objective))
    return [*kept, (round(trace[-1][0], 6), best)] if trace else []
