"""Partitioned least squares with two groups found by least squares: the columns it gives a positive sign, and the rest.

The article's "P from LS" takes the signs of a fit of the training rows, which changes nothing: least squares is
feasible. Its "P opt" takes them from all rows, those to predict included. That is a peek, and is meant to be: it stands
for somebody who knows the right partition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import partls
from benchmarks.contract import Answer, Method, Problem


@dataclass
class SignsOfLeastSquares(Method):
    name = "signs_of_least_squares"
    exact = False  # the best of another problem: its groups are not those of the data set
    signed = False

    rows: str = "training"  # or "all"

    def set_up(self, problem: Problem, time_limit: float) -> None:
        self._problem, self._time_limit = problem, time_limit

    def run(self) -> None:
        problem = self._problem
        X, y = problem.X, problem.y
        if self.rows == "all" and problem.X_test is not None:
            X, y = np.vstack([X, problem.X_test]), np.append(y, problem.y_test)
        design = np.column_stack([X, np.ones(len(y))]) if problem.fit_intercept else X
        positive = np.linalg.lstsq(design, y, rcond=None)[0][: X.shape[1]] >= 0
        # The estimator, which prefers short coefficients where many fit exactly: with fewer rows than columns.
        model = partls.PartLSRegressor(
            positive.astype(int).tolist(), fit_intercept=problem.fit_intercept, time_limit=self._time_limit
        )
        self._result = model.fit(problem.X, problem.y).result_

    def answer(self) -> Answer:
        result = self._result
        return Answer(f"{result.status.value} for its groups", result.coef, result.intercept, nodes=result.n_nodes)
