"""PartLSRegressorCV finds what a grid search over independent fits finds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.utils.estimator_checks import check_estimator

from partls import Instance, InvalidInput, PartLSRegressor, PartLSRegressorCV, Status, solve_instance
from partls.estimators.eta_path import EtaPath
from tests.families import FAMILIES
from tests.test_estimator import SKIPPED, hard_problem
from tests.tolerances import same_optimum

LABELS = (0, 0, 1, 1, 2, 2, 2)
ETAS = [0.0, 0.3, 3.0, 30.0]
RIDGES = [0.0, 0.5, 5.0]
WHEREVER = pytest.mark.filterwarnings("ignore:the best .* of those tried")  # where in its grid is not the question


def data(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([8, seed])
    X = rng.normal(np.array([0.0, 5.0, 0.0, -3.0, 0.0, 0.0, 1.0]), size=(45, 7))
    return X, X @ rng.normal(size=7) + 3.0 * rng.normal(size=45)


@WHEREVER
def test_every_check_of_scikit_learn_passes():
    outcomes = check_estimator(PartLSRegressorCV(etas=2, ridges=2, cv=2), on_skip=None, on_fail="raise")
    assert {outcome["status"] for outcome in outcomes} <= {"passed", "skipped"}
    assert {outcome["check_name"] for outcome in outcomes if outcome["status"] == "skipped"} <= SKIPPED


@WHEREVER
@pytest.mark.parametrize("options", [
    {}, {"penalty": "l1"}, {"fit_intercept": False}, {"penalize_intercept": True},
    {"penalty": "l1", "penalize_intercept": True}, {"signs": {"1": "-"}}, {"signs": ["+", None, "-"]},
], ids=str)
def test_errors_and_choice_are_those_of_a_grid_search(options):
    X, y = data()
    model = PartLSRegressorCV(LABELS, etas=ETAS, ridges=RIDGES, cv=KFold(5), **options).fit(X, y)
    grid = GridSearchCV(
        PartLSRegressor(LABELS, **options), {"eta": ETAS, "ridge": RIDGES}, cv=KFold(5),
        scoring="neg_mean_squared_error",
    ).fit(X, y)
    errors = -np.column_stack([grid.cv_results_[f"split{fold}_test_score"] for fold in range(5)])
    assert (model.etas_.tolist(), model.ridges_.tolist()) == (ETAS[::-1], RIDGES[::-1])
    np.testing.assert_allclose(model.mse_path_, errors.reshape(4, 3, 5)[::-1, ::-1], rtol=1e-7)
    assert {"eta": model.eta_, "ridge": model.ridge_} == grid.best_params_
    np.testing.assert_array_equal(model.coef_, grid.best_estimator_.coef_)
    assert model.status_ is Status.OPTIMAL


@pytest.mark.parametrize("name", ["correlated", "duplicates", "one-hot", "underdetermined", "weights"])
def test_the_compressed_problem_has_the_same_optimum_for_every_eta(name):
    for seed in range(3):
        tiny = FAMILIES[name](seed)
        instance = Instance(tiny.X, tiny.y, tiny.labels, **tiny.options)
        path, found = EtaPath(instance), None
        for eta in (10.0, 1.0, 0.0):
            found = path.solve(eta, found)
            original = instance.replace(eta=eta)
            expected = same_optimum(solve_instance(original).objective, tiny.weighted_y)
            assert found.objective == expected
            assert original.objective(found.coef, found.intercept) == expected


@WHEREVER
def test_weights_several_targets_sparse_data_and_frames():
    X, y = data(1)
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    Y = np.column_stack([y, 10 * y[::-1]])
    folds = list(KFold(3).split(X))
    model = PartLSRegressorCV(LABELS, etas=ETAS, ridges=[0.0], cv=folds).fit(X, Y, sample_weight=weights)
    expected = np.zeros((4, 3))
    for f, (train, test) in enumerate(folds):
        for e, eta in enumerate(model.etas_):
            fit = PartLSRegressor(LABELS, eta=eta).fit(X[train], Y[train], sample_weight=weights[train])
            expected[e, f] = np.average(np.square(Y[test] - fit.predict(X[test])).mean(axis=1), weights=weights[test])
    np.testing.assert_allclose(model.mse_path_[:, 0], expected, rtol=1e-7)
    shares = [weights[test].sum() for _, test in folds]
    assert model.eta_ == model.etas_[np.argmin(np.average(expected, axis=1, weights=shares))]
    other = PartLSRegressorCV(LABELS, etas=ETAS, ridges=[0.0], cv=folds)
    other.fit(sparse.csr_array(X), Y, sample_weight=weights)
    np.testing.assert_array_equal(other.coef_, model.coef_)
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    named = PartLSRegressorCV({"one": ["a", "b"], "rest": ["[c-g]"]}, etas=3).fit(frame, y)
    assert named.feature_names_in_.tolist() == list("abcdefg")
    assert "one" in str(named.summary())


@WHEREVER
def test_the_default_path_fits_the_units_of_the_data():
    X, y = data()
    one, other = (PartLSRegressorCV(LABELS, etas=5, cv=3).fit(scale * X, y) for scale in (1.0, 1024.0))
    assert (len(one.etas_), len(one.ridges_)) == (5, 5)
    assert one.etas_[-1] == one.ridges_[-1] == 0
    np.testing.assert_allclose(other.etas_, 1024.0**2 * one.etas_)
    np.testing.assert_allclose(other.ridges_, 1024.0**2 * one.ridges_)
    np.testing.assert_allclose(other.mse_path_, one.mse_path_, rtol=1e-6)


@WHEREVER
def test_the_file_holds_the_chosen_model(tmp_path):
    X, y = data()
    model = PartLSRegressorCV(LABELS, etas=ETAS, cv=KFold(3)).fit(X, y)
    model.save(tmp_path / "m.json")
    loaded = PartLSRegressorCV.load(tmp_path / "m.json")
    assert type(loaded) is PartLSRegressor
    assert (loaded.eta, loaded.ridge) == (model.eta_, model.ridge_)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("option", ["etas", "ridges"])
@pytest.mark.parametrize("values", [0, -1, [], [-1.0], [np.nan], "many", [[1.0]], True, ["much"], {"0": 1.0}, None])
def test_bad_paths_are_refused(option, values):
    with pytest.raises(InvalidInput, match=rf"{option}=.* must be a number of values >= 1, or a list") as caught:
        PartLSRegressorCV(LABELS, **{option: values}).fit(*data())
    assert "\n" not in str(caught.value)


def test_a_best_value_at_the_end_of_its_grid_is_told_unless_it_is_zero():
    X, y = data()
    noise = np.random.default_rng(1).normal(size=len(y))  # nothing to learn: the more penalty, the better
    with pytest.warns(ConvergenceWarning, match="best eta 30 is the largest .* and the best ridge 5 is the la"):
        PartLSRegressorCV(LABELS, etas=ETAS, ridges=RIDGES, cv=3).fit(X, noise)
    exact = X @ np.ones(7)  # nothing to penalise
    with pytest.warns(ConvergenceWarning, match="^the best ridge 0.5 is the smallest of those tried: values beyond"):
        model = PartLSRegressorCV(LABELS, etas=ETAS, ridges=[0.5, 5.0], cv=3).fit(X, exact)
    assert (model.eta_, model.ridge_) == (0.0, 0.5)
    for ridges in (RIDGES, [0.5]):  # 0 is the end of all grids, and one value is no choice: no warning
        assert PartLSRegressorCV(LABELS, etas=ETAS, ridges=ridges, cv=3).fit(X, exact).ridge_ == ridges[0]


def test_one_time_limit_covers_all_fits():
    X, y, labels = hard_problem()
    with pytest.warns(ConvergenceWarning, match="time limit") as caught:
        model = PartLSRegressorCV(labels, etas=2, cv=2, time_limit=0.0).fit(X, y)
    assert len(caught) == 1
    assert np.isfinite(model.mse_path_).all()
    assert np.isfinite(model.predict(X)).all()
