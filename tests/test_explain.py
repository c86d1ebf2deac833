"""What a model says about itself, against brute force, direct refits and textbook formulas."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import r2_score

import partls
from partls import InvalidInput, PartLSRegressor, explain, partition_from_signs
from partls.explain import price
from partls.solve import solve_instance
from tests.families import FAMILIES
from tests.oracles import brute_force, sign_constrained
from tests.tolerances import same_optimum

PROBLEMS = ({}, {"eta": 3.0}, {"eta": 4.0, "penalty": "l1"}, {"fit_intercept": False},
            {"eta": 3.0, "penalize_intercept": True})
LABELS = (0, 0, 1, 1, 1, 2, 3, 3)


def data(seed: int, n_rows: int = 25) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([71, seed])
    X = rng.normal(size=(n_rows, len(LABELS))) + rng.normal(size=(n_rows, 1))
    return X, X @ rng.normal(size=len(LABELS)) + 1.0 + 2.0 * rng.normal(size=n_rows), rng.uniform(0.2, 2.0, n_rows)


def fitted(seed: int, **options) -> tuple[PartLSRegressor, np.ndarray, np.ndarray, np.ndarray]:
    X, y, weights = data(seed)
    return PartLSRegressor(LABELS, **options).fit(X, y, sample_weight=weights), X, y, weights


@pytest.mark.parametrize("options", PROBLEMS, ids=str)
def test_flips_and_near_ties_are_those_of_brute_force(options):
    model, X, y, weights = fitted(0, **options)
    truth = brute_force(X, y, LABELS, sample_weight=weights, **options).objectives
    report = model.sign_certainty(within=0.3)
    for k, row in enumerate(report.rows):
        flipped = min(value for signs, value in truth.items() if signs[k] == -row.sign)
        assert row.flipped_objective == same_optimum(flipped, y)
        assert row.increase == pytest.approx(flipped / model.objective_ - 1, rel=1e-6)
        assert row.exact
        assert row.flipped_beta * row.sign <= 0
    expected = {signs: value for signs, value in truth.items() if value <= 1.3 * model.objective_}
    assert len(expected) > 1
    assert report.complete
    assert {tie.signs.values for tie in report.near_ties} == set(expected)
    values = [tie.objective for tie in report.near_ties]
    assert values == sorted(values)
    assert values == pytest.approx(sorted(expected.values()), rel=1e-8)


@pytest.mark.parametrize("name", ["integers", "duplicates", "constants", "one-hot"])
def test_near_ties_of_degenerate_data(name):
    """Zero groups and dependent columns: many patterns tie, and each is listed once."""
    for seed in range(3):
        tiny = FAMILIES[name](seed)
        truth = brute_force(tiny.X, tiny.y, tiny.labels).objectives
        best = min(truth.values())
        size = float(tiny.y @ tiny.y)
        result = partls.solve(tiny.X, tiny.y, tiny.labels)
        report = explain.sign_certainty(result, within=0.2)
        listed = [tie.signs.values for tie in report.near_ties]
        assert len(listed) == len(set(listed))
        sure = {signs for signs, value in truth.items() if value < 1.2 * best - 1e-9 * size}
        possible = {signs for signs, value in truth.items() if value <= 1.2 * best + 1e-9 * size}
        assert sure <= set(listed) <= possible
        for tie in report.near_ties:
            assert tie.objective == pytest.approx(truth[tie.signs.values], rel=1e-8, abs=1e-9 * size)


def test_a_list_cut_short_says_so():
    model, *_ = fitted(0)
    report = model.sign_certainty(within=10.0, max_patterns=3)
    assert len(report.near_ties) == 3
    assert not report.complete
    assert "there may be more" in str(report)
    with pytest.raises(InvalidInput, match="within=-1"):
        model.sign_certainty(within=-1)


def test_a_time_limit_is_shared_and_ends_the_list_of_ties(monkeypatch):
    model, *_ = fitted(0)
    limits = []

    def solve(*arguments, time_limit, **options):
        limits.append(time_limit)
        return solve_instance(*arguments, time_limit=time_limit, **options)

    monkeypatch.setattr(sys.modules["partls.explain.sign_certainty"], "solve_instance", solve)
    explain.sign_certainty(model.result_, within=0.3, time_limit=1000.0)
    n_groups = len(model.signs_)
    assert 0 < limits[0] <= 1000.0 / (n_groups + 1)  # a hard first group leaves time for the others
    limits.clear()
    report = explain.sign_certainty(model.result_, within=10.0, time_limit=0.0)
    assert limits == [0.0] * n_groups  # one search per group, none for ties
    assert not report.complete


def test_data_that_fit_exactly_have_no_price():
    X, y, _ = data(3, n_rows=3)
    result = partls.solve(X, y, LABELS)
    assert explain.price_of_constraint(result).price == 0.0
    free = partls.solve(X, y, {f"g{j}": [j] for j in range(X.shape[1])})
    told = str(explain.price_of_constraint(free)) + str(explain.sign_certainty(free))
    assert "-0.00%" not in told


def test_an_imposed_sign_can_be_better_flipped_and_stays_in_the_ties():
    X, y, _ = data(1)
    free = PartLSRegressor(LABELS).fit(X, y)
    wrong = {"0": -int(free.signs_[0])}
    report = PartLSRegressor(LABELS, signs=wrong).fit(X, y).sign_certainty(within=0.5)
    assert report.rows[0].flipped_objective == pytest.approx(free.objective_, rel=1e-9)
    assert report.rows[0].increase < 0
    assert all(tie.signs[0] == wrong["0"] for tie in report.near_ties)


@pytest.mark.parametrize("options", PROBLEMS, ids=str)
def test_price_of_the_constraint_by_brute_force(options):
    model, X, y, weights = fitted(2, **options)
    labels = np.array(LABELS)
    kept = {"labels": labels, "sample_weight": weights, **options}
    report = model.price_of_constraint()
    free = sign_constrained(X, y, [0] * len(labels), **kept).objective
    assert report.unconstrained == same_optimum(free, y)
    assert report.price == pytest.approx(model.objective_ / free - 1, rel=1e-6)
    assert max(row.gain for row in report.rows) > 0
    for k, row in enumerate(report.rows):
        trials = [
            sign_constrained(X, y, np.where(labels == k, 0, np.array(signs)[labels]), **kept)
            for signs in product((1, -1), repeat=4) if signs[k] == 1
        ]
        best = min(trials, key=lambda trial: trial.objective)
        assert row.freed_objective == same_optimum(best.objective, y)
        against = {f"x{j}": best.coef[j] for j in np.flatnonzero(labels == k) if best.coef[j] * row.sign < -1e-9}
        assert dict(row.against) == pytest.approx(against, rel=1e-5)
        assert bool(row.against) == (row.gain > 0)


def test_price_with_free_columns_and_names():
    X, y, _ = data(3)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(8)])
    model = PartLSRegressor({"all but two": ["c[0-5]"]}, ungrouped="free").fit(frame, y)
    report = model.price_of_constraint()
    plain = LinearRegression().fit(X, y)
    error = np.square(y - plain.predict(X)).sum()
    assert report.unconstrained == pytest.approx(error, rel=1e-10)
    assert report.rows[0].freed_objective == pytest.approx(error, rel=1e-10)
    sign = model.signs_[0]
    assert {name for name, _ in report.rows[0].against} == {f"c{j}" for j in range(6) if plain.coef_[j] * sign < 0}
    assert report.to_pandas()["group"].tolist() == ["all but two"]


def test_contributions_sum_to_the_prediction():
    X, y, weights = data(4)
    model = PartLSRegressor([0, 0, 1, 1, None, None, 2, 2], ungrouped="free").fit(X, y, sample_weight=weights)
    parts = model.contributions(X)
    assert parts.names == ("0", "1", "2", "(ungrouped)", "(intercept)")
    assert parts.values.shape == (25, 5)
    size = np.abs(parts.values).sum(axis=1).max()
    np.testing.assert_allclose(parts.predictions, model.predict(X), rtol=0, atol=1e-14 * size)
    np.testing.assert_allclose(parts.values[:, 1], X[:, 2:4] @ model.coef_[2:4], rtol=1e-13)
    np.testing.assert_array_equal(parts.values[:, -1], model.intercept_)
    assert parts.to_pandas().columns.tolist() == list(parts.names)


def test_summary_shares_are_covariances_and_the_table_shows_them():
    X, y, _ = data(5)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(8)])
    model = PartLSRegressor({"big": ["c[0-4]"], "small": ["c5"]}, ungrouped="free").fit(frame, y)
    summary = model.summary(max_features=2)
    parts, prediction = model.contributions(frame).values[:, :-1], model.predict(frame)
    shares = [np.cov(part, prediction)[0, 1] / prediction.var(ddof=1) for part in parts.T]
    table = summary.to_pandas()
    found = table.drop_duplicates("group").set_index("group")["variance_share"]
    assert found.tolist() == pytest.approx(shares, rel=1e-9)
    assert sum(shares) == pytest.approx(1.0)
    assert summary.r_squared == pytest.approx(r2_score(y, prediction))
    assert table.groupby("group")["alpha"].sum().to_dict() == pytest.approx({"big": 1, "small": 1, "(ungrouped)": 0})
    text = str(summary)
    assert "(3 more)" in text and "optimal by bnb: objective" in text and "lower bound" in text
    for name in ("big", "small", "(ungrouped)", "intercept"):
        assert name in text


def test_weights_count_in_the_summary():
    X, y, _ = data(6)
    times = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = PartLSRegressor(LABELS).fit(X, y, sample_weight=times).summary()
    repeated = PartLSRegressor(LABELS).fit(np.repeat(X, times, axis=0), np.repeat(y, times)).summary()
    assert weighted.r_squared == pytest.approx(repeated.r_squared, rel=1e-9)
    for ours, theirs in zip(weighted.rows, repeated.rows, strict=True):
        assert ours.variance_share == pytest.approx(theirs.variance_share, rel=1e-7)


def test_bootstrap_refits_are_those_of_repeated_rows():
    X, y, weights = data(7)
    model = PartLSRegressor(LABELS, eta=1.0).fit(X, y, sample_weight=weights)
    stability = model.bootstrap(6, random_state=3)
    generator = np.random.RandomState(3)
    for betas in stability.betas:
        rows = np.repeat(np.arange(25), generator.multinomial(25, np.full(25, 1 / 25)))
        truth = brute_force(X[rows], y[rows], LABELS, eta=1.0, sample_weight=weights[rows])
        np.testing.assert_allclose(betas, np.bincount(LABELS, truth.coef), rtol=1e-6, atol=1e-8)
    for row, betas in zip(stability.rows, stability.betas.T, strict=True):
        assert (row.positive, row.negative) == ((betas > 0).mean(), (betas < 0).mean())
        assert row.positive + row.zero + row.negative == pytest.approx(1.0)
        assert (row.low, row.high) == tuple(np.percentile(betas, [2.5, 97.5]))
        assert row.deviation == pytest.approx(np.std(betas, ddof=1))


def test_a_resample_without_weight_is_drawn_again():
    rng = np.random.default_rng(2)
    X, y, weights = rng.normal(size=(6, 2)), rng.normal(size=6), np.array([1.0, 0, 0, 0, 0, 0])
    model = PartLSRegressor({"a": [0], "b": [1]}, eta=1.0).fit(X, y, sample_weight=weights)
    assert model.bootstrap(20, random_state=0).betas.shape == (20, 2)  # the row is in two of three draws


def test_bootstrap_does_not_depend_on_the_number_of_threads(capsys, monkeypatch):
    model, *_ = fitted(8)
    one = model.bootstrap(8, random_state=0, n_jobs=1, progress=True)
    assert not capsys.readouterr().err  # no terminal, no bar
    monkeypatch.setenv("FORCE_COLOR", "1")
    two = model.bootstrap(8, random_state=0, n_jobs=2, progress=True)
    assert "resamples" in capsys.readouterr().err
    np.testing.assert_array_equal(one.betas, two.betas)
    assert "8 resamples" in str(one)


def test_the_signs_of_least_squares_make_the_constraint_free():
    for seed in range(5):
        X, y, weights = data(seed)
        partition = partition_from_signs(X, y, sample_weight=weights)
        plain = LinearRegression().fit(X, y, sample_weight=weights)
        assert [partition.names[k] for k in partition.labels] == [
            "negative" if w < 0 else "positive" for w in plain.coef_
        ]
        model = PartLSRegressor(partition).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("ridge", [0.5, 200.0])
def test_the_signs_of_ridge_regression_make_the_constraint_free_with_the_same_ridge(ridge):
    for seed in range(5):
        X, y, weights = data(seed)
        X[:, 1] = X[:, 0]  # which ridge alone can tell apart
        partition = partition_from_signs(X, y, ridge=ridge, sample_weight=weights)
        plain = Ridge(alpha=ridge).fit(X, y, sample_weight=weights)
        model = PartLSRegressor(partition, ridge=ridge).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-7, atol=1e-9)
        assert model.price_of_constraint().price == pytest.approx(0.0, abs=1e-9)


def test_partition_from_signs_keeps_the_names_of_the_columns():
    X, y, _ = data(0)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    assert partition_from_signs(frame, y).columns == tuple("abcdefgh")


def test_with_several_targets_one_is_named():
    X, y, _ = data(0)
    model = PartLSRegressor(LABELS).fit(X, np.column_stack([y, y[::-1]]))
    with pytest.raises(InvalidInput, match=r"output=None: the model has 2 targets"):
        model.summary()
    assert model.summary(output=1).intercept == model.intercept_[1]
    np.testing.assert_allclose(model.contributions(X, output=1).predictions, model.predict(X)[:, 1])


def test_the_price_keeps_its_time_limit_or_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(30, 6)), rng.normal(size=30)
    searched, solve = [], price.solve_instance

    def recorded(*arguments: Any, **options: Any) -> partls.Result:
        searched.append(options["time_limit"])
        return solve(*arguments, **options)

    monkeypatch.setattr(price, "solve_instance", recorded)
    for penalty in ({}, {"eta": 1.0, "penalty": "l1"}):
        result = partls.solve(X, y, list("aabbcc"), **penalty)
        for limit in (0, 1e-9):
            with pytest.raises(TimeoutError, match="takes more than time_limit"):
                explain.price_of_constraint(result, time_limit=limit)
        assert not searched
        in_time = explain.price_of_constraint(result, time_limit=100.0)
        assert searched == sorted(searched, reverse=True) and 0 < searched[-1] < searched[0] < 100.0
        searched.clear()
        assert in_time == explain.price_of_constraint(result)
        assert set(searched) == {None}
        searched.clear()


def test_a_search_for_the_price_that_is_cut_short_gives_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    result = partls.solve(rng.normal(size=(30, 6)), rng.normal(size=30), list("aabbcc"))
    cut = replace(result, status=partls.Status.TIME_LIMIT)
    monkeypatch.setattr(price, "solve_instance", lambda *_, **__: cut)
    with pytest.raises(TimeoutError):
        explain.price_of_constraint(result, time_limit=100.0)
