"""Relaxations made of a builder: proved in the search, shown in the comparison, and refused in one line where wrong."""

from __future__ import annotations

from math import inf, isnan
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import partls
import relaxations
from formulations import Instance, InvalidInput, SignPattern, coefficient_bounds, quadratic, shor, shor_dual, split_dnn
from partls import Status
from partls.explore.incumbents import solve_pattern
from partls.strategies import branch_and_bound
from relaxations import Bound, BoundStatus, BuilderRelaxation, Relaxation, from_builder
from relaxations.policies.prices import price_of
from tests.families import FAMILIES, correlated
from tests.oracles import brute_force
from tests.plugged_models import big_m, lifted
from tests.strategies import Tiny
from tests.tolerances import VANISHING, same_optimum

FREE = SignPattern((0, 0, 0, 0))


@pytest.fixture(scope="module")
def case() -> Tiny:
    return correlated(3, n_rows=30, n_columns=12, n_groups=4, corr=0.8)


@pytest.fixture(scope="module")
def instance(case: Tiny) -> Instance:
    return instance_of(case)


def instance_of(case: Tiny) -> Instance:
    return Instance(case.X, case.y, case.labels, **case.options)


def root(relaxation: BuilderRelaxation, instance: Instance) -> Bound:
    return relaxation.prepare(instance).bound(SignPattern.free(instance.n_groups))


# In the search and in the comparison


def test_a_newcomers_big_m_relaxation_proves_the_optimum(case: Tiny) -> None:
    """All nodes are closed by what the dual vectors of its problems prove, or by factorisation at the leaves."""
    result = partls.solve(case.X, case.y, case.labels, relaxation=from_builder(big_m))
    oracle = brute_force(case.X, case.y, case.labels)
    assert result.status is Status.OPTIMAL
    assert result.objective == same_optimum(oracle.objective, case.y)
    assert result.counts["closed by big-m"] > 0
    assert result.n_nodes < 2 ** (case.n_groups + 1) - 1
    assert result.audit().passed


def test_what_is_plugged_in_equals_the_member_of_the_same_formulation(instance: Instance) -> None:
    ours = [relaxations.named("unconstrained"), relaxations.named("shor")]
    theirs = [from_builder(quadratic), from_builder(shor)]
    for signs in (FREE, SignPattern((1, 0, -1, 0)), SignPattern((1, -1, 1, 1))):
        for mine, plugged in zip(ours, theirs, strict=True):
            value = plugged.prepare(instance).bound(signs).value
            assert value == pytest.approx(mine.prepare(instance).bound(signs).value, rel=1e-4), (mine.name, signs)


def test_policies_comparisons_and_trees_accept_it(instance: Instance) -> None:
    mine = from_builder(lifted, name="mine")
    assert isinstance(mine, Relaxation)
    table = relaxations.compare(instance, relaxations=["active-set", mine], depths=[2], n_patterns=2)
    shares = {row.relaxation: row.gap_closed for row in table.rows if row.depth == 0}
    assert shares["mine"] > 0.5 > shares["active-set"]
    trees = partls.tree_size(instance, ["active-set", mine, relaxations.ByDepth(mine, "active-set", 1)])
    assert [row.status for row in trees.rows] == ["optimal"] * 3


@pytest.mark.parametrize("family", ["l2", "l1", "weights", "no intercept", "free columns", "singletons"])
def test_a_model_in_reduced_units_bounds_every_kind_of_instance(family: str) -> None:
    for seed in range(2):
        case = FAMILIES[family](seed)
        instance = Instance(case.X, case.y, case.labels, ungrouped="free", **case.options)
        oracle = brute_force(case.X, case.y, case.labels, **case.options)
        size = float(np.square(case.weighted_y).sum())
        for build in (quadratic, shor):
            bounder = from_builder(build).prepare(instance)
            for leaf, value in list(oracle.objectives.items())[:4]:
                bound = bounder.bound(SignPattern(leaf[: instance.reduction.n_groups]))
                assert bound.value <= value + VANISHING * size
                assert bound.value >= value - 1e-3 * size


def test_a_parametric_model_is_built_once_and_others_at_every_node(instance: Instance) -> None:
    for parametric, built in ((True, 1), (False, 5)):
        calls: list[SignPattern] = []

        def build(instance: Instance, signs: SignPattern, parametric: bool = parametric) -> Any:
            calls.append(signs)  # noqa: B023  (called in this round alone)
            return shor(instance, signs, parametric=parametric)

        bounder = from_builder(build).prepare(instance)
        bounder.bound(FREE)
        bounder.bound(SignPattern((1, 0, 0, 0)))
        assert len(calls) == built


def test_a_bound_is_never_below_its_parents(instance: Instance) -> None:
    bounder = from_builder(shor, solver="SCS", options={"eps_abs": 1e-3, "eps_rel": 1e-3}).prepare(instance)
    parent = bounder.bound(FREE)
    assert bounder.bound(SignPattern((1, 0, 0, 0))).value >= parent.value


def test_beyond_the_cutoff_a_bound_says_no_more_than_the_cutoff(case: Tiny, instance: Instance) -> None:
    """Its charge covers the solutions below the cutoff, and no others."""
    leaf, worst = max(brute_force(case.X, case.y, case.labels).objectives.items(), key=lambda item: item[1])
    cutoff = 0.9 * worst
    assert from_builder(big_m).prepare(instance).bound(SignPattern(leaf), cutoff=cutoff).value == cutoff


def test_a_price_is_what_its_author_says(instance: Instance) -> None:
    assert price_of(from_builder(big_m, price=0.25), instance) == relaxations.Price(0.0, 0.25)
    assert price_of(from_builder(big_m, price=relaxations.Price(1.0, 0.5)), instance) == relaxations.Price(1.0, 0.5)
    assert price_of(from_builder(big_m), instance).bound > 0
    with pytest.raises(InvalidInput, match=r"bound=-1 must be a number of seconds >= 0"):
        from_builder(big_m, price=-1)


# Other ways to prove


def test_without_a_proof_a_value_is_shown_and_prunes_nothing(case: Tiny, instance: Instance) -> None:
    raw = from_builder(big_m, safe=None, name="raw")
    bound = root(raw, instance)
    assert (bound.value, bound.status) == (-inf, BoundStatus.UNPROVEN)
    assert bound.estimate > 0
    row = relaxations.compare(instance, relaxations=[raw]).rows[0]
    assert (row.bound, row.status, row.gap_closed) == (-inf, "unproven", 0.0)
    assert row.estimate == pytest.approx(bound.estimate)
    result = partls.solve(case.X, case.y, case.labels, relaxation=raw)
    assert result.status is Status.OPTIMAL
    assert "closed by raw" not in result.counts
    assert result.counts["bound unproven"] == result.counts["bounds by raw"]


def test_an_authors_own_proof_is_believed(instance: Instance) -> None:
    def safe(problem: Any, signs: SignPattern) -> float:
        return 0.5 * float(problem.value)

    bound = root(from_builder(big_m, safe=safe), instance)
    assert bound.value == pytest.approx(0.5 * bound.estimate)
    assert bound.status is BoundStatus.OPTIMAL
    nothing = root(from_builder(big_m, safe=lambda problem, signs: float("nan")), instance)
    assert (nothing.value, nothing.status) == (-inf, BoundStatus.UNPROVEN)
    assert nothing.error == "safe returned no number"


def test_a_maximisation_may_have_a_proof_of_its_own(instance: Instance) -> None:
    """The dual of the Shor relaxation: any feasible point is a bound."""
    mine = from_builder(shor_dual, safe=lambda model, signs: model.value * (1 - 1e-6))
    assert 0 < root(mine, instance).value <= partls.solve_instance(instance).objective


def test_a_bound_that_a_solution_refutes_is_named_and_not_believed(
    case: Tiny, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that cuts off solutions: its dual proves a value that is true of the program alone."""
    sides = [SignPattern((sign,) * 4) for sign in (1, -1)]

    def bad(grouped: Any, task: Any, *_: Any, **__: Any) -> Any:
        return max((solve_pattern(grouped.reduction, side) for side in sides), key=lambda found: found.value)

    monkeypatch.setattr(branch_and_bound, "_first_incumbent", bad)

    def narrow(instance: Instance, signs: SignPattern) -> cp.Problem:
        problem = big_m(instance, signs)
        (w,) = [variable for variable in problem.variables() if variable.name() == "w"]
        return cp.Problem(problem.objective, [*problem.constraints, cp.abs(w) <= 1e-3])

    result = partls.solve(case.X, case.y, case.labels, relaxation=from_builder(narrow))
    assert result.objective == same_optimum(brute_force(case.X, case.y, case.labels).objective, case.y)
    assert result.status is Status.OPTIMAL
    assert result.counts["contradicted: narrow"] == 1
    assert "relaxation 'narrow' claims that no solution with the signs" in caplog.text


# Bounds on variables


def drifting(instance: Instance, signs: SignPattern) -> cp.Problem:
    """Return the big-M relaxation with two variables of which only the difference is bounded."""
    problem = big_m(instance, signs)
    one, other = cp.Variable(name="one"), cp.Variable(name="other")
    between = [cp.norm(cp.hstack([one - other, 1.0])) <= 5, one - other >= 2]
    return cp.Problem(problem.objective, [*problem.constraints, *between])


def test_a_variable_without_a_bound_is_named_and_its_author_may_give_one(instance: Instance) -> None:
    nothing = root(from_builder(drifting), instance)
    assert (nothing.value, nothing.status) == (-inf, BoundStatus.UNPROVEN)
    assert nothing.error == 'no bound on "one", "other": pass bounds={name: largest size} to from_builder'
    for bounds in ({"one": 10.0}, {"other": (-3.0, 7.0)}, lambda instance, signs: {"one": np.array(4)}):
        assert root(from_builder(drifting, bounds=bounds), instance).value > 0
    with pytest.raises(InvalidInput, match='drifting: bounds names "won", and the variables are'):
        root(from_builder(drifting, bounds={"won": 1.0}), instance)
    with pytest.raises(InvalidInput, match="do not have its shape"):
        root(from_builder(drifting, bounds={"w": np.ones(3)}), instance)
    with pytest.raises(InvalidInput, match="each lower bound must be at most the upper one"):
        root(from_builder(drifting, bounds={"one": (1.0, -1.0)}), instance)


def test_a_variable_that_costs_nothing_needs_no_bound(instance: Instance) -> None:
    """The multipliers of its constraints vanish at the optimum, and are then taken as zero."""

    def idle(instance: Instance, signs: SignPattern) -> cp.Problem:
        problem = big_m(instance, signs)
        one, other = cp.Variable(name="one"), cp.Variable(name="other")
        return cp.Problem(problem.objective, [*problem.constraints, one - other <= 5, one - other >= 2])

    value = root(from_builder(big_m), instance).value
    assert root(from_builder(idle), instance).value == pytest.approx(value, rel=1e-8)


def test_the_parts_of_a_split_coefficient_need_bounds_of_their_author(instance: Instance) -> None:
    """Nothing in the program says that a positive part is zero where the negative one is not."""
    assert root(from_builder(split_dnn), instance).error.startswith('no bound on "lift"')

    def products(instance: Instance, signs: SignPattern) -> dict[str, Any]:
        sizes = coefficient_bounds(instance, signs, reduced=True)
        parts = np.concatenate([[1.0], sizes, sizes])
        return {"lift": np.outer(parts, parts)}

    bound = root(from_builder(split_dnn, bounds=products), instance)
    optimum = partls.solve_instance(instance).objective
    assert 0.9 * optimum < bound.value <= optimum


def test_bounds_on_coefficients_hold_at_the_optimum_of_every_node() -> None:
    for family in ("correlated", "l2", "l1", "no intercept", "weights"):
        for seed in range(3):
            case = FAMILIES[family](seed)
            instance = instance_of(case)
            for signs in (SignPattern.free(case.n_groups), SignPattern((-1,) * case.n_groups)):
                found = partls.solve_instance(instance, signs=signs)
                assert (np.abs(found.coef) <= coefficient_bounds(instance, signs)).all()


# Refusals, one line each


def not_convex(instance: Instance, signs: SignPattern) -> cp.Problem:
    w = cp.Variable(instance.n_columns, name="w")
    return cp.Problem(cp.Minimize(-cp.sum_squares(w)), [cp.abs(w) <= 1])


def maximising(instance: Instance, signs: SignPattern) -> cp.Problem:
    return cp.Problem(cp.Maximize(-cp.sum_squares(cp.Variable(instance.n_columns))))


def deaf(instance: Instance, signs: SignPattern) -> cp.Problem:
    w = cp.Variable(instance.n_columns, name="w")
    return cp.Problem(cp.Minimize(cp.sum_squares(instance.X @ w - instance.y)))


def raising(instance: Instance, signs: SignPattern) -> cp.Problem:
    raise ValueError("operands could not be broadcast")


def integer(instance: Instance, signs: SignPattern) -> cp.Problem:
    return cp.Problem(cp.Minimize(cp.sum(cp.Variable(3, boolean=True))))


def misshapen(instance: Instance, signs: SignPattern) -> cp.Problem:
    return cp.Problem(cp.Minimize(cp.sum_squares(cp.Variable(3, name="w"))))


def entropic(instance: Instance, signs: SignPattern) -> cp.Problem:
    w = cp.Variable(instance.n_columns, name="w")
    return cp.Problem(cp.Minimize(cp.sum(cp.exp(w))))


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "not convex": (not_convex, {}, "not-convex: the problem is not convex by CVXPY's rules (DCP)"),
    "no lower bound": (maximising, {}, "maximising: the problem is a maximisation, and its value no lower bound"),
    "deaf": (deaf, {}, "deaf: build ignores the signs (its problem is the same for ++++ and ----)"),
    "raising": (raising, {}, "raising: build raised ValueError for the signs 0000: operands could not be broadcast"),
    "integer": (integer, {}, "integer: the problem has integer variables"),
    "wrong type": (lambda instance, signs: 3.0, {}, "builder: build returned float: it should return a form"),
    "misshapen": (misshapen, {}, 'misshapen: variable "w" has shape (3,), but stands for the coefficients'),
    "other cones": (entropic, {}, 'entropic: safe="dual" covers linear, second-order and semidefinite cones'),
    "another solver's problem": (lifted, {"solver": "OSQP"}, "lifted: OSQP cannot solve this problem"),
}


@pytest.mark.parametrize(("build", "options", "words"), REFUSED.values(), ids=REFUSED)
def test_a_builder_that_is_none_is_refused_in_one_line(
    build: Any, options: dict[str, Any], words: str, case: Tiny, instance: Instance
) -> None:
    mine = from_builder(build, **options)
    with pytest.raises(InvalidInput) as caught:
        partls.solve(case.X, case.y, case.labels, relaxation=mine)
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)
    row = relaxations.compare(instance, relaxations=[mine]).rows[0]
    assert row.status == "failed"
    assert words in row.note


def test_what_is_no_builder_is_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match="build=7 is not a function of an instance and signs"):
        from_builder(7)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match='safe=\'duall\' is none of "dual", a function, None'):
        from_builder(big_m, safe="duall")
    with pytest.raises(InvalidInput, match="solver 'CLARABELL' is not installed"):
        from_builder(big_m, solver="CLARABELL")


def test_a_solver_that_fails_is_named(case: Tiny, instance: Instance) -> None:
    broken = from_builder(big_m, options={"no_such_option": 1}, name="broken")
    bound = root(broken, instance)
    assert (bound.value, bound.status) == (-inf, BoundStatus.FAILED)
    assert isnan(bound.estimate)
    assert bound.error.startswith("CLARABEL: ")
    assert "CLARABEL: " in relaxations.compare(instance, relaxations=[broken]).rows[0].note
    result = partls.solve(case.X, case.y, case.labels, relaxation=broken)
    assert result.status is Status.OPTIMAL  # by the leaves
    assert sum(number for key, number in result.counts.items() if key.startswith("failed: CLARABEL")) > 0


def test_a_problem_without_a_minimum_proves_nothing(instance: Instance) -> None:
    def falling(instance: Instance, signs: SignPattern) -> cp.Problem:
        w = cp.Variable(instance.n_columns, name="w")
        return cp.Problem(cp.Minimize(cp.sum(w)), [w[0] >= sum(signs)])

    bound = root(from_builder(falling), instance)
    assert (bound.value, bound.status) == (-inf, BoundStatus.UNBOUNDED)
    assert bound.error == "CLARABEL: unbounded"
