"""Any CVXPY problem as a cone program with the dual vector that its solver left, whatever solver that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.data import Floats
from formulations.errors import InvalidInput
from relaxations.conic.attempt import Attempt, attempt, default_options, mapped_back, one_line
from relaxations.protocol import BoundStatus
from relaxations.safe.cone_program import ConeProgram, Cones

_LOWER_TRIANGLE = ("SCS",)  # solvers that take the lower triangle of a semidefinite matrix; the others take the upper
_READ = ("CLARABEL", "SCS")  # solvers whose dual vector of semidefinite cones is read


@dataclass(frozen=True, eq=False)
class ConeSolved:
    """What a solver said of a problem, and the cone program that it was given.

    Attributes
    ----------
    status, words
        How it ended, and the same in the solver's own words.
    program
        The cone program; None if the solver's form of the problem is none that can be read.
    x, y
        Its primal and dual vectors; None where the solver left none.
    places
        For each variable of the problem by its id, the place of each entry in x and its sign; the place is -1 where the
        entry is not one of x.
    """

    status: BoundStatus
    words: str
    program: ConeProgram | None
    x: Floats | None
    y: Floats | None
    places: dict[int, tuple[NDArray[np.intp], Floats]]


def solve_cones(problem: cp.Problem, solver: str, options: dict[str, Any]) -> ConeSolved:
    """Return what one solver, asked once, says of a problem."""
    tried = attempt(problem, solver, default_options(solver) | options)
    if tried.data is None:
        return ConeSolved(tried.status, tried.words, None, None, None, {})
    program = read_program(tried.data, tried.inverse[-1][cp.settings.OFFSET], solver)
    if tried.inner is None or program is None or tried.status is BoundStatus.FAILED:
        return ConeSolved(tried.status, tried.words, program, None, None, {})
    if not tried.inner.primal_vars:
        return ConeSolved(tried.status, tried.words, program, None, None, {})
    x = _primal(tried)
    return ConeSolved(tried.status, tried.words, program, x, _dual(tried, solver, program, x), _places(problem, tried))


def solver_data(problem: cp.Problem, solver: str) -> tuple[Any, Any]:
    """Return the solver's form of a problem, and the constant of its objective."""
    try:
        data, _, inverse = problem.get_problem_data(solver)
    except Exception as error:  # CVXPY raises its own types and others
        raise InvalidInput(f"{solver} cannot solve this problem ({one_line(error)}): choose another solver") from error
    return data, inverse[-1][cp.settings.OFFSET]


def refuse_unreadable(data: Any, offset: Any, solver: str) -> None:
    """Refuse a problem that cannot be bounded by the dual vector of this solver."""
    if _has_curved_cones(data["dims"]):
        raise InvalidInput(
            'safe="dual" covers linear, second-order and semidefinite cones, and this problem has exponential or power '
            "cones: pass a function as safe, or safe=None"
        )
    program = read_program(data, offset, solver)
    if program is None or (program.cones.semidefinite and solver not in _READ):
        raise InvalidInput(f'safe="dual" cannot read the dual vector of {solver} for this problem: use CLARABEL or SCS')


def same_data(one: Any, other: Any) -> bool:
    """Return whether two problems are the same to a solver, number by number."""
    for name in ("A", "F", "P", "b", "c", "q", "G", "lower_bounds", "upper_bounds"):
        left, right = (_dense(data.get(name)) for data in (one, other))
        if (left is None) != (right is None) or (left is not None and not np.array_equal(left, right)):
            return False
    return True


def _has_curved_cones(dims: Any) -> bool:
    """Return whether there are exponential or power cones."""
    return any(getattr(dims, name, None) for name in ("exp", "p3d", "pnd"))


def read_program(data: Any, offset: Any, solver: str) -> ConeProgram | None:
    """Return the program in a solver's data: of a cone solver, or of one for quadratic programs."""
    dims = data["dims"]
    if "F" in data:
        A = sparse.vstack([data["A"], data["F"]], format="csr")
        b, c = np.append(data["b"], data["G"]), data["q"]
    elif "A" in data and "c" in data:
        A, b, c = sparse.csr_array(data["A"]), np.asarray(data["b"], dtype=np.float64), data["c"]
    else:
        return None
    second_order, semidefinite = (tuple(getattr(dims, name, ())) for name in ("soc", "psd"))
    cones = Cones(dims.zero, dims.nonneg, second_order, semidefinite, upper=solver not in _LOWER_TRIANGLE)
    if A.shape[0] != cones.n_rows or _has_curved_cones(dims):
        return None
    n = len(c)
    P = data.get("P")
    P = sparse.csr_array((n, n)) if P is None else sparse.csr_array(P)
    lower, upper = data.get("lower_bounds"), data.get("upper_bounds")
    return ConeProgram(
        P, np.asarray(c, dtype=np.float64), float(np.ravel(offset)[0]), A, b, cones,
        np.full(n, -np.inf) if lower is None else np.asarray(lower, dtype=np.float64),
        np.full(n, np.inf) if upper is None else np.asarray(upper, dtype=np.float64),
    )


def _primal(tried: Attempt) -> Floats:
    (x,) = tried.inner.primal_vars.values()
    x = np.ravel(np.asarray(x, dtype=np.float64))
    return x[: tried.data["param_prob"].x.size]  # some interfaces append variables of their own


def _dual(tried: Attempt, solver: str, program: ConeProgram, x: Floats) -> Floats | None:
    """Return the dual vector in the order of the rows; None if the solver left none."""
    if solver == "CLARABEL":
        y = np.asarray(tried.raw.z, dtype=np.float64)
    elif solver == "SCS":
        y = np.asarray(tried.raw["y"], dtype=np.float64)
    else:
        parts = [np.ravel(part) for part in tried.inner.dual_vars.values() if part is not None]
        y = np.concatenate(parts) if parts else np.zeros(0)
    if y.shape != program.b.shape:
        return None
    # CVXPY's interfaces do not agree on the signs of multipliers: those that fit are meant. Any vector proves a bound.
    zero, slope = program.cones.zero, program.c + program.P @ x
    readings = [np.append(first * y[:zero], second * y[zero:]) for first in (1.0, -1.0) for second in (1.0, -1.0)]
    return min(readings, key=lambda dual: float(np.linalg.norm(slope + program.A.T @ program.cones.into_dual(dual))))


def _places(problem: cp.Problem, tried: Attempt) -> dict[int, tuple[NDArray[np.intp], Floats]]:
    """Find out where each variable of the problem is in x, by mapping numbered vectors back through CVXPY's steps."""
    n = tried.data["param_prob"].x.size
    numbers = 1e-7 * np.arange(1.0, n + 1)  # so small that no bound of a variable cuts them
    found: dict[int, tuple[NDArray[np.intp], Floats]] = {}
    above, below = _mapped_back(tried, numbers), _mapped_back(tried, -numbers)
    for variable in problem.variables():
        one, other = (np.asarray(_dense(values[variable.id]), dtype=np.float64) for values in (above, below))
        place, signs = np.full(one.shape, -1), np.zeros(one.shape)
        for values, side in ((one, 1.0), (other, -1.0)):
            nearest = np.rint(np.abs(values) / 1e-7).astype(np.intp) - 1
            there = (nearest >= 0) & (nearest < n) & (place < 0)
            there &= np.isclose(np.abs(values), numbers[np.clip(nearest, 0, n - 1)], rtol=1e-9, atol=0)
            place = np.where(there, nearest, place)
            signs = np.where(there, np.sign(values) * side, signs)
        found[variable.id] = place, signs
    return found


def _mapped_back(tried: Attempt, x: Floats) -> dict[int, Any]:
    """Return the values of the problem's variables at any x."""
    solution = tried.inner.copy()
    solution.primal_vars = dict.fromkeys(tried.inner.primal_vars, x)
    return dict(mapped_back(solution, tried.chain, tried.inverse).primal_vars)


def _dense(value: Any) -> Any:
    return value.toarray() if hasattr(value, "toarray") else value
