"""SCIP on the big-M mixed-integer program: the quadratic objective as an epigraph over residual variables.

    minimise t  s.t.  ``r = R w - z``,  ``sum r_i^2 + rest <= t``,  big-M sign constraints

The model is built in the untimed set-up; signs are rounded and the coefficients solved for again, outside the clock.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.big_m import SLACK, big_m, reason_to_skip, rounded_answer
from benchmarks.contract import Answer, Method, Problem


@dataclass
class ScipMiqp(Method):
    name = "scip_miqp"
    trusted = False
    requires = ("pyscipopt",)

    gap_tol: float = 1e-9

    def reason_to_skip(self, problem: Problem) -> str:
        return reason_to_skip(problem) or super().reason_to_skip(problem)

    def set_up(self, problem: Problem, time_limit: float) -> None:
        from pyscipopt import Model, quicksum

        self._problem, data = problem, big_m(problem)
        M, K = problem.shape[1:]
        self._model = model = Model()
        model.hideOutput()
        model.setParams({"limits/time": time_limit, "limits/gap": self.gap_tol})
        self._w = [model.addVar(lb=-m, ub=m) for m in data.size.tolist()]
        sign = [model.addVar(vtype="B") for _ in range(K)]
        for w, m, k in zip(self._w, data.size.tolist(), problem.labels.tolist(), strict=True):
            model.addCons(w <= m * sign[k])
            model.addCons(w >= m * sign[k] - m)
        reach = SLACK * float(np.sqrt(data.upper - data.rest))  # no better point has a larger residual
        residuals = [model.addVar(lb=-reach, ub=reach) for _ in range(M)]
        for i, residual in enumerate(residuals):
            model.addCons(quicksum(float(data.R[i, j]) * self._w[j] for j in range(i, M)) - residual == data.z[i])
        value = model.addVar(lb=data.rest, ub=SLACK * data.upper)
        model.addCons(quicksum(r * r for r in residuals) + data.rest <= value)
        model.setObjective(value)

    def run(self) -> None:
        self._model.optimize()

    def answer(self) -> Answer:
        model = self._model
        words = {"optimal": "optimal", "gaplimit": "optimal", "timelimit": "time limit"}
        status = words.get(model.getStatus(), f"failed: {model.getStatus()}")
        if model.getNSols() == 0:
            return Answer(status, nodes=int(model.getNTotalNodes()))
        raw = np.array([model.getVal(w) for w in self._w])
        return rounded_answer(
            self._problem, status, raw, raw_objective=model.getObjVal(), lower_bound=model.getDualbound(),
            nodes=int(model.getNTotalNodes()),
        )
