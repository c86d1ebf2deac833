"""Everything that takes a time limit, run with one that it cannot keep to by being done: how late does it return?"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.linalg import qr

import partls
import relaxations
from benchmarks.contract import Answer, Method, Problem
from formulations.rows.reduction import reduce
from partls import PartLSRegressor, PartLSRegressorCV, explain

LEFT_BEHIND = ("alternating simplex", "relaxations.compare")  # their threads may outlive them: a process for each run
FIRST = (40, 30, 5)  # a small problem that compiles and imports what will run
SOLVES: dict[str, dict[str, Any]] = {
    "bnb": {"method": "bnb"},
    "bnb best-first": {"method": "bnb", "search": "best-first"},
    "bnb generic": {"method": "bnb", "relaxation": "unconstrained"},
    "bnb L1": {"method": "bnb", "penalty": "l1", "eta": 1.0},
    "enumerate": {"method": "enumerate"},
    "alternating nnls": {"method": "alternating", "random_state": 0},
    "alternating simplex": {"method": "alternating", "backend": "cvxpy", "random_state": 0},
}


@dataclass
class Limited(Method):
    """One call with a time limit; ``what`` is a key of ``SOLVES`` or of ``CALLS``."""

    name = "limited"

    what: str = "bnb"

    def set_up(self, problem: Problem, time_limit: float) -> None:
        rng = np.random.default_rng(0)
        rows, columns, groups = FIRST
        small = Problem(rng.normal(size=(rows, columns)), rng.normal(size=rows), np.arange(columns) % groups)
        self._call(small, 1.0)()
        self._problem, self._limit = problem, time_limit
        self._run = self._call(problem, time_limit)

    def run(self) -> None:
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._result = self._run()
        self._returned = time.perf_counter() - began

    def answer(self) -> Answer:
        result, notes = self._result, {"what": self.what, "limit": self._limit, "returned": self._returned}
        if result is None:
            return Answer("explained", notes=notes)
        if result.instance.eta:  # the referee knows one penalty only
            return Answer(result.status.value, result.coef, result.intercept, notes=notes)
        return Answer(
            result.status.value, result.coef, result.intercept, result.objective, result.lower_bound, result.n_nodes,
            notes=notes,
        )

    def _call(self, problem: Problem, limit: float) -> Callable[[], partls.Result | None]:
        if self.what in SOLVES:
            X, y, labels = problem.X, problem.y, problem.labels
            options = {"fit_intercept": problem.fit_intercept, "time_limit": limit, **SOLVES[self.what]}
            return lambda: partls.solve(X, y, labels, **options)
        return CALLS[self.what](problem, limit)


def _factorisation(problem: Problem, limit: float) -> Callable[[], None]:
    """Return one QR factorisation: of the rows of tall data, else of the reduced data, with column pivoting."""
    instance = partls.Instance(problem.X, problem.y, problem.labels, fit_intercept=problem.fit_intercept)
    if instance.n_rows > instance.n_columns:
        return lambda: reduce(instance.least_squares) and None
    R = instance.reduction.R
    return lambda: qr(R, mode="economic", pivoting=True) and None


def _fit(problem: Problem, limit: float) -> Callable[[], partls.Result]:
    model = PartLSRegressor(problem.labels, fit_intercept=problem.fit_intercept, time_limit=limit)
    return lambda: model.fit(problem.X, problem.y).result_


def _cross_validation(problem: Problem, limit: float) -> Callable[[], partls.Result]:
    model = PartLSRegressorCV(problem.labels, fit_intercept=problem.fit_intercept, time_limit=limit)
    return lambda: model.fit(problem.X, problem.y).result_


def _explained(report: Callable[..., Any]) -> Callable[[Problem, float], Callable[[], None]]:
    def call(problem: Problem, limit: float) -> Callable[[], None]:
        result = partls.solve(
            problem.X, problem.y, problem.labels, fit_intercept=problem.fit_intercept, node_limit=0, time_limit=limit
        )
        return lambda: report(result, limit) and None

    return call


def _price(result: partls.Result, limit: float) -> None:
    with suppress(TimeoutError):  # not every figure is proved
        explain.price_of_constraint(result, time_limit=limit)


def _certificate(result: partls.Result, limit: float) -> None:
    from partls.prove.certificate import certify

    with TemporaryDirectory() as folder:
        root = partls.SignPattern.free(result.instance.n_groups)
        with suppress(TimeoutError):  # not written, which it says
            certify(result, root, Path(folder) / "c.json", 1e-9, limit)


def _page(result: partls.Result, limit: float) -> None:
    from partls.report import write_report

    with TemporaryDirectory() as folder:
        write_report(result, Path(folder) / "page.html", time_limit=limit)


CALLS: dict[str, Callable[[Problem, float], Callable[[], partls.Result | None]]] = {
    "one factorisation": _factorisation,
    "PartLSRegressor.fit": _fit,
    "PartLSRegressorCV.fit": _cross_validation,
    "sign certainty": _explained(lambda result, limit: explain.sign_certainty(result, time_limit=limit)),
    "price of the constraint": _explained(_price),
    "bootstrap": _explained(lambda result, limit: explain.bootstrap(result, time_limit=limit, random_state=0)),
    "report": _explained(_page),
    "certificate": _explained(_certificate),
    "relaxations.compare": _explained(
        lambda result, limit: relaxations.compare(result.instance, optimum=result.objective, time_limit=limit)
    ),
}
