"""What a modeller would type: the problem in CVXPY with a boolean per group, handed to SCIP as it is.

    minimise ``||X w - y||^2``  s.t.  ``-m (1 - b_k) <= w_j <= m b_k``,  b boolean, k the group of j

One m for all columns, valid (see ``benchmarks.big_m``); no compression, no residual variables, no start. CVXPY's own
translation is part of the set-up, not of the time.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from benchmarks.big_m import big_m, reason_to_skip, rounded_answer
from benchmarks.contract import Answer, Method, Problem


@dataclass
class CvxpyScip(Method):
    name = "cvxpy_scip"
    trusted = False
    requires = ("cvxpy", "pyscipopt")

    gap_tol: float = 1e-9

    def reason_to_skip(self, problem: Problem) -> str:
        return reason_to_skip(problem) or super().reason_to_skip(problem)

    def set_up(self, problem: Problem, time_limit: float) -> None:
        import cvxpy as cp

        M, K = problem.shape[1:]
        limit = float(big_m(problem).size.max())
        self._problem, self._w = problem, cp.Variable(M)
        positive = cp.Variable(K, boolean=True)[problem.labels]
        constraints = [self._w <= limit * positive, self._w >= limit * (positive - 1)]
        self._model = cp.Problem(cp.Minimize(cp.sum_squares(problem.X @ self._w - problem.y)), constraints)
        self._solver = {"scip_params": {"limits/time": time_limit, "limits/gap": self.gap_tol}}
        self._data, self._chain, self._inverse = self._model.get_problem_data(cp.SCIP)

    def run(self) -> None:
        self._found = self._chain.solve_via_data(self._model, self._data, solver_opts=dict(self._solver))

    def answer(self) -> Answer:
        """CVXPY does not pass on SCIP's bound: there is none to check."""
        import cvxpy as cp

        with warnings.catch_warnings(action="ignore"):  # "may be inaccurate": the status says so too
            self._model.unpack_results(self._found, self._chain, self._inverse)
        words = {cp.OPTIMAL: "optimal", cp.OPTIMAL_INACCURATE: "time limit", cp.USER_LIMIT: "time limit"}
        status = words.get(self._model.status, f"failed: {self._model.status}")
        if self._w.value is None:
            return Answer(status)
        return rounded_answer(self._problem, status, self._w.value, raw_objective=float(self._model.value))
