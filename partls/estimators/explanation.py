"""Explanations of a fitted model: effects, certainty of the signs, price of the constraint, report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import check_is_fitted

from formulations.errors import InvalidInput, counted
from formulations.instance import Instance
from partls import explain
from partls.estimators.linear_regression import to_linear_regression
from partls.estimators.pictures import PictureMixin
from partls.result import Result


class ExplanationMixin(PictureMixin):
    """The methods that explain a fitted model; with several targets, ``output`` selects the target."""

    if TYPE_CHECKING:  # what the estimator has
        signs: Any
        n_jobs: int | None
        random_state: Any
        partition_: Any
        coef_: Any
        intercept_: Any
        objective_: Any
        lower_bound_: Any
        status_: Any
        n_iter_: Any
        eta: Any
        ridge: float
        penalty: str
        fit_intercept: bool
        penalize_intercept: bool
        method: Any
        result_: Result | tuple[Result, ...]
        _saved_facts: tuple[explain.Facts, ...]

        def _checked(self, X: Any) -> Any: ...

    def summary(self, *, max_features: int | None = 10, output: int | None = None) -> explain.Summary:
        """Return a printable table of groups, features and the proof.

        Parameters
        ----------
        max_features : int, optional
            Features to show in each group; None shows all.
        output : int, optional
            The target, if the model has several.

        Returns
        -------
        Summary
            The table.
        """
        check_is_fitted(self)
        k = self._target(output)
        coef, intercept = np.atleast_2d(self.coef_)[k], np.atleast_1d(self.intercept_)[k]
        return explain.summarise(self.partition_, coef, intercept, self._facts()[k], max_features)

    def to_linear_regression(self) -> LinearRegression:
        """Return scikit-learn's ``LinearRegression`` with these coefficients: it predicts the same.

        Returns
        -------
        LinearRegression
            A fitted estimator.
        """
        check_is_fitted(self)
        return to_linear_regression(self)

    def contributions(self, X: Any, *, output: int | None = None) -> explain.Contributions:
        """Return what each group adds to the prediction of each row of X.

        Parameters
        ----------
        X : (n, M) array or frame
            Rows to predict.
        output : int, optional
            The target, if the model has several.

        Returns
        -------
        Contributions
            One column per group, and the intercept; each row sums to its prediction.
        """
        check_is_fitted(self)
        X = self._checked(X)
        k = self._target(output)
        coef, intercept = np.atleast_2d(self.coef_)[k], np.atleast_1d(self.intercept_)[k]
        return explain.contributions(X, coef, intercept, self.partition_)

    def sign_certainty(self, *, within: float = 0.01, max_patterns: int = 100, time_limit: float | None = None,
                       output: int | None = None) -> explain.SignCertainty:
        """Return what flipping each group's sign costs, exactly, and all sign patterns near the optimum.

        Parameters
        ----------
        within : float
            The relative distance from the optimum within which sign patterns are listed.
        max_patterns : int
            The largest number of patterns to list.
        time_limit : float, optional
            Seconds. Costs that are not exact by then are upper bounds, and marked.
        output : int, optional
            The target, if the model has several.

        Returns
        -------
        SignCertainty
            For each group the objective and the effect with the other sign; the near ties.
        """
        return explain.sign_certainty(
            self._one_result(output), within=within, max_patterns=max_patterns, signs=self.signs,
            time_limit=time_limit, n_jobs=self.n_jobs,
        )

    def price_of_constraint(self, *, time_limit: float | None = None, output: int | None = None
                            ) -> explain.PriceOfConstraint:
        """Return what the sign constraint costs, overall and by group, and which features pull against theirs.

        Parameters
        ----------
        time_limit : float, optional
            Seconds.
        output : int, optional
            The target, if the model has several.

        Returns
        -------
        PriceOfConstraint
            The rise of the objective over the fit without signs, and the gain from freeing each group.

        Raises
        ------
        TimeoutError
            If the time limit is too short.
        """
        return explain.price_of_constraint(self._one_result(output), time_limit=time_limit, n_jobs=self.n_jobs)

    def bootstrap(self, n_resamples: int = 200, *, X: Any = None, y: Any = None, sample_weight: Any = None,
                  n_jobs: int | None = None, random_state: Any = None, progress: bool = False,
                  output: int | None = None, time_limit: float | None = None) -> explain.Stability:
        """Refit the model to resampled rows, and return how signs and effects vary.

        Parameters
        ----------
        n_resamples : int
            The number of resamples.
        X, y, sample_weight : optional
            The rows of the fit, for a model without them: fitted to data in blocks, or loaded from a file. They may be
            in memory, in Dask's blocks or in a Parquet folder.
        n_jobs : int, optional
            Threads; by default those of the model.
        random_state : optional
            Seed of the draws; by default that of the model.
        progress : bool
            Whether to show a live line.
        output : int, optional
            The target, if the model has several.
        time_limit : float, optional
            Seconds. Refits that are not proven optimal by then are left out.

        Returns
        -------
        Stability
            Frequencies of each sign, and the median, 95% interval and deviation of each effect.

        Raises
        ------
        InvalidInput
            If the rows are needed and not given, or do not belong to the model.
        """
        if hasattr(n_resamples, "shape") and np.ndim(n_resamples):
            raise InvalidInput("n_resamples is not a number but data: name the rows, bootstrap(X=X, y=y)")
        result, y = self._result_for(X, y, sample_weight, output, call="bootstrap(X=X, y=y)")
        return explain.bootstrap(
            result, n_resamples=n_resamples, X=X, y=y, sample_weight=sample_weight, signs=self.signs,
            n_jobs=n_jobs or self.n_jobs, random_state=self.random_state if random_state is None else random_state,
            progress=progress, time_limit=time_limit,
        )

    def report(self, path: str | os.PathLike[str], *, output: int | None = None, **options: Any) -> Path:
        """Write a page about the model that opens offline in any browser; see ``partls.report.write_report``.

        Parameters
        ----------
        path : path
            The HTML file to write.
        output : int, optional
            The target, if the model has several.
        **options
            Options of ``write_report``, such as ``title``. A model fitted to data in blocks, or loaded from a file,
            needs its rows again: ``report(path, X=X, y=y)``.

        Returns
        -------
        Path
            The file that was written.
        """
        from partls.report import write_report

        return write_report(self, path, output=output, **options)

    def _facts(self) -> tuple[explain.Facts, ...]:
        """Return what the summary of each target needs: from the training data, or as it was saved."""
        if not hasattr(self, "result_"):
            return self._saved_facts
        results = self.result_ if isinstance(self.result_, tuple) else (self.result_,)
        return tuple(explain.facts_of(result) for result in results)

    def _one_result(self, output: int | None, otherwise: str = "") -> Result:
        """Return the result of one target, with its data."""
        check_is_fitted(self)
        if not hasattr(self, "result_"):
            told = "this model was loaded from a file, which holds no training data: fit it again"
            raise InvalidInput(told + otherwise)
        k = self._target(output)
        return self.result_[k] if isinstance(self.result_, tuple) else self.result_

    def _result_for(self, X: Any, y: Any, sample_weight: Any, output: int | None, *, call: str) -> tuple[Result, Any]:
        """Return the result of one target and that target; a loaded model has one where its rows are given again.

        ``call`` shows how they are given.
        """
        check_is_fitted(self)
        k = self._target(output)
        explain.refuse_halves(X, y, sample_weight, call)
        y = explain.one_target(y, k)
        if X is None or hasattr(self, "result_"):
            return self._one_result(output, f", or pass X and y, {call}"), y
        instance = Instance(
            explain.matched(X, self.partition_.columns), y, self.partition_, eta=self.eta, penalty=self.penalty,
            ridge=self.ridge, fit_intercept=self.fit_intercept, penalize_intercept=self.penalize_intercept,
            sample_weight=sample_weight, ungrouped="free", columns=self.partition_.columns,
        )
        coef, numbers = np.atleast_2d(self.coef_)[k], (self.intercept_, self.objective_, self.lower_bound_)
        intercept, objective, lower_bound = (float(np.atleast_1d(value)[k]) for value in numbers)
        status = self.status_[k] if isinstance(self.status_, tuple) else self.status_
        n_nodes = int(np.atleast_1d(self.n_iter_)[k])
        method = self.method if isinstance(self.method, str) else self.method.name
        found = Result(instance, coef, intercept, objective, lower_bound, status, method, n_nodes, 0.0)
        return explain.confirmed(found), y

    def _target(self, output: int | None) -> int:
        """Return the position of the target in question; with several it must be named."""
        n_targets = np.atleast_2d(self.coef_).shape[0]
        if output is None and n_targets == 1:
            return 0
        if output is None or isinstance(output, bool) or output not in range(n_targets):
            targets = counted(n_targets, "target")
            raise InvalidInput(f"output={output!r}: the model has {targets}, counted from 0; name one")
        return int(output)
