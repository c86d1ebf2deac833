"""PartLSRegressor keeps scikit-learn's conventions, and its answers are those of brute force."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from partls import BranchAndBound, InvalidInput, PartLSRegressor, Status
from partls.estimators.callbacks import FitReporter
from partls.runtime import progress
from tests.oracles import brute_force
from tests.tolerances import same_optimum

# What scikit-learn skips by itself: its array interface needs SCIPY_ARRAY_API=1 before the first import.
SKIPPED = {"check_array_api_input", "check_array_api_same_namespace"}


@pytest.mark.parametrize(
    "options", [{}, {"eta": 0.5}, {"eta": 0.5, "penalty": "l1"}, {"method": "enumerate", "fit_intercept": False}],
    ids=str,
)
def test_every_check_of_scikit_learn_passes(options):
    outcomes = check_estimator(PartLSRegressor(**options), on_skip=None, on_fail="raise")
    assert len(outcomes) > 40
    assert {outcome["status"] for outcome in outcomes} <= {"passed", "skipped"}
    assert {outcome["check_name"] for outcome in outcomes if outcome["status"] == "skipped"} <= SKIPPED


def problem(seed: int = 0, n_rows: int = 60, n_columns: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Data whose true coefficients have both signs in each group: the groups bind."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, X @ rng.normal(size=n_columns) + 2.0 + rng.normal(size=n_rows)


def hard_problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Correlated columns, hardly more rows than columns: a tree of tens of thousands of nodes."""
    rng = np.random.default_rng(4)
    X = np.sqrt(0.1) * rng.normal(size=(170, 160)) + np.sqrt(0.9) * rng.normal(size=(170, 1))
    return X, X @ rng.normal(size=160) + rng.normal(size=170), np.arange(160) % 40


LABELS = (0, 0, 1, 1, 2, 2, 2)
NAMES = tuple("abcdefg")
GROUPS = {"one": ["a", "b"], "two": ["c", "d"], "three": ["e", "f", "g"]}


@pytest.mark.parametrize("options", [
    {}, {"eta": 2.0}, {"eta": 2.0, "penalty": "l1"}, {"fit_intercept": False},
    {"eta": 3.0, "penalize_intercept": True}, {"method": "enumerate"},
], ids=str)
def test_fit_is_the_optimum_of_brute_force(options):
    X, y = problem(1)
    weights = np.random.default_rng(2).uniform(0.1, 2.0, len(y))
    model = PartLSRegressor(LABELS, **options).fit(X, y, sample_weight=weights)
    problem_options = {name: value for name, value in options.items() if name != "method"}
    best = brute_force(X, y, LABELS, sample_weight=weights, **problem_options)
    assert model.objective_ == same_optimum(best.objective, y)
    assert model.status_ is Status.OPTIMAL
    assert model.lower_bound_ <= model.objective_
    np.testing.assert_allclose(model.coef_, best.coef, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.alpha_ * model.beta_[list(LABELS)], model.coef_, rtol=1e-12)
    assert model.signs_.tolist() == np.sign(model.beta_).tolist()
    assert list(model.group_names_) == ["0", "1", "2"]
    assert model.result_.audit().passed
    np.testing.assert_allclose(model.predict(X), X @ best.coef + best.intercept, rtol=1e-6)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_frames_pair_by_name_in_any_order(library):
    X, y = problem()
    data = library.DataFrame(dict(zip(NAMES, X.T, strict=True)))
    shuffled = data[list("gcabfde")]
    model, other = (PartLSRegressor(GROUPS).fit(frame, y) for frame in (data, shuffled))
    assert model.feature_names_in_.tolist() == list(NAMES)
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-12)
    assert dict(zip(model.group_names_, model.beta_, strict=True)) == pytest.approx(
        dict(zip(other.group_names_, other.beta_, strict=True)), rel=1e-9)
    np.testing.assert_array_equal(model.predict(shuffled), model.predict(data))
    with pytest.raises(InvalidInput, match='"c", "f", which the model was fitted with'):
        model.predict(data[list("abdeg")])
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(data.assign(z=1.0) if library is pd else data.with_columns(z=pl.lit(1.0)))


def test_what_is_wrong_with_a_frame_is_told_by_row_and_column():
    X, y = problem()
    data = pd.DataFrame(X, columns=list(NAMES))
    data.loc[3, "c"] = np.nan
    with pytest.raises(InvalidInput, match="row 3, column 'c' is nan"):
        PartLSRegressor().fit(data, y)
    with pytest.raises(InvalidInput, match="row 0, column 'b' is 'red'"):
        PartLSRegressor().fit(data.assign(b="red"), y)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_and_dense_data_give_the_same_model(container):
    X, y = problem()
    X[np.abs(X) < 0.7] = 0.0
    dense, other = PartLSRegressor(LABELS).fit(X, y), PartLSRegressor(LABELS).fit(container(X), y)
    np.testing.assert_array_equal(dense.coef_, other.coef_)
    np.testing.assert_allclose(dense.predict(container(X)), dense.predict(X), rtol=1e-12, atol=1e-12)


def test_several_targets_are_several_models():
    X, y = problem()
    Y = np.column_stack([y, -y, np.random.default_rng(3).normal(size=len(y))])
    model = PartLSRegressor(LABELS, eta=1.0).fit(X, Y)
    singles = [PartLSRegressor(LABELS, eta=1.0).fit(X, column) for column in Y.T]
    assert (model.coef_.shape, model.intercept_.shape, model.beta_.shape) == ((3, 7), (3,), (3, 3))
    for name in ("coef_", "intercept_", "alpha_", "beta_", "signs_", "objective_", "lower_bound_", "n_iter_"):
        np.testing.assert_array_equal(getattr(model, name), [getattr(single, name) for single in singles])
    assert model.status_ == (Status.OPTIMAL,) * 3
    assert model.predict(X).shape == Y.shape
    np.testing.assert_allclose(model.predict(X)[:, 1], singles[1].predict(X))


def test_grid_search_over_eta_and_groups():
    X, y = problem()
    data = pd.DataFrame(X, columns=list(NAMES))
    grid = {"eta": [0.0, 1.0], "groups": [None, GROUPS, {"all but one": ["[b-g]"], "a": ["a"]}]}
    search = GridSearchCV(PartLSRegressor(), grid, cv=3).fit(data, y)
    assert search.best_params_["groups"] in grid["groups"]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = clone(search.best_estimator_).fit(data, y)
    np.testing.assert_array_equal(best.coef_, search.best_estimator_.coef_)
    assert best.set_params(eta=7.0).eta == 7.0


def test_a_limit_leaves_a_model_and_one_warning():
    X, y, labels = hard_problem()
    with pytest.warns(ConvergenceWarning, match="node limit") as caught:
        model = PartLSRegressor(labels, method=BranchAndBound(node_limit=2)).fit(X, np.column_stack([y, 2 * y]))
    assert len(caught) == 1
    assert model.status_ == (Status.NODE_LIMIT,) * 2
    assert (model.gap_ > 0).all() and (model.gap_ < 1).all()
    assert np.isfinite(model.predict(X)).all()


def test_ctrl_c_leaves_a_model_and_one_warning(monkeypatch):
    """The key is pressed while the first of two targets is searched; the second gets a quick answer."""
    X, y, labels = hard_problem()
    pressed = []

    def press(self, state):
        pressed.append(state)
        return len(pressed) == 1

    monkeypatch.setattr(FitReporter, "__call__", press)
    with pytest.warns(ConvergenceWarning, match="interrupted") as caught:
        model = PartLSRegressor(labels).fit(X, np.column_stack([y, y[::-1]]))
    assert len(caught) == 1
    assert model.status_[0] is Status.INTERRUPTED
    assert model.status_[1] is Status.NODE_LIMIT
    assert np.isfinite(model.predict(X)).all()


def test_one_time_limit_is_shared_by_the_targets():
    X, y, labels = hard_problem()
    with pytest.warns(ConvergenceWarning, match="time limit") as caught:
        model = PartLSRegressor(labels, time_limit=0.0).fit(X, np.column_stack([y, y[::-1]]))
    assert len(caught) == 1
    assert model.predict(X).shape == (170, 2)


@pytest.mark.parametrize(("options", "message"), [
    ({"eta": -1.0}, "eta=-1.0 must be"), ({"method": "bnbb"}, "method='bnbb' is not one of"),
    ({"time_limit": -1}, "time_limit=-1 must be"), ({"signs": {"nine": "+"}}, 'there is no group "nine"'),
    ({"groups": {"one": ["a"]}}, "in no group"),
])
def test_bad_options_are_named(options, message):
    X, y = problem()
    with pytest.raises(InvalidInput, match=message):
        PartLSRegressor(**options).fit(pd.DataFrame(X, columns=list(NAMES)), y)


def test_verbose_tells_of_the_search(monkeypatch):
    X, y = problem()
    entered = []
    monkeypatch.setattr(progress, "heartbeat", lambda line: nullcontext(entered.append(line)))
    model = PartLSRegressor(LABELS, verbose=1).fit(X, y)
    assert "incumbent" in entered[0]()
    assert model.history_[-1].lower_bound <= model.history_[-1].objective == pytest.approx(model.objective_)


def test_callbacks_see_rounds_and_may_stop_the_search():
    """Where scikit-learn has callbacks; elsewhere the estimator has no such method."""
    if not hasattr(PartLSRegressor, "set_callbacks"):
        assert not hasattr(sklearn, "callback")
        return
    seen = []

    class Stopper:
        def setup(self, estimator, context):
            seen.append("setup")

        def teardown(self, estimator, context):
            seen.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            seen.append(f"begin {context.task_name}")

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            seen.append(f"end {context.task_name}")
            if context.parent is None:
                assert np.isfinite(fitted_estimator.predict(X)).all()
            return context.parent is not None

    X, y, labels = hard_problem()
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        PartLSRegressor(labels).set_callbacks(Stopper()).fit(X, y)
    assert seen[:2] == ["setup", "begin fit"]
    assert "end round of the search" in seen
    assert seen[-2:] == ["end fit", "teardown"]


PRESSED = """
import os, signal, threading, warnings
import numpy as np
import partls
rng = np.random.default_rng(0)
X, labels = rng.normal(size=(260, 250)), np.arange(250) % 60
y = X @ rng.normal(size=250) + rng.normal(size=260)
partls.PartLSRegressor([0, 1]).fit(X[:, :2], y)  # loads the kernel
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    model = partls.PartLSRegressor(labels).fit(X, y)
print(model.status_.name, len(warned), np.isfinite(model.predict(X)).all())
"""


def test_ctrl_c_leaves_a_fitted_model_and_one_warning() -> None:
    """A real SIGINT in a process of its own, where no coverage runs that it could hit."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run([sys.executable, "-c", PRESSED], capture_output=True, text=True, env=environment, timeout=300)
    assert done.stdout.split() == ["INTERRUPTED", "1", "True"], done.stderr


@pytest.mark.parametrize(("options", "told"), [
    ({"ridge": -1.0}, "ridge=-1.0 must be a finite number >= 0"),
    ({"ridge": np.nan}, "ridge=nan must be a finite number >= 0"),
    ({"ridge": {"0": 1.0}}, "ridge=.* is not a number"),
    ({"eta": {"0": 1.0}}, 'eta misses "1": give each group a number'),
    ({"eta": {"0": 1.0, "1": 1.0, "2": 1.0}}, "eta names group '2', which does not exist"),
    ({"eta": {"0": 1.0, "1": -1.0}}, r"eta\['1'\]=-1.0 must be a finite number >= 0"),
], ids=str)
def test_wrong_penalties_are_refused_in_one_line(options, told):
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidInput, match=told) as caught:
        PartLSRegressor([0, 0, 1], **options).fit(rng.normal(size=(9, 3)), rng.normal(size=9))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("targets", [1, 2])
def test_a_plain_linear_regression_predicts_the_same(targets):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 4)), columns=list("abcd"))
    y = rng.normal(size=(30, targets))
    model = PartLSRegressor({"p": ["a", "b"], "q": ["c", "d"]}).fit(X, y if targets > 1 else y[:, 0])
    plain = model.to_linear_regression()
    np.testing.assert_allclose(plain.predict(X), model.predict(X), rtol=1e-12)
    assert plain.feature_names_in_.tolist() == list("abcd")
    plain.coef_[...] = 0.0
    assert np.any(model.coef_ != 0.0)  # the model keeps its own
