"""All sign patterns in exact arithmetic: the yardstick for rounding errors, far too slow for anything else."""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from benchmarks.contract import Answer, Method, Problem
from benchmarks.rational import nonnegative, normal_equations

LARGEST = 16  # columns: the fractions grow with each elimination


@dataclass
class RationalEnumeration(Method):
    """Claims the exact optimum, rounded once; its coefficients are rounded too, so their own objective is higher."""

    name = "rational_enumeration"
    exact = False  # what is claimed is exact; the rounded coefficients are not

    def reason_to_skip(self, problem: Problem) -> str:
        if problem.shape[1] > LARGEST or problem.shape[0] < problem.shape[1]:
            return f"more than {LARGEST} columns, or fewer rows than columns"
        return "intercept not supported" if problem.fit_intercept else super().reason_to_skip(problem)

    def set_up(self, problem: Problem, time_limit: float) -> None:
        self._problem, self._time_limit = problem, time_limit

    def run(self) -> None:
        labels, K = self._problem.labels.tolist(), self._problem.shape[2]
        Q, c, target = normal_equations(self._problem.X, self._problem.y)
        deadline = time.perf_counter() + self._time_limit
        self._best, self._coef, self._solved, self._status = None, [], 0, "exact"
        for signs in product((1, -1), repeat=K):
            if time.perf_counter() > deadline:
                self._status = "time limit"
                return
            side = [signs[k] for k in labels]
            turned = [[side[i] * side[j] * q for j, q in enumerate(row)] for i, row in enumerate(Q)]
            w = nonnegative(turned, [s * v for s, v in zip(side, c, strict=True)])
            value = target - sum((s * v * u for s, v, u in zip(side, c, w, strict=True)), Fraction(0))
            self._solved += 1
            if self._best is None or value < self._best:
                self._best, self._coef = value, [s * u for s, u in zip(side, w, strict=True)]

    def answer(self) -> Answer:
        if self._status != "exact" or self._best is None:
            return Answer(self._status, nodes=self._solved)
        value = float(self._best)
        notes = {"optimum": value}
        coef = np.array([float(u) for u in self._coef])
        return Answer("exact", coef, lower_bound=value, nodes=self._solved, notes=notes)
