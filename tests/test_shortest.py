"""Among equally good models the shortest is taken, and it is the shortest."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize, nnls

from partls import PartLSRegressor, solve
from partls.shortest import shortest_nonnegative
from tests.families import DEPENDENT, FAMILIES
from tests.oracles import unique_optimum
from tests.tolerances import same_optimum


@pytest.mark.parametrize("seed", range(8))
def test_the_shortest_nonnegative_solution_by_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 7))
    b = A @ np.maximum(rng.normal(size=7), 0.0)
    u, slopes = shortest_nonnegative(A, b)
    assert u.min() >= 0
    np.testing.assert_allclose(u, np.maximum(slopes, 0.0), atol=1e-8)
    np.testing.assert_allclose(A @ u, b, rtol=1e-10)
    equations = {"type": "eq", "fun": lambda w: A @ w - b, "jac": lambda w: A}
    general = minimize(lambda w: w @ w, u + 0.1, jac=lambda w: 2 * w, bounds=[(0, None)] * 7, constraints=equations,
                       method="SLSQP", options={"ftol": 1e-14, "maxiter": 500})
    np.testing.assert_allclose(u, general.x, atol=1e-5)
    assert u @ u <= general.fun * (1 + 1e-9)


def test_turning_columns_shortens_no_more_than_the_multipliers_allow():
    """What lets the estimator leave out most flips of signs."""
    shorter = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(4, 12))
        u, slopes = shortest_nonnegative(A, A @ rng.uniform(0, 1, 12))
        turned = np.where(np.arange(12) < 3, -1.0, 1.0)
        w, _ = nnls(A * turned, A @ u)
        if np.linalg.norm(A * turned @ w - A @ u) > 1e-9:
            continue  # no solution with these signs
        other, _ = shortest_nonnegative(A * turned, A * turned @ w)
        gain = (np.square(np.maximum(-slopes, 0.0)) - np.square(np.maximum(slopes, 0.0)))[:3].sum()
        assert u @ u - other @ other <= gain + 1e-9
        shorter += other @ other < u @ u
    assert shorter > 5


@pytest.mark.parametrize("shape", [(30, 1200), (60, 66)])
def test_many_columns_take_newtons_method_alone(shape, monkeypatch):
    monkeypatch.setattr("partls.shortest._FEW", 0)
    rng = np.random.default_rng(1)
    A = rng.normal(size=shape)
    b = A @ np.maximum(rng.normal(size=shape[1]), 0.0)
    u, _ = shortest_nonnegative(A, b)
    w = cp.Variable(shape[1], nonneg=True)
    general = cp.Problem(cp.Minimize(cp.sum_squares(w)), [A @ w == b]).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(u, w.value, atol=1e-3)
    np.testing.assert_allclose(A @ u, b, rtol=1e-10)
    assert u @ u <= general * (1 + 1e-9)


@pytest.mark.parametrize("name", sorted(DEPENDENT))
def test_the_objective_signs_and_proof_stay(name):
    for seed in range(4):
        tiny = FAMILIES[name](seed)
        options = {**tiny.options, "ungrouped": "free"}
        weights = options.pop("sample_weight", None)
        model = PartLSRegressor(tiny.labels, **options).fit(tiny.X, tiny.y, sample_weight=weights)
        plain = solve(tiny.X, tiny.y, tiny.labels, sample_weight=weights, **options)
        assert model.objective_ == same_optimum(plain.objective, tiny.weighted_y)
        assert model.result_.audit().sign_violations == 0
        assert model.status_ is plain.status
        assert np.linalg.norm(model.coef_) <= np.linalg.norm(plain.coef) * (1 + 1e-9)


@pytest.mark.parametrize("share", [1e-20, 1e-6, 1e-2, 10.0])
@pytest.mark.parametrize("name", sorted(DEPENDENT))
def test_ridge_makes_one_model_the_optimum_and_it_is_kept(name, share):
    """In shares of the mean squared length of a column, columns without a group among them."""
    for seed in range(3):
        tiny = FAMILIES[name](seed)
        labels = [-1 if j % 5 == 4 else label for j, label in enumerate(tiny.labels)] if seed else list(tiny.labels)
        kept = {label: k for k, label in enumerate(sorted({label for label in labels if label >= 0}))}
        labels = [kept.get(label, -1) for label in labels]
        options = {**tiny.options, "ridge": share * float(np.square(tiny.X).sum(axis=0).mean())}
        weights = options.pop("sample_weight", None)
        plain = solve(tiny.X, tiny.y, labels, sample_weight=weights, ungrouped="free", **options)
        groups = [None if label < 0 else label for label in labels]
        model = PartLSRegressor(groups, ungrouped="free", **options).fit(tiny.X, tiny.y, sample_weight=weights)
        np.testing.assert_array_equal(model.coef_, plain.coef)
        truth = unique_optimum(tiny.X, tiny.y, labels, [0] * len(kept), sample_weight=weights, **options)
        if truth is not None:
            scale = np.abs(truth.coef).max(initial=0.0)
            np.testing.assert_allclose(model.coef_, truth.coef, rtol=1e-5, atol=1e-6 * scale)


def test_rows_repeated_reordered_or_weighted_give_the_same_model():
    """More columns than rows: many models fit exactly."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(8, 20)), rng.normal(size=8)
    times = np.array([1, 2, 0, 3, 1, 1, 2, 1])
    order = rng.permutation(8)
    models = [
        PartLSRegressor().fit(X, y, sample_weight=times),
        PartLSRegressor().fit(np.repeat(X, times, axis=0), np.repeat(y, times)),
        PartLSRegressor().fit(X[order], y[order], sample_weight=times[order]),
    ]
    assert models[0].objective_ < 1e-20
    for other in models[1:]:
        np.testing.assert_allclose(other.coef_, models[0].coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-47, 1e-150, 1e150])
def test_units_however_small_or_large_change_nothing(scale):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(3, 5)), rng.normal(size=3)
    plain = PartLSRegressor([0, 0, 1, 1, 1]).fit(X, y)
    scaled = PartLSRegressor([0, 0, 1, 1, 1]).fit(X * scale, y * 1e100)
    assert scaled.coef_ * (scale / 1e100) == pytest.approx(plain.coef_, rel=1e-9)


def test_a_coefficient_too_small_for_the_objective_is_seen_by_its_slope():
    """The intercept explains the first column but for its L1 penalty: 1e-8 of it costs 1e-15."""
    X, y = np.array([[-1.0, 2.0], [-1.0, -1.0]]), np.array([5.0, -4.0])
    model = PartLSRegressor([0, 1], eta=1e-7, penalty="l1", signs=[1, 1]).fit(X, y)
    assert model.result_.audit().passed
    assert model.coef_[0] == 0.0


def test_the_l1_penalty_counts_sizes_in_groups_of_either_sign():
    """One column rises as the other falls: an effect costs the same on either, and is shortest on both."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(10, 4))
        X[:, 2] = 1.0 - X[:, 0]
        y = 3.0 * X[:, 0] + X[:, 1] - X[:, 3] + 0.1 * rng.normal(size=10)
        model = PartLSRegressor([0, 0, 1, 1], eta=1.0, penalty="l1", signs=[1, -1]).fit(X, y)
        signs, w, t = np.array([1, 1, -1, -1]), cp.Variable(4), cp.Variable()
        same = [X @ w + t == model.predict(X), signs @ w == np.abs(model.coef_).sum(), cp.multiply(signs, w) >= 0]
        least = cp.Problem(cp.Minimize(cp.sum_squares(w)), same).solve(solver=cp.CLARABEL)
        assert model.coef_ @ model.coef_ == pytest.approx(least, rel=1e-5)
        assert model.coef_[0] == pytest.approx(-model.coef_[2], rel=1e-9)
