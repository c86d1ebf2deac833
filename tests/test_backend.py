"""The one place that calls CVXPY solvers: every ending is told apart, every attempt kept, and nothing leaks."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from formulations import Instance, InvalidInput, SignPattern, quadratic, shor, shor_block_only_as_printed
from formulations.builders.model import Model
from relaxations import BoundStatus, ShorRelaxation, UnconstrainedRelaxation
from relaxations.conic.backend import Backend


@pytest.fixture(scope="module")
def instance() -> Instance:
    rng = np.random.default_rng(5)
    return Instance(rng.normal(size=(30, 8)), rng.normal(size=30), [0, 0, 0, 1, 1, 1, 2, 2])


def made_of(instance: Instance, objective: cp.Expression, x: cp.Variable, *constraints: cp.Constraint) -> Model:
    return Model("made up", cp.Problem(cp.Minimize(objective), list(constraints)), x, instance.reduction, {"x": x})


def test_success_stops_at_the_first_solver(instance: Instance) -> None:
    solved = Backend(lambda signs: shor(instance, signs), ("SCS", "CLARABEL")).solve()
    assert solved.status is BoundStatus.OPTIMAL
    assert solved.solver == "SCS"
    assert solved.attempts == ("SCS: optimal",)
    assert solved.model.value == pytest.approx(shor(instance).solve("CLARABEL"), rel=1e-3)


@pytest.mark.parametrize("options", [{"max_iters": 3}, {"time_limit_secs": 1e-9}])
def test_a_rough_answer_is_inaccurate_and_the_next_is_asked(instance: Instance, options: dict[str, float]) -> None:
    alone = Backend(lambda signs: shor(instance, signs), ("SCS",), {"SCS": options}).solve()
    assert alone.status is BoundStatus.INACCURATE
    both = Backend(lambda signs: shor(instance, signs), ("SCS", "CLARABEL"), {"SCS": options}).solve()
    assert both.status is BoundStatus.OPTIMAL
    assert both.solver == "CLARABEL"
    assert [attempt.partition(":")[0] for attempt in both.attempts] == ["SCS", "CLARABEL"]


def test_the_better_of_two_bad_endings_is_kept(instance: Instance) -> None:
    backend = Backend(lambda signs: shor(instance, signs), ("SCS", "OSQP"), {"SCS": {"max_iters": 3}})
    solved = backend.solve()
    assert (solved.status, solved.solver) == (BoundStatus.INACCURATE, "SCS")
    assert solved.attempts[1].startswith("OSQP: does not solve problems of this kind")


def test_an_exception_is_a_failed_attempt_with_its_words(instance: Instance) -> None:
    solved = Backend(lambda signs: shor(instance, signs), ("SCS",), {"SCS": {"no_such_option": 1}}).solve()
    assert solved.status is BoundStatus.FAILED
    assert "no_such_option" in solved.attempts[0]


def test_infeasible_is_a_failure_because_no_relaxation_is(instance: Instance) -> None:
    x = cp.Variable(8, name="x")
    solved = Backend(lambda _: made_of(instance, cp.sum_squares(x), x, x >= 1, x <= 0), ("CLARABEL",)).solve()
    assert solved.status is BoundStatus.FAILED
    assert solved.attempts == ("CLARABEL: infeasible",)


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_unbounded_is_said_and_is_no_number(instance: Instance, solver: str) -> None:
    solved = Backend(lambda _: shor_block_only_as_printed(instance), (solver,)).solve()
    assert solved.status is BoundStatus.UNBOUNDED
    assert not np.isfinite(solved.model.value)


def test_a_solver_that_is_not_there_is_refused_by_name(instance: Instance) -> None:
    with pytest.raises(InvalidInput, match=r"solver 'NOSUCH' is not installed; CVXPY has .*CLARABEL"):
        UnconstrainedRelaxation(solvers=("NOSUCH",)).prepare(instance)


def test_a_parametrised_model_is_compiled_once_and_moves_between_nodes(instance: Instance) -> None:
    built = []

    def build(signs: SignPattern | None) -> Model:
        built.append(signs)
        return quadratic(instance, signs)

    backend = Backend(build, ("CLARABEL",))
    nodes = [SignPattern((0, 0, 0)), SignPattern((1, 0, -1)), SignPattern((0, 0, 0))]
    values = [backend.solve(signs).model.value for signs in nodes]
    assert len(built) == 1
    assert values[0] == values[2]  # to the bit: nothing of the node between is left
    assert values[1] == quadratic(instance, nodes[1]).solve("CLARABEL")


def test_no_two_solvers_share_a_problem(instance: Instance) -> None:
    models = []

    def build(signs: SignPattern | None) -> Model:
        models.append(quadratic(instance, signs))
        return models[-1]

    Backend(build, ("SCS", "CLARABEL"), {"SCS": {"max_iters": 1}}).solve()
    assert len(models) == 2
    assert models[0].problem is not models[1].problem


def test_a_bound_tells_what_its_solvers_said(instance: Instance) -> None:
    rough = ShorRelaxation(solver="SCS", options={"SCS": {"max_iters": 2}}).prepare(instance)
    bound = rough.bound(SignPattern((0, 0, 0)))
    assert bound.status is BoundStatus.INACCURATE
    assert bound.error == "SCS: optimal_inaccurate"
