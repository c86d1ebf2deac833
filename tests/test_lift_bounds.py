"""The Shor and split DNN bounds against brute force at every node: certified whatever a solver says, ordered, tight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import inf
from typing import Any

import numpy as np
import pytest

import partls
from formulations import Instance, InvalidInput, SignPattern, flat_directions, subset_sum
from formulations.builders.model import Model
from partls import Status
from relaxations import (
    ActiveSetRelaxation,
    BlockOnlyShorRelaxation,
    Bound,
    BoundStatus,
    ShorRelaxation,
    SplitDNNRelaxation,
    named,
)
from relaxations.conic.lift import solvers_for
from relaxations.conic.relaxation import ConicBounder
from relaxations.safe.lift import LiftedProblem, _positive_definite, interior, lift_bound, margin
from tests.families import FAMILIES, correlated, mixed_target, overdetermined, split
from tests.oracles import brute_force
from tests.strategies import Tiny
from tests.tolerances import VANISHING, same_optimum

LIFTS = {"shor": ShorRelaxation(solver="cvxpy"), "split-dnn": SplitDNNRelaxation()}
# Families and seeds with one to three groups and at most ten columns: 3 to 27 nodes of two SDPs each.
NODES = {
    "overdetermined": 0, "correlated": 6, "underdetermined": 0, "duplicates": 10, "subset sum": 2, "l2": 8, "l1": 0,
    "free columns": 9,
}
# Where columns can grow for nothing, a certificate may lose more: it has to do without the products of theirs.
BOUNDED = [family for family in NODES if family != "duplicates"]
# What a certificate may lose: an interior-point solver's accuracy, relative to ||y||^2.
LOST = 2e-7


@dataclass(frozen=True, eq=False)
class Node:
    """The bounds of one node and what they are bounds of."""

    family: str
    signs: SignPattern
    optimum: float
    size: float
    cheap: float
    lifts: dict[str, Bound]


def instance_of(case: Tiny) -> Instance:
    return Instance(case.X, case.y, case.labels, ungrouped="free", **case.options)


def node_optima(case: Tiny) -> dict[SignPattern, float]:
    """Return the optimum of every node, decided or not."""
    leaves = brute_force(case.X, case.y, case.labels, **case.options).objectives
    patterns = map(SignPattern, product((0, 1, -1), repeat=case.n_groups))
    return {signs: min(leaves[leaf] for leaf in leaves if signs.contains(SignPattern(leaf))) for signs in patterns}


@cache
def tree(family: str) -> list[Node]:
    case = FAMILIES[family](NODES[family])
    instance = instance_of(case)
    cheap = ActiveSetRelaxation().prepare(instance)
    bounders = {name: lift.prepare(instance) for name, lift in LIFTS.items()}
    size = float(np.square(case.weighted_y).sum())
    return [
        Node(family, signs, optimum, size, cheap.bound(signs).value, {n: b.bound(signs) for n, b in bounders.items()})
        for signs, optimum in node_optima(case).items()
    ]


every_family = pytest.mark.parametrize("family", NODES)
bounded_family = pytest.mark.parametrize("family", BOUNDED)
both = pytest.mark.parametrize("name", LIFTS)


@every_family
def test_no_certified_value_exceeds_the_optimum_of_its_node(family: str) -> None:
    for node in tree(family):
        for bound in node.lifts.values():
            assert bound.status is BoundStatus.OPTIMAL
            assert bound.value <= node.optimum + VANISHING * node.size, node


@both
def test_the_solvers_own_values_do_exceed_it(name: str) -> None:
    """The check above can fail: it does, on most families, for the numbers that the solvers report."""
    broken = {
        node.family
        for family in NODES
        for node in tree(family)
        if node.lifts[name].estimate > node.optimum + VANISHING * node.size
    }
    assert len(broken) > len(NODES) / 2


@bounded_family
def test_bounds_are_ordered(family: str) -> None:
    for node in tree(family):
        weak, strong = node.lifts["shor"].value, node.lifts["split-dnn"].value
        assert node.cheap - VANISHING * node.size <= weak
        assert weak <= strong + LOST * node.size, node


@bounded_family
def test_bounds_do_not_fall_from_parent_to_child(family: str) -> None:
    nodes = {node.signs: node for node in tree(family)}
    for parent in nodes.values():
        for k in parent.signs.undecided:
            for sign in (1, -1):
                child = nodes[parent.signs.fix(k, sign)]
                for name in LIFTS:
                    assert parent.lifts[name].value <= child.lifts[name].value + LOST * parent.size


@bounded_family
def test_certificates_lose_little_of_what_the_solver_found(family: str) -> None:
    for node in tree(family):
        for bound in node.lifts.values():
            assert bound.value >= min(bound.estimate, node.optimum) - LOST * node.size, node


@every_family
def test_leaves_are_exact(family: str) -> None:
    for node in tree(family):
        if node.signs.is_complete:
            for bound in node.lifts.values():
                assert bound.value == pytest.approx(node.optimum, rel=1e-9, abs=VANISHING * node.size)


def corruptions(rng: np.random.Generator, dual: np.ndarray) -> Iterator[np.ndarray]:
    """Yield dual values that a failing solver might leave: noise of every size, wrong signs, factors, no numbers."""
    size = np.abs(dual).max() + 0.1
    for scale in (1e-8, 1e-5, 1e-2, 0.1, 1.0, 10.0):
        yield dual + scale * size * rng.normal(size=dual.shape)
    for factor in (-1.0, 0.0, 0.5, 1.01, 10.0, 1e6):
        yield factor * dual
    yield rng.permutation(dual)
    yield np.full_like(dual, np.nan)
    yield np.where(rng.random(dual.shape) < 0.2, inf, dual)


def safe_bound_with(bounder: ConicBounder, model: Model, signs: SignPattern, duals: dict[str, np.ndarray]) -> float:
    constraints: Any = model.constraints
    for name, dual in duals.items():
        constraints[name].dual_variables[0].save_value(dual)
    return bounder.safe_bound(model, bounder.reduction.column_signs(signs)) * bounder.reduction.scale


@both
@pytest.mark.parametrize("family", ["correlated", "underdetermined", "duplicates", "subset sum", "l2", "l1"])
def test_corrupted_duals_still_certify_something_true(name: str, family: str) -> None:
    rng = np.random.default_rng(17)
    case = FAMILIES[family](NODES[family])
    instance = instance_of(case)
    bounder, cheap = LIFTS[name].prepare(instance), ActiveSetRelaxation().prepare(instance)
    optima = node_optima(case)
    size = float(np.square(case.weighted_y).sum())
    for signs in (SignPattern.free(case.n_groups), SignPattern.free(case.n_groups).fix(0, 1)):
        model = bounder.backend.solve(signs).model
        honest = {
            name: np.array(constraint.dual_value, dtype=float)
            for name, constraint in model.constraints.items()
            if name in ("pairs", "opposed")
        }
        assert safe_bound_with(bounder, model, signs, honest) <= optima[signs] + VANISHING * size
        for broken in zip(*(corruptions(rng, dual) for dual in honest.values()), strict=True):
            corrupted = safe_bound_with(bounder, model, signs, dict(zip(honest, broken, strict=True)))
            assert corrupted <= optima[signs] + VANISHING * size
            assert corrupted >= cheap.bound(signs).value - VANISHING * size  # a number, whatever the duals


def test_a_certificate_needs_its_psd_proof() -> None:
    """Believing multipliers that leave S indefinite would prove what is false: the share of N0 is what saves it."""
    case = FAMILIES["correlated"](NODES["correlated"])
    reduction = instance_of(case).reduction
    M = reduction.n_columns
    problem = LiftedProblem(
        reduction.R, reduction.z, reduction.rest, reduction.l1, np.zeros(M, np.int8),
        (reduction.labels[:, None] == reduction.labels).astype(np.int8), np.zeros((M, M), bool), np.arange(M),
    )
    inner = interior(problem, np.zeros((M, M)), np.zeros(M, bool))
    assert inner is not None
    N = problem.admissible(np.full((M, M), 5.0), inner.flat)
    S = reduction.R.T @ reduction.R - N
    stationary = np.linalg.solve(S, reduction.R.T @ reduction.z)
    optimum = brute_force(case.X, case.y, case.labels).objective / reduction.scale
    believed = problem.size - stationary @ S @ stationary
    assert np.linalg.eigvalsh(S)[0] < 0
    assert lift_bound(problem, N, inner).value <= optimum < believed


def test_multipliers_are_clipped_to_what_the_signs_allow() -> None:
    products = np.array([[1, 1, -1], [1, 1, 0], [-1, 0, 1]], dtype=np.int8)
    opposed = np.zeros((3, 3), bool)
    problem = LiftedProblem(
        np.eye(3), np.ones(3), 0.0, np.zeros(3), np.zeros(3, np.int8), products, opposed, np.arange(3)
    )
    clipped = problem.admissible(np.array([[9.0, 2, 3], [2, 9, 4], [3, 4, 9]]), np.zeros(3, bool))
    assert clipped.tolist() == [[0, 2, 0], [2, 0, 0], [0, 0, 0]]
    assert not problem.admissible(-products.astype(float), np.zeros(3, bool)).any()
    assert not problem.admissible(np.ones((3, 3)), np.array([True, False, False])).any()


# The relaxations themselves


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_the_printed_sdp_is_reported_unbounded(solver: str) -> None:
    rng = np.random.default_rng(3)
    instance = Instance(rng.normal(size=(10, 4)), rng.normal(size=10), [0, 0, 1, 1])
    bound = BlockOnlyShorRelaxation(solvers=(solver,)).prepare(instance).bound(SignPattern.free(2))
    assert bound.status is BoundStatus.UNBOUNDED
    assert bound.value == -inf
    assert not np.isfinite(bound.estimate)


def test_either_solver_leads_to_the_same_certified_value() -> None:
    case = overdetermined(2, n_rows=24, n_columns=8, n_groups=3)
    instance, signs = instance_of(case), SignPattern((1, 0, 0))
    both = ("CLARABEL", "SCS")
    for members in ([ShorRelaxation(solver=s) for s in both], [SplitDNNRelaxation(solvers=(s,)) for s in both]):
        values = [member.prepare(instance).bound(signs).value for member in members]
        assert values[0] == pytest.approx(values[1], rel=1e-6)
    with pytest.raises(InvalidInput, match="NOSUCH"):
        ShorRelaxation(solver="NOSUCH").prepare(instance)
    assert solvers_for(instance.reduction, 9)[0] == "CLARABEL"
    assert solvers_for(instance.reduction, 50)[0] == "SCS"


def test_a_rough_solve_is_certified_all_the_same() -> None:
    """Three digits from the solver: its number is wrong in the fourth, the certificate is not wrong at all."""
    case = overdetermined(2, n_rows=24, n_columns=8, n_groups=3)
    instance = instance_of(case)
    rough = SplitDNNRelaxation(solvers=("SCS",), options={"SCS": {"eps_abs": 1e-3, "eps_rel": 1e-3}})
    bound = rough.prepare(instance).bound(SignPattern.free(3))
    optimum = brute_force(case.X, case.y, case.labels).objective
    assert abs(bound.estimate - optimum) > 1e-5 * optimum
    assert 0.999 * optimum < bound.value <= optimum * (1 + 1e-12)


def test_cuts_across_decided_groups_pay() -> None:
    instance = subset_sum([5, 5, 5], 0.3)
    signs = SignPattern((1, -1, 0))
    plain, cut = (ShorRelaxation(cuts=cuts).prepare(instance).bound(signs).value for cuts in (False, True))
    assert plain * 1.01 < cut


@both
def test_most_of_the_root_gap_is_closed(name: str) -> None:
    """(bound - least squares) / (optimum - least squares), all of it certified, on groups that bind."""
    closed = []
    for seed in range(3):
        case = overdetermined(100 + seed, n_rows=80, n_columns=20, n_groups=4)
        instance, root = instance_of(case), SignPattern.free(4)
        floor = ActiveSetRelaxation().prepare(instance).bound(root).value
        optimum = partls.solve(case.X, case.y, case.labels).objective
        closed.append((named(name).prepare(instance).bound(root).value - floor) / (optimum - floor))
    assert np.median(closed) >= 0.99


def test_fewer_rows_than_columns_are_no_obstacle_to_the_split_bound() -> None:
    """The cheap bound is zero, and both Gram matrices are singular: multipliers show that the lift is bounded."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(12, 14))
    case = Tiny(X, mixed_target(rng, X), split(rng, 14, 2), {"fit_intercept": False})
    instance, root = instance_of(case), SignPattern.free(2)
    optimum = brute_force(case.X, case.y, case.labels, **case.options).objective
    assert optimum > 1e-3 * case.y @ case.y
    assert ActiveSetRelaxation().prepare(instance).bound(root).value < 1e-12 * optimum
    assert 0.99 * optimum <= SplitDNNRelaxation().prepare(instance).bound(root).value <= optimum * (1 + 1e-10)


@both
def test_columns_that_repeat_others_cost_the_others_nothing(name: str) -> None:
    """A pair of equal columns in two groups can grow for nothing; the other groups still bind, and are certified."""
    case = overdetermined(4, n_rows=30, n_columns=8, n_groups=2)
    extra = np.random.default_rng(4).normal(size=30)
    doubled = Tiny(np.column_stack([case.X, extra, extra]), case.y, (*case.labels, 2, 3))
    instance, root = instance_of(doubled), SignPattern.free(4)
    optimum = brute_force(doubled.X, doubled.y, doubled.labels).objective
    floor = ActiveSetRelaxation().prepare(instance).bound(root).value
    assert floor < 0.99 * optimum
    value = LIFTS[name].prepare(instance).bound(root).value
    assert floor + 0.999 * (optimum - floor) <= value <= optimum + VANISHING * doubled.y @ doubled.y


def test_flat_directions_are_found_where_there_are_any() -> None:
    case = overdetermined(4, n_rows=30, n_columns=4, n_groups=2)
    reduction = instance_of(case).reduction
    M, unknown = 4, np.zeros((4, 4), np.int8)
    gram = reduction.R.T @ reduction.R
    model = flat_directions(reduction, gram, unknown, np.zeros((M, M), bool))
    assert model.solve("CLARABEL") == pytest.approx(np.linalg.eigvalsh(gram)[0] * reduction.scale, rel=1e-6)
    opposite = np.array([[1.0, 1.0], [1.0, 1.0]])
    free = flat_directions(reduction, opposite, np.zeros((2, 2), np.int8), np.zeros((2, 2), bool))
    assert free.solve("CLARABEL") == pytest.approx(0.0, abs=1e-6 * reduction.scale)
    bound = flat_directions(reduction, opposite, np.ones((2, 2), np.int8), np.zeros((2, 2), bool))
    assert bound.solve("CLARABEL") == pytest.approx(reduction.scale, rel=1e-6)  # one column at a time


@both
def test_branch_and_bound_with_a_lift_finds_the_optimum(name: str) -> None:
    for family in ("correlated", "l1", "duplicates"):
        case = FAMILIES[family](NODES[family])
        result = partls.solve(case.X, case.y, case.labels, method="bnb", relaxation=name, **case.options)
        oracle = brute_force(case.X, case.y, case.labels, **case.options)
        assert result.status is Status.OPTIMAL
        assert result.objective == same_optimum(oracle.objective, case.weighted_y)


@both
def test_data_without_anything_to_fit_are_bounded_by_zero(name: str) -> None:
    for X, y in ((np.zeros((4, 3)), np.zeros(4)), (np.ones((4, 3)), np.ones(4)), (np.eye(4)[:, :3], np.zeros(4))):
        bound = LIFTS[name].prepare(Instance(X, y, [0, 0, 1])).bound(SignPattern.free(2))
        assert bound.value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
@both
@pytest.mark.parametrize("family", FAMILIES)
def test_random_nodes_of_every_family(name: str, family: str) -> None:
    for seed in range(40, 50):
        case = FAMILIES[family](seed)
        bounder, size = LIFTS[name].prepare(instance_of(case)), float(np.square(case.weighted_y).sum())
        optima = node_optima(case)
        chosen = np.random.default_rng(seed).choice(len(optima), min(5, len(optima)), replace=False)
        for signs in [list(optima)[i] for i in chosen]:
            assert bounder.bound(signs).value <= optima[signs] + VANISHING * size


@pytest.mark.slow
def test_root_gaps_of_correlated_columns() -> None:
    closed: dict[str, list[float]] = {name: [] for name in LIFTS}
    for seed in range(3):
        case = correlated(seed, n_rows=160, n_columns=40, n_groups=8, corr=0.9)
        instance, root = instance_of(case), SignPattern.free(8)
        floor = ActiveSetRelaxation().prepare(instance).bound(root).value
        optimum = partls.solve(case.X, case.y, case.labels).objective
        for name, lift in LIFTS.items():
            closed[name].append((lift.prepare(instance).bound(root).value - floor) / (optimum - floor))
    assert np.median(closed["shor"]) >= 0.9
    assert np.median(closed["split-dnn"]) >= 0.99


@pytest.mark.parametrize("seed", range(3))
def test_the_box_of_the_improving_solutions_is_reached(seed: int) -> None:
    """In a smaller box, what a dual vector lacks would be priced too low, and the bound be no bound."""
    rng = np.random.default_rng(seed)
    A, z, none = rng.normal(size=(9, 4)), rng.normal(size=9), np.zeros((4, 4), np.int8)
    problem = LiftedProblem(A, z, 0.5, np.zeros(4), none[0], none, none.astype(bool), np.arange(4))
    inner = interior(problem, np.zeros((4, 4)), np.zeros(4, bool))
    assert inner is not None
    inverse = np.linalg.inv(A.T @ A)
    least = inverse @ A.T @ z
    for i in range(4):
        explained = float(np.square(A @ least).sum())  # which zero, the solution to improve on, leaves
        x = least + np.sign(least[i]) * np.sqrt(explained / inverse[i, i]) * inverse[i]
        assert np.square(A @ x - z).sum() + 0.5 == pytest.approx(problem.size)
        assert abs(x[i]) <= inner.coef_bounds[i] <= 1.02 * abs(x[i])


def test_what_rounding_makes_definite_is_not_believed() -> None:
    """Gram matrices of whole numbers, exact and singular: half of them have a Cholesky factor all the same."""
    believed = 0
    for seed in range(20):
        rows = np.random.default_rng(seed).integers(-50, 51, (19, 20)).astype(float)
        C = rows.T @ rows
        believed += _positive_definite(C, 0.0)
        assert not _positive_definite(C, margin(C))
    assert believed > 5
