"""This toolkit: the whole call of ``partls.solve`` on raw data is timed, validation and compression included."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import partls
from benchmarks.contract import Answer, Method, Problem

WARM_UP_SECONDS = 2.0
WARM_UP_GROUPS = 2
MAX_GROUPS = partls.Enumeration.max_groups


@dataclass
class Bnb(Method):
    name = "bnb"
    penalised = ridged = True

    search: str = "depth-first"
    branching: str = "strong"
    threads: int = 1

    def options(self) -> dict:
        return {"method": "bnb", "search": self.search, "branching": self.branching, "n_jobs": self.threads}

    def warm_up(self, problem: Problem) -> None:
        self.set_up(problem, WARM_UP_SECONDS)
        self.run()

    def set_up(self, problem: Problem, time_limit: float) -> None:
        self._arguments = (problem.X, problem.y, problem.labels)
        self._options = {**self.options(), "fit_intercept": problem.fit_intercept}
        self._options |= {"eta": problem.eta, "ridge": problem.ridge, "time_limit": time_limit}

    def run(self) -> None:
        self._result = partls.solve(*self._arguments, **self._options)

    def answer(self) -> Answer:
        result = self._result
        return Answer(
            result.status.value, result.coef, result.intercept, result.objective, result.lower_bound, result.n_nodes
        )


@dataclass
class BnbWithoutPresolve(Bnb):
    name = "bnb_without_presolve"

    def options(self) -> dict:
        return {**super().options(), "presolve": False}


@dataclass
class Enumerate(Bnb):
    name = "enumerate"

    def settings(self) -> dict:
        return {}

    def options(self) -> dict:
        return {"method": "enumerate"}

    def warm_up(self, problem: Problem) -> None:
        few = np.flatnonzero(problem.labels < WARM_UP_GROUPS)  # a block of patterns is not cut by the time limit
        super().warm_up(replace(problem, X=problem.X[:, few], labels=problem.labels[few]))

    def reason_to_skip(self, problem: Problem) -> str:
        K = problem.shape[2]
        return f"2^{K} patterns: more than 2^{MAX_GROUPS}" if K > MAX_GROUPS else super().reason_to_skip(problem)
