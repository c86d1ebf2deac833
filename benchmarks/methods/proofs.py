"""Proofs of optimality: write one with the fit, or check one that was written before the clock runs."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path

import partls
from benchmarks.contract import Answer, Method, Problem


@dataclass
class WriteProof(Method):
    """``partls.solve(..., certificate=path)``: the search, and a point for each of its boxes."""

    name = "write_proof"
    penalised = True

    def set_up(self, problem: Problem, time_limit: float) -> None:
        self._problem = problem
        folder = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, folder)
        self._path = Path(folder) / "proof.json"

    def run(self) -> None:
        problem = self._problem
        self._result = partls.solve(
            problem.X, problem.y, problem.labels, fit_intercept=problem.fit_intercept, eta=problem.eta,
            certificate=self._path,
        )

    def answer(self) -> Answer:
        result = self._result
        return Answer(
            result.status.value, result.coef, result.intercept, result.objective, result.lower_bound, result.n_nodes,
            notes={"bytes": self._path.stat().st_size},
        )


@dataclass
class CheckProof(WriteProof):
    """``partls.verify`` on the original data; what it returns is what it has proved."""

    name = "check_proof"

    mode: str = "rounding"

    def set_up(self, problem: Problem, time_limit: float) -> None:
        super().set_up(problem, time_limit)
        super().run()

    def run(self) -> None:
        problem = self._problem
        self._proved = partls.verify(self._path, problem.X, problem.y, problem.labels, mode=self.mode)

    def answer(self) -> Answer:
        proved = self._proved
        return Answer(
            "optimal", self._result.coef, self._result.intercept, proved.objective, proved.lower_bound,
            notes={"boxes": proved.n_boxes, "bytes": self._path.stat().st_size},
        )
