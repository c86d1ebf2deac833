"""PartLSRegressor: Partitioned Least Squares as a scikit-learn estimator."""

from __future__ import annotations

import os
import time
import warnings
from math import inf
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.rows.blocks import fold_blocks, in_blocks
from formulations.tolerances import OPTIMAL_GAP
from partls.estimators.callbacks import CallbackSupport, FitReporter, with_callbacks
from partls.estimators.checked_rows import CheckedRowsMixin
from partls.estimators.explanation import ExplanationMixin
from partls.estimators.persistence import SavedModel, load_model, save_model
from partls.estimators.proofs import ProofMixin
from partls.result import Result, Status
from partls.runtime.interrupts import keyboard
from partls.runtime.options import a_priori_signs, nonnegative
from partls.shortest import shortest
from partls.solve import solve_instance
from partls.strategies.choose import as_strategy, with_changes
from relaxations.clock import FINISHING

_CUT_SHORT = (Status.TIME_LIMIT, Status.NODE_LIMIT, Status.INTERRUPTED)


class PartLSRegressor(
    CheckedRowsMixin, ExplanationMixin, ProofMixin, CallbackSupport, MultiOutputMixin, RegressorMixin, BaseEstimator
):
    """Minimise ``||X w + t - y||^2 + penalty(beta) + ridge ||w||^2``  s.t. the coefficients of a group share one sign.

    A scikit-learn estimator that returns the global optimum with its proof: ``gap_`` is an upper limit on the relative
    distance from the optimum.

    Parameters
    ----------
    groups
        A label per column, ``{name: [columns]}``, lists of columns, an (M, K) 0/1 matrix, a file, a
        ``Partition``, or None for one group of all columns. Columns are given by position or by name, and names
        may be patterns: ``{"place": ["Neighborhood_*"]}`` survives one-hot encoding.
    method
        A strategy such as ``partls.BranchAndBound(node_limit=1000)``, or its name; see ``partls.solve_instance``.
    presolve : bool
        Simplify the problem before the search; see ``partls.solve_instance``.
    eta, penalty
        Strength and kind of the penalty on the group sums beta: ``sum_k eta_k beta_k^2`` ("l2") or
        ``sum_k eta_k |beta_k|`` ("l1"). One number for all groups, or ``{group: number}`` with every group in it.
    ridge : float
        Weight of the squared coefficients, with a group and without; the intercept is not among them. With
        ``penalty="l1"`` an elastic net.
    fit_intercept, penalize_intercept, ungrouped
        The problem; see ``partls.Instance``.
    signs, gap_tol, time_limit, n_jobs, random_state
        Signs known beforehand, limits and threads; see ``partls.solve_instance``.
    verbose : int
        Show a live line while the search runs. Where scikit-learn has callbacks (1.9 and later),
        ``set_callbacks(ProgressBar())`` works too, and a callback that asks to stop ends the search.
    certificate : path, optional
        Where ``fit`` writes a proof that no model is better, which ``verify`` checks; see ``partls.solve``. Of several
        targets each has its own file, with its number before the suffix: ``proof-0.json``, ``proof-1.json``.

    Attributes
    ----------
    coef_, intercept_
        w and t: (M,) and a float, or (T, M) and (T,) for T targets. The same holds for the attributes below.
    alpha_, beta_, signs_
        Each feature's share of its group, each group's effect and its sign, in the order of ``group_names_``.
    objective_, lower_bound_, gap_, status_, n_iter_
        The objective, the proved lower bound, the gap between them, the status and the number of nodes.
    history_
        The course of the search: a ``SearchState`` after each round and at the end.
    certificate_
        Where the proof was written (one path per target, in a tuple, if there are several); missing if there is none.
    result_
        The ``Result`` (one per target, in a tuple, if there are several), which can audit itself.
    partition_, group_names_, n_features_in_, feature_names_in_
        The groups as they were paired with the columns.

    Notes
    -----
    A fit cut short by a limit or by Ctrl-C warns once and leaves the best model found so far. Where several
    models fit equally well, as with dependent columns, the one with the shortest coefficients is taken.

    Examples
    --------
    >>> import numpy as np
    >>> from partls import PartLSRegressor
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> PartLSRegressor(["size", "size"]).fit(X, [1.0, 2.0, 3.0, 4.0]).coef_.round(6).tolist()
    [1.0, 2.0]
    """

    def __init__(
        self,
        groups: Any = None,
        *,
        method: Any = "auto",
        presolve: bool = True,
        eta: Any = 0.0,
        penalty: str = "l2",
        ridge: float = 0.0,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        ungrouped: str = "error",
        signs: Any = None,
        gap_tol: float = OPTIMAL_GAP,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        certificate: Any = None,
    ) -> None:
        self.groups = groups
        self.method = method
        self.presolve = presolve
        self.eta = eta
        self.penalty = penalty
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.ungrouped = ungrouped
        self.signs = signs
        self.gap_tol = gap_tol
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.certificate = certificate

    @with_callbacks
    @keyboard()
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, executor: Any = None) -> Self:
        """Fit the model: the proven optimum, or the best found when a limit or Ctrl-C ends the search.

        Parameters
        ----------
        X : (N, M) array, pandas or polars frame, sparse matrix, Dask array or frame, or path of a Parquet folder
            The features.
        y : (N,) or (N, T) array, in memory or Dask's; or the name of a column of the Parquet folder
            The target, or several.
        sample_weight : (N,) array, optional
            Nonnegative; row n counts ``sample_weight[n]`` times.
        executor : optional
            An executor for large trees, such as a ``dask.distributed.Client``; see ``partls.solve``.

        Returns
        -------
        PartLSRegressor
            The fitted model itself.

        Raises
        ------
        InvalidInput
            If data, groups or an option cannot be used; the message names the row, column or option.
        """
        limit = nonnegative("time_limit", self.time_limit)
        self._check_certificate(X)
        if not in_blocks(X):
            return self._fit_at(*self._validated(X, y), sample_weight, time_limit=limit, executor=executor)
        rows = fold_blocks(X, y, sample_weight)
        return self._fit_at(
            *self._validated(rows.frame(), rows.y), rows.sample_weight, folded_from=rows.n_rows,
            time_limit=limit, executor=executor,
        )

    def predict(self, X: Any) -> Floats:
        """Return ``X coef_ + intercept_`` in memory; the columns of a frame are matched by name, in any order.

        Parameters
        ----------
        X : (n, M) array, frame or sparse matrix
            Rows to predict.

        Returns
        -------
        (n,) or (n, T) array
            The predictions.
        """
        check_is_fitted(self)
        X = self._checked(X)
        return np.asarray(safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as JSON: coefficients, groups, settings and certificate; no training data, no code.

        A file of this name is replaced, as ``numpy.save`` does. ``partls.estimators.persistence`` describes the format.

        Parameters
        ----------
        path : path
            The file to write.
        """
        check_is_fitted(self)
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PartLSRegressor:
        """Return the model of a file written by ``save``: it predicts the same to the last bit and can be fitted again.

        Methods that need the training data (sign certainty, price of the constraint, bootstrap) need a new fit.

        Parameters
        ----------
        path : path
            The file to read; it is checked first, and nothing in it is executed.

        Returns
        -------
        PartLSRegressor
            The model.

        Raises
        ------
        InvalidInput
            If the file is not a usable model; the message says why.
        """
        return PartLSRegressor._of(load_model(path))

    @staticmethod
    def _of(saved: SavedModel) -> PartLSRegressor:
        """Return the model that was read from a file."""
        model = PartLSRegressor(saved.partition, **saved.settings)
        model._restore(saved)
        return model

    def _restore(self, saved: SavedModel) -> None:
        """Take over the fitted attributes of a saved model."""
        for name, value in saved.fitted.items():
            setattr(self, name, value)
        self.partition_, self.n_features_in_ = saved.partition, saved.partition.n_columns
        self.group_names_ = np.array(saved.partition.names, dtype=object)
        self._saved_facts = saved.facts
        if saved.named_columns:
            self.feature_names_in_ = np.array(saved.partition.columns, dtype=object)

    @property
    def _strengths(self) -> dict[str, Any]:
        """The eta and the ridge of the final fit."""
        return {"eta": self.eta, "ridge": self.ridge}

    def _fit_at(self, X: Any, y: Floats, sample_weight: Any, *, folded_from: int | None = None,
                time_limit: float | None, hurry: bool = False, executor: Any = None) -> Self:
        """Solve one problem per target and take over the results; in a hurry the first models found must do."""
        paths = self._certificate_paths(y)
        instance = self._instance(X, y, sample_weight, folded_from, **self._strengths)
        with FitReporter(self, X, y) as reporter:
            results = self._solve_targets(instance, y, reporter, time_limit, hurry, executor)
            self._take_over(results if y.ndim == 2 else results[0])
            self.history_ = tuple(reporter.histories) if y.ndim == 2 else reporter.histories[0]
        self._write_proofs(paths, results, time_limit)
        self._warn_if_cut_short(results)
        return self

    def _instance(self, X: Any, y: Floats, sample_weight: Any, folded_from: int | None = None, *, eta: Any = 0.0,
                  ridge: Any = 0.0) -> Instance:
        """Return the problem of the first target."""
        return Instance(
            X, y if y.ndim == 1 else y[:, 0], self.groups, eta=eta, penalty=self.penalty, ridge=ridge,
            fit_intercept=self.fit_intercept, penalize_intercept=self.penalize_intercept, sample_weight=sample_weight,
            ungrouped=self.ungrouped, columns=getattr(self, "feature_names_in_", None),
            folded_from=folded_from,
        )

    def _solve_targets(self, instance: Instance, y: Floats, reporter: FitReporter, time_limit: float | None,
                       hurry: bool, executor: Any) -> tuple[Result, ...]:
        """Solve target after target within one time limit; after Ctrl-C the others get a quick answer each."""
        began = time.perf_counter()
        if getattr(self.method, "checkpoint", None) is not None and y.ndim == 2:
            raise InvalidInput("checkpoint is for one target: fit the targets one by one, each with a file of its own")
        results: list[Result] = []
        for target in np.atleast_2d(y.T):
            left = None if time_limit is None else max(time_limit - (time.perf_counter() - began), 0.0)
            options = self._search_options(left, hurry=hurry, executor=executor)
            result = solve_instance(instance.replace(y=target), signs=self.signs, progress=reporter, **options)
            hurry |= result.status is Status.INTERRUPTED
            end = inf if time_limit is None else began + time_limit + FINISHING
            results.append(shortest(result, a_priori_signs(result.instance, self.signs), end))
            reporter.end_target(results[-1])
        return tuple(results)

    def _search_options(self, time_limit: float | None, *, hurry: bool = False, executor: Any = None
                        ) -> dict[str, Any]:
        """Return the options of a search, which visits no node in a hurry; an executor given to ``fit`` comes first."""
        changes: dict[str, Any] = {"node_limit": 0} if hurry else {}
        changes |= {} if executor is None else {"executor": executor}
        method: Any = self.method
        if not isinstance(method, str):
            method, changes = with_changes(as_strategy(method, {}), changes), {}
        return {
            "method": method, **changes, "presolve": self.presolve, "gap_tol": self.gap_tol,
            "time_limit": time_limit, "n_jobs": self.n_jobs, "random_state": self.random_state,
        }

    def _take_over(self, result: Result | tuple[Result, ...]) -> None:
        several = isinstance(result, tuple)
        results = result if isinstance(result, tuple) else (result,)

        def joined(name: str) -> Any:
            values = [getattr(one, name) for one in results]
            return (np.array(values) if not isinstance(values[0], Status) else tuple(values)) if several else values[0]

        self.result_ = result
        self.coef_, self.intercept_ = joined("coef"), joined("intercept")
        self.alpha_, self.beta_, self.signs_ = joined("alpha"), joined("beta"), joined("signs")
        self.objective_, self.lower_bound_, self.gap_ = joined("objective"), joined("lower_bound"), joined("gap")
        self.status_, self.n_iter_ = joined("status"), joined("n_nodes")
        self.partition_ = results[0].instance.partition
        self.group_names_ = np.array(self.partition_.names, dtype=object)

    def _warn_if_cut_short(self, results: tuple[Result, ...]) -> None:
        """Say once that a limit or Ctrl-C ended the search before the proof."""
        cut = [result for result in results if result.status in _CUT_SHORT]
        if cut:
            worst = max(cut, key=lambda result: result.gap)
            warnings.warn(
                f"the search ended early ({worst.status.value}): the model is the best found so far, and no model can "
                f"have an objective more than {worst.gap:.2%} lower",
                ConvergenceWarning, stacklevel=4,
            )

    def __sklearn_tags__(self) -> Any:
        """Accept sparse X: the problem is compressed to M + 1 dense rows in any case."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
