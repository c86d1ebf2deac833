"""Files that earlier versions wrote are still read: models, certificates and checkpoints.

The files in ``tests/earlier_versions`` are kept as they were written; ``0.1`` is the version that wrote them. The data
are whole numbers, so that the digests inside the files hold on every machine.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import partls
from partls import PartLSRegressor, Status
from partls.verification.document import read_certificate
from tests.oracles import brute_force

FILES = Path(__file__).resolve().parent / "earlier_versions"
LABELS = [0, 0, 1, 1, 2, 2, 3, 3]
GROUPS = {"a": [0, 1], "b": [2, 3], "c": [4, 5], "d": [6, 7]}


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2024)
    X = rng.integers(-9, 10, size=(30, 8)).astype(float)
    return X, (X @ rng.integers(-3, 4, size=8) + rng.integers(-20, 21, size=30)).astype(float)


def large() -> tuple[np.ndarray, np.ndarray, list[int]]:
    """A problem whose tree has more than 40 nodes."""
    rng = np.random.default_rng(2025)
    X = rng.integers(-9, 10, size=(160, 110)).astype(float)
    return X, rng.integers(-20, 21, size=160).astype(float), [i % 22 for i in range(110)]


@pytest.mark.parametrize("name", ["model-0.1.json", "model-several-0.1.json"])
def test_a_model_file_predicts_what_a_new_fit_predicts(name):
    X, y = data()
    several = "several" in name
    loaded = PartLSRegressor.load(FILES / name)
    fresh = PartLSRegressor(GROUPS, eta=0.5, signs={"a": "+"}).fit(X, np.column_stack([y, y[::-1]]) if several else y)
    np.testing.assert_allclose(loaded.predict(X), fresh.predict(X), rtol=1e-9, atol=1e-9)
    assert loaded.get_params()["eta"] == 0.5
    assert loaded.get_params()["signs"] == {"a": "+"}


@pytest.mark.parametrize("name", ["certificate-0.1.json", "certificate-strengthened-0.1.json"])
def test_a_certificate_still_proves_the_optimum(name):
    X, y = data()
    eta = 1e4 if "strengthened" in name else 0.0
    answer = partls.verify(FILES / name, X, y, LABELS)
    assert answer.objective == pytest.approx(brute_force(X, y, tuple(LABELS), eta=eta).objective, rel=1e-9)


def test_a_certificate_of_ridge_and_an_eta_of_each_group_still_proves_the_optimum():
    X, y = data()
    path, eta = FILES / "certificate-penalties-0.1.json", [500.0, 0.0, 3.0, 0.5]
    answer = partls.verify(path, X, y, LABELS)
    expected = brute_force(X, y, tuple(LABELS), eta=eta, ridge=2.0, penalize_intercept=True, eta_intercept=4.0)
    assert answer.objective == pytest.approx(expected.objective, rel=1e-9)
    assert (answer.problem.eta, answer.problem.eta_intercept, answer.problem.ridge) == (eta, 4.0, 2.0)
    claim = read_certificate(path)
    assert claim.strategy is not None and claim.strategy.options == {"branching": "strong"}
    assert claim.preparation == {"target": "price", "groups": GROUPS}


def test_a_search_goes_on_from_a_checkpoint(tmp_path):
    X, y, labels = large()
    path = tmp_path / "checkpoint.json"
    shutil.copy(FILES / "checkpoint-0.1.json", path)
    resumed = partls.solve(X, y, labels, method="bnb", checkpoint=path)
    fresh = partls.solve(X, y, labels, method="bnb")
    assert resumed.status is Status.OPTIMAL
    assert resumed.objective == pytest.approx(fresh.objective, rel=1e-9)
    assert resumed.n_nodes > 40  # the nodes of the first run are counted
