"""Linear models without signs, by scikit-learn: what a statistician would fit to the same rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.contract import Answer, Method, Problem

RIDGE_STRENGTHS = 10.0 ** np.arange(-4, 5)


class _LinearModel(Method):
    exact = False
    signed = False

    def set_up(self, problem: Problem, time_limit: float) -> None:
        self._X, self._y, self._K = problem.X, problem.y, problem.shape[2]
        self._model = self._make(problem.fit_intercept)

    def _make(self, fit_intercept: bool):
        raise NotImplementedError

    def run(self) -> None:
        self._model.fit(self._X, self._y)

    def answer(self) -> Answer:
        return Answer("unconstrained", np.ravel(self._model.coef_), float(np.ravel(self._model.intercept_)[0]))


@dataclass
class LeastSquares(_LinearModel):
    name = "least_squares"

    def _make(self, fit_intercept: bool):
        from sklearn.linear_model import LinearRegression

        return LinearRegression(fit_intercept=fit_intercept)


@dataclass
class Ridge(_LinearModel):
    """Ridge regression of the columns as they are, its strength by leave-one-out."""

    name = "ridge"

    def _make(self, fit_intercept: bool):
        from sklearn.linear_model import RidgeCV

        return RidgeCV(RIDGE_STRENGTHS, fit_intercept=fit_intercept)


@dataclass
class PartialLeastSquares(_LinearModel):
    """As many components as there are groups, as in section 5.3 of Esposito, Cerrato and Locatelli (2024)."""

    name = "partial_least_squares"

    def reason_to_skip(self, problem: Problem) -> str:
        return super().reason_to_skip(problem) if problem.fit_intercept else "always has an intercept"

    def _make(self, fit_intercept: bool):
        from sklearn.cross_decomposition import PLSRegression

        return PLSRegression(self._K)

    def run(self) -> None:
        self._kept = np.flatnonzero(np.ptp(self._X, axis=0) > 0)  # a constant column has no scale to divide by
        self._model.fit(self._X[:, self._kept], self._y)

    def answer(self) -> Answer:
        coef = np.zeros(self._X.shape[1])
        coef[self._kept] = np.ravel(self._model.coef_)
        own = float(np.ravel(self._model.predict(np.zeros((1, len(self._kept)))))[0])
        return Answer("unconstrained", coef, own)


@dataclass
class PrincipalComponents(_LinearModel):
    """Least squares on as many principal components as there are groups, as in the article's section 5.3."""

    name = "principal_components"

    def reason_to_skip(self, problem: Problem) -> str:
        return super().reason_to_skip(problem) if problem.fit_intercept else "always has an intercept"

    def _make(self, fit_intercept: bool):
        from sklearn.decomposition import PCA
        from sklearn.linear_model import LinearRegression
        from sklearn.pipeline import make_pipeline

        return make_pipeline(PCA(self._K), LinearRegression())

    def answer(self) -> Answer:
        pca, ls = self._model[0], self._model[1]
        coef = pca.components_.T @ ls.coef_
        return Answer("unconstrained", coef, float(ls.intercept_ - pca.mean_ @ coef))
