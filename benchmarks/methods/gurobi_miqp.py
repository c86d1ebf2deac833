"""Gurobi on the big-M mixed-integer program, under pip's size-limited licence, one thread.

The model is built in the untimed set-up; the bounds on the coefficients are valid and as tight as one
least-squares fit allows. Signs are rounded and the coefficients solved for again, outside the clock.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.big_m import big_m, reason_to_skip, rounded_answer
from benchmarks.contract import Answer, Method, Problem

LICENCE_LIMIT = 200  # variables of a model with a quadratic objective


@dataclass
class GurobiMiqp(Method):
    name = "gurobi_miqp"
    trusted = False
    requires = ("gurobipy",)

    gap_tol: float = 1e-9

    def reason_to_skip(self, problem: Problem) -> str:
        _, M, K = problem.shape
        if M + K > LICENCE_LIMIT:
            return f"above the licence's {LICENCE_LIMIT} variables"
        return reason_to_skip(problem) or super().reason_to_skip(problem)

    def warm_up(self, problem: Problem) -> None:
        self.set_up(problem, 1.0)

    def set_up(self, problem: Problem, time_limit: float) -> None:
        import gurobipy as gp

        self._problem, data = problem, big_m(problem)
        M, K = problem.shape[1:]
        self._model = model = gp.Model(env=_environment())
        model.Params.Threads, model.Params.TimeLimit = 1, time_limit
        model.Params.MIPGap, model.Params.MIPGapAbs = self.gap_tol, 0.0
        self._w = model.addMVar(M, lb=-data.size, ub=data.size)
        sign = model.addMVar(K, vtype=gp.GRB.BINARY)
        model.addConstr(self._w <= data.size * sign[problem.labels])
        model.addConstr(self._w >= data.size * sign[problem.labels] - data.size)
        Q = data.R.T @ data.R
        constant = float(data.z @ data.z) + data.rest
        model.setObjective(self._w @ Q @ self._w - 2 * (data.R.T @ data.z) @ self._w + constant)
        model.update()

    def run(self) -> None:
        self._model.optimize()

    def answer(self) -> Answer:
        import gurobipy as gp

        model = self._model
        words = {gp.GRB.OPTIMAL: "optimal", gp.GRB.TIME_LIMIT: "time limit"}
        status = words.get(model.Status, f"failed: Gurobi status {model.Status}")
        if model.SolCount == 0:
            return Answer(status, nodes=int(model.NodeCount))
        return rounded_answer(
            self._problem, status, np.asarray(self._w.X), raw_objective=model.ObjVal, lower_bound=model.ObjBound,
            nodes=int(model.NodeCount),
        )


def _environment():
    import gurobipy as gp

    return gp.Env(params={"OutputFlag": 0, "LogToConsole": 0})
