"""The theorem: PartLS and PartLS-b are one problem. Feasible points map both ways at equal objective, optima agree."""

from __future__ import annotations

from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formulations import Instance, Partition, from_coef, partls_b, to_coef, to_partls, to_partls_b
from tests.oracles import brute_force
from tests.strategies import Tiny, instances
from tests.tolerances import EQUIVALENCE, QUADRATIC_GAP, QUADRATIC_PROGRAM, SIMPLEX, same_optimum


def made(case: Tiny) -> Instance:
    return Instance(case.X, case.y, case.labels, ungrouped="free", **case.options)


@st.composite
def shares(draw: st.DrawFn, n_columns: int) -> np.ndarray:
    """Return nonnegative numbers among which zeros are common: whole groups of them occur."""
    return np.array(draw(st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 3.7]), min_size=n_columns, max_size=n_columns)))


@st.composite
def points_of_partls_b(draw: st.DrawFn) -> tuple[Instance, np.ndarray, np.ndarray, dict[str, Any]]:
    """Return an instance, (alpha, b) feasible for PartLS-b, and the coefficients that belong to no group."""
    instance = made(draw(instances()))
    b = np.array(draw(st.tuples(*[st.sampled_from([-1, 1])] * instance.n_groups)))
    return instance, draw(shares(instance.n_columns)), b, draw(others(instance))


@st.composite
def points_of_partls(draw: st.DrawFn) -> tuple[Instance, np.ndarray, np.ndarray, dict[str, Any]]:
    """Return an instance, (alpha, beta) feasible for PartLS, and the coefficients that belong to no group."""
    instance = made(draw(instances()))
    raw = draw(shares(instance.n_columns))
    alpha = np.zeros(instance.n_columns)
    for k in range(instance.n_groups):
        members = instance.partition.members(k)
        total = raw[members].sum()
        alpha[members] = raw[members] / total if total else 1.0 / len(members)
    beta = np.array(draw(st.tuples(*[st.sampled_from([0.0, -2.5, 1e-3, 4.0])] * instance.n_groups)))
    return instance, alpha, beta, draw(others(instance))


@st.composite
def others(draw: st.DrawFn, instance: Instance) -> dict[str, Any]:
    free = [draw(st.sampled_from([0.0, -1.5, 2.0])) for _ in instance.partition.free]
    return {"free": free, "intercept": draw(st.sampled_from([0.0, -2.0])) if instance.fit_intercept else 0.0}


def objective(instance: Instance, alpha: np.ndarray, factor: np.ndarray, other: dict[str, Any]) -> float:
    """Return the objective of a point of either problem: w_m = alpha_m times its group's beta or sign."""
    return instance.objective(to_coef(alpha, factor, instance.partition, other["free"]), other["intercept"])


def check_feasible_for_partls(alpha: np.ndarray, beta: np.ndarray, partition: Partition) -> None:
    assert (alpha >= 0).all()
    assert np.isfinite(alpha).all()
    assert np.isfinite(beta).all()
    assert partition.indicator().T @ alpha == pytest.approx(np.ones(partition.n_groups), abs=SIMPLEX)


@given(points_of_partls_b())
def test_a_point_of_partls_b_is_a_point_of_partls(point: tuple) -> None:
    instance, alpha, b, other = point
    alpha_hat, beta_hat = to_partls(alpha, b, instance.partition)
    check_feasible_for_partls(alpha_hat, beta_hat, instance.partition)
    assert (b * beta_hat >= 0).all()
    value = objective(instance, alpha_hat, beta_hat, other)
    assert value == pytest.approx(objective(instance, alpha, b, other), rel=EQUIVALENCE, abs=EQUIVALENCE)


@given(points_of_partls())
def test_a_point_of_partls_is_a_point_of_partls_b(point: tuple) -> None:
    instance, alpha_hat, beta_hat, other = point
    check_feasible_for_partls(alpha_hat, beta_hat, instance.partition)
    alpha, b = to_partls_b(alpha_hat, beta_hat, instance.partition)
    assert (alpha >= 0).all()
    assert set(b.tolist()) <= {-1, 1}
    value = objective(instance, alpha, b, other)
    assert value == pytest.approx(objective(instance, alpha_hat, beta_hat, other), rel=EQUIVALENCE, abs=EQUIVALENCE)


@given(points_of_partls_b())
def test_the_round_trip_from_partls_b_keeps_the_point(point: tuple) -> None:
    instance, alpha, b, _ = point
    grouped = instance.partition.labels >= 0
    back, signs = to_partls_b(*to_partls(alpha, b, instance.partition), instance.partition)
    assert back[grouped] == pytest.approx(alpha[grouped], rel=EQUIVALENCE)
    used = np.array([alpha[instance.partition.members(k)].any() for k in range(instance.n_groups)])
    assert (signs == b)[used].all()  # an all-zero group fits both signs


@given(points_of_partls())
def test_the_round_trip_from_partls_keeps_the_point(point: tuple) -> None:
    instance, alpha_hat, beta_hat, _ = point
    partition = instance.partition
    alpha, beta = to_partls(*to_partls_b(alpha_hat, beta_hat, partition), partition)
    assert beta == pytest.approx(beta_hat, rel=EQUIVALENCE)
    for k in range(partition.n_groups):
        members = partition.members(k)
        expected = alpha_hat[members] if beta_hat[k] else np.full(len(members), 1.0 / len(members))
        assert alpha[members] == pytest.approx(expected, abs=SIMPLEX)


@given(instances())
def test_the_optimum_reads_as_a_point_of_both_problems(case: Tiny) -> None:
    instance = made(case)
    oracle = brute_force(case.X, case.y, case.labels, **case.options)
    other = {"free": oracle.coef[instance.partition.free], "intercept": oracle.intercept}
    alpha_hat, beta_hat = from_coef(oracle.coef, instance.partition)
    check_feasible_for_partls(alpha_hat, beta_hat, instance.partition)
    alpha, b = to_partls_b(alpha_hat, beta_hat, instance.partition)
    for value in (objective(instance, alpha_hat, beta_hat, other), objective(instance, alpha, b, other)):
        assert value == same_optimum(oracle.objective, case.weighted_y)


RNG = np.random.default_rng(4)
TABLE, TARGET = RNG.normal(size=(9, 5)) + RNG.normal(size=(9, 1)), RNG.normal(size=9) * 2 + 1
CASES = {
    "plain": Tiny(TABLE, TARGET, (0, 1, 0, 1, 2)),
    "ridge on group sums": Tiny(TABLE, TARGET, (0, 1, 0, 1, 2), {"eta": 1.5}),
    "l1": Tiny(TABLE, TARGET, (0, 0, 1, 1, 1), {"eta": 1.5, "penalty": "l1"}),
    "l1 intercept": Tiny(TABLE, TARGET, (0, 0, 1, 1, 1), {"eta": 1.0, "penalty": "l1", "penalize_intercept": True}),
    "weighted": Tiny(TABLE, TARGET, (0, 1, 0, 1, 0), {"sample_weight": np.arange(9.0), "fit_intercept": False}),
    "free column": Tiny(TABLE, TARGET, (0, -1, 0, 1, 1)),
    "duplicate columns": Tiny(TABLE[:, [0, 1, 0, 1, 2]], TARGET, (0, 0, 1, 1, 1)),
    "more columns than rows": Tiny(TABLE[:3], TARGET[:3], (0, 0, 0, 1, 1), {"eta": 0.1}),
    "one group": Tiny(TABLE, TARGET, (0, 0, 0, 0, 0)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_best_sign_vector_of_partls_b_gives_the_optimum(case: Tiny) -> None:
    instance = made(case)
    oracle = brute_force(case.X, case.y, case.labels, **case.options)
    values = {}
    accuracy = {"rel": QUADRATIC_PROGRAM, "abs": QUADRATIC_GAP * float(np.square(case.weighted_y).sum())}
    for b in product((1, -1), repeat=case.n_groups):
        model = partls_b(instance, b)
        values[b] = model.solve("CLARABEL")
        assert model.problem.status == cp.OPTIMAL
        assert values[b] == pytest.approx(oracle.objectives[b], **accuracy)
        assert instance.objective(*model.solution()) == pytest.approx(values[b], **accuracy)
    assert min(values.values()) == pytest.approx(oracle.objective, **accuracy)


def test_what_stands_at_a_free_column_is_no_share() -> None:
    """Its value is neither checked nor used, whatever its sign; that of a grouped column is."""
    partition = Partition.of([0, 0, -1], n_columns=3, ungrouped="free")
    alpha, beta = to_partls([1.0, 3.0, -7.0], [-1.0], partition)
    np.testing.assert_allclose(alpha, [0.25, 0.75, 0.0])
    np.testing.assert_allclose(beta, [-4.0])
    with pytest.raises(ValueError, match=r"alpha, column 1 is -3\.0: alpha must be >= 0"):
        to_partls([1.0, -3.0, 0.0], [1.0], partition)
