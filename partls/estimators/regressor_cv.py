"""PartLSRegressorCV: the strengths of the penalties chosen by cross-validation, along warm-started paths."""

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
from formulations.instance import Instance
from formulations.rows.blocks import fold_blocks, in_blocks
from formulations.tolerances import OPTIMAL_GAP
from partls.estimators.callbacks import with_callbacks
from partls.estimators.cv_folds import Fold, Part, folds_in_blocks, folds_in_memory
from partls.estimators.eta_path import EtaPath
from partls.estimators.penalty_grid import grid, least, warn_at_ends
from partls.estimators.regressor import PartLSRegressor
from partls.result import Result, Status
from partls.runtime.interrupts import keyboard
from partls.runtime.options import nonnegative
from partls.runtime.progress import counted
from relaxations.clock import SHORT, factorisation

_MANY_ROWS = 1e8  # multiplications that compress the rows: some hundredths of a second
_RATE = 5e9  # of them per second, on a usual machine


class PartLSRegressorCV(PartLSRegressor):
    """Fit a ``PartLSRegressor`` with the eta and the ridge of the least cross-validated squared error.

    For each ridge, every fold follows the path from the largest eta to the smallest: its rows are compressed once,
    and each fit starts from the model of its neighbour. All fits are proven optimal. The final model is fitted to all
    rows.

    Parameters
    ----------
    groups
        As in ``PartLSRegressor``.
    etas, ridges : int or array of float
        The values to try, or their number: these are then 0 and values spread evenly on a logarithmic scale fitting the
        data. Every eta is tried with every ridge; ``ridges=[0.0]`` chooses eta alone. An eta is that of all groups.
    cv
        Number of folds, splitter or iterable of splits, as everywhere in scikit-learn.
    method, presolve, penalty, fit_intercept, penalize_intercept, ungrouped, signs, gap_tol
        As in ``PartLSRegressor``.
    time_limit : float, optional
        Seconds for all fits together.
    n_jobs, random_state, verbose
        As in ``PartLSRegressor``.
    certificate : path, optional
        Where to write the proof of the final model.

    Attributes
    ----------
    eta_, ridge_
        The values chosen: among equals the largest eta, then the largest ridge.
    etas_, ridges_ : (E,) and (R,) arrays
        The values tried, the largest first.
    mse_path_ : (E, R, F) array
        Mean squared error of each eta and ridge on each held-out fold (over all targets), with three axes also where
        only one ridge is tried; NaN for folds that Ctrl-C or the time limit left out.

    Notes
    -----
    A ``ConvergenceWarning`` reports a best value at the end of its grid, unless that is 0: better ones may lie beyond.
    ``save`` writes the final model as a ``PartLSRegressor`` with ``eta=eta_`` and ``ridge=ridge_``.

    Examples
    --------
    >>> import numpy as np
    >>> from partls import PartLSRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 4))
    >>> y = X @ [1.0, 0.5, -1.0, -0.5] + rng.normal(size=40)
    >>> model = PartLSRegressorCV(["a", "a", "b", "b"], etas=[0.0, 1.0, 10.0], ridges=[0.0], cv=4).fit(X, y)
    >>> model.eta_, model.mse_path_.shape
    (0.0, (3, 1, 4))
    """

    def __init__(
        self,
        groups: Any = None,
        *,
        etas: Any = 13,
        ridges: Any = 5,
        cv: Any = None,
        method: Any = "auto",
        presolve: bool = True,
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
        certificate: Any = None,
    ) -> None:
        self.groups = groups
        self.etas = etas
        self.ridges = ridges
        self.cv = cv
        self.method = method
        self.presolve = presolve
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
        self.certificate = certificate

    @with_callbacks
    @keyboard()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose eta and ridge by cross-validation and fit all rows; arguments as in ``PartLSRegressor.fit``.

        Rows in blocks are compressed on their workers, in one pass for all folds; ``cv`` then splits row numbers
        and does not see X and y.
        """
        clock = _Clock(time.perf_counter(), nonnegative("time_limit", self.time_limit))
        self._check_certificate(X)
        if in_blocks(X):
            folds, rows = folds_in_blocks(X, y, sample_weight, self.cv), fold_blocks(X, y, sample_weight)
            X, y = self._validated(rows.frame(), rows.y)
            return self._choose(self._instance(X, y, rows.sample_weight, rows.n_rows), y, folds, clock)
        X, y = self._validated(X, y)
        instance = self._instance(X.toarray() if sparse.issparse(X) else X, y, sample_weight)
        return self._choose(instance, y, folds_in_memory(instance, y, self.cv), clock)

    @property
    def _strengths(self) -> dict[str, Any]:
        """The eta and the ridge of the final fit."""
        return {"eta": self.eta_, "ridge": self.ridge_}

    def _choose(self, instance: Instance, y: Floats, folds: Sequence[Fold], clock: _Clock) -> Self:
        """Take the eta and ridge of the least error over the folds, and fit all rows with them."""
        self.etas_, self.ridges_ = grid("etas", self.etas, instance), grid("ridges", self.ridges, instance)
        self.mse_path_ = np.full((len(self.etas_), len(self.ridges_), len(folds)), np.nan)
        weights, hurry = np.array([fold.test_weight for fold in folds]), False
        for f, fold in enumerate(counted(folds, len(folds), "folds", bool(self.verbose))):
            if not hurry:
                self.mse_path_[..., f], hurry = self._fold_errors(instance, fold, clock)
        if clock.is_up:
            done = np.count_nonzero(~np.isnan(self.mse_path_))
            warnings.warn(
                f"time_limit ended the cross-validation after {done} of {self.mse_path_.size} errors: eta and ridge "
                "are the best of those values that were tried", ConvergenceWarning, stacklevel=4,
            )
        e, r = least(self.mse_path_, weights)
        self.eta_, self.ridge_ = float(self.etas_[e]), float(self.ridges_[r])
        if clock.left() != 0.0 and not np.isnan(self.mse_path_).any():
            warn_at_ends({"eta": (self.etas_, e), "ridge": (self.ridges_, r)}, stacklevel=4)
        return self._fit_at(
            instance.X, y, instance.sample_weight, folded_from=instance.folded_from,
            time_limit=clock.left(last=True), hurry=hurry,
        )

    def _fold_errors(self, instance: Instance, fold: Fold, clock: _Clock) -> tuple[Floats, bool]:
        """Return the mean squared error on held-out rows of each eta and ridge, and whether it was cut short.

        What was not reached by then is NaN.
        """
        (X, y, weights), test = fold.train(), fold.test()
        errors = np.full((len(self.etas_), len(self.ridges_), y.shape[1]), np.nan)
        for t in range(y.shape[1]):
            if clock.ends(instance):
                return errors.mean(axis=-1), True
            began = time.perf_counter()
            path = EtaPath(instance.replace(X=X, y=np.ascontiguousarray(y[:, t]), sample_weight=weights))
            clock.reserved = max(clock.reserved, time.perf_counter() - began)
            if self._path_errors(errors[..., t], path, _column(test, t), instance, clock):
                return errors.mean(axis=-1), True
        return errors.mean(axis=-1), False

    def _path_errors(self, errors: Floats, path: EtaPath, test: Part, instance: Instance, clock: _Clock) -> bool:
        """Write the errors of one target along the path of each ridge; return whether Ctrl-C or the clock ended it."""
        X, y, weights = test
        first: Result | None = None
        for r, ridge in enumerate(self.ridges_):
            found = first
            for e, eta in enumerate(self.etas_):
                if clock.ends(instance):
                    return True
                options = self._search_options(clock.left())
                found = path.solve(eta, found, self.signs, ridge=ridge, **options)
                squares = np.square(y - X @ found.coef - found.intercept)
                errors[e, r] = weights @ squares / (weights.sum() or 1.0)
                if found.status is Status.INTERRUPTED:
                    return True
                first = found if e == 0 else first
        return False


def _column(part: Part, t: int) -> Part:
    """Return the part with one target of several."""
    X, y, weights = part
    return X, y[:, t], weights


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
