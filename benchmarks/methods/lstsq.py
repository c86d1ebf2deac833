"""One ordinary least squares fit by NumPy: what a fit without signs costs. Its objective bounds every other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.contract import Answer, Method, Problem


@dataclass
class Lstsq(Method):
    name = "lstsq"
    exact = False
    signed = False

    def reason_to_skip(self, problem: Problem) -> str:
        return "intercept not supported" if problem.fit_intercept else super().reason_to_skip(problem)

    def warm_up(self, problem: Problem) -> None:
        self.set_up(problem, 0.0)  # our methods have run once too: the first run pays for fresh memory
        self.run()

    def set_up(self, problem: Problem, time_limit: float) -> None:
        self._X, self._y = problem.X, problem.y

    def run(self) -> None:
        self._coef = np.linalg.lstsq(self._X, self._y, rcond=None)[0]

    def answer(self) -> Answer:
        return Answer("unconstrained", self._coef)
