"""The reduction is exact: fewer rows, other units, the same objective at every point and the same solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formulations import Instance
from formulations.rows.fold import fold
from tests.oracles import brute_force
from tests.strategies import Tiny, instances
from tests.tolerances import COEFFICIENTS, REDUCTION, TRIANGLE, same_optimum

LABELS = [0, 1, 0, 2, 1]
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no intercept": {"fit_intercept": False},
    "l2": {"eta": 2.0},
    "l1": {"eta": 1.5, "penalty": "l1"},
    "l2 intercept": {"eta": 2.0, "penalize_intercept": True},
    "l1 intercept": {"eta": 1.5, "penalty": "l1", "penalize_intercept": True},
    "weighted": {"sample_weight": np.arange(30) % 4},
    "free columns": {"eta": 0.5, "groups": [0, -1, 0, -1, 1]},
}
every_option = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


def data(*, n_rows: int = 30, offset: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Return a table whose columns have offsets of their own size, and a target that it explains in part."""
    rng = np.random.default_rng(17)
    X = rng.normal(size=(n_rows, 5)) + rng.normal(size=(n_rows, 1)) + offset * rng.uniform(-1, 1, size=5)
    return X, X @ [1.0, 0.0, 2.0, -1.0, 0.5] + rng.normal(size=n_rows) + 3.0


def made(X: np.ndarray, y: np.ndarray, options: dict[str, Any]) -> Instance:
    return Instance(X, y, ungrouped="free", **{"groups": LABELS, **options})


def points(instance: Instance, count: int = 5) -> list[np.ndarray]:
    """Return sign-consistent points of comparable coefficients (in the reduction's own units), some of them zero."""
    rng = np.random.default_rng(5)
    shape = (count, instance.reduction.n_columns)
    signs = rng.choice([-1.0, 1.0], size=(count, instance.reduction.n_groups))[:, instance.reduction.labels]
    return list(signs * rng.uniform(0.1, 2.0, size=shape) * rng.integers(0, 2, size=shape) + 0.0)


def check_exact(instance: Instance) -> None:
    reduction = instance.reduction
    for v in points(instance):
        assert reduction.objective(v) == pytest.approx(instance.objective(*reduction.restore(v)), rel=REDUCTION)


@every_option
def test_the_objective_is_the_same_on_fewer_rows(options: dict[str, Any]) -> None:
    instance = made(*data(), options)
    assert instance.reduction.R.shape[0] <= instance.n_columns + 1 < instance.n_rows
    check_exact(instance)


@every_option
@pytest.mark.parametrize("x_scale", [1e-100, 1e-50, 1e-8, 1e8, 1e50, 1e100])
def test_the_objective_is_the_same_in_any_unit_of_x(x_scale: float, options: dict[str, Any]) -> None:
    X, y = data()
    check_exact(made(X * x_scale, y, options))


@every_option
@pytest.mark.parametrize("y_scale", [1e-100, 1e-12, 1e12, 1e100])
def test_the_objective_is_the_same_in_any_unit_of_y(y_scale: float, options: dict[str, Any]) -> None:
    X, y = data()
    check_exact(made(X, y * y_scale, options))


@every_option
@pytest.mark.parametrize("seed", range(4))
def test_the_objective_is_the_same_when_every_column_has_its_own_unit(seed: int, options: dict[str, Any]) -> None:
    X, y = data()
    exponents = np.random.default_rng(seed).permutation([-12.0, -6.0, 0.0, 6.0, 12.0])
    check_exact(made(X * 10**exponents, y, options))


@pytest.mark.parametrize("x_scale", [1e-100, 1.0, 1e100])
def test_units_change_no_answer(x_scale: float) -> None:
    X, y = data()
    plain = made(X, y, {})
    scaled = made(X * x_scale, y, {})
    coef, intercept = plain.reduction.restore(points(plain)[0])
    assert scaled.reduction.objective(scaled.reduction.project(coef / x_scale)) == pytest.approx(
        plain.objective(coef, intercept), rel=REDUCTION
    )


def test_a_column_that_the_intercept_explains_has_no_coefficient() -> None:
    """Seven is not the mean of three sevens to the last bit: what is left of the column must not be scaled up."""
    X = np.column_stack([data(n_rows=3)[0][:, :3], np.full(3, 7.0)])
    instance = Instance(X, [1.0, -1.0, 4.0], [0, 1, 0, 2])
    coef, intercept = instance.reduction.restore(np.ones(4))
    assert coef[3] == 0.0
    assert instance.reduction.objective(np.ones(4)) == pytest.approx(instance.objective(coef, intercept), rel=REDUCTION)



@every_option
def test_project_inverts_restore(options: dict[str, Any]) -> None:
    instance = made(*data(), options)
    for v in points(instance):
        assert instance.reduction.project(*instance.reduction.restore(v)).tolist() == v.tolist()


@every_option
def test_signs_and_zeros_survive_restoring(options: dict[str, Any]) -> None:
    instance = made(*data(), options)
    for v in points(instance):
        coef, intercept = instance.reduction.restore(v)
        constrained = np.append(coef, intercept)[instance.reduction._columns]
        assert np.sign(constrained).tolist() == np.sign(v).tolist()


@pytest.mark.parametrize("options", [OPTIONS[name] for name in ("plain", "l2 intercept", "weighted", "free columns")])
@pytest.mark.parametrize("step", [1e-3, 1.0])
def test_what_has_no_sign_is_optimal(step: float, options: dict[str, Any]) -> None:
    instance = made(*data(), options)
    reduction = instance.reduction
    for v in points(instance):
        coef, intercept = reduction.restore(v)
        best = instance.objective(coef, intercept)
        for j in instance.partition.free:
            for move in (step, -step):
                assert instance.objective(coef + move * np.eye(5)[j], intercept) > best
        for move in (step, -step):
            assert instance.objective(coef, intercept + move) > best


@given(instances())
def test_degenerate_data_keep_their_objective(case: Tiny) -> None:
    instance = Instance(case.X, case.y, case.labels, ungrouped="free", **case.options)
    reduction = instance.reduction
    assert reduction.R.shape[0] <= min(instance.n_columns, reduction.n_columns) + 1
    for v in points(instance, 2):
        coef, intercept = reduction.restore(v)
        value = instance.objective(coef, intercept)
        size = np.square(np.abs(case.X) @ np.abs(coef) + abs(intercept) + np.abs(case.y)).sum()  # before cancellation
        assert np.isfinite([*coef, intercept, value]).all()
        assert reduction.objective(v) == pytest.approx(value, rel=REDUCTION, abs=REDUCTION * size)


@given(instances())
def test_the_optimum_stays_the_optimum(case: Tiny) -> None:
    instance = Instance(case.X, case.y, case.labels, ungrouped="free", **case.options)
    oracle = brute_force(case.X, case.y, case.labels, **case.options)
    v = instance.reduction.project(oracle.coef, oracle.intercept)
    assert instance.reduction.objective(v) == same_optimum(oracle.objective, case.weighted_y)


@pytest.mark.parametrize("n_rows", [1, 2, 4, 5, 6, 7])
@every_option
def test_few_rows_are_enough(n_rows: int, options: dict[str, Any]) -> None:
    X, y = data(n_rows=n_rows)
    if "sample_weight" in options:
        options = {"sample_weight": np.arange(1, n_rows + 1)}
    instance = made(X, y, options)
    reduction = instance.reduction
    size = instance.objective(np.zeros(5))
    for v in points(instance):
        value = instance.objective(*reduction.restore(v))
        assert reduction.objective(v) == pytest.approx(value, rel=REDUCTION, abs=REDUCTION * size)


def test_many_rows_are_taken_in_blocks() -> None:
    X, y = data(n_rows=5001)
    check_exact(made(X, y, {"eta": 3.0}))


def test_the_penalty_free_part_has_the_same_coordinates() -> None:
    instance = made(*data(), {"eta": 1e6})
    unpenalised = made(*data(), {"eta": 0.0})
    v = points(instance)[0]
    coef, intercept = instance.reduction.data_part.restore(v)
    assert coef == pytest.approx(instance.reduction.restore(v)[0], rel=COEFFICIENTS)
    value = unpenalised.objective(coef, intercept)
    assert instance.reduction.data_part.objective(v) == pytest.approx(value, rel=REDUCTION)


@pytest.mark.parametrize("eta", [0.0, 0.7])
def test_a_row_of_weight_zero_is_no_row(eta: float) -> None:
    X, y = data()
    outlier = 1e9 * np.ones((1, 5))
    with_it = made(np.vstack([outlier, X]), np.append(1e9, y), {"eta": eta, "sample_weight": [0.0] + [1.0] * 30})
    without = made(X, y, {"eta": eta})
    for v in points(without):
        coef, intercept = without.reduction.restore(v)
        value = with_it.reduction.objective(with_it.reduction.project(coef, intercept))
        assert value == pytest.approx(without.objective(coef, intercept), rel=REDUCTION)


def upper(triangle: np.ndarray) -> np.ndarray:
    """Return the triangle with a nonnegative diagonal: its rows' signs are arbitrary."""
    return triangle * np.where(np.diag(triangle) < 0, -1.0, 1.0)[:, None]


@given(st.permutations(range(23)), st.lists(st.integers(0, 23), max_size=6))
def test_blocks_fold_in_any_order_and_size(order: list[int], cuts: list[int]) -> None:
    rows = np.random.default_rng(2).normal(size=(23, 4)) * [1.0, 1e8, 1e-8, 1.0]
    whole = upper(np.linalg.qr(rows, mode="r"))
    blocks = np.split(rows[order], sorted(cuts))
    folded = upper(fold(blocks, 4))
    assert folded / np.linalg.norm(whole, axis=0) == pytest.approx(whole / np.linalg.norm(whole, axis=0), abs=TRIANGLE)
    assert not np.tril(folded, -1).any()


@pytest.mark.parametrize("n_rows", range(6))
def test_fewer_rows_than_columns_fold_without_loss(n_rows: int) -> None:
    rows = np.random.default_rng(3).normal(size=(n_rows, 6))
    for blocks in ([rows], list(rows[:, None, :])):
        folded = fold(blocks, 6)
        assert folded.shape == (n_rows, 6)
        assert folded.T @ folded == pytest.approx(rows.T @ rows, abs=TRIANGLE)


def test_a_coefficient_of_zero_has_no_sign() -> None:
    instance = Instance(np.eye(3), [1.0, 2.0, 3.0], [0, 1, 1], fit_intercept=False)
    coef, _ = instance.reduction.restore(np.array([-0.0, 1.0, -0.0]))
    assert not np.signbit(coef).any()
