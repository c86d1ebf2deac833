"""The published branch and bound (Algorithm PartLS-bnb as its authors implement it), on SciPy's compiled NNLS.

At each node one cold NNLS on the split columns ``[X, -X]`` for all N rows; branch on the group with the largest
``nu_k = sum_ij max(0, -w_i w_j)``, the nonnegative child first; depth first; prune when ``lb >= ub``. The published
code keeps the halves that the signs exclude as zero columns, which costs up to twice the time; ``reference_bnb``
leaves them out, a favour to it, and ``reference_bnb_as_published`` does not. ``norm`` is the published objective.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks.contract import Answer, Method, Problem
from benchmarks.homogeneous import homogeneous, split_intercept


@dataclass
class ReferenceBnb(Method):
    name = "reference_bnb"
    trusted = False

    def set_up(self, problem: Problem, time_limit: float) -> None:
        self._problem = problem
        self._X, self._y, self._labels = homogeneous(problem)
        self._groups = [np.flatnonzero(self._labels == k) for k in range(self._labels.max() + 1)]
        self._time_limit = time_limit
        self._nodes, self._best, self._norm, self._status = 0, None, np.inf, "optimal"

    def run(self) -> None:
        self._deadline = time.perf_counter() + self._time_limit
        try:
            self._explore(np.zeros(len(self._groups), dtype=int))
        except TimeoutError:
            self._status = "time limit"

    def answer(self) -> Answer:
        bound = self._norm**2 if self._status == "optimal" else np.nan
        if self._best is None:
            return Answer(self._status, nodes=self._nodes)
        coef, intercept = split_intercept(self._problem, self._best)
        return Answer(self._status, coef, intercept, self._norm**2, bound, self._nodes, {"norm": self._norm})

    def _explore(self, signs: np.ndarray) -> None:
        if time.perf_counter() > self._deadline:
            raise TimeoutError
        self._nodes += 1
        norm, w = self._relax(signs)
        if norm >= self._norm:
            return
        violation = np.array([np.maximum(w[g], 0).sum() * np.maximum(-w[g], 0).sum() for g in self._groups])
        if not violation.any():
            self._norm, self._best = norm, w
            return
        for sign in (1, -1):
            child = signs.copy()
            child[violation.argmax()] = sign
            self._explore(child)

    def _relax(self, signs: np.ndarray) -> tuple[float, np.ndarray]:
        """Least squares under the decided signs: each free column stands there twice, once each way."""
        side = self._side(signs)
        positive, negative = np.flatnonzero(side >= 0), np.flatnonzero(side <= 0)
        split, norm = nnls(np.hstack([self._X[:, positive], -self._X[:, negative]]), self._y)
        w = np.zeros(self._X.shape[1])
        w[positive] += split[: len(positive)]
        w[negative] -= split[len(positive) :]
        return norm, w

    def _side(self, signs: np.ndarray) -> np.ndarray:
        return signs[self._labels]


@dataclass
class ReferenceBnbAsPublished(ReferenceBnb):
    name = "reference_bnb_as_published"

    def _relax(self, signs: np.ndarray) -> tuple[float, np.ndarray]:
        side = self._side(signs)
        split, norm = nnls(np.hstack([self._X * (side >= 0), -self._X * (side <= 0)]), self._y)
        positive, negative = np.split(split, 2)
        return norm, positive - negative
