"""Multipliers of the Shor bound by the interior-point method: the SDP's value, from inside the cone, at every node."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from formulations import Instance, SignPattern, shor
from formulations.builders.shor import product_signs
from relaxations.multipliers.interior_point import central, follow
from relaxations.multipliers.iterate import matrix_step
from relaxations.multipliers.program import PairProgram
from relaxations.multipliers.shor import ShorMultipliers, ShorProblem, shor_multipliers
from tests.families import FAMILIES

SDP = 1e-5  # of ||y||^2: the accuracy of CVXPY's solvers on a semidefinite program
CASES = [(family, seed) for family in ("overdetermined", "correlated", "l1", "l2", "weights") for seed in range(2)]


def instance_of(family: str, seed: int) -> Instance:
    case = FAMILIES[family](seed)
    return Instance(case.X, case.y, case.labels, ungrouped="free", **case.options)


def problem_of(instance: Instance, signs: SignPattern, *, cuts: bool = True) -> ShorProblem:
    reduction = instance.reduction
    column_signs = reduction.column_signs(signs)
    products = product_signs(reduction, column_signs, cuts=cuts)
    R, z = reduction.R, reduction.z
    return ShorProblem(R.T @ R, R.T @ z, products, column_signs, reduction.l1)


def some_nodes(n_groups: int) -> list[SignPattern]:
    root = SignPattern.free(n_groups)
    nodes = [root, root.fix(0, -1)]
    return nodes if n_groups < 3 else [*nodes, root.fix(0, -1).fix(1, 1)]


def check_feasible(problem: ShorProblem, found: ShorMultipliers) -> None:
    N, signs, slopes = found.N, problem.signs, found.slopes
    assert not np.diag(N).any()
    assert np.array_equal(N, N.T)
    assert (N[problem.products == 0] == 0).all()
    assert (problem.products * N >= 0).all()
    lowest = np.where(signs < 0, -inf, -problem.l1 / 2)
    highest = np.where(signs > 0, inf, problem.l1 / 2)
    assert ((slopes >= lowest) & (slopes <= highest)).all()


@pytest.mark.parametrize(("family", "seed"), CASES)
@pytest.mark.parametrize("cuts", [True, False])
def test_the_multipliers_are_feasible_and_worth_the_semidefinite_bound(family: str, seed: int, cuts: bool) -> None:
    instance = instance_of(family, seed)
    reduction = instance.reduction
    size = float(reduction.z @ reduction.z)
    for signs in some_nodes(reduction.n_groups):
        problem = problem_of(instance, signs, cuts=cuts)
        found = shor_multipliers(problem, accuracy=1e-6)
        assert found is not None
        check_feasible(problem, found)
        S, c = problem.Q - found.N, problem.c + found.slopes
        assert np.linalg.eigvalsh(S)[0] > 0
        assert found.value == pytest.approx(-c @ np.linalg.solve(S, c), abs=1e-9 * size)
        model = shor(instance, signs, cuts=cuts, parametric=False)
        expected = model.solve("CLARABEL") / reduction.scale - size - reduction.rest
        assert found.value == pytest.approx(expected, abs=SDP * size)
        assert found.value <= found.estimate <= found.value + SDP * size
        assert found.coef == pytest.approx(np.asarray(model.coefficients.value), abs=0.02 * np.sqrt(size))


def test_a_cutoff_stops_early_and_a_centre_saves_steps() -> None:
    instance = instance_of("correlated", 0)
    root = SignPattern.free(instance.reduction.n_groups)
    full = shor_multipliers(problem_of(instance, root))
    assert full is not None
    assert full.centre is not None
    R, z = instance.reduction.R, instance.reduction.z
    floor = -float(np.square(R @ np.linalg.lstsq(R, z)[0]).sum())
    cut = shor_multipliers(problem_of(instance, root), cutoff=(floor + full.value) / 2)
    assert cut is not None
    assert (floor + full.value) / 2 <= cut.value < full.value
    assert cut.steps < full.steps
    child = problem_of(instance, root.fix(0, 1))
    cold, warm = shor_multipliers(child), shor_multipliers(child, start=full.centre)
    assert cold is not None
    assert warm is not None
    assert warm.value == pytest.approx(cold.value, abs=1e-3 * (cold.value - floor))
    assert warm.value >= full.value - 1e-3 * (full.value - floor)


def test_there_is_nowhere_to_start_on_dependent_columns() -> None:
    instance = instance_of("duplicates", 0)
    assert shor_multipliers(problem_of(instance, SignPattern.free(instance.reduction.n_groups))) is None


def test_the_trace_in_place_of_the_corner_gives_the_least_eigenvalue() -> None:
    """Without pairs the program is the least eigenvalue; a pair can only raise it."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(6, 6))
    A = A @ A.T
    least = np.linalg.eigvalsh(A)[0]
    none = np.zeros(0, np.intp)
    values = []
    for rows, columns in ((none, none), (np.array([0, 1]), np.array([2, 4]))):
        free = np.zeros(len(rows))
        program = PairProgram(A, np.ones(6), rows, columns, free, free + inf)
        start = central(program, -10.0, free + 1e-3, 1.0)
        assert start is not None
        path = follow(start, lambda at: at.gap < 1e-9 and at.infeasibility < 1e-9)
        assert path.stopped
        values.append(path.last.t)
    assert values[0] == pytest.approx(least, abs=1e-8)
    assert values[1] >= least - 1e-8


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_step_lengths_end_at_the_boundary(n: int) -> None:
    rng = np.random.default_rng(n)
    A, D = rng.normal(size=(n, n)), rng.normal(size=(n, n))
    A, D = A @ A.T + np.eye(n), D + D.T - 2 * np.eye(n)
    length = matrix_step(np.linalg.cholesky(A), D)
    assert np.linalg.eigvalsh(A + 0.9 * length * D)[0] > 0
    assert np.linalg.eigvalsh(A + 1.1 * length * D)[0] < 0
    assert matrix_step(np.linalg.cholesky(A), A) == inf
