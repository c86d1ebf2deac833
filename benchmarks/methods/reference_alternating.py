"""The published alternation (PartLS-alt as its authors implement it), on SciPy's compiled NNLS.

From alpha uniform and beta signed, T times: one cold NNLS in alpha on all N rows, the sums of the groups moved into
beta, then least squares in beta. The published code divides by the sum of a group that has become all zero; here,
a favour to it, such a start ends where it was, and is counted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks.contract import Answer, Method, Problem


@dataclass
class ReferenceAlternating(Method):
    name = "reference_alternating"
    exact = False

    n_starts: int = 20
    max_iter: int = 20

    def reason_to_skip(self, problem: Problem) -> str:
        return "intercept not supported" if problem.fit_intercept else super().reason_to_skip(problem)

    def set_up(self, problem: Problem, time_limit: float) -> None:
        self._X, self._y, self._labels, self._K = problem.X, problem.y, problem.labels, problem.shape[2]
        self._indicator = (self._labels[:, None] == np.arange(self._K)).astype(float)
        self._time_limit = time_limit
        self._objective, self._coef, self._made, self._broken, self._status = np.inf, None, 0, 0, "heuristic"

    def run(self) -> None:
        self._deadline = time.perf_counter() + self._time_limit
        rng = np.random.default_rng(0)
        for _ in range(self.n_starts):
            self._alternate(rng.uniform(size=len(self._labels)), 10 * (rng.uniform(size=self._K) - 0.5))
            self._made += 1
            if time.perf_counter() > self._deadline:
                self._status = "time limit"
                return

    def _alternate(self, alpha: np.ndarray, beta: np.ndarray) -> None:
        for _ in range(self.max_iter):
            weights = nnls(self._X * beta[self._labels], self._y)[0]
            self._offer(weights * beta[self._labels])
            sums = self._indicator.T @ weights
            if not sums.all():
                self._broken += 1
                return
            alpha, beta = weights / sums[self._labels], beta * sums
            beta = np.linalg.lstsq(self._X @ (self._indicator * alpha[:, None]), self._y, rcond=None)[0]
            self._offer(alpha * beta[self._labels])
            if time.perf_counter() > self._deadline:
                return

    def _offer(self, coef: np.ndarray) -> None:
        objective = float(np.square(self._X @ coef - self._y).sum())
        if objective < self._objective:
            self._objective, self._coef = objective, coef

    def answer(self) -> Answer:
        notes: dict[str, float | str] = {"starts": self._made, "broken": self._broken}
        return Answer(self._status, self._coef, claimed=self._objective, notes=notes)
