"""The problem as printed, in alpha and beta, handed to a solver of nonlinear programs through CVXPY: a local method.

The best of several starts, drawn like those of the alternation (alpha uniform). The model is built, and its start set,
inside the clock: CVXPY takes the start with the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.contract import Answer, Method, Problem
from formulations import Instance, bilinear


@dataclass
class BilinearNlp(Method):
    """``n_starts`` local solutions by UNO; the best one counts."""

    name = "bilinear_nlp"
    exact = False
    requires = ("unopy",)

    n_starts: int = 4

    def set_up(self, problem: Problem, time_limit: float) -> None:
        self._instance = Instance(problem.X, problem.y, problem.labels, fit_intercept=problem.fit_intercept)
        bilinear(self._instance, start=0).solve()  # imports

    def run(self) -> None:
        found = []
        for start in range(self.n_starts):
            model = bilinear(self._instance, start=start)
            value = model.solve()
            if np.isfinite(value):
                found.append((value, model))
        self._best = min(found, key=lambda pair: pair[0], default=None)

    def answer(self) -> Answer:
        if self._best is None:
            return Answer("failed: no start converged")
        value, model = self._best
        coef, intercept = model.solution()
        return Answer("heuristic", coef, intercept, value, notes={"starts": self.n_starts})
