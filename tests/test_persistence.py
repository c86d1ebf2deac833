"""Saved models: the same predictions to the last bit, and nothing but a sound file is accepted."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from partls import BranchAndBound, InvalidInput, PartLSRegressor, Status
from partls.explore.branching import MaxViolation
from partls.plotting import EffectsDisplay, SearchProgressDisplay

NAMES = ["größe", "b", "c [m2]", "d", "e"]
GROUPS = {"first": ["größe", "b"], "second": ["c [m2]", "d"]}
FITTED = ("coef_", "intercept_", "alpha_", "beta_", "signs_", "objective_", "lower_bound_", "gap_", "n_iter_")


def data(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng([9, seed])
    X = rng.normal(size=(40, 5)) * 10.0 ** rng.integers(-6, 6, 5)
    return pd.DataFrame(X, columns=NAMES), rng.normal(size=40) * 1e5


def model(**options) -> PartLSRegressor:
    return PartLSRegressor(GROUPS, ungrouped="free", **options)


@pytest.mark.parametrize("several", [False, True])
def test_a_round_trip_changes_no_bit(tmp_path, several):
    X, y = data()
    fitted = model(eta=0.1, signs={"first": "+"}).fit(X, np.column_stack([y, y[::-1]]) if several else y)
    fitted.save(tmp_path / "m.json")
    loaded = PartLSRegressor.load(tmp_path / "m.json")
    for name in FITTED:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(fitted, name))
        assert np.shape(getattr(loaded, name)) == np.shape(getattr(fitted, name))
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(loaded.predict(X[NAMES[::-1]]), fitted.predict(X))
    assert loaded.status_ == fitted.status_
    assert loaded.partition_ == fitted.partition_
    assert loaded.feature_names_in_.tolist() == NAMES
    output = 1 if several else None
    assert str(loaded.summary(output=output)) == str(fitted.summary(output=output))
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()
    assert not list(tmp_path.glob("*.part"))
    with pytest.raises(InvalidInput, match='"d", which the model was fitted with'):
        loaded.predict(X.drop(columns="d"))


def test_a_loaded_model_can_be_fitted_anew(tmp_path):
    X, y = data()
    fitted = model(
        eta=2.0, penalty="l1", method=BranchAndBound(branching=MaxViolation()),
        random_state=np.random.RandomState(0),
    ).fit(X, y)
    fitted.save(tmp_path / "m.json")
    loaded = PartLSRegressor.load(tmp_path / "m.json")
    assert loaded.method == BranchAndBound(branching="max-violation")
    assert (loaded.eta, loaded.penalty, loaded.random_state) == (2.0, "l1", None)
    with pytest.raises(InvalidInput, match="holds no training data: fit it again"):
        loaded.sign_certainty()
    with pytest.raises(InvalidInput, match="holds no training data"):
        SearchProgressDisplay.from_estimator(loaded)
    assert EffectsDisplay.from_estimator(loaded).betas.tolist() == fitted.beta_.tolist()
    again = pickle.loads(pickle.dumps(loaded)).fit(X, y)
    np.testing.assert_array_equal(again.coef_, fitted.coef_)
    assert again.sign_certainty().rows[0].group == "first"


@pytest.mark.parametrize("penalize_intercept", [False, True])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_ridge_and_eta_by_group_are_kept_whatever_form_they_had(tmp_path, penalty, penalize_intercept):
    X, y = data()
    X = X / X.std()
    options = {"penalty": penalty, "ridge": 0.3, "penalize_intercept": penalize_intercept}
    own = {"(intercept)": 7.0} if penalize_intercept else {}
    forms = [{"first": 2.0, "second": 0.5, **own}, {0: 2, "second": np.float64(0.5), **own}]
    forms += [] if own else [[2.0, 0.5], np.array([2.0, 0.5])]
    for eta in forms:
        fitted = model(eta=eta, **options).fit(X, y)
        fitted.save(tmp_path / "m.json")
        loaded = PartLSRegressor.load(tmp_path / "m.json")
        assert (loaded.eta, loaded.ridge) == (forms[0], 0.3)
        again = loaded.bootstrap(3, X=X, y=y, random_state=0)  # refused if the objective were another one
        np.testing.assert_allclose(again.betas, fitted.bootstrap(3, random_state=0).betas, rtol=1e-9)
        np.testing.assert_array_equal(loaded.fit(X, y).coef_, fitted.coef_)


def test_a_strategy_may_be_an_object_with_its_options(tmp_path):
    X, y = data()
    model().fit(X, y).save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert (document["version"], document["preparation"], document["settings"]["method"]) == (2, None, "auto")
    document["settings"]["method"] = {"name": "bnb", "node_limit": 10}
    (tmp_path / "m.json").write_text(json.dumps(document), encoding="utf-8")
    loaded = PartLSRegressor.load(tmp_path / "m.json")
    assert loaded.coef_.shape == (5,)
    assert loaded.method == BranchAndBound(node_limit=10)


def test_data_without_names_stay_without(tmp_path):
    X, y = data()
    fitted = PartLSRegressor([0, 0, 1, 1, 1]).fit(X.to_numpy(), y)
    fitted.save(tmp_path / "m.json")
    loaded = PartLSRegressor.load(tmp_path / "m.json")
    assert not hasattr(loaded, "feature_names_in_")
    np.testing.assert_array_equal(loaded.predict(X.to_numpy()), fitted.predict(X.to_numpy()))
    document = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert document["columns"] is None
    assert set(document["libraries"]) == {"partls", "numpy", "scikit-learn", "python"}
    assert document["training"]["rows"] == 40


def test_what_cannot_be_written_is_named(tmp_path):
    X, y = data()
    fitted = model().fit(X, y).set_params(signs={"first": {1, 2}})
    with pytest.raises(InvalidInput, match=r"signs=\{1, 2\} cannot be written"):
        fitted.save(tmp_path / "m.json")
    assert not list(tmp_path.iterdir())


SPOILED = {
    "version": (lambda d: d.update(version=3), "has version 3 of the format, and this release of partls reads 1 to 2"),
    "version zero": (lambda d: d.update(version=0), "has version 0 of the format"),
    "version a string": (lambda d: d.update(version="1"), '"version" in the file should be int, not str'),
    "format": (lambda d: d.update(format="pickle"), "its format is not"),
    "missing": (lambda d: d.pop("targets"), 'the file has no "targets"'),
    "not finite": (lambda d: d["targets"][0].update(intercept=float("nan")), "holds NaN, and every number must be"),
    "infinite": (lambda d: d["targets"][0]["coef"].__setitem__(1, float("inf")), "holds Infinity"),
    "text": (lambda d: d["targets"][0]["coef"].__setitem__(1, "1.0"), '"coef", value 1 in target 0 is \'1.0\', not a'),
    "too many digits": (lambda d: d["targets"][0].update(intercept=10**400), "not a finite number"),
    "too few": (lambda d: d["targets"][0]["coef"].pop(), r"has 4 values instead of 5"),
    "signs": (lambda d: d["targets"][0].update(coef=[1.0, -1.0, 0.0, 0.0, 0.0]), "coefficients of both signs"),
    "bound": (lambda d: d["targets"][0].update(lower_bound=1e99), "lies above the objective"),
    "status": (lambda d: d["targets"][0].update(status="perfect"), "\"status\" in target 0 is 'perfect'"),
    "no target": (lambda d: d.update(targets=[]), r"it has 0 targets"),
    "target": (lambda d: d.update(targets=[3]), "target 0 should be a JSON object"),
    "labels": (lambda d: d["groups"].update(labels=[0, 0, 0, 0, 0]), "labels use each of 0 to 1"),
    "label": (lambda d: d["groups"].update(labels=[0, 0, 1, True, -1]), "should hold whole numbers"),
    "large label": (lambda d: d["groups"].update(labels=[0, 0, 1, 2**63, -1]), "should hold whole numbers"),
    "small label": (lambda d: d["groups"].update(labels=[0, 0, 1, -(2**64), -1]), "should hold whole numbers"),
    "renamed": (lambda d: d["columns"].__setitem__(0, "f"), "hash of the training data's shape and columns"),
    "same name": (lambda d: d["columns"].__setitem__(0, "b"), "a column name occurs twice"),
    "setting": (lambda d: d["settings"].update(lambda_=1), '"settings" holds "lambda_"'),
    "ridge missing": (lambda d: d["settings"].pop("ridge"), '"settings" has no "ridge"'),
    "ridge negative": (lambda d: d["settings"].update(ridge=-1.0), "ridge=-1.0 must be a finite number >= 0"),
    "eta of text": (lambda d: d["settings"].update(eta="2"), '"eta" in "settings" should be int or float or dict'),
    "eta of few": (lambda d: d["settings"].update(eta={"first": 1.0}), 'eta misses "second"'),
    "eta of others": (lambda d: d["settings"].update(eta={"first": 1.0, "third": 1.0}), "eta names group 'third'"),
    "eta not a number": (lambda d: d["settings"]["eta"].update(first=True), '"first" in "eta" should be int or float'),
    "strategy": (lambda d: d["settings"].update(method={"gap_tol": 1}), '"method" has no "name"'),
    "ridge in version 1": (lambda d: d.update(version=1), '"settings" holds "presolve", "ridge"'),
    "preparation": (lambda d: d.update(preparation=[]), '"preparation" in the file should be dict or null'),
    "no preparation": (lambda d: d.pop("preparation"), 'the file has no "preparation"'),
    "half a character": (lambda d: d["settings"].update(eta="\ud800"), "it is not JSON"),
}


@pytest.mark.parametrize("flaw", SPOILED)
def test_a_spoiled_file_is_refused_with_the_reason(tmp_path, flaw):
    X, y = data()
    path = tmp_path / "m.json"
    model(eta={"first": 0.5, "second": 0.0}).fit(X, y).save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    spoil, message = SPOILED[flaw]
    spoil(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InvalidInput, match=message) as refused:
        PartLSRegressor.load(path)
    assert "m.json is not a usable model" in str(refused.value)


@pytest.mark.parametrize(("content", "message"), [
    (b"", "it is not JSON"), (b"{", "it is not JSON"), (b"\xff\xfe\x00", "it is not JSON"), (b"[]", "JSON object"),
    (b'{"format": 1, "format": 2}', "a key occurs twice"), (b"[" * 100_000, "nested too deeply"),
    (pickle.dumps(Status.OPTIMAL), "it is not JSON"),
], ids=["empty", "torn", "binary", "a list", "twice", "deep", "pickle"])
def test_what_is_no_model_is_refused(tmp_path, content, message):
    (tmp_path / "m.json").write_bytes(content)
    with pytest.raises(InvalidInput, match=message):
        PartLSRegressor.load(tmp_path / "m.json")
