"""The one place that calls a CVXPY solver: every status is mapped, every failure is kept, nothing is swallowed."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import cvxpy as cp

from formulations.builders.model import Model
from formulations.errors import InvalidInput
from formulations.signs import SignPattern
from relaxations.clock import seconds_left
from relaxations.conic.solvers import installed_solver
from relaxations.protocol import BoundStatus

# A relaxation of a feasible problem is feasible: an "infeasible" answer is a failure of the solver.
_MEANING = {
    cp.OPTIMAL: BoundStatus.OPTIMAL,
    cp.OPTIMAL_INACCURATE: BoundStatus.INACCURATE,
    cp.USER_LIMIT: BoundStatus.INACCURATE,
    cp.UNBOUNDED: BoundStatus.UNBOUNDED,
    cp.UNBOUNDED_INACCURATE: BoundStatus.INACCURATE,
}
# A first-order solver's default accuracy would let bounds fall visibly from parent to child; safe bounds solve again
# what the dual values leave open, so more than this buys nothing that can be measured.
_ACCURACY: dict[str, dict[str, Any]] = {"SCS": {"eps_abs": 1e-7, "eps_rel": 1e-7, "max_iters": 20_000}}
_TIME_LIMITS = {"CLARABEL": "time_limit", "SCS": "time_limit_secs"}
_OUT_OF_REACH = "does not solve problems of this kind"
_INTERRUPTED = -5  # in the words of SCS
_ORDER = [BoundStatus.OPTIMAL, BoundStatus.UNBOUNDED, BoundStatus.INACCURATE, BoundStatus.FAILED]


@dataclass(frozen=True, eq=False)
class Solved:
    """What came of one solve: the model with the solver's values in it, and how every attempt ended.

    Attributes
    ----------
    model
        The model of the best attempt; its variables and dual values are None if no solver left any.
    status
        OPTIMAL, UNBOUNDED, INACCURATE (a point to start a safe bound from) or FAILED (none).
    solver
        The solver of the best attempt.
    attempts
        One line per solver tried, in order: its own status, or its error.
    seconds
        Wall-clock time of all attempts.
    """

    model: Model
    status: BoundStatus
    solver: str
    attempts: tuple[str, ...]
    seconds: float


@dataclass
class Backend:
    """Solves one family of models with the first of ``solvers`` that succeeds.

    ``build`` makes the model of a sign pattern. A model whose signs are parameters is compiled once per solver; any
    other is built anew for each solve. No two solvers ever share a problem: CVXPY would hand the values of one to
    the next as a warm start.
    """

    build: Callable[[SignPattern | None], Model]
    solvers: Sequence[str]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    _compiled: dict[str, Model] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.solvers = [installed_solver(name) for name in self.solvers]

    def solve(self, signs: SignPattern | None = None) -> Solved:
        """Return the best of the attempts, stopping at the first that is optimal or proves unboundedness.

        Raises ``InvalidInput`` if no solver takes problems of this kind, such as a quadratic solver a semidefinite one.
        """
        began = time.perf_counter()
        tried: list[tuple[BoundStatus, str, Model]] = []
        attempts: list[str] = []
        for solver in self.solvers:
            model = self._model(solver, signs)
            options = _ACCURACY.get(solver, {}) | _time_limit(solver) | dict(self.options.get(solver, {}))
            status, words = _attempt(model, solver, options)
            tried.append((status, solver, model))
            attempts.append(f"{solver}: {words}")
            if status in (BoundStatus.OPTIMAL, BoundStatus.UNBOUNDED):
                break
        if all(f": {_OUT_OF_REACH}" in line for line in attempts):
            raise InvalidInput(_refusal(self.solvers[0], tried[0][2]))
        status, solver, model = min(tried, key=lambda attempt: _ORDER.index(attempt[0]))
        return Solved(model, status, solver, tuple(attempts), time.perf_counter() - began)

    def _model(self, solver: str, signs: SignPattern | None) -> Model:
        if solver in self._compiled:
            return self._compiled[solver].fix(signs)
        model = self.build(signs)
        if model.parameters:
            self._compiled[solver] = model
        return model


def _refusal(solver: str, model: Model) -> str:
    form = model.form
    kind, others = ("", "") if form is None else (f" ({form.cone})", f"; those that do: {form.solvers}")
    return f"solver {solver!r} does not solve problems of this kind, {model.name}{kind}{others}"


def _time_limit(solver: str) -> dict[str, float]:
    """Return the solver's own option for the time that is left, if there is a deadline."""
    left = seconds_left()
    return {_TIME_LIMITS[solver]: left} if solver in _TIME_LIMITS and left < inf else {}


def _attempt(model: Model, solver: str, options: dict[str, Any]) -> tuple[BoundStatus, str]:
    """Return (status, the solver's own words) of one solve without a warm start."""
    problem: Any = model.problem
    for variable in problem.variables():
        variable.value = None  # what an earlier node left must not pass for this one's answer
    try:
        data, chain, inverse = problem.get_problem_data(solver, solver_opts=options)
    except cp.error.SolverError as error:
        return BoundStatus.FAILED, f"{_OUT_OF_REACH}: {error}"
    except Exception as error:
        return BoundStatus.FAILED, f"{type(error).__name__}: {error}"
    try:
        raw = chain.solve_via_data(problem, data, warm_start=False, verbose=False, solver_opts=options)
        if solver == "SCS" and raw["info"]["status_val"] == _INTERRUPTED:
            signal.raise_signal(signal.SIGINT)  # it takes Ctrl-C for itself; whoever runs the search waits for it
        solution = chain.invert(raw, inverse)
        if solution.status in cp.settings.SOLUTION_PRESENT + cp.settings.INF_OR_UNB:
            problem.unpack(solution)
    except Exception as error:  # solvers raise their own types, ValueError and worse: each is a failed attempt
        return BoundStatus.FAILED, f"{type(error).__name__}: {error}"
    status = _MEANING.get(solution.status, BoundStatus.FAILED)
    if status is BoundStatus.INACCURATE and any(variable.value is None for variable in problem.variables()):
        status = BoundStatus.FAILED  # a limit was reached before there was a point
    return status, str(solution.status)
