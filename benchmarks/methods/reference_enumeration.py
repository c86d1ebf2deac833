"""The published enumeration (PartLS-opt): one cold SciPy NNLS per sign pattern, on the compressed problem.

The compression to M + 1 rows is a favour: the published code solves every pattern on all N rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import nnls

from benchmarks.contract import Answer, Method, Problem


@dataclass
class ReferenceEnumeration(Method):
    name = "reference_enumeration"

    def reason_to_skip(self, problem: Problem) -> str:
        return "intercept not supported" if problem.fit_intercept else super().reason_to_skip(problem)

    def set_up(self, problem: Problem, time_limit: float) -> None:
        self._problem, self._time_limit = problem, time_limit

    def run(self) -> None:
        X, y, labels = self._problem.X, self._problem.y, self._problem.labels
        R = np.linalg.qr(np.column_stack([X, y]), mode="r")
        deadline = time.perf_counter() + self._time_limit
        self._norm, self._coef, self._solved, self._status = np.inf, None, 0, "optimal"
        for signs in product((1.0, -1.0), repeat=self._problem.shape[2]):
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
        return Answer(self._status, self._coef, claimed=self._norm**2, lower_bound=bound, nodes=self._solved)
