"""Bounds of cone programs from any dual vector, and of their variables from what is known of some: against sampling."""

from __future__ import annotations

from math import inf
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from relaxations.conic.cone_solve import ConeSolved, solve_cones
from relaxations.safe.cone_box import Known, box_of
from relaxations.safe.cone_program import ConeProgram, Cones

SOLVED = 1e-6  # of the value: how far a solver's own value may be from the optimum of a problem this small


def problems(seed: int) -> dict[str, tuple[cp.Problem, float]]:
    """Return one problem with each kind of cone, and a bound on the size of its variables at some optimum."""
    rng = np.random.default_rng([51, seed])
    A, b = rng.normal(size=(7, 3)), rng.normal(size=7)
    w, t = cp.Variable(3, name="w"), cp.Variable(name="t")
    box = [cp.abs(w) <= 2, cp.abs(t) <= 2]
    B = rng.normal(size=(5, 4))
    lift = cp.Variable((4, 4), symmetric=True, name="lift")
    root = rng.normal(size=(2, 4))  # a singular matrix in the objective
    return {
        "LP": (cp.Problem(cp.Minimize(cp.norm(A @ w + t - b, 1)), box), 30.0),
        "QP": (cp.Problem(cp.Minimize(cp.sum_squares(A @ w + t - b)), [*box, cp.sum(w) == 0.3]), 30.0),
        "QP in one matrix": (
            cp.Problem(cp.Minimize(cp.quad_form(cp.hstack([w, t]), cp.psd_wrap(root.T @ root)) + w[0] - t), box), 30.0),
        "SOCP": (cp.Problem(cp.Minimize(cp.norm(A @ w + t - b) + cp.max(w)), [*box, cp.norm(w[:2]) <= 1]), 30.0),
        "SDP": (
            cp.Problem(cp.Minimize(cp.trace(B.T @ B @ lift)), [lift >> 0, lift[0, 0] == 1, cp.abs(lift) <= 3]), 3.0),
    }


def solved(problem: cp.Problem, solver: str = "CLARABEL", **options: Any) -> tuple[ConeSolved, ConeProgram]:
    found = solve_cones(problem, solver, options)
    assert found.program is not None
    assert found.x is not None
    assert found.y is not None
    return found, found.program


def unknown(program: ConeProgram, size: float = inf, value: float = inf) -> Known:
    n = len(program.c)
    return Known(np.full(n, -size), np.full(n, size), sparse.csr_array((0, n)), np.zeros(0), np.zeros(0), (), value)


@pytest.mark.parametrize("kind", problems(0))
def test_any_dual_vector_whatever_proves_a_bound_that_holds(kind: str) -> None:
    """Noise of any size, zeros, the wrong sign, infinities: the value falls, and never exceeds the optimum."""
    for seed in range(3):
        problem, size = problems(seed)[kind]
        found, program = solved(problem)
        least = problem.value + SOLVED * (1 + abs(problem.value))
        box = np.full(len(program.c), -size), np.full(len(program.c), size)
        best = program.dual_bound(found.y, found.x, *box).value
        assert problem.value - 1e-3 * (1 + abs(problem.value)) < best <= least
        rng = np.random.default_rng([52, seed])
        for scale in (1e-9, 1e-6, 1e-3, 1.0, 1e3):
            y = found.y + scale * rng.normal(size=found.y.shape)
            x = found.x + scale * rng.normal(size=found.x.shape)
            assert program.dual_bound(y, x, *box).value <= least
        for y in (np.zeros_like(found.y), -found.y, np.full_like(found.y, 1e12), np.full_like(found.y, np.nan)):
            assert program.dual_bound(y, found.x, *box).value <= least


def test_without_the_charge_such_a_bound_would_be_false() -> None:
    """The test above can fail: of dual values whose residual costs nothing, some exceed the optimum."""
    problem, _ = problems(0)["LP"]
    found, program = solved(problem)
    rng = np.random.default_rng(0)
    noisy = [program.cones.into_dual(found.y + rng.normal(size=found.y.shape)) for _ in range(20)]
    assert max(program.d - program.b @ y for y in noisy) > problem.value + 0.1


@pytest.mark.filterwarnings("ignore:The default value of raise_error:PendingDeprecationWarning")  # new OSQP, old CVXPY
@pytest.mark.parametrize("solver", sorted({"CLARABEL", "SCS", "OSQP", "HIGHS"} & {*cp.installed_solvers()}))
def test_the_dual_vector_of_each_solver_is_read_as_it_is_meant(solver: str) -> None:
    for kind in ("LP", "QP") if solver in ("OSQP", "HIGHS") else problems(0):
        problem, size = problems(1)[kind]
        found, program = solved(problem, solver)
        box = np.full(len(program.c), -size), np.full(len(program.c), size)
        value = program.dual_bound(found.y, found.x, *box).value
        assert value == pytest.approx(problem.value, abs=2e-3), (solver, kind)


@pytest.mark.parametrize("kind", problems(0))
def test_no_feasible_point_at_most_a_value_is_outside_the_box(kind: str) -> None:
    """Optima of random objectives over the level set: its corners, as far as a solver can tell."""
    for seed in range(3):
        problem, _ = problems(seed)[kind]
        found, program = solved(problem)
        value = problem.value + 0.5
        lower, upper = box_of(program, unknown(program, value=value))
        assert np.isfinite(upper).any()
        rng = np.random.default_rng([53, seed])
        variables = problem.variables()
        for _ in range(4):
            cost = sum(cp.sum(cp.multiply(rng.normal(size=variable.shape), variable)) for variable in variables)
            corner = cp.Problem(cp.Minimize(cost), [*problem.constraints, problem.objective.expr <= value])
            corner.solve(solver="CLARABEL")
            for variable in variables:
                place, sign = found.places[variable.id]
                inside = sign * np.asarray(variable.value)
                assert (lower[place] - 1e-5 <= inside).all()
                assert (inside <= upper[place] + 1e-5).all()


def test_bounds_travel_through_rows_cones_and_the_objective() -> None:
    w, s, far = cp.Variable(2, name="w"), cp.Variable(name="s"), cp.Variable(name="far")
    problem = cp.Problem(cp.Minimize(s), [cp.norm(w) <= s, far == 3 * w[0] - w[1]])
    found, program = solved(problem)
    lower, upper = box_of(program, unknown(program, value=2.0))
    at = {variable.name(): found.places[variable.id][0] for variable in problem.variables()}
    np.testing.assert_allclose([lower[at["s"]], upper[at["s"]]], [0, 2], atol=1e-9)
    np.testing.assert_allclose([lower[at["w"]], upper[at["w"]]], [[-2, -2], [2, 2]], atol=1e-9)
    np.testing.assert_allclose([lower[at["far"]], upper[at["far"]]], [-8, 8], atol=1e-9)


def test_the_diagonal_of_a_semidefinite_matrix_bounds_the_rest() -> None:
    S = cp.Variable((3, 3), symmetric=True, name="S")
    problem = cp.Problem(cp.Minimize(cp.trace(S)), [S >> 0, S[0, 1] == 1])
    found, program = solved(problem)
    lower, upper = box_of(program, unknown(program, value=5.0))
    place = found.places[S.id][0]
    assert (lower[np.diag(place)] >= -1e-9).all()
    assert (np.abs(np.stack([lower, upper])[:, place]) <= 5 + 1e-9).all()


@pytest.mark.parametrize("upper", [True, False])
def test_a_triangle_holds_a_matrix(upper: bool) -> None:
    cones = Cones(0, 0, (), (3,), upper=upper)
    matrix = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]])
    triangle = cones.triangle(matrix)
    np.testing.assert_allclose(cones.matrix(triangle, 3), matrix, rtol=1e-15)
    assert triangle @ triangle == pytest.approx(np.sum(matrix**2))
    r = np.sqrt(2)
    expected = [1, 2 * r, 4, 3 * r, 5 * r, 6] if upper else [1, 2 * r, 3 * r, 4, 5 * r, 6]
    np.testing.assert_allclose(triangle, expected, rtol=1e-15)


def test_what_is_moved_into_the_dual_cone_is_in_it() -> None:
    rng = np.random.default_rng(3)
    cones = Cones(2, 3, (4, 1), (3, 2))
    for _ in range(20):
        y = cones.into_dual(rng.normal(size=cones.n_rows))
        assert (y[2:5] >= 0).all()
        assert y[5] >= np.linalg.norm(y[6:9])
        assert y[9] >= 0
        assert np.linalg.eigvalsh(cones.matrix(y[10:16], 3))[0] >= 0
        assert np.linalg.eigvalsh(cones.matrix(y[16:], 2))[0] >= 0
        np.testing.assert_allclose(cones.into_dual(y), y, atol=1e-12)
