"""An estimator writes the proof of its final model, and verifies it against the data."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import partls
from formulations.errors import InvalidInput, VerificationError
from formulations.rows.blocks import in_blocks
from partls import PartLSRegressor, PartLSRegressorCV
from tests.oracles import brute_force

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(30, 6)), RNG.normal(size=(30, 2))
WEIGHTS = RNG.uniform(0.5, 2.0, 30)
GROUPS = [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("options", [{}, {"eta": 0.5}, {"ridge": 0.5}, {"method": "enumerate"}], ids=str)
def test_the_proof_of_a_fit_is_verified_and_agrees_with_brute_force(options: dict[str, Any], tmp_path: Path) -> None:
    model = PartLSRegressor(GROUPS, certificate=tmp_path / "proof.json", **options).fit(X, Y[:, 0])
    proved = model.verify(X, Y[:, 0])
    problem = {name: value for name, value in options.items() if name != "method"}
    best = brute_force(X, Y[:, 0], GROUPS, **problem).objective
    assert proved.objective == pytest.approx(best, rel=1e-9)
    assert best * (1 - 1e-8) <= proved.lower_bound <= best * (1 + 1e-12)
    assert model.certificate_ == tmp_path / "proof.json"


def test_the_proof_is_that_of_the_shortest_model(tmp_path: Path) -> None:
    """Repeated columns leave the coefficients open; the certificate holds those that the model has."""
    doubled = np.hstack([X, X])
    model = PartLSRegressor(GROUPS * 2, certificate=tmp_path / "proof.json").fit(doubled, Y[:, 0])
    assert model.verify(doubled, Y[:, 0]).objective == pytest.approx(model.objective_, rel=1e-14)
    document = partls.verification.document.read_certificate(tmp_path / "proof.json")
    assert document.coef == model.coef_.tolist()
    np.testing.assert_allclose(model.coef_[:6], model.coef_[6:], rtol=1e-9)


def test_each_target_has_a_proof_of_its_own(tmp_path: Path) -> None:
    model = PartLSRegressor(GROUPS, certificate=tmp_path / "proof.json.gz", signs={0: "+"})
    model.fit(sparse.csr_array(X), Y, sample_weight=WEIGHTS)
    assert model.certificate_ == (tmp_path / "proof-0.json.gz", tmp_path / "proof-1.json.gz")
    assert sorted(tmp_path.iterdir()) == sorted(model.certificate_)
    proved = model.verify(X, Y, WEIGHTS)
    assert [one.objective for one in proved] == pytest.approx(model.objective_.tolist(), rel=1e-14)
    with pytest.raises(InvalidInput, match=r"y has the shape \(30,\): the model was fitted to a y of 2 columns"):
        model.verify(X, Y[:, 0], WEIGHTS)
    for other in ((X, Y[:, ::-1], WEIGHTS), (X, Y, None), (X + 1e-9, Y, WEIGHTS)):
        with pytest.raises(VerificationError, match="other data, groups or weights"):
            model.verify(*other)


def test_the_columns_of_a_frame_are_found_by_name(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = PartLSRegressor({"p": ["a", "b", "c"], "q": ["d", "e", "f"]}, certificate=str(tmp_path / "proof.json"))
    model.fit(frame, Y[:, 0])
    assert model.verify(frame[list("fedcba")], pd.Series(Y[:, 0])) == model.verify(frame, Y[:, 0])


def test_cross_validation_writes_the_proof_of_the_final_model(tmp_path: Path) -> None:
    model = PartLSRegressorCV(GROUPS, etas=[10.0, 1.0, 0.0], ridges=[0.0], cv=2, certificate=tmp_path / "proof.json")
    proved = model.fit(X, X @ np.ones(6) + Y[:, 0]).verify(X, X @ np.ones(6) + Y[:, 0])
    assert proved.problem.eta == [model.eta_] * 3
    assert proved.objective == pytest.approx(model.objective_, rel=1e-14)


def test_copies_verify_and_saved_models_say_that_they_have_no_proof(tmp_path: Path) -> None:
    model = PartLSRegressor(GROUPS, certificate=tmp_path / "proof.json").fit(X, Y[:, 0])
    assert pickle.loads(pickle.dumps(model)).verify(X, Y[:, 0]) == model.verify(X, Y[:, 0])
    assert clone(model).certificate == model.certificate
    model.save(tmp_path / "model.json")
    for other in (PartLSRegressor.load(tmp_path / "model.json"), PartLSRegressor(GROUPS).fit(X, Y[:, 0])):
        with pytest.raises(InvalidInput, match="no certificate to verify: fit the model with certificate=path"):
            other.verify(X, Y[:, 0])


def test_what_cannot_be_proved_is_refused_before_the_fit(tmp_path: Path) -> None:
    for options, told in (
        ({"method": "alternating", "certificate": tmp_path / "proof.json"}, "certificate is for the exact methods"),
        ({"certificate": tmp_path / "nowhere" / "proof.json"}, "the folder has to exist"),
        ({"certificate": 3}, "certificate=3 must be None or the path"),
    ):
        with pytest.raises(InvalidInput, match=told):
            PartLSRegressor(GROUPS, **options).fit(X, Y[:, 0])
    blocks = da.from_array(X, chunks=(10, 6))
    assert in_blocks(blocks)
    with pytest.raises(InvalidInput, match="certificate needs every row of X in memory"):
        PartLSRegressor(GROUPS, certificate=tmp_path / "proof.json").fit(blocks, Y[:, 0])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device"), TimeoutError("late")])
def test_the_model_outlives_its_proof(
    failure: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model = PartLSRegressor(GROUPS, certificate=tmp_path / "proof.json").fit(X, Y[:, 0])

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr("partls.prove.certificate.certify", fail)
    with caplog.at_level(logging.WARNING):
        model.fit(X, Y[:, 1])
    assert model.status_ is partls.Status.OPTIMAL
    assert "proof.json is not written" in caplog.text
    with pytest.raises(InvalidInput, match="no certificate to verify"):  # the file is that of the first fit
        model.verify(X, Y[:, 1])
