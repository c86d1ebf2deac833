"""PartLSRegressorCV: the strength of the penalty chosen by cross-validation, along warm-started paths."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.rows.blocks import fold_blocks, in_blocks
from formulations.tolerances import OPTIMAL_GAP
from partls.estimators.callbacks import with_callbacks
from partls.estimators.cv_folds import Fold, folds_in_blocks, folds_in_memory
from partls.estimators.eta_path import EtaPath
from partls.estimators.regressor import PartLSRegressor
from partls.result import Result, Status
from partls.runtime.interrupts import keyboard
from partls.runtime.options import nonnegative
from partls.runtime.progress import counted
from relaxations.clock import SHORT, factorisation

_MANY_ROWS = 1e8  # multiplications that compress the rows: some hundredths of a second
_RATE = 5e9  # of them per second, on a usual machine
_GRID = (1e-5, 1e-1)  # ends of the default path, in units of the mean squared length of a centred column


class PartLSRegressorCV(PartLSRegressor):
    """``PartLSRegressor`` with the eta of the least cross-validated squared error.

    Every fold goes along the path from the largest eta to the smallest: its rows are compressed once, and each fit
    starts from the model of its neighbour. All fits are proven optimal. The final model is fitted to all rows.

    Parameters
    ----------
    etas : int or array of float
        The values to try, or how many: they are then spread evenly on a logarithmic scale fitting the data.
    cv
        Number of folds, splitter or iterable of splits, as everywhere in scikit-learn.
    groups, method, penalty, ...
        As in ``PartLSRegressor``. The time limit covers all fits together.

    Attributes
    ----------
    eta_
        The value chosen: the largest among equals.
    etas_ : (E,) array
        The values tried, the largest first.
    mse_path_ : (E, F) array
        Mean squared error of each value on each held-out fold (over all targets); NaN where Ctrl-C or the time limit
        came before.

    Notes
    -----
    ``save`` writes the final model as a ``PartLSRegressor`` with ``eta=eta_``.
    """

    def __init__(
        self,
        groups: Any = None,
        *,
        etas: Any = 13,
        cv: Any = None,
        method: Any = "auto",
        penalty: str = "l2",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        ungrouped: str = "error",
        signs: Any = None,
        gap_tol: float = OPTIMAL_GAP,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.groups = groups
        self.etas = etas
        self.cv = cv
        self.method = method
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.ungrouped = ungrouped
        self.signs = signs
        self.gap_tol = gap_tol
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    @keyboard()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose eta by cross-validation and fit all rows with it; arguments as in ``PartLSRegressor.fit``.

        Rows in blocks are folded where they lie, in one pass for all folds; ``cv`` then splits the numbers of the rows,
        without seeing X and y.
        """
        clock = _Clock(time.perf_counter(), nonnegative("time_limit", self.time_limit))
        if in_blocks(X):
            folds, rows = folds_in_blocks(X, y, sample_weight, self.cv), fold_blocks(X, y, sample_weight)
            X, y = self._validated(rows.frame(), rows.y)
            return self._choose(self._instance(0.0, X, y, rows.sample_weight, rows.n_rows), y, folds, clock)
        X, y = self._validated(X, y)
        instance = self._instance(0.0, X.toarray() if sparse.issparse(X) else X, y, sample_weight)
        return self._choose(instance, y, folds_in_memory(instance, y, self.cv), clock)

    def _choose(self, instance: Instance, y: Floats, folds: Sequence[Fold], clock: _Clock) -> Self:
        """Take the eta of the least error over the folds, and fit all rows with it."""
        self.etas_ = _checked_etas(self.etas, instance)
        self.mse_path_ = np.full((len(self.etas_), len(folds)), np.nan)
        weights, hurry = np.array([fold.test_weight for fold in folds]), False
        for f, fold in enumerate(counted(folds, len(folds), "folds", bool(self.verbose))):
            if not hurry:
                self.mse_path_[:, f], hurry = self._fold_errors(instance, fold, clock)
        if clock.is_up:
            done = np.count_nonzero(~np.isnan(self.mse_path_))
            warnings.warn(
                f"time_limit ended the cross-validation after {done} of {self.mse_path_.size} errors: eta is the best "
                "of those values that were tried", ConvergenceWarning, stacklevel=4,
            )
        self.eta_ = float(self.etas_[_least(self.mse_path_, weights)])
        return self._fit_at(
            self.eta_, instance.X, y, instance.sample_weight, folded_from=instance.folded_from,
            time_limit=clock.left(last=True), hurry=hurry,
        )

    def _fold_errors(self, instance: Instance, fold: Fold, clock: _Clock) -> tuple[Floats, bool]:
        """Return the mean squared error on held-out rows for each eta, and whether Ctrl-C or the clock ended it.

        What was not reached by then is NaN.
        """
        (X, y, weights), (X_test, y_test, test_weights) = fold.train(), fold.test()
        errors = np.full((len(self.etas_), y.shape[1]), np.nan)
        for t in range(y.shape[1]):
            if clock.ends(instance):
                return errors.mean(axis=1), True
            began = time.perf_counter()
            path = EtaPath(instance.replace(X=X, y=np.ascontiguousarray(y[:, t]), sample_weight=weights))
            clock.reserved = max(clock.reserved, time.perf_counter() - began)
            found: Result | None = None
            for e, eta in enumerate(self.etas_):
                if clock.ends(instance):
                    return errors.mean(axis=1), True
                found = path.solve(eta, found, self.signs, **self._search_options(clock.left()))
                coef, intercept = path.restore(found)
                squares = np.square(y_test[:, t] - X_test @ coef - intercept)
                errors[e, t] = test_weights @ squares / (test_weights.sum() or 1.0)
                if found.status is Status.INTERRUPTED:
                    return errors.mean(axis=1), True
        return errors.mean(axis=1), False


def _least(errors: Floats, weights: Floats) -> int:
    """Return the eta of least error over the folds that are complete, else over what there is of the first."""
    complete = ~np.isnan(errors).any(axis=0) & (weights > 0)
    means = np.average(errors[:, complete], axis=1, weights=weights[complete]) if complete.any() else errors[:, 0]
    return 0 if np.isnan(means).all() else int(np.nanargmin(means))


@dataclass
class _Clock:
    """The time limit of all fits together; some time is reserved for the data to be compressed for the last one."""

    began: float
    limit: float | None
    reserved: float = 0.0
    is_up: bool = False

    def left(self, *, last: bool = False) -> float | None:
        spent = time.perf_counter() - self.began + (0.0 if last else self.reserved)
        return None if self.limit is None else max(self.limit - spent, 0.0)

    def ends(self, instance: Instance) -> bool:
        """Return whether the time is up and the fits are too long to go on with, each stopped at once."""
        height, width = instance.X.shape
        work = factorisation(height, width)
        long = factorisation(min(height, width), width) > SHORT or work > _MANY_ROWS
        if long:  # at least as long as that should take
            self.reserved = max(self.reserved, work / _RATE)
        self.is_up = self.is_up or (long and self.left() == 0.0)
        return self.is_up


def _checked_etas(etas: Any, instance: Instance) -> Floats:
    """Return the values to try, the largest first; a number stands for as many on a grid that fits the data."""
    if isinstance(etas, (int, np.integer)) and not isinstance(etas, bool) and etas >= 1:
        weights = instance.weights
        centred = instance.X - weights @ instance.X / weights.sum()
        unit = float((weights @ np.square(centred)).mean()) or 1.0
        return np.asarray(unit * np.geomspace(*_GRID, int(etas))[::-1])
    values = np.asarray(etas, dtype=np.float64) if not isinstance(etas, str | bool) else np.zeros(0)
    if values.ndim != 1 or not len(values) or not (np.isfinite(values).all() and (values >= 0).all()):
        raise InvalidInput(f"etas={etas!r} must be a number of values >= 1, or a list of finite values >= 0")
    return np.sort(values)[::-1]
