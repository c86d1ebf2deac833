"""What a model of folded rows says of its data: the number of the rows themselves, or what to do.

``MATRIX`` is the table of ``docs/dask.md``. Each cell is compared with NumPy and brute force on the original rows, for
data handed over in nine ways, for one and two targets, for a fitted, a pickled and a loaded model.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

import partls
import relaxations
from formulations import Instance
from formulations.compact import compact
from formulations.rows.equivalent_rows import equivalent_rows
from formulations.rows.reweighted_blocks import draw_counts
from partls import InvalidInput, PartLSRegressor, PartLSRegressorCV
from partls.explain import bootstrap
from partls.plotting import (
    ContributionsDisplay,
    EffectsDisplay,
    SearchProgressDisplay,
    SearchTreeDisplay,
    SharesDisplay,
    SignCertaintyDisplay,
)
from partls.report import write_report
from tests.oracles import brute_force
from tests.test_cli import document, message
from tests.test_equivalent_rows import chunks
from tests.test_report import read

N, NAMES, TARGETS, LABELS, ETA = 200, list("abcde"), ["y", "z"], [0, 0, 1, 1, 2], 3.0
BLOCK = 60  # rows of each block, 20 in the last
CLOSE, LOOSE = {"rel": 1e-8, "abs": 1e-10}, {"rel": 1e-6, "abs": 1e-8}


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield
    plt.close("all")


@cache
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    frame = pd.DataFrame(rng.normal([5, 0, -3, 1, 20], size=(N, 5)), columns=NAMES)
    frame["y"] = frame[NAMES] @ [1.0, 2.0, -1.0, 0.3, 0.5] + 2 * rng.normal(size=N) + 30
    frame["z"] = frame[NAMES] @ [0.1, -2.0, 1.0, 1.3, -0.5] + rng.normal(size=N)
    return frame.assign(w=rng.integers(0, 4, N).astype(float))


X, WEIGHTS = rows()[NAMES].to_numpy(), rows()["w"].to_numpy()


def y_of(n_targets: int) -> np.ndarray:
    return rows()["y"].to_numpy() if n_targets == 1 else rows()[TARGETS].to_numpy()


# How the data are handed over: (X, y, weights)

IN_MEMORY = ("arrays", "pandas", "polars", "sparse")
IN_BLOCKS = ("dask arrays", "dask sparse", "dask frames", "parquet")
SOURCES = (*IN_MEMORY, *IN_BLOCKS, "folded by hand")


def given(source: str, n_targets: int, folder: Path) -> tuple[Any, Any, Any]:
    y, frame = y_of(n_targets), rows()
    names = "y" if n_targets == 1 else TARGETS
    blocks = dd.from_map(lambda start: frame.iloc[start : start + BLOCK], range(0, N, BLOCK), meta=frame.iloc[:0])
    dask_rows = da.from_array(X, chunks=(BLOCK, 2)), da.from_array(y, chunks=(BLOCK, *y.shape[1:]))
    if source == "parquet":
        table = pa.Table.from_pandas(frame.drop(columns="z"))
        parquet.write_table(table, folder / "rows.parquet", row_group_size=BLOCK)
        return folder, "y", "w"
    if source == "folded by hand":
        assert n_targets == 1
        return equivalent_rows(chunks(X, y, WEIGHTS), 5), None, None
    return {
        "arrays": lambda: (X, y, WEIGHTS),
        "pandas": lambda: (frame[NAMES], frame[names], frame["w"]),
        "polars": lambda: (pl.DataFrame(frame[NAMES]), y, WEIGHTS),
        "sparse": lambda: (sparse.csr_matrix(X), y, WEIGHTS),
        "dask arrays": lambda: (*dask_rows, da.from_array(WEIGHTS, chunks=BLOCK)),
        "dask sparse": lambda: (dask_rows[0].rechunk((BLOCK, 5)).map_blocks(sparse.csr_matrix), y, WEIGHTS),
        "dask frames": lambda: (blocks[NAMES], blocks[names], blocks["w"]),
    }[source]()


# The right numbers, from the rows alone


@cache
def optimum(k: int) -> Any:
    return brute_force(X, rows()[TARGETS[k]], LABELS, eta=ETA, sample_weight=WEIGHTS)


def betas(coef: np.ndarray) -> np.ndarray:
    return np.bincount(LABELS, coef)


def residual(k: int) -> np.ndarray:
    return np.asarray(rows()[TARGETS[k]] - X @ optimum(k).coef - optimum(k).intercept)


def r_squared(k: int) -> float:
    y = rows()[TARGETS[k]]
    return float(1 - WEIGHTS @ residual(k) ** 2 / (WEIGHTS @ (y - np.average(y, weights=WEIGHTS)) ** 2))


def shares(k: int) -> np.ndarray:
    """Return the part of each group in the variance of the prediction, by NumPy's weighted covariance."""
    parts = np.column_stack([X[:, np.equal(LABELS, g)] @ optimum(k).coef[np.equal(LABELS, g)] for g in range(3)])
    covariance = np.cov(parts.T, aweights=WEIGHTS)
    return np.asarray(covariance.sum(axis=0) / covariance.sum())


def flipped(k: int) -> list[float]:
    """Return the increase of the objective when each group's sign is flipped."""
    found = optimum(k)
    cheapest = [min(f for s, f in found.objectives.items() if s[g] == -found.signs[g]) for g in range(3)]
    return [value / found.objective - 1 for value in cheapest]


def price(k: int) -> float:
    """Return the relative price of all signs: the objective above that of penalised least squares."""
    root = np.sqrt(WEIGHTS)[:, None]
    penalty = np.sqrt(ETA) * np.column_stack([np.equal.outer(range(3), LABELS), np.zeros(3)])
    A = np.vstack([root * np.column_stack([X, np.ones(N)]), penalty])
    b = np.append(root[:, 0] * rows()[TARGETS[k]], np.zeros(3))
    w = np.linalg.lstsq(A, b, rcond=None)[0]
    return float(optimum(k).objective / np.square(A @ w - b).sum() - 1)


@cache
def resampled(k: int, *, in_blocks: bool) -> np.ndarray:
    """Return the betas of three resamples with seed 5, drawn from all rows or block by block, by brute force."""
    generator = np.random.RandomState(5)
    found = []
    for _ in range(3):
        if in_blocks:
            seed, sizes = int(generator.randint(2**31)), [60, 60, 60, 20]
            totals = np.random.default_rng([seed, 0]).multinomial(N, np.array(sizes) / N)
            draws = [
                np.random.default_rng([seed, 1 + b]).multinomial(total, np.full(size, 1 / size))
                for b, (total, size) in enumerate(zip(totals, sizes, strict=True))
            ]
            counts = np.concatenate(draws)
        else:
            counts = generator.multinomial(N, np.full(N, 1 / N))
        weighted = brute_force(X, rows()[TARGETS[k]], LABELS, eta=ETA, sample_weight=counts * WEIGHTS)
        found.append(betas(weighted.coef))
    return np.array(found)


# The cells: what is asked of a model, and what must come back


def the_page(model: Any, path: Path, **options: Any) -> dict[str, Any]:
    return read(model.report(path, time_limit=60, **options)).figures


def page_is_right(figures: dict[str, Any], k: int) -> None:
    error = residual(k)
    fit = {"n_rows": N, "r_squared": r_squared(k), "rmse": np.sqrt(np.average(error**2, weights=WEIGHTS)),
           "largest": np.abs(error).max(), "objective": optimum(k).objective}
    assert {name: figures["fit"][name] for name in fit} == pytest.approx(fit, **CLOSE)
    assert sum(figures["residuals"]["counts"]) == N
    edges = np.array(figures["residuals"]["edges"])
    edges[[0, -1]] *= 1 + 1e-9  # the largest residual lies on the edge, up to rounding
    np.testing.assert_array_equal(figures["residuals"]["counts"], np.histogram(error, edges)[0])
    assert figures["rows"]["actual"][1:] == pytest.approx(rows()[TARGETS[k]].tolist())
    assert figures["rows"]["predicted"][1:] == pytest.approx((rows()[TARGETS[k]] - error).tolist(), **CLOSE)
    feature = next(f for f in figures["features"] if f["name"] in ("x0", "a"))
    assert (feature["low"], feature["high"]) == pytest.approx((X[:, 0].min(), X[:, 0].max()), **CLOSE)
    assert figures["price"]["price"] == pytest.approx(price(k), **CLOSE)
    assert "Audit passed" in figures["proof"]["audit"]


def summary_is_right(summary: Any, k: int) -> None:
    assert summary.n_rows == N
    assert summary.r_squared == pytest.approx(r_squared(k), **CLOSE)
    told = {row.group: row.variance_share for row in summary.rows}
    assert list(told.values()) == pytest.approx(shares(k).tolist(), **CLOSE)
    assert f"{N} rows" in str(summary)


def audit_is_right(audit: Any, k: int) -> None:
    assert audit.passed
    assert audit.objective == pytest.approx(optimum(k).objective, **CLOSE)


def unambiguous(found: Any, k: int) -> None:
    assert not found
    assert (found.n_rows, found.unique, len(found.proved_signs)) == (N, True, 3)


def equal(expected: Callable[[int], Any]) -> Callable[[Any, int], None]:
    def compare(found: Any, k: int) -> None:
        np.testing.assert_allclose(found, expected(k), rtol=1e-7, atol=1e-9)

    return compare


def result_of(model: Any, k: int) -> Any:
    return model.result_[k] if isinstance(model.result_, tuple) else model.result_


Ask = Callable[[Any, int, tuple[Any, Any, Any], Path], Any]  # model, target, data as they were fitted, a path to write

ASKED: dict[str, tuple[Ask, Callable[[Any, int], None]]] = {
    "coefficients": (lambda m, k, d, p: np.atleast_2d(m.coef_)[k], equal(lambda k: optimum(k).coef)),
    "prediction": (lambda m, k, d, p: m.predict(frame_for(m)).reshape(N, -1)[:, k],
                   equal(lambda k: X @ optimum(k).coef + optimum(k).intercept)),
    "contributions": (lambda m, k, d, p: m.contributions(frame_for(m), output=k).predictions,
                      equal(lambda k: X @ optimum(k).coef + optimum(k).intercept)),
    "contributions picture": (
        lambda m, k, d, p: ContributionsDisplay.from_estimator(m, frame_for(m)[:1], output=k).contributions.sum(),
        equal(lambda k: X[0] @ optimum(k).coef)),
    "effects picture": (lambda m, k, d, p: EffectsDisplay.from_estimator(m, output=k).betas,
                        equal(lambda k: betas(optimum(k).coef))),
    "shares picture": (lambda m, k, d, p: SharesDisplay.from_estimator(m, "0", output=k).alphas,
                       equal(lambda k: optimum(k).coef[:2] / optimum(k).coef[:2].sum())),
    "summary": (lambda m, k, d, p: m.summary(output=k), summary_is_right),
    "audit": (lambda m, k, d, p: m._one_result(k).audit(), audit_is_right),
    "ambiguities": (lambda m, k, d, p: m._one_result(k).ambiguities, unambiguous),
    "sign certainty": (lambda m, k, d, p: [row.increase for row in m.sign_certainty(output=k).rows], equal(flipped)),
    "sign certainty picture": (
        lambda m, k, d, p: [r.increase for r in SignCertaintyDisplay.from_estimator(m, output=k).certainty.rows],
        equal(flipped)),
    "price": (lambda m, k, d, p: m.price_of_constraint(output=k).price, equal(price)),
    "search progress picture": (
        lambda m, k, d, p: SearchProgressDisplay.from_estimator(m, output=k).history[-1].objective,
        equal(lambda k: optimum(k).objective)),
    "search tree picture": (
        lambda m, k, d, p: min(node.objective for node in SearchTreeDisplay.from_estimator(m, output=k).nodes),
        equal(lambda k: optimum(k).objective)),
    "residual": (lambda m, k, d, p: (r := m._one_result(k)).instance.residual(r.coef, r.intercept), equal(residual)),
    "bootstrap": (lambda m, k, d, p: m.bootstrap(3, random_state=5, output=k).betas,
                  equal(lambda k: resampled(k, in_blocks=False))),
    "bootstrap, rows given": (lambda m, k, d, p: m.bootstrap(3, random_state=5, output=k, **again(d)).betas, None),
    "report": (lambda m, k, d, p: the_page(m, p, output=k), page_is_right),
    "report, rows given": (lambda m, k, d, p: the_page(m, p, output=k, **again(d)), page_is_right),
}  # type: ignore[dict-item]

FIT_AGAIN, ROWS_AGAIN = "holds no training data: fit it again", "200 rows compressed to"
IN_MEMORY_ONLY = "give X and y in memory"
RIGHT = ""

MATRIX = {  # of a model fitted to rows in memory, of one fitted to folded rows, of one loaded from a file
    "coefficients":            (RIGHT, RIGHT, RIGHT),
    "prediction":              (RIGHT, RIGHT, RIGHT),
    "contributions":           (RIGHT, RIGHT, RIGHT),
    "contributions picture":   (RIGHT, RIGHT, RIGHT),
    "effects picture":         (RIGHT, RIGHT, RIGHT),
    "shares picture":          (RIGHT, RIGHT, RIGHT),
    "summary":                 (RIGHT, RIGHT, RIGHT),
    "audit":                   (RIGHT, RIGHT, FIT_AGAIN),
    "ambiguities":             (RIGHT, RIGHT, FIT_AGAIN),
    "sign certainty":          (RIGHT, RIGHT, FIT_AGAIN),
    "sign certainty picture":  (RIGHT, RIGHT, FIT_AGAIN),
    "price":                   (RIGHT, RIGHT, FIT_AGAIN),
    "search progress picture": (RIGHT, RIGHT, FIT_AGAIN),
    "search tree picture":     (RIGHT, RIGHT, FIT_AGAIN),
    "residual":                (RIGHT, ROWS_AGAIN, FIT_AGAIN),
    "bootstrap":               (RIGHT, ROWS_AGAIN, FIT_AGAIN),
    "bootstrap, rows given":   (RIGHT, RIGHT, RIGHT),
    "report":                  (RIGHT, ROWS_AGAIN, FIT_AGAIN),
    "report, rows given":      (RIGHT, IN_MEMORY_ONLY, RIGHT),
}  # fmt: skip


def again(data: tuple[Any, Any, Any]) -> dict[str, Any]:
    return dict(zip(("X", "y", "sample_weight"), data, strict=True))


def frame_for(model: Any) -> Any:
    return rows()[NAMES] if hasattr(model, "feature_names_in_") else X


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("rows")


@pytest.fixture(scope="module")
def model_of(folder, tmp_path_factory):
    """Return the model of a source, fitted once, in one of three states."""
    fitted: dict[Any, Any] = {}

    def model(source: str, n_targets: int, state: str) -> Any:
        if (source, n_targets) not in fitted:
            fitted[source, n_targets] = PartLSRegressor(LABELS, eta=ETA).fit(*given(source, n_targets, folder))
        own = fitted[source, n_targets]
        if state == "loaded":
            path = tmp_path_factory.mktemp("models") / "model.json"
            own.save(path)
            return PartLSRegressor.load(path)
        return pickle.loads(pickle.dumps(own)) if state == "pickled" else own

    return model


CASES = [
    (source, n_targets, state)
    for source in SOURCES for n_targets in (1, 2) for state in ("fitted", "pickled", "loaded")
    if n_targets == 1 or source in ("pandas", "dask arrays", "dask frames")
    if state == "fitted" or source in ("pandas", "dask frames", "parquet")
]


@pytest.mark.filterwarnings("ignore:.*non-interactive:UserWarning")
@pytest.mark.parametrize("asked", MATRIX)
@pytest.mark.parametrize(("source", "n_targets", "state"), CASES)
def test_every_cell_of_the_matrix(asked, source, n_targets, state, model_of, folder, tmp_path):
    model, data, k = model_of(source, n_targets, state), given(source, n_targets, folder), n_targets - 1
    by_hand = source == "folded by hand"
    expected = MATRIX[asked][2 if state == "loaded" else int(source not in IN_MEMORY)]
    ask, is_right = ASKED[asked]
    if asked.endswith("rows given"):
        if by_hand:
            expected = "X holds compressed rows: give the rows of the data" if "boot" in asked else IN_MEMORY_ONLY
        elif asked.startswith("report") and source in IN_BLOCKS:
            expected = IN_MEMORY_ONLY
    if expected:
        with pytest.raises(InvalidInput, match=expected) as refused:
            ask(model, k, data, tmp_path / "page.html")
        assert "\n" not in str(refused.value)
        assert not list(tmp_path.iterdir())
        return
    found = ask(model, k, data, tmp_path / "page.html")
    if is_right is None:
        np.testing.assert_allclose(found, resampled(k, in_blocks=source in IN_BLOCKS), rtol=1e-7)
    else:
        is_right(found, k)


@pytest.mark.parametrize("source", [*IN_BLOCKS, "folded by hand"])
def test_folded_rows_and_rows_in_memory_given_again(source, folder, model_of, tmp_path):
    """Whatever was fitted, rows in memory answer what their own model answers, to the draw."""
    model = model_of(source, 1, "fitted")
    data = again(given("pandas" if hasattr(model, "feature_names_in_") else "arrays", 1, folder))
    expected = resampled(0, in_blocks=False)
    np.testing.assert_allclose(model.bootstrap(3, random_state=5, **data).betas, expected, rtol=1e-7)
    page_is_right(the_page(model, tmp_path / "page.html", **data), 0)
    result = model.result_
    own = bootstrap(result, n_resamples=3, random_state=5, **data).betas
    np.testing.assert_allclose(own, expected, rtol=1e-7)
    page_is_right(read(write_report(result, tmp_path / "page.html", time_limit=60, **data)).figures, 0)
    for refused in (lambda: bootstrap(result), lambda: write_report(result, tmp_path / "none.html")):
        with pytest.raises(InvalidInput, match="pass X and y again"):
            refused()


@pytest.mark.parametrize("source", [*SOURCES[:-1]])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_score_is_that_of_the_rows(source, n_targets, model_of, folder):
    if (source, n_targets) == ("parquet", 2):
        return  # a folder has one target
    model, (data, y, weights) = model_of(source, n_targets, "fitted"), given(source, n_targets, folder)
    if source == "parquet":
        for ask in (lambda: model.score(data, y), lambda: model.predict(data), lambda: model.contributions(data)):
            with pytest.raises(InvalidInput, match="read the Parquet files first"):
                ask()
        return
    expected = np.mean([r_squared(k) for k in range(n_targets)])
    if source != "dask sparse":  # scikit-learn does not read these
        assert model.score(data, y, sample_weight=weights) == pytest.approx(expected, **CLOSE)


@pytest.mark.parametrize(("change", "told"), [
    (lambda d: {**d, "y": d["y"][::-1]}, "give the same rows and weights"),
    (lambda d: {**d, "sample_weight": None}, "give the same rows and weights"),
    (lambda d: {**d, "X": d["X"][NAMES].rename(columns={"e": "f"})}, 'X has other columns.*"f", "e"'),
    (lambda d: {"y": d["y"]}, "X and y must be given together"),
    (lambda d: {"X": d["X"]}, "X and y must be given together"),
    (lambda d: {"n_resamples": d["X"]}, "n_resamples is not a number but data: name the rows"),
    (lambda d: {**d, "y": d["y"][:-1]}, r"y has 199 values but X has 200 row"),
])  # fmt: skip
@pytest.mark.parametrize("state", ["fitted", "loaded"])
def test_other_rows_than_those_of_the_fit_are_refused(change, told, state, model_of, folder):
    model = model_of("dask frames", 1, state)
    data = {"X": rows()[NAMES], "y": rows()["y"].to_numpy(), "sample_weight": WEIGHTS}
    with pytest.raises(InvalidInput, match=told) as refused:
        model.bootstrap(**{"n_resamples": 2, **change(data)})
    assert "\n" not in str(refused.value)


def test_columns_of_rows_given_again_are_found_by_name(model_of, folder, tmp_path):
    model = model_of("dask frames", 1, "fitted")
    data, y, weights = given("dask frames", 1, folder)
    found = model.bootstrap(3, X=data[NAMES[::-1]], y=y, sample_weight=weights, random_state=5).betas
    np.testing.assert_allclose(found, resampled(0, in_blocks=True), rtol=1e-7)
    reordered = rows().drop(columns="z")[[*NAMES[::-1], "y", "w"]]
    parquet.write_table(pa.Table.from_pandas(reordered), tmp_path / "rows.parquet")
    with pytest.raises(InvalidInput, match="or in another order"):
        model.bootstrap(3, X=tmp_path, y="y", sample_weight="w")


def test_five_thousand_rows_in_blocks_vary_as_in_memory():
    """The deviation of an effect is that of the rows in memory, not of the few rows that stand for them."""
    rng = np.random.default_rng(0)
    tall = rng.normal(size=(5000, 12))
    y = tall @ rng.normal(size=12) + 2 * rng.normal(size=5000)
    labels = [j // 3 for j in range(12)]
    blocks = {"X": da.from_array(tall, chunks=(700, 12)), "y": da.from_array(y, chunks=700)}
    folded = PartLSRegressor(labels, random_state=0).fit(**blocks)
    with pytest.raises(InvalidInput, match="5,000 rows compressed to 27: pass X and y again"):
        folded.bootstrap()
    memory = PartLSRegressor(labels, random_state=0).fit(tall, y).bootstrap(200).to_pandas()["deviation"]
    np.testing.assert_allclose(folded.bootstrap(200, **blocks).to_pandas()["deviation"], memory, rtol=0.25)


def test_draws_from_blocks_are_draws_from_all_rows():
    """Counts of rows drawn block by block are multinomial: chi-squared over all outcomes of 3 draws from 3 rows."""
    drawn = draw_counts(range(20_000), [2, 0, 1])
    counts = np.concatenate([np.array(list(own.of_rows(n))) for own, n in zip(drawn, [2, 0, 1], strict=True)], axis=1)
    assert (counts.sum(axis=1) == 3).all()
    outcomes, seen = np.unique(counts, axis=0, return_counts=True)
    assert len(outcomes) == 10
    orders = np.array([6 / np.prod([[1, 1, 2, 6][c] for c in outcome]) for outcome in outcomes])
    expected = 20_000 * orders / 27
    assert ((seen - expected) ** 2 / expected).sum() < 27.9  # 99.9 % of chi-squared with 9 degrees of freedom


def test_resamples_of_weightless_rows_are_drawn_again_and_time_limits_leave_one():
    few, y = np.array([[1.0], [2.0], [4.0]]), np.array([1.0, 2.0, 3.0])
    blocks = {"X": da.from_array(few, chunks=(1, 1)), "y": da.from_array(y, chunks=1), "sample_weight": [0.0, 1.0, 1.0]}
    model = PartLSRegressor([0], random_state=0).fit(**blocks)
    assert model.bootstrap(40, **blocks).betas.shape == (40, 1)  # one of 27 resamples has no weight
    assert len(model.bootstrap(40, time_limit=0, **blocks).betas) == 1
    limited = model.bootstrap(40, time_limit=1e6, **blocks).betas
    np.testing.assert_array_equal(limited, model.bootstrap(40, **blocks).betas)  # whatever the size of a pass


# Cross-validation

WHEREVER = pytest.mark.filterwarnings("ignore:the best .* of those tried")  # where in its grid is not the question

@WHEREVER
@pytest.mark.parametrize("source", IN_BLOCKS)
@pytest.mark.parametrize("cv", [3, ShuffleSplit(4, random_state=0)], ids=["folds", "shuffled"])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_cross_validation_of_blocks_is_that_of_the_rows(source, cv, n_targets, folder):
    if (source, n_targets) == ("parquet", 2):
        return  # a folder has one target
    model = PartLSRegressorCV(LABELS, etas=[10.0, 0.5], ridges=[0.0], cv=cv).fit(*given(source, n_targets, folder))
    splitter = KFold(3) if cv == 3 else cv
    expected = np.zeros((2, splitter.get_n_splits()))
    for f, (train, test) in enumerate(splitter.split(X)):
        for e, eta in enumerate([10.0, 0.5]):
            for y in y_of(n_targets).reshape(N, -1).T:
                best = brute_force(X[train], y[train], LABELS, eta=eta, sample_weight=WEIGHTS[train])
                error = y[test] - X[test] @ best.coef - best.intercept
                expected[e, f] += np.average(error**2, weights=WEIGHTS[test]) / n_targets
    np.testing.assert_allclose(model.mse_path_[:, 0], expected, rtol=1e-8)
    weights = [WEIGHTS[test].sum() for _, test in splitter.split(X)]
    assert model.eta_ == [10.0, 0.5][int(np.argmin(expected @ weights))]
    best = brute_force(X, rows()["y"], LABELS, eta=model.eta_, sample_weight=WEIGHTS)
    np.testing.assert_allclose(np.atleast_2d(model.coef_)[0], best.coef, rtol=1e-7, atol=1e-9)
    assert model.summary(output=0).n_rows == N
    with pytest.raises(InvalidInput, match="pass X and y again"):
        model.bootstrap(output=0)
    assert model.bootstrap(3, output=0, **again(given(source, n_targets, folder))).betas.shape == (3, 3)


@WHEREVER
def test_cross_validation_says_what_it_cannot_split(folder):
    blocks = given("dask arrays", 1, folder)
    memory = PartLSRegressorCV(LABELS).fit(*given("arrays", 1, folder))
    np.testing.assert_allclose(PartLSRegressorCV(LABELS).fit(*blocks).mse_path_, memory.mse_path_, rtol=1e-8)
    for data, cv, told in ((blocks, StratifiedKFold(3), "by their numbers alone"),
                           (blocks, 300, "cannot split 200 rows"),
                           (given("folded by hand", 1, folder), 3, "give the rows of the data")):
        with pytest.raises(InvalidInput, match=told):
            PartLSRegressorCV(LABELS, cv=cv).fit(*data)
    weightless = np.where(np.arange(N) < 67, 0.0, 1.0)  # the first fold has no error
    tall = PartLSRegressorCV(LABELS, etas=[1.0], cv=3).fit(*blocks[:2], weightless)
    whole = PartLSRegressorCV(LABELS, etas=[1.0], cv=3).fit(X, y_of(1), weightless)
    np.testing.assert_allclose(tall.mse_path_, whole.mse_path_, rtol=1e-8)
    assert (tall.mse_path_[0, :, 0] == 0).all()


# Instances and what is made of them


@pytest.mark.parametrize("source", [*IN_BLOCKS, "folded by hand"])
def test_an_instance_knows_how_many_rows_it_stands_for(source, folder):
    data, y, weights = given(source, 1, folder)
    instance = Instance(data, y, LABELS, eta=ETA, sample_weight=weights)
    assert (instance.n_rows, instance.folded_from, len(instance.y)) == (N, N, 13)
    assert repr(instance) == "Instance(200 rows compressed to 13, 5 columns, 3 groups, eta=3 (l2))"
    kept = (instance.replace(eta=1.0), instance.replace(y=instance.y), compact(instance.replace(eta=0.0)),
            pickle.loads(pickle.dumps(instance)))
    assert [one.n_rows for one in kept] == [N] * 4
    assert instance.replace(X=X, y=y_of(1), sample_weight=None).folded_from is None
    whole = Instance(X, y_of(1), LABELS, eta=ETA, sample_weight=WEIGHTS)
    assert compact(whole).n_rows == N
    coef = np.arange(5.0)
    assert instance.squared_error(coef, 2.0) == pytest.approx(whole.squared_error(coef, 2.0), **CLOSE)
    assert whole.squared_error(coef, 2.0) == pytest.approx(WEIGHTS @ np.square(y_of(1) - X @ coef - 2), rel=1e-12)
    by_signs = partls.partition_from_signs(data, y, sample_weight=weights)
    root = np.sqrt(WEIGHTS)
    free = np.linalg.lstsq(np.column_stack([X, np.ones(N)]) * root[:, None], y_of(1) * root, rcond=None)[0]
    assert [by_signs.names[k] for k in by_signs.labels] == ["negative" if w < 0 else "positive" for w in free[:5]]


def test_relaxations_prove_the_same_on_folded_rows(folder):
    folded = Instance(*given("folded by hand", 1, folder)[:2], LABELS, eta=ETA)
    whole = Instance(X, y_of(1), LABELS, eta=ETA, sample_weight=WEIGHTS)
    compared = [relaxations.compare(one, optimum=optimum(0).objective) for one in (folded, whole)]
    for few, many in zip(compared[0].rows, compared[1].rows, strict=True):
        assert few.relaxation == many.relaxation
        assert few.bound == pytest.approx(many.bound, rel=1e-5)
        assert few.bound <= optimum(0).objective * (1 + 1e-9)


def test_a_certificate_is_about_the_folded_rows(folder, tmp_path):
    data, y, weights = given("dask arrays", 1, folder)
    result = partls.solve(data, y, LABELS, sample_weight=weights, certificate=tmp_path / "proof.json")
    few = result.instance
    proved = partls.verify(tmp_path / "proof.json", few.X, few.y, LABELS, sample_weight=few.sample_weight)
    assert proved.problem.n_rows == 13
    with pytest.raises(partls.VerificationError, match="the certificate is for 13 rows"):
        partls.verify(tmp_path / "proof.json", X, y_of(1), LABELS, sample_weight=WEIGHTS)


def test_folded_rows_bring_their_own_target(folder):
    folded = given("folded by hand", 1, folder)[0]
    for y, weights in ((y_of(1), None), (None, WEIGHTS)):
        with pytest.raises(InvalidInput, match="give None for y and sample_weight"):
            PartLSRegressor(LABELS).fit(folded, y, weights)


# The command line: --memory 0 folds every file

COMMANDS = {  # what each prints of folded rows: the same as of rows in memory, or why not
    "fit {data} {fit}": RIGHT,
    "fit {data} {fit} --report page.html": "--report needs every row",
    "fit {data} {fit} --certificate other.json": "--certificate needs every row",
    "explain model.json {data}": RIGHT,
    "explain model.json {data} --bootstrap 3": "--bootstrap needs every row",
    "compare {data} {compare}": RIGHT,
    "verify proof.json {data} {verify}": "partls verify needs every row",
}
TREATED = ("--drop w", "--weights w", "--weights w --standardize", "--drop w --eta 3 --no-intercept")


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Return the leaves of a document by their paths, without what the clock or the memory has a part in."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if parts is None:
        timed = path.endswith(("seconds", "certificate", "folded"))
        return {} if timed else {path: value}
    return {name: leaf for key, part in parts for name, leaf in leaves(part, f"{path}/{key}").items()}


def same(few: dict[str, Any], all_rows: dict[str, Any]) -> None:
    """Refuse numbers that differ by more than the accuracy of a first-order solver's bound, and other words."""
    numbers = [path for path, value in all_rows.items() if isinstance(value, float | int)]
    assert {path: few[path] for path in numbers} == pytest.approx({path: all_rows[path] for path in numbers}, **LOOSE)
    assert {**few, **dict.fromkeys(numbers)} == {**all_rows, **dict.fromkeys(numbers)}


@pytest.mark.parametrize("treated", TREATED)
@pytest.mark.parametrize("data", ["rows.csv", "rows.parquet"])
def test_commands_tell_of_folded_files_what_they_tell_of_all_rows(data, treated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = rows().drop(columns="z")
    table.to_csv("rows.csv", index=False) if data == "rows.csv" else table.to_parquet(data, index=False)
    Path("groups.json").write_text('{"p": ["a", "b"], "q": ["c", "d"], "r": ["e"]}', encoding="utf-8")
    fit = f"--target y --groups groups.json {treated}"
    options = {"data": data, "fit": fit, "verify": fit.split(" --eta")[0],
               "compare": f"{fit} --relaxation active-set --relaxation perspective"}
    saved = {}
    for memory in (1024, 0):  # the model of folded rows is explained by either, and the other way round
        document(*f"fit {data} {fit} --out model.json --force --memory {memory}".split())
        saved[memory] = leaves(json.loads(Path("model.json").read_text(encoding="utf-8")))
        predicted = document("predict", "model.json", data)["predictions"]
        np.testing.assert_allclose(predicted, PartLSRegressor.load("model.json").predict(rows()[NAMES]), rtol=1e-9)
    same(saved[0], saved[1024])
    assert saved[0]["/training/rows"] == N
    document(*f"fit {data} {fit} --certificate proof.json".split())
    for command, refused in COMMANDS.items():
        words = command.format(**options).split()
        if refused:
            assert refused in message(*words, "--memory", "0")
        else:
            few, all_rows = (leaves(document(*words, "--memory", memory)) for memory in (0, 1024))
            same(few, all_rows)
    assert not Path("page.html").exists()
