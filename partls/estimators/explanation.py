"""What a fitted model tells about itself: its effects, its certainty, the price of its constraint, its page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from formulations.errors import InvalidInput
from partls import explain
from partls.result import Result


class Explained:
    """The questions one may put to a fitted model; with several targets, ``output`` names the one that is meant."""

    if TYPE_CHECKING:  # what the estimator has
        signs: Any
        n_jobs: int | None
        random_state: Any
        partition_: Any
        coef_: Any
        intercept_: Any
        result_: Result | tuple[Result, ...]
        _saved_facts: tuple[explain.Facts, ...]

        def _checked(self, X: Any) -> Any: ...

    def summary(self, *, max_features: int | None = 10, output: int | None = None) -> explain.Summary:
        """Return a printable table of groups, features and the certificate; ``output`` picks one of several targets."""
        check_is_fitted(self)
        k = self._target(output)
        coef, intercept = np.atleast_2d(self.coef_)[k], np.atleast_1d(self.intercept_)[k]
        return explain.summarise(self.partition_, coef, intercept, self._facts()[k], max_features)

    def contributions(self, X: Any, *, output: int | None = None) -> explain.Contributions:
        """Return what each group adds to the prediction of each row of X; the rows sum to ``predict(X)``."""
        check_is_fitted(self)
        X = self._checked(X)
        k = self._target(output)
        coef, intercept = np.atleast_2d(self.coef_)[k], np.atleast_1d(self.intercept_)[k]
        return explain.contributions(X, coef, intercept, self.partition_)

    def sign_certainty(self, *, within: float = 0.01, max_patterns: int = 100, time_limit: float | None = None,
                       output: int | None = None) -> explain.SignCertainty:
        """Return what flipping each group's sign costs, exactly, and all sign patterns ``within`` of the optimum."""
        return explain.sign_certainty(
            self._one_result(output), within=within, max_patterns=max_patterns, signs=self.signs,
            time_limit=time_limit, n_jobs=self.n_jobs,
        )

    def price_of_constraint(self, *, output: int | None = None) -> explain.PriceOfConstraint:
        """Return what the sign constraint costs, overall and by group, and which features pull against theirs."""
        return explain.price_of_constraint(self._one_result(output), n_jobs=self.n_jobs)

    def bootstrap(self, n_resamples: int = 200, *, n_jobs: int | None = None, random_state: Any = None,
                  progress: bool = False, output: int | None = None, time_limit: float | None = None
                  ) -> explain.Stability:
        """Return how signs and effects vary over refits to resampled rows, drawn by ``random_state`` or the model's."""
        return explain.bootstrap(
            self._one_result(output), n_resamples=n_resamples, signs=self.signs, n_jobs=n_jobs or self.n_jobs,
            random_state=self.random_state if random_state is None else random_state, progress=progress,
            time_limit=time_limit,
        )

    def report(self, path: str | os.PathLike[str], *, output: int | None = None, **options: Any) -> Path:
        """Write a page about the model that opens offline in any browser; see ``partls.report.write_report``."""
        from partls.report import write_report

        return write_report(self, path, output=output, **options)

    def _facts(self) -> tuple[explain.Facts, ...]:
        """Return what the summary of each target needs: from the training data, or as it was saved."""
        if not hasattr(self, "result_"):
            return self._saved_facts
        results = self.result_ if isinstance(self.result_, tuple) else (self.result_,)
        return tuple(explain.facts_of(result) for result in results)

    def _one_result(self, output: int | None) -> Result:
        """Return the result of one target, with its data."""
        check_is_fitted(self)
        if not hasattr(self, "result_"):
            raise InvalidInput("this model was loaded from a file, which holds no training data: fit it again")
        k = self._target(output)
        return self.result_[k] if isinstance(self.result_, tuple) else self.result_

    def _target(self, output: int | None) -> int:
        """Return the position of the target in question; with several it must be named."""
        n_targets = np.atleast_2d(self.coef_).shape[0]
        if output is None and n_targets == 1:
            return 0
        if output is None or isinstance(output, bool) or output not in range(n_targets):
            raise InvalidInput(f"output={output!r}: the model has {n_targets} target(s), counted from 0; name one")
        return int(output)
