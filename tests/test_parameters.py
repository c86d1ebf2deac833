"""Signs and penalties change without building again, to the value that a fresh model has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from formulations import (
    Instance,
    InvalidInput,
    Model,
    SignPattern,
    alpha_fixed,
    best_curvature,
    beta_fixed,
    partls_b,
    perspective,
    quadratic,
    shor,
    shor_block_only_as_printed,
    split_dnn,
    to_partls,
)

QP, SDP = 2e-6, 2e-5  # relative error allowed to a quadratic or semidefinite program solved by Clarabel

LABELS = [0, 1, 0, 2, 1]
RNG = np.random.default_rng(20)
BASE = RNG.normal(size=(12, 5))
X = (BASE + 0.35 * BASE.sum(axis=1, keepdims=True) + 0.5) * np.array([1.0, 30.0, 0.2, 1.0, 5.0])
Y = RNG.normal(size=12) * 3 + 1
ALPHA, BETA = to_partls([1.0, 2.0, 3.0, 4.0, 5.0], [1, -1, 1], Instance(X, Y, LABELS).partition)
LEAF, NODE = (1, -1, 1), (1, -1, 0)

Build = Callable[..., Model]


def curved(instance: Instance, signs: Any = None, **options: Any) -> Model:
    """Return the perspective form with one D in the units of the data, whatever the coordinates; zero if N < M."""
    share = 1e-4 * (instance.n_rows > instance.n_columns) * np.square(X).sum(axis=0)
    columns = instance.reduction.project(np.arange(1.0, 6.0)) / instance.reduction.project(np.ones(5))
    order = columns.astype(int) - 1
    roots = instance.reduction.in_units(np.sqrt(share[order]))
    return perspective(instance, np.diag(np.square(roots)), signs, **options)


BUILDERS: dict[str, tuple[Build, float]] = {
    "quadratic": (quadratic, QP),
    "quadratic, strengthened": (lambda instance, signs: quadratic(instance, signs, strengthen=True), QP),
    "perspective": (curved, QP),
    "partls_b": (partls_b, QP),
    "shor": (shor, SDP),
    "shor without cuts": (lambda instance, signs: shor(instance, signs, cuts=False), SDP),
    "split_dnn": (split_dnn, SDP),
}
HALVES: dict[str, Build] = {
    "alpha_fixed": lambda instance: alpha_fixed(instance, ALPHA),
    "beta_fixed": lambda instance: beta_fixed(instance, BETA / 50),
}
STEPS: list[tuple[Any, float]] = [(0.0, 0.0), (0.25, 0.0), ([2.0, 0.0, 0.1], 0.3), (0.0, 3.0), ([0.0, 5.0, 0.0], 0.0)]


def made(penalty: str, eta: Any, ridge: float, n_rows: int = 12, **options: Any) -> Instance:
    return Instance(X[:n_rows], Y[:n_rows], LABELS, eta=eta, ridge=ridge, penalty=penalty, **options)


def solved(model: Model) -> float:
    value = model.solve("CLARABEL")
    assert model.problem.status == "optimal", model
    return value


def compiled(model: Model) -> object:
    """Return CVXPY's compiled problem, which stays the same object as long as nothing is compiled again."""
    return model.problem._cache.param_prog


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("n_rows", [12, 4])
@pytest.mark.parametrize("name", BUILDERS)
def test_a_moved_model_has_the_value_of_a_fresh_one(name: str, n_rows: int, penalty: str) -> None:
    build, tolerance = BUILDERS[name]
    vanishing = tolerance * float(Y @ Y) if n_rows == 4 else 0.0  # an optimum of zero
    model = build(made(penalty, 1.0, 0.1, n_rows), LEAF)
    assert model.problem.is_dcp(dpp=True)
    solved(model)
    once = compiled(model)
    for eta, ridge in STEPS:
        for signs in (LEAF,) if name == "partls_b" else (LEAF, NODE, None):
            moved = model.fix(signs).set(eta=eta, ridge=ridge)
            assert moved is model
            fresh = solved(build(made(penalty, eta, ridge, n_rows), signs))
            assert solved(moved) == pytest.approx(fresh, rel=tolerance, abs=vanishing)
    assert compiled(model) is once


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("name", HALVES)
def test_the_halves_take_other_penalties(name: str, penalty: str) -> None:
    model = HALVES[name](made(penalty, 1.0, 0.1))
    assert model.problem.is_dcp(dpp=True)
    solved(model)
    once = compiled(model)
    for eta, ridge in STEPS:
        fresh = solved(HALVES[name](made(penalty, eta, ridge)))
        assert solved(model.set(eta=eta, ridge=ridge)) == pytest.approx(fresh, rel=QP)
    assert compiled(model) is once
    with pytest.raises(InvalidInput, match="build it again"):
        model.fix(LEAF)


@pytest.mark.parametrize("name", BUILDERS)
def test_a_moved_model_restores_a_point_with_its_value(name: str) -> None:
    build, _ = BUILDERS[name]
    model = build(made("l2", 0.0, 0.0), LEAF).set(eta=[2.0, 0.0, 0.1], ridge=0.3)
    value = solved(model)
    assert made("l2", [2.0, 0.0, 0.1], 0.3).objective(*model.solution()) == pytest.approx(value, rel=1e-4)


def test_one_penalty_may_be_left_as_it_is() -> None:
    model = quadratic(made("l2", 1.0, 0.1))
    expected = solved(quadratic(made("l2", 3.0, 0.1)))
    assert solved(model.set(eta=3.0)) == pytest.approx(expected, rel=QP)
    expected = solved(quadratic(made("l2", 3.0, 0.7)))
    assert solved(model.set(ridge=0.7)) == pytest.approx(expected, rel=QP)
    assert solved(model.set()) == pytest.approx(expected, rel=QP)


@pytest.mark.parametrize("eta", [0.0, 1.0])
def test_a_column_of_zeros_keeps_its_coefficient_where_a_penalty_counts_it(eta: float) -> None:
    """Undecided, it cancels its group's sum at no cost: the value counts on it, and so must the point."""
    table = np.column_stack([X[:, 0], np.zeros(12)])
    model = quadratic(Instance(table, Y, [0, 0], eta=eta)).set(eta=4.0)
    value = solved(model)
    assert Instance(table, Y, [0, 0], eta=4.0).objective(*model.solution()) == pytest.approx(value, rel=1e-6)


def test_what_is_projected_out_cannot_change() -> None:
    free = quadratic(Instance(X, Y, [0, 1, 0, -1, 1], ungrouped="free", ridge=0.5, eta=1.0))
    with pytest.raises(InvalidInput, match=r"ridge counts free columns too.*quadratic form: build it again"):
        free.set(ridge=0.6)
    fresh = quadratic(Instance(X, Y, [0, 1, 0, -1, 1], ungrouped="free", ridge=0.5, eta=3.0))
    assert solved(free.set(eta=3.0, ridge=0.5)) == pytest.approx(solved(fresh), rel=QP)
    own = {"0": 1.0, "1": 2.0, "2": 3.0, "(intercept)": 4.0}
    for penalty in ("l2", "l1"):
        options = {"penalty": penalty, "penalize_intercept": True}
        model = quadratic(Instance(X, Y, LABELS, eta=4.0, **options))
        fresh = quadratic(Instance(X, Y, LABELS, eta=own, **options))
        assert solved(model.set(eta=own)) == pytest.approx(solved(fresh), rel=QP)
        if penalty == "l1":
            fresh = quadratic(Instance(X, Y, LABELS, eta=5.0, **options))
            assert solved(model.set(eta=5.0)) == pytest.approx(solved(fresh), rel=QP)
            continue
        with pytest.raises(InvalidInput, match=r'intercept is projected out.*keep eta of "\(intercept\)" at 4'):
            model.set(eta=5.0)


def test_penalties_that_cannot_be_are_refused_and_change_nothing() -> None:
    model = quadratic(made("l2", 1.0, 0.1))
    before = solved(model)
    for change, told in (({"eta": -1.0}, "eta=-1.0 must be"), ({"eta": {"0": 1.0}}, "eta misses"),
                         ({"ridge": np.nan}, "ridge=nan must be")):
        with pytest.raises(InvalidInput, match=told):
            model.set(**change)
    assert solved(model) == pytest.approx(before, rel=1e-12)
    with pytest.raises(InvalidInput, match="build it again"):
        curved(made("l2", 1.0, 0.0), strengthen=True).set(eta=2.0)
    flat = perspective(made("l2", 0.0, 3.0, 4), 1e-4 * np.eye(5))
    before = solved(flat)
    with pytest.raises(InvalidInput, match="Q - D has the negative eigenvalue"):
        flat.set(ridge=0.0)
    assert solved(flat) == pytest.approx(before, rel=1e-9)


def test_models_of_numbers_say_so() -> None:
    instance = made("l2", 1.0, 0.1)
    for model in (best_curvature(instance), shor_block_only_as_printed(instance), shor(instance, parametric=False),
                  split_dnn(instance, parametric=False)):
        with pytest.raises(InvalidInput, match=r"signs of .* are fixed when it is built: build it again"):
            model.fix(LEAF)
        with pytest.raises(InvalidInput, match=r"penalties of .* are fixed when it is built: build it again"):
            model.set(eta=2.0)


@pytest.mark.parametrize("name", ["shor", "split_dnn", "quadratic", "perspective"])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_numbers_and_parameters_are_the_same_problem(name: str, penalty: str) -> None:
    build = {"shor": shor, "split_dnn": split_dnn, "quadratic": quadratic,
             "perspective": curved}[name]
    instance = made(penalty, [2.0, 0.0, 0.1], 0.3)
    for signs in (None, NODE, LEAF):
        numbers, parameters = (solved(build(instance, signs, parametric=choice)) for choice in (False, True))
        assert parameters == pytest.approx(numbers, rel=SDP)


def test_duals_have_names_and_models_show_their_formula() -> None:
    model = quadratic(made("l2", 1.0, 0.1), LEAF)
    assert model.duals == {"signs": None}
    solved(model)
    assert (model.duals["signs"] >= -1e-9).all()
    assert model._repr_latex_().startswith("$$")
    assert best_curvature(made("l2", 1.0, 0.1))._repr_latex_() is None


SPELLED: list[Any] = [{"0": "+", "1": "-", "2": 1}, {2: 1, 0: "+", 1: -1}, ["+", "-", "+"], np.array([1, -1, 1])]


@pytest.mark.parametrize("name", BUILDERS)
def test_signs_of_a_model_are_given_as_those_of_a_fit(name: str) -> None:
    """A mapping is read by its groups: its keys are no signs."""
    build, instance = BUILDERS[name][0], made("l2", 1.0, 0.1)
    expected = instance.reduction.column_signs(LEAF)
    for signs in SPELLED:
        for model in (build(instance, signs), build(instance, LEAF).fix([-1, 1, -1]).fix(signs)):
            assert model.setting is not None
            np.testing.assert_array_equal(model.setting.column_signs, expected)


def test_signs_that_cannot_be_are_refused() -> None:
    model, penalised = quadratic(made("l2", 1.0, 0.1)), made("l1", 1.0, 0.1, penalize_intercept=True)
    assert penalised.reduction.pattern({"1": "-"}) == SignPattern((0, -1, 0, 0))
    for signs, told in (({"3": "+"}, "3"), ({7: "+"}, "signs names group 7"), ({"0": 2}, "is not a sign"),
                        ([1, 0], "signs has 2 values but there are 3 groups"),
                        ([1, 0, 5], r"signs\[2\]=5 is not a sign")):
        with pytest.raises(InvalidInput, match=told):
            model.fix(signs)
    with pytest.raises(InvalidInput, match="one sign per group, in their order"):
        SignPattern.of({0: 1, 1: -1, 2: 1})
