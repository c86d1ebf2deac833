"""Choose eta by cross-validation: along one compressed path per fold, or by independent fits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import partls
from benchmarks.contract import Answer, Method, Problem

WARM_UP_ROWS = 200


@dataclass
class EtaPathCv(Method):
    """``PartLSRegressorCV``; its final model is penalised, so it claims no optimum of the problem without eta."""

    name = "eta_path_cv"
    exact = False

    n_etas: int = 13
    n_folds: int = 5

    def warm_up(self, problem: Problem) -> None:
        rows = slice(0, WARM_UP_ROWS)
        self.set_up(Problem(problem.X[rows], problem.y[rows], problem.labels), 60.0)
        self.run()

    def set_up(self, problem: Problem, time_limit: float) -> None:
        self._problem = problem
        unit = float(np.square(problem.X).sum(axis=0).mean())
        self._etas = unit * np.geomspace(1e-5, 1e-1, self.n_etas)
        self._make()

    def _make(self) -> None:
        options = {"fit_intercept": self._problem.fit_intercept, "ridges": [0.0]}
        self._search = partls.PartLSRegressorCV(self._problem.labels, etas=self._etas, cv=self.n_folds, **options)

    def run(self) -> None:
        self._search.fit(self._problem.X, self._problem.y)

    def _chosen(self) -> tuple[partls.PartLSRegressor, float, float]:
        return self._search, self._search.eta_, float(self._search.mse_path_.mean(axis=2).min())

    def answer(self) -> Answer:
        model, eta, error = self._chosen()
        residual = self._problem.X @ model.coef_ + model.intercept_ - self._problem.y
        return Answer(
            model.status_.value, model.coef_, float(model.intercept_), float(residual @ residual),
            notes={"eta": float(eta), "error": error},
        )


@dataclass
class EtaGridSearch(EtaPathCv):
    """The same by scikit-learn's ``GridSearchCV`` over ``PartLSRegressor``: every fit from the raw rows."""

    name = "eta_grid_search"

    def _make(self) -> None:
        from sklearn.model_selection import GridSearchCV

        model = partls.PartLSRegressor(self._problem.labels, fit_intercept=self._problem.fit_intercept)
        self._search = GridSearchCV(model, {"eta": self._etas}, cv=self.n_folds, scoring="neg_mean_squared_error")

    def _chosen(self) -> tuple[partls.PartLSRegressor, float, float]:
        return self._search.best_estimator_, self._search.best_params_["eta"], -float(self._search.best_score_)
