"""The report holds the model's own figures, says what was proved, and lets no name out of its place."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import partls
from partls import Instance, InvalidInput, PartLSRegressor, Result, Status
from partls.explain import price_of_constraint, sign_certainty
from partls.report import document, write_report
from partls.runtime.progress import SearchState
from tests.hostile import NAMES

GROUPS = ["a", "a", "b", "b", "b", "c", "d", "d"]


class Page(HTMLParser):
    """The elements, links and embedded figures of a page, as a browser would find them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.links: list[str] = []
        self.texts: dict[str, str] = {}
        self._inside = ""
        self.feed(text)
        self.figures = json.loads(self.texts["figures"])

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.links += [found[name] for name in ("src", "href") if name in found]
        self.events = [name for name, _ in attrs if name.startswith("on")]
        assert not self.events
        self.csp = found["content"] if found.get("http-equiv") else getattr(self, "csp", None)
        self._inside = found.get("id", tag)

    def handle_data(self, data):
        self.texts[self._inside] = self.texts.get(self._inside, "") + data

    def handle_endtag(self, tag):
        self._inside = ""


def data(seed: int = 0, n_rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([7, seed])
    X = rng.normal(size=(n_rows, len(GROUPS))) + rng.normal(size=(n_rows, 1)) + 1.0
    return X, X @ rng.normal(size=len(GROUPS)) + 2.0 + 4.0 * rng.normal(size=n_rows)


def read(path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def model() -> PartLSRegressor:
    return PartLSRegressor(GROUPS).fit(*data())


def test_the_figures_are_the_models(model, tmp_path):
    X, y = data()
    figures = read(model.report(tmp_path / "page.html")).figures
    groups = {group["name"]: group for group in figures["groups"]}
    assert sorted(groups) == ["a", "b", "c", "d"]
    certainty, price = sign_certainty(model.result_), price_of_constraint(model.result_)
    for k, name in enumerate(model.group_names_):
        assert groups[name]["beta"] == model.beta_[k]
        assert groups[name]["sign"] == model.signs_[k]
        assert groups[name]["flip"]["increase"] == pytest.approx(certainty.rows[k].increase, rel=1e-9)
        assert groups[name]["gain"] == pytest.approx(price.rows[k].gain_share, rel=1e-9)
    assert {f["name"]: (f["alpha"], f["coef"]) for f in figures["features"]} == {
        f"x{j}": (model.alpha_[j], model.coef_[j]) for j in range(len(GROUPS))
    }
    assert figures["price"]["price"] == pytest.approx(price.price, rel=1e-9)
    assert figures["fit"]["r_squared"] == pytest.approx(model.score(X, y), rel=1e-12)
    assert len(figures["certainty"]["ties"]) == len(certainty.near_ties)
    rows = figures["rows"]
    assert rows["number"] == list(range(61))
    assert rows["actual"][1:] == y.tolist()
    assert rows["predicted"][1:] == pytest.approx(model.predict(X), rel=1e-12)
    assert rows["predicted"][0] == pytest.approx(model.predict(X.mean(axis=0, keepdims=True))[0], rel=1e-12)
    assert np.sum(rows["parts"], axis=1) + model.intercept_ == pytest.approx(np.array(rows["predicted"]), rel=1e-9)
    place = [int(feature["name"][1:]) for feature in figures["features"]]
    assert np.array(rows["x"][1:]).tolist() == X[:, place].tolist()
    assert sum(figures["residuals"]["counts"]) == 60
    assert dict(figures["versions"])["partls"] == partls.__version__
    assert dict(figures["settings"])["gap_tol"] == "1e-09"


def test_the_settings_say_ridge_and_the_eta_of_each_group(tmp_path):
    eta = {"a": 2.0, "b": 0.0, "c": 0.25, "d": 1e-3, "(intercept)": 7.0}
    model = PartLSRegressor(GROUPS, eta=eta, ridge=0.5, penalize_intercept=True).fit(*data())
    for subject in (model, model.result_):
        settings = dict(read(write_report(subject, tmp_path / "page.html")).figures["settings"])
        assert settings["ridge"] == "0.5" and settings["eta"] == "by group"
        assert {f"eta of {name}": f"{value:g}" for name, value in eta.items()}.items() <= settings.items()
    simple = PartLSRegressor(GROUPS, eta=2).fit(*data())
    plain = dict(read(write_report(simple, tmp_path / "plain.html")).figures["settings"])
    assert (plain["eta"], plain["ridge"]) == ("2.0", "0.0") and not any("eta of" in name for name in plain)


def test_standardised_columns_are_moved_in_their_own_units(tmp_path):
    X, y = data()
    centre, scale = X.mean(axis=0), X.std(axis=0)
    model = PartLSRegressor(GROUPS).fit((X - centre) / scale, y)
    figures = read(write_report(model, tmp_path / "page.html", units=(centre, scale))).figures
    place = [int(feature["name"][1:]) for feature in figures["features"]]
    np.testing.assert_allclose(figures["rows"]["x"], np.vstack([centre, X])[:, place], rtol=1e-12, atol=1e-12)
    for j, feature in zip(place, figures["features"], strict=True):
        assert feature["coef"] == model.coef_[j]
        assert feature["slope"] == pytest.approx(model.coef_[j] / scale[j], rel=1e-12)
        assert (feature["low"], feature["high"]) == pytest.approx((X[:, j].min(), X[:, j].max()), rel=1e-12)
    assert figures["standardised"] is True
    assert read(write_report(model, tmp_path / "page.html")).figures["standardised"] is False


def test_a_small_search_is_told_node_by_node(model, tmp_path):
    search = read(model.report(tmp_path / "page.html")).figures["search"]
    best, bound = np.array([state[2:] for state in search["states"]]).T
    assert search["replayed"] == len(search["states"])
    assert [best[-1], bound[-1]] == pytest.approx([model.objective_] * 2, rel=1e-8)
    assert (np.diff(best) <= 0).all() and (np.diff(bound) >= 0).all() and (bound <= best).all()


def test_a_longer_search_is_told_from_its_first_nodes(tmp_path, monkeypatch):
    monkeypatch.setattr(document, "MAX_REPLAY", 240)
    rng = np.random.default_rng([5, 9])
    X = rng.normal(size=(60, 24)) + 2.0 * rng.normal(size=(60, 1))
    model = PartLSRegressor(np.arange(24) % 8).fit(X, X @ rng.normal(size=24) + 9 * rng.normal(size=60))
    search = read(model.report(tmp_path / "page.html")).figures["search"]
    assert search["replayed"] == 10
    assert len(search["states"]) == 11
    assert search["states"][-1][2:] == [model.objective_, model.lower_bound_]


def test_a_recorded_search_is_shown_as_it_went(model, tmp_path):
    bounds = [-np.inf, *(5.0 + 0.001 * np.arange(1, 900))]
    history = [SearchState(10 * i, 1, 9.0 - 0.001 * i, bound, 0.1 * i) for i, bound in enumerate(bounds)]
    search = read(write_report(model.result_, tmp_path / "page.html", history=history)).figures["search"]
    assert not search["replayed"]
    assert search["states"][0] == [0, 0.0, 9.0, None]
    assert search["states"][-1] == [8990, pytest.approx(89.9), pytest.approx(8.101), pytest.approx(5.899)]
    assert len(search["states"]) == 500


def test_names_stay_text(tmp_path):
    X, y = data()
    names = NAMES[: len(GROUPS)]
    frame = pd.DataFrame(X, columns=names)
    groups = {name: [names[2 * k], names[2 * k + 1]] for k, name in enumerate(NAMES[5:9])}
    plain = read(PartLSRegressor(GROUPS).fit(X, y).report(tmp_path / "plain.html"))
    path = PartLSRegressor(groups).fit(frame, y).report(tmp_path / "page.html", title=NAMES[1], target=NAMES[0])
    page = read(path)
    assert page.tags == plain.tags
    assert page.texts["title"] == page.texts["h1"] == page.figures["title"] == NAMES[1]
    assert sorted(feature["name"] for feature in page.figures["features"]) == sorted(names)
    whole = [name.encode("utf-8", "replace").decode() for name in groups]
    assert sorted(group["name"] for group in page.figures["groups"]) == sorted(whole)
    assert page.figures["target"] == NAMES[0]


def test_the_page_asks_the_network_for_nothing(model, tmp_path):
    path = model.report(tmp_path / "page.html")
    page = read(path)
    assert {link for link in page.links if not link.startswith("#")} == {"data:,"}
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert "//" not in text.split("<script>")[0].replace("<!doctype", "")
    assert "http" not in text.replace("http-equiv", "")
    assert "url(" not in text
    script = text_between(path.read_text(encoding="utf-8"), "<script>", "</script>")
    style = text_between(path.read_text(encoding="utf-8"), "<style>", "</style>")
    for part in (script, style):
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in page.csp
    assert "default-src 'none'" in page.csp
    assert "innerHTML" not in script and "eval(" not in script


def text_between(text: str, begin: str, end: str) -> str:
    return text.split(begin, 1)[1].split(end, 1)[0]


def test_large_data_are_sampled(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1600))
    names = [f"feature {'é' * 90} {j}" for j in range(1600)]
    labels = np.arange(1600) % 300
    coef = rng.exponential(size=1600) * rng.choice([-1.0, 1.0], 300)[labels]
    instance = Instance(X, X @ coef + rng.normal(size=2000), labels, columns=names)
    objective = instance.objective(coef, 0.5)
    result = Result(instance, coef, 0.5, objective, -np.inf, Status.HEURISTIC, "alternating", 0, 0.1)
    path = write_report(result, tmp_path / "page.html", time_limit=0)
    figures = read(path).figures
    assert path.stat().st_size < 1.5e6
    assert len(figures["groups"]) == 200 and len(figures["features"]) <= 1500 and figures["moved"] == 200
    assert 50 < len(figures["rows"]["number"]) < 2000
    assert figures["fit"]["n_rows"] == 2000 and sum(figures["residuals"]["counts"]) == 2000
    assert figures["price"] is None and figures["certainty"] is None
    assert all(len(feature["name"]) <= 100 for feature in figures["features"])
    predicted = result.predict(X)
    numbers = figures["rows"]["number"][1:]
    assert figures["rows"]["predicted"][1:] == pytest.approx(predicted[np.array(numbers) - 1], rel=1e-12)


@pytest.mark.parametrize(
    ("status", "bound", "verdict", "words"),
    [
        (Status.OPTIMAL, 1.0, "Proven optimal", "Of the 16 ways to give each group one sign, none fits better"),
        (Status.GAP_REACHED, 0.97, "Proven to within 3%", "more than 3% lower"),
        (Status.PRECISION_LIMIT, 0.99999, "Proven to within 1.0e-05 of its value", "rounding leaves a margin"),
        (Status.TIME_LIMIT, 0.9, "Not proven optimal", "stopped by its time limit"),
        (Status.NODE_LIMIT, 0.9, "Not proven optimal", "can have an objective more than 10% lower"),
        (Status.INTERRUPTED, 0.9, "Not proven optimal", "was interrupted"),
        (Status.HEURISTIC, -np.inf, "Not proven optimal", "how far it is from the optimum is not known"),
    ],
)
def test_the_proof_in_words(model, tmp_path, status, bound, verdict, words):
    result = replace(model.result_, status=status, lower_bound=bound * model.objective_)
    proof = read(write_report(result, tmp_path / "page.html")).figures["proof"]
    assert proof["verdict"] == verdict
    assert words in proof["meaning"]
    assert proof["proved"] == (status is Status.OPTIMAL)
    assert proof["audit"].startswith("Audit passed")


def test_a_failed_audit_is_told(model, tmp_path):
    result = replace(model.result_, objective=1.01 * model.objective_)
    assert "Audit FAILED" in read(write_report(result, tmp_path / "page.html")).figures["proof"]["audit"]


def test_signs_given_beforehand_are_told(tmp_path):
    wrong = {"a": "-" if PartLSRegressor(GROUPS).fit(*data()).signs_[0] > 0 else "+"}
    model = PartLSRegressor(GROUPS, signs=wrong).fit(*data())
    figures = read(model.report(tmp_path / "page.html")).figures
    assert "that keeps the signs given beforehand" in figures["proof"]["meaning"]
    assert figures["search"]["states"][-1][2] == pytest.approx(model.objective_, rel=1e-8)


def test_a_sign_that_could_be_the_other_is_no_direction(tmp_path):
    """Codes of a text column beside an intercept, and an ordinary group: only that one pushes up or down."""
    rng = np.random.default_rng(5)
    codes = (rng.integers(0, 3, 60)[:, None] == np.arange(3)).astype(float)
    X = np.column_stack([codes, rng.normal(size=60)])
    model = PartLSRegressor(["town"] * 3 + ["size"]).fit(X, X @ [1.0, 4.0, 2.0, 3.0] + rng.normal(size=60))
    figures = read(model.report(tmp_path / "page.html")).figures
    assert {group["name"]: group["either"] for group in figures["groups"]} == {"town": True, "size": False}
    assert figures["proof"]["open"] == list(model.result_.ambiguities.lines)
    assert any('fits equally well for 1 group, "town"' in line for line in figures["proof"]["open"])


@pytest.mark.parametrize("case", ["perfect", "constant", "one row", "one group", "free columns", "weights and l1"])
def test_hard_cases_make_a_page(case, tmp_path):
    X, y = data(1, 30)
    options, fitting = {"groups": GROUPS}, {}
    if case == "perfect":
        y = X @ np.ones(8)
    elif case == "constant":
        y = np.full(30, 3.0)
    elif case == "one row":
        X, y = X[:2], y[:2]
    elif case == "one group":
        options = {"groups": None}
    elif case == "free columns":
        options = {"groups": {"a": [0, 1, 2]}, "ungrouped": "free"}
    else:
        options |= {"penalty": "l1", "eta": 5.0}
        fitting = {"sample_weight": np.linspace(0.0, 2.0, 30)}
    model = PartLSRegressor(**options).fit(X, y, **fitting)
    figures = read(model.report(tmp_path / "page.html")).figures  # json.loads: no NaN, no infinity
    assert figures["fit"]["r_squared"] == pytest.approx(model.score(X, y, **fitting), abs=1e-9) or case == "constant"
    if case == "free columns":
        (free,) = [group for group in figures["groups"] if group["sign"] is None]
        assert free["size"] == 5
    parts = np.sum(figures["rows"]["parts"], axis=1) + model.intercept_
    assert parts == pytest.approx(np.array(figures["rows"]["predicted"]), abs=1e-9)


def test_one_of_several_targets(tmp_path):
    X, y = data()
    model = PartLSRegressor(GROUPS).fit(X, np.column_stack([y, -y]))
    with pytest.raises(InvalidInput, match="2 target"):
        model.report(tmp_path / "page.html")
    figures = read(model.report(tmp_path / "page.html", output=1)).figures
    assert figures["rows"]["actual"][1:] == (-y).tolist()


def test_the_page_explains_its_words_as_the_glossary_does():
    root = Path(__file__).resolve().parents[1]
    shown = (root / "partls" / "report" / "assets" / "page.html").read_text(encoding="utf-8")
    glossary = (root / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = dict(re.findall(r"^\| ([^|]+) \|[^|]*\| ([^|]+) \|$", glossary, re.MULTILINE))
    explained = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", shown)
    assert len(explained) > 10
    assert {term: html.unescape(words) for term, words in explained} == {term: terms[term] for term, _ in explained}


def test_what_cannot_be_reported_is_refused(model, tmp_path):
    with pytest.raises(InvalidInput, match="not a list"):
        write_report([], tmp_path / "page.html")
    with pytest.raises(InvalidInput, match="cannot be written"):
        model.report(tmp_path / "nowhere" / "page.html")
    with pytest.raises(InvalidInput, match="time_limit"):
        model.report(tmp_path / "page.html", time_limit=-1)
    model.save(tmp_path / "model.json")
    with pytest.raises(InvalidInput, match="no training data"):
        PartLSRegressor.load(tmp_path / "model.json").report(tmp_path / "page.html")


@pytest.mark.parametrize(
    ("case", "options"),
    [
        ("bnb", {}), ("perspective", {"relaxation": "perspective"}), ("parts", {}),
        ("enumerate", {"method": "enumerate"}),
    ],
)
def test_what_became_of_the_nodes_adds_up(case, options, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 24)), rng.normal(size=60)
    if case == "parts":
        X[:30, :12], X[30:, 12:] = 0.0, 0.0
    result = partls.solve(X, y, [j // 3 for j in range(24)], fit_intercept=False, **options)
    page = read(write_report(result, tmp_path / "page.html", time_limit=0))
    *ends, (words, total) = page.figures["search"]["closing"]
    assert words == "in all" and sum(n for _, n in ends) == total >= result.n_nodes
    closed = sum(n for end, n in ends if "split" not in end)
    n_trees = len(result.presolve.parts) if case == "parts" else 1
    if case == "enumerate":
        assert total == closed == 2**8
    else:
        assert total == 2 * closed - n_trees  # each split has two halves
