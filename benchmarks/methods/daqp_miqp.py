"""DAQP's mixed-integer mode on the big-M program: a dual active-set method that warm-starts every node.

DAQP wants a positive definite Hessian, which the binary variables do not have. ``b_k^2 = b_k`` at every binary point,
so ``c (b_k^2 - b_k)`` may be added for nothing: it makes the Hessian definite and leaves every feasible value alone.
The relaxations get weaker by at most ``c / 4`` for each group, so c is small. DAQP stops without a bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.big_m import big_m, reason_to_skip, rounded_answer
from benchmarks.contract import Answer, Method, Problem

BINARY = 16  # DAQP's mark of a constraint that holds with equality on one of its two sides
OPTIMAL, ITERATION_LIMIT, TIME_LIMIT = 1, -4, -7
CURVATURE = 1e-4  # c, as a share of the mean curvature of the coefficients in units of their bounds


@dataclass
class DaqpMiqp(Method):
    name = "daqp_miqp"
    trusted = False
    requires = ("daqp",)

    def reason_to_skip(self, problem: Problem) -> str:
        return reason_to_skip(problem) or super().reason_to_skip(problem)

    def set_up(self, problem: Problem, time_limit: float) -> None:
        data, (_, M, K) = big_m(problem), problem.shape
        self._problem, self._size = problem, data.size
        R = data.R * data.size  # unit boxes: DAQP's tolerances are absolute
        c = CURVATURE * float(np.square(R).sum()) / M
        H = np.zeros((M + K, M + K))
        H[:M, :M], H[M:, M:] = 2 * R.T @ R, 2 * c * np.eye(K)
        f = np.concatenate([-2 * R.T @ data.z, np.full(K, -c)])
        member = (problem.labels[:, None] == np.arange(K)).astype(float)
        A = np.hstack([np.eye(M), -member])  # w_j / m_j - b_k lies in [-1, 0]
        upper = np.concatenate([np.ones(M), np.ones(K), np.zeros(M)])
        lower = np.concatenate([-np.ones(M), np.zeros(K), -np.ones(M)])
        sense = np.zeros(2 * M + K, dtype=np.int32)
        sense[M : M + K] = BINARY
        self._arguments = (H, f, A, upper, lower, sense)
        self._constant, self._time_limit = float(data.z @ data.z) + data.rest, time_limit

    def run(self) -> None:
        import daqp

        self._found = daqp.solve(*self._arguments, time_limit=self._time_limit, iter_limit=2**31 - 1)

    def answer(self) -> Answer:
        x, value, flag, info = self._found
        words = {OPTIMAL: "optimal", ITERATION_LIMIT: "time limit", TIME_LIMIT: "time limit"}
        status = words.get(flag, f"failed: DAQP exit flag {flag}")
        if status != "optimal":
            return Answer(status, nodes=int(info["nodes"]))
        objective = float(value) + self._constant
        return rounded_answer(
            self._problem, status, np.asarray(x)[: len(self._size)] * self._size, raw_objective=objective,
            lower_bound=objective, nodes=int(info["nodes"]),
        )
