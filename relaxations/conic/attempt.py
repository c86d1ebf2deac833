"""The one place that calls a CVXPY solver: every status is mapped, and every failure is recorded."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from math import inf
from typing import Any

import cvxpy as cp

from relaxations.clock import seconds_left
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
OUT_OF_REACH = "does not solve problems of this kind"
_INTERRUPTED = -5  # in the words of SCS


def default_options(solver: str) -> dict[str, Any]:
    """Return the accuracy asked of a solver, and its own option for the time that is left, if there is a deadline."""
    left = seconds_left()
    limit = {_TIME_LIMITS[solver]: left} if solver in _TIME_LIMITS and left < inf else {}
    return _ACCURACY.get(solver, {}) | limit


@dataclass(frozen=True, eq=False)
class Attempt:
    """One solve as CVXPY sees it from inside.

    Attributes
    ----------
    status, words
        How it ended, and the same in the solver's own words.
    data, chain, inverse, raw
        The solver's form of the problem, the steps that lead to it and back, and the solver's answer; None before the
        step that failed.
    inner
        The answer in CVXPY's terms, on the solver's form.
    """

    status: BoundStatus
    words: str
    data: Any = None
    chain: Any = None
    inverse: Any = None
    raw: Any = None
    inner: Any = None


def attempt(problem: Any, solver: str, options: dict[str, Any]) -> Attempt:
    """Solve once without a warm start, and leave the values in the problem."""
    for variable in problem.variables():
        variable.value = None  # what an earlier node left must not pass for this one's answer
    raw = None
    try:
        data, chain, inverse = problem.get_problem_data(solver, solver_opts=options)
    except cp.error.SolverError as error:
        return Attempt(BoundStatus.FAILED, f"{OUT_OF_REACH}: {one_line(error)}")
    except Exception as error:
        return Attempt(BoundStatus.FAILED, f"{type(error).__name__}: {one_line(error)}")
    try:
        raw = chain.solve_via_data(problem, data, warm_start=False, verbose=False, solver_opts=options)
        if solver == "SCS" and raw["info"]["status_val"] == _INTERRUPTED:
            signal.raise_signal(signal.SIGINT)  # the solver swallows Ctrl-C, and the search waits for it
        inner = chain.reductions[-1].invert(raw, inverse[-1])
        solution = mapped_back(inner, chain, inverse)
        if solution.status in cp.settings.SOLUTION_PRESENT + cp.settings.INF_OR_UNB:
            problem.unpack(solution)
    except Exception as error:  # solvers raise their own types, ValueError and worse: each is a failed attempt
        return Attempt(BoundStatus.FAILED, f"{type(error).__name__}: {one_line(error)}", data, chain, inverse, raw)
    status = _MEANING.get(solution.status, BoundStatus.FAILED)
    if status is BoundStatus.INACCURATE and any(variable.value is None for variable in problem.variables()):
        status = BoundStatus.FAILED  # a limit was reached before there was a point
    return Attempt(status, str(solution.status), data, chain, inverse, raw, inner)


def one_line(error: Exception) -> str:
    """Return the first line of what an error says: CVXPY's go on with advice that does not fit here."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else ""


def mapped_back(inner: Any, chain: Any, inverse: Any) -> Any:
    """Return a solution of the solver's form in terms of the problem; the former stays as it is."""
    solution = inner.copy()
    solution.primal_vars, solution.dual_vars = dict(inner.primal_vars), dict(inner.dual_vars)
    for reduction, data in reversed(list(zip(chain.reductions[:-1], inverse[:-1], strict=True))):
        solution = reduction.invert(solution, data)
    return solution
