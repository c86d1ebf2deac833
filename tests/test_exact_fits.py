"""Data that are fitted exactly, or nearly: rounding is told as rounding, and what is more than that as what it is."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result
from vega_datasets import data as datasets

import partls
import relaxations
from partls import Instance, PartLSRegressor, explain
from partls.cli import app
from partls.plotting import SignCertaintyDisplay
from partls.report import write_report
from partls.report.proof import proof
from tests.oracles import brute_force, sign_constrained

EXACT = "the data are fitted exactly (up to rounding)"
TOTALS = ["private", "goods_producing", "service_providing", "private_service_providing"]
GOODS = ["mining_and_logging", "construction", "manufacturing", "durable_goods", "nondurable_goods"]
LEFT_OUT = ["month", "nonfarm", "nonfarm_change"]
LABELS = (0, 0, 1, 1, 2)
HUGE = re.compile(r"[\d.]+e\+?\d+%|\d{5,}\.\d+%")  # a percentage of next to nothing


def employment() -> tuple[pd.DataFrame, pd.Series, dict[str, list[str]]]:
    """Employment by sector, whose columns add up: the target is the sum of some, in several ways."""
    frame = datasets.us_employment()
    sectors = [name for name in frame.columns if name not in [*TOTALS, *GOODS, *LEFT_OUT, "government"]]
    groups = {"total": TOTALS, "goods": GOODS, "services": sectors, "state": ["government"]}
    return frame.drop(columns=LEFT_OUT), frame["nonfarm"], groups


@pytest.fixture(scope="module")
def model() -> PartLSRegressor:
    X, y, groups = employment()
    return PartLSRegressor(groups).fit(X, y)


def noisy(part: float, *, small: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return data whose residual is a given part of the target's norm; ``small`` scales the last group's effect."""
    rng = np.random.default_rng(17)
    X = rng.normal(size=(20, 5))
    columns, noise = np.column_stack([X, np.ones(20)]), rng.normal(size=20)
    noise -= columns @ np.linalg.lstsq(columns, noise, rcond=None)[0]
    y = X @ [1.0, 2.0, -1.0, -0.5, small]
    return X, y + part * np.linalg.norm(y) / np.linalg.norm(noise) * noise


def told(model: PartLSRegressor) -> str:
    """Everything that a model says of itself in words."""
    reports = model.summary(), model.sign_certainty(), model.price_of_constraint(), model.result_
    return "\n".join(map(str, reports))


def test_signs_of_an_exact_sum_are_ties_where_they_can_be(model):
    """A flip costs nothing if the remaining columns span the target with the other sign, to 1e-11 of it."""
    X, y, groups = employment()
    values, target = X.to_numpy(float), y.to_numpy(float)
    labels = np.array([list(groups).index(g) for name in X for g, members in groups.items() if name in members])
    scales = np.linalg.norm(values, axis=0)
    found = brute_force(values / scales, target / np.linalg.norm(target), labels).objectives
    fits = {signs for signs, value in found.items() if value <= 1e-22}
    assert all(value > 1e-14 for signs, value in found.items() if signs not in fits)
    certainty = model.sign_certainty()
    assert certainty.exact_fit and certainty.complete
    assert {tie.signs.values for tie in certainty.near_ties} == fits
    for k, row in enumerate(certainty.rows):
        free = row.sign == 0 or any(signs[k] == -row.sign for signs in fits)
        assert row.increase == (0.0 if free else np.inf)
    price = model.price_of_constraint()
    assert (price.price, price.exact_fit) == (0.0, True)
    assert all((row.gain, row.gain_share, row.against) == (0.0, 0.0, ()) for row in price.rows)


def test_words_about_an_exact_fit_have_no_share_of_rounding(model):
    words = told(model)
    assert words.count(EXACT) == 3
    assert "columns move against each other at no cost" in words
    assert not HUGE.search(words) and "e-19" not in str(model.summary())
    assert "exact fit (up to rounding)" in str(model.result_)


def test_the_page_of_an_exact_fit(model, tmp_path):
    text = write_report(model, tmp_path / "page.html", time_limit=None).read_text(encoding="utf-8")
    figures = json.loads(re.search(r'id="figures"[^>]*>(.*?)</script>', text, re.DOTALL).group(1))
    assert figures["proof"]["exact_fit"] and figures["proof"]["proved"]
    assert figures["proof"]["meaning"].startswith("The data are fitted exactly (up to rounding): no model can be")
    assert figures["price"]["price"] == 0
    assert {group["flip"]["increase"] for group in figures["groups"] if group["flip"]} == {0}


def test_the_picture_of_an_exact_fit(model):
    display = SignCertaintyDisplay.from_estimator(model)
    written = [text.get_text() for text in display.ax_.texts]
    assert written.count("exact as well") == 4
    assert "%" not in "".join(written)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    X, y, groups = employment()
    X.assign(nonfarm=y).to_csv("jobs.csv", index=False)
    lines = [f"{name} = {json.dumps(members)}" for name, members in groups.items()]
    Path("groups.toml").write_text("[groups]\n" + "\n".join(lines), encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result


def test_the_commands_on_an_exact_fit(folder):
    data = ("jobs.csv", "--target", "nonfarm", "--groups", "groups.toml")
    shown = " ".join(run("fit", *data, "--out", "model.json", "--certificate", "proof.json").stdout.split())
    assert EXACT in shown and "columns move against each other at no cost" in shown
    explained = run("explain", "model.json", "jobs.csv").stdout
    assert explained.count(EXACT) == 3 and not HUGE.search(explained)
    verified = run("verify", "proof.json", *data).stdout
    assert "it fits the data exactly (up to rounding), and no objective is below zero" in " ".join(verified.split())
    compared = " ".join(run("compare", *data, "--relaxation", "active-set").stdout.split())
    assert "no gap to close" in compared and "tie (up to rounding)" in compared


@pytest.mark.parametrize("part", [1e-15, 1e-13, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-4])
def test_nearly_exact_fits_are_told_by_what_they_are(part):
    """Residuals of less than 1e-11 of the target are rounding; larger ones have flips with figures of their own."""
    X, y = noisy(part, small=3 * part)
    truth = brute_force(X, y, LABELS).objectives
    best = min(truth.values())
    certainty = PartLSRegressor(LABELS).fit(X, y).sign_certainty()
    assert certainty.exact_fit == (part <= 1e-12)
    row = certainty.rows[2]  # its effect is as small as the residual
    flipped = min(value for signs, value in truth.items() if signs[2] == -row.sign)
    if certainty.exact_fit:
        assert row.increase == 0.0 and len(certainty.near_ties) == 2
        assert certainty.rows[0].increase == certainty.rows[1].increase == np.inf
    else:
        assert row.increase == pytest.approx(flipped / best - 1, rel=max(1e-6, 1e-21 / part**2))
        assert row.increase > 0.01 and len(certainty.near_ties) == 1


def test_a_gap_that_vanishes_beside_the_target_only_is_told_so():
    """At a residual of 1e-7 of the target, half the objective is nothing beside the target, and yet half of it."""
    X, y = noisy(1e-7)
    result = partls.solve(X, y, LABELS, fit_intercept=False)
    loose = replace(result, lower_bound=result.objective / 2)
    assert (loose.gap, loose.told_gap) == (0.0, "gap 5e-15 of ||y||^2")
    assert "gap 5e-15 of ||y||^2" in str(loose) and "gap 5e-15 of ||y||^2" in explain.facts_of(loose).certificate
    assert "the certified lower bound is within 5e-15 of the target's squared size" in proof(loose, None)["meaning"]
    assert "the certified lower bound meets its objective" in proof(partls.solve(*noisy(0.1), LABELS), None)["meaning"]


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1.0, 1e100, 1e150])
@pytest.mark.parametrize("part", [0.0, 1e-6, 0.3])
def test_units_of_the_target_change_no_statement(scale, part):
    X, y = noisy(part)
    plain, other = (PartLSRegressor(LABELS).fit(X, target).sign_certainty() for target in (y, y * scale))
    assert plain.exact_fit == other.exact_fit == (part == 0.0)
    assert [row.increase for row in other.rows] == pytest.approx([row.increase for row in plain.rows], rel=1e-3)
    assert len(other.near_ties) == len(plain.near_ties) == 1


@pytest.mark.parametrize("y", [np.zeros(20), np.full(20, 0.1), np.full(20, 1e6 / 3)], ids=["zero", "0.1", "a third"])
def test_a_target_without_variation_is_fitted_exactly_by_every_pattern(y):
    model = PartLSRegressor(LABELS).fit(noisy(0.0)[0], y)
    certainty, summary = model.sign_certainty(), model.summary()
    assert certainty.exact_fit and len(certainty.near_ties) == 8
    assert {row.increase for row in certainty.rows} == {0.0}
    assert summary.r_squared == 0 and {row.variance_share for row in summary.rows} == {0.0}
    assert "inf" not in told(model) and "nan" not in told(model)


def test_one_row_and_fewer_rows_than_columns_are_fitted_exactly():
    X, y = noisy(0.5)
    for n_rows in (1, 3):
        model = PartLSRegressor(LABELS).fit(X[:n_rows], y[:n_rows])
        assert model.sign_certainty().exact_fit
        assert EXACT in told(model) and not HUGE.search(told(model))


def test_an_exact_fit_without_the_constraint_has_no_share_either():
    X, y = noisy(0.0)
    model = PartLSRegressor([0] * 5).fit(X, y)  # the true coefficients have both signs
    price = model.price_of_constraint()
    assert price.price == np.inf and not price.exact_fit
    assert sign_constrained(X, y, [0] * 5).objective <= 1e-28
    assert "without constraints the data are fitted exactly (up to rounding)" in " ".join(str(price).split())
    assert "inf" not in str(price)
    assert price.rows[0].gain_share == pytest.approx(1.0)


def test_a_tie_of_relaxation_and_optimum_leaves_no_gap():
    X, y = noisy(0.0)
    compared = relaxations.compare(Instance(X, y, LABELS), relaxations=["active-set"])
    assert compared.tie and np.isnan(compared.rows[0].gap_closed)
    X, y = noisy(1e-7)
    labels = [0, 0, 0, 1, 1]  # against its signs: a gap
    assert not relaxations.compare(Instance(X, y, labels), relaxations=["active-set"]).tie


def test_no_certified_bound_is_below_zero(tmp_path):
    X, y = noisy(0.0)
    partls.solve(X, y, LABELS, certificate=tmp_path / "proof.json")
    proved = partls.verify(tmp_path / "proof.json", X, y, LABELS)
    assert proved.lower_bound == 0.0 and proved.fits_exactly
    assert "fits the data exactly" in str(proved) and "-5e-324" not in str(proved)


def test_an_exact_fit_is_told_of_plain_results_too():
    X, y = noisy(0.0)
    result = partls.solve(X, y, LABELS)
    assert "an exact fit (up to rounding)" in str(result)
    assert explain.sign_certainty(result).exact_fit
    assert "gap" in str(partls.solve(*noisy(0.1), LABELS))
