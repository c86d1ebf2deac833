"""The authors' own runs, read from the files they published: facts beside the runs made here, on another machine.

``$PARTLS_DATA/published/<data>-ALT-<T>.csv`` has 100 starts of PartLS-alt with T iterations each, ``<data>-OPT.csv``
one run of PartLS-opt. The columns used are ``TimeCumulative`` (seconds), ``TrainObj`` and ``TrainBest`` (the norm of
the residual of this start, and of the best so far). Coefficients were not published, so that the referee has nothing to
recompute. ``at_a_pattern`` counts the starts that ended at the optimum of a complete sign pattern, which one
nonnegative least squares problem gives.
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.contract import Answer, Method, Problem
from benchmarks.homogeneous import homogeneous
from benchmarks.methods.reference_alternating import improvements
from benchmarks.original_files import FOLDER
from benchmarks.referee import AGREEMENT

EXACT_FIT = 1e-9  # of the target's norm


@dataclass
class ArticleRun(Method):
    name = "article_run"
    trusted = False
    exact = False

    data: str = "limpet"
    max_iter: int = 0  # T of PartLS-alt; 0 is PartLS-opt

    def settings(self) -> dict[str, Any]:
        return {"data": self.data, "max_iter": self.max_iter}

    def reason_to_skip(self, problem: Problem) -> str:
        return "" if self._path().exists() else f"{self._path().name} not in ${FOLDER}/published"

    def set_up(self, problem: Problem, time_limit: float) -> None:
        with self._path().open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self._problem = problem
        self._ends = np.array([float(row["TrainObj"]) for row in rows])
        self._norms = [(float(row["TimeCumulative"]), float(row["TrainBest"])) for row in rows]

    def run(self) -> None:
        """Do nothing: the run was made by the authors."""

    def answer(self) -> Answer:
        seconds, norm = self._norms[-1]
        notes = {"starts": len(self._norms), "norm": norm, "at_a_pattern": self._at_a_pattern(),
                 "trace": improvements([(when, value**2) for when, value in self._norms])}
        return Answer("published", claimed=norm**2, notes=notes, seconds=seconds)

    def _at_a_pattern(self) -> int | None:
        """Return how many starts ended at the optimum of a sign pattern; None where patterns fit exactly."""
        if self._ends.min() < EXACT_FIT * np.linalg.norm(self._problem.y):
            return None
        X, y, labels = homogeneous(self._problem)
        X = X / np.linalg.norm(X, axis=0)
        patterns = product((1.0, -1.0), repeat=int(labels.max()) + 1)
        norms = np.array([nnls(X * np.array(signs)[labels], y)[1] for signs in patterns])
        nearest = np.abs(self._ends[:, None] - norms).min(axis=1)
        return int((nearest <= AGREEMENT * self._ends).sum())

    def _path(self) -> Path:
        stem = f"{self.data}-ALT-{self.max_iter}" if self.max_iter else f"{self.data}-OPT"
        return Path(os.environ.get(FOLDER, "")) / "published" / f"{stem}.csv"
