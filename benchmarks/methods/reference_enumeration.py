"""The published enumeration (PartLS-opt): one cold SciPy NNLS per sign pattern, on the compressed problem.

The compression to M + 1 rows is a favour: the published code solves every pattern on all N rows. An intercept is one
more column in a group of its own, which doubles the number of patterns. ``norm`` is the published objective.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import nnls

from benchmarks.contract import Answer, Method, Problem
from benchmarks.homogeneous import homogeneous, split_intercept


@dataclass
class ReferenceEnumeration(Method):
    name = "reference_enumeration"
    trusted = False

    def set_up(self, problem: Problem, time_limit: float) -> None:
        self._problem, self._time_limit = problem, time_limit

    def run(self) -> None:
        X, y, labels = homogeneous(self._problem)
        R = np.linalg.qr(np.column_stack([X, y]), mode="r")
        deadline = time.perf_counter() + self._time_limit
        self._norm, self._coef, self._solved, self._status = np.inf, None, 0, "optimal"
        for signs in product((1.0, -1.0), repeat=int(labels.max()) + 1):
            if time.perf_counter() > deadline:
                self._status = "time limit"
                return
            column_signs = np.array(signs)[labels]
            weights, norm = nnls(R[:, :-1] * column_signs, R[:, -1])
            self._solved += 1
            if norm < self._norm:
                self._norm, self._coef = norm, weights * column_signs

    def answer(self) -> Answer:
        bound = self._norm**2 if self._status == "optimal" else np.nan
        coef, intercept = split_intercept(self._problem, self._coef)
        notes = {"norm": self._norm}
        return Answer(self._status, coef, intercept, self._norm**2, bound, self._solved, notes)
