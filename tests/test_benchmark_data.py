"""The benchmarks' loaders read the original files' formats, refuse what is not the original, and fetch when allowed."""

from __future__ import annotations

import io
import threading
import zipfile
from dataclasses import replace
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler

import numpy as np
import pandas as pd
import pytest

from benchmarks import table
from benchmarks.contract import MissingDataError, Problem
from benchmarks.datasets import ames, facebook, limpet, superconductivity, year_prediction
from benchmarks.machine import ELSEWHERE
from benchmarks.original_files import DOWNLOAD, FOLDER
from benchmarks.registry import datasets, studies
from benchmarks.runner import Case, Run, run_case

ORIGINAL = {"superconductivity": superconductivity, "facebook": facebook, "year_prediction": year_prediction,
            "limpet": limpet, "ames": ames}


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.delenv(DOWNLOAD, raising=False)
    return tmp_path


def shrink(monkeypatch, module, *rows: int, train=slice(0, 6), test=slice(6, 10)) -> None:
    """Let the originals have so few rows, and forget the hashes."""
    files = tuple(replace(file, rows=n, sha256="") for file, n in zip(module.SOURCE.files, rows, strict=True))
    monkeypatch.setattr(module, "SOURCE", replace(module.SOURCE, files=files))
    if hasattr(module, "TRAIN"):
        monkeypatch.setattr(module, "TRAIN", train)
        monkeypatch.setattr(module, "TEST", test)


def write(path, rows: np.ndarray, header: str = "") -> None:
    path.parent.mkdir(exist_ok=True)
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.6g")


@pytest.mark.parametrize("name", ORIGINAL)
def test_missing_files_become_rows_that_say_how_to_get_them(name, data):
    case = Case(name, name, {}, (Run("bnb"), Run("least_squares")), seeds=3)
    (rows,) = run_case(case)  # one set for all seeds
    assert [row["status"] for row in rows] == ["skipped"] * 2 and rows[0]["N"] is None
    source = ORIGINAL[name].SOURCE
    assert source.page in rows[0]["reason"] and f"${FOLDER}/{source.folder}" in rows[0]["reason"]
    assert ("--download" in rows[0]["reason"]) == bool(source.archive)


def test_superconductivity_is_read_as_described(data, monkeypatch):
    shrink(monkeypatch, superconductivity, 10)
    values = np.arange(820.0).reshape(10, 82)
    write(data / "superconductivity" / "train.csv", values, ",".join([*(f"f{i}" for i in range(81)), "critical_temp"]))
    problem = datasets()["superconductivity"](0)
    assert problem.shape == (6, 81, 8) and problem.fit_intercept and problem.eta == 0
    assert np.array_equal(problem.X, values[:6, :81]) and np.array_equal(problem.y, values[:6, 81])
    assert (problem.X_test == values[6:, :81]).all() and (problem.y_test == values[6:, 81]).all()
    assert np.bincount(problem.labels).tolist() == [10] * 7 + [11] and (np.diff(problem.labels) >= 0).all()
    shuffled = datasets()["superconductivity"](3, shuffled=True)
    assert set(shuffled.y) | set(shuffled.y_test) == set(values[:, 81]) and not (shuffled.y == problem.y).all()


def test_facebook_joins_two_files_and_drops_a_column(data, monkeypatch):
    shrink(monkeypatch, facebook, 7, 3)
    values = np.random.default_rng(0).integers(0, 999, (11, 54)).astype(float)
    write(data / "facebook" / "Features_Variant_1.csv", values[:7])
    write(data / "facebook" / "Features_TestSet.csv", values[7:])  # one row more than is used
    problem = datasets()["facebook"](0)
    assert problem.shape == (6, 52, 5) and np.bincount(problem.labels).tolist() == [10, 10, 10, 10, 12]
    assert (problem.X[:, 36] == values[:6, 36]).all() and (problem.X[:, 37] == values[:6, 38]).all()
    assert (problem.y_test == values[6:10, 53]).all()


def test_year_prediction_has_its_target_first(data, monkeypatch):
    shrink(monkeypatch, year_prediction, 10)
    values = np.random.default_rng(0).uniform(size=(10, 91)).round(4)
    write(data / "year_prediction" / "YearPredictionMSD.txt", values)
    problem = datasets()["year_prediction"](0)
    assert (problem.y == values[:6, 0]).all() and (values[:6, 1:] == problem.X).all()
    assert np.bincount(problem.labels).tolist() == [12] + [10] * 7 + [8]


def test_limpet_pairs_descriptors_by_name(data, monkeypatch):
    shrink(monkeypatch, limpet, 10, 82)
    rng = np.random.default_rng(0)
    names, sizes = [f"d{i}" for i in range(82)], [7, 19, 5, 5, 28, 18]
    values = rng.uniform(size=(10, 83)).round(4)
    write(data / "limpet" / "data.csv", values, ",".join([*names, "y"]))
    labels = np.repeat(np.arange(6), sizes)
    order = rng.permutation(82)  # the lines of blocks.csv in another order than the columns
    blocks = pd.DataFrame(np.eye(6, dtype=int)[labels[order]], columns=["Size", "OH2", "N1", "O", "DRY", "Others"])
    blocks.insert(0, "Descriptor", [names[j] for j in order])
    blocks.to_csv(data / "limpet" / "blocks.csv", index=False)
    problem = datasets()["limpet"](0)
    assert sorted(np.bincount(problem.labels)) == sorted(sizes) and (problem.y == values[:6, 82]).all()
    for column, label in zip(problem.X.T, problem.labels, strict=True):
        j = int(np.flatnonzero((column == values[:6, :82].T).all(axis=1))[0])
        assert (labels == labels[j]).sum() == (problem.labels == label).sum()


def test_limpet_pairs_by_position_as_published_if_asked(data, monkeypatch):
    shrink(monkeypatch, limpet, 10, 82)
    values = np.random.default_rng(0).uniform(size=(10, 83)).round(4)
    names, labels = [f"d{i}" for i in range(82)], np.repeat(np.arange(6), [4, 22, 30, 6, 6, 14])
    write(data / "limpet" / "data.csv", values, ",".join([*names, "y"]))
    blocks = pd.DataFrame(np.eye(6, dtype=int)[labels], columns=[f"g{k}" for k in range(6)])
    blocks.insert(0, "Descriptor", names[::-1])  # the first line names the last column
    blocks.to_csv(data / "limpet" / "blocks.csv", index=False)
    first = {as_published: datasets()["limpet"](0, as_published=as_published).X[:, 0] for as_published in (True, False)}
    assert (first[True] == values[:6, 0]).all() and (first[False] == values[:6, 78]).all()


def triangle_file(data, R: np.ndarray, sizes: list[int], name: str = "year_prediction") -> None:
    (data / "triangles").mkdir(exist_ok=True)
    np.savez(data / "triangles" / f"{name}.npz", R=R, groups=np.repeat(np.arange(len(sizes)), sizes))


SIZES = [*year_prediction.GROUPS, 1]


def test_a_triangle_has_the_objective_of_its_rows(data, monkeypatch):
    """From the rows where they are here, otherwise from the file; the intercept is the last column."""
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.integers(1950, 2010, 120), rng.normal(size=(120, 90)).round(4)])
    R = np.linalg.qr(np.column_stack([values[:100, 1:], np.ones(100), values[:100, 0]]), mode="r")
    triangle_file(data, R, SIZES)
    from_file = datasets()["triangle"](0, name="year_prediction")
    shrink(monkeypatch, year_prediction, 120, train=slice(0, 100), test=slice(100, 120))
    write(data / "year_prediction" / "YearPredictionMSD.txt", values)
    from_rows = datasets()["triangle"](0, name="year_prediction")
    rows = datasets()["year_prediction"](0)
    w = rng.normal(size=91)
    expected = np.square(rows.X @ w[:90] + w[90] - rows.y).sum()
    for problem in (from_file, from_rows):
        assert problem.shape == (92, 91, 10) and not problem.fit_intercept
        assert np.square(problem.X @ w - problem.y).sum() == pytest.approx(expected, rel=1e-4)  # six digits in the file
    signs = np.where(rows.X.sum(axis=0) < 0, -1.0, 1.0)
    divided = datasets()["triangle"](0, name="year_prediction", as_published=True)
    sums = rows.X.sum(axis=0)
    again = divided.X @ np.append(w[:90] * np.abs(sums), w[90]) - divided.y
    turned = rows.X @ (w[:90] * signs) + w[90] - rows.y
    assert (signs < 0).any() and np.square(again).sum() == pytest.approx(np.square(turned).sum(), rel=1e-4)


@pytest.mark.parametrize(
    ("R", "sizes", "message"),
    [
        (np.eye(5), SIZES, "no upper triangle of order 92"),
        (np.ones((92, 92)), SIZES, "no upper triangle of order 92"),
        (np.eye(92), [*[10] * 9, 1], "groups in year_prediction.npz are not blocks"),
    ],
)
def test_a_triangle_that_is_none_is_refused(R, sizes, message, data):
    triangle_file(data, R, sizes)
    with pytest.raises(MissingDataError, match=message):
        datasets()["triangle"](0, name="year_prediction")


def test_a_missing_triangle_says_where_it_would_be(data):
    with pytest.raises(MissingDataError, match=r"YearPredictionMSD.txt not found.*triangles/year_prediction.npz"):
        datasets()["triangle"](0, name="year_prediction")
    (data / "triangles").mkdir()
    (data / "triangles" / "year_prediction.npz").write_text("no archive")
    with pytest.raises(MissingDataError, match="holds no arrays R and groups"):
        datasets()["triangle"](0, name="year_prediction")


def published(data, stem: str, ends: list[float]) -> None:
    (data / "published").mkdir(exist_ok=True)
    best = np.minimum.accumulate(ends)
    rows = [f"1.5,{1.5 * (i + 1)},{end},{least},0,0" for i, (end, least) in enumerate(zip(ends, best, strict=True))]
    lines = ["Time,TimeCumulative,TrainObj,TrainBest,TestObj,TestBest", *rows]
    (data / "published" / f"{stem}.csv").write_text("\n".join(lines) + "\n")


def test_runs_of_the_authors_stand_beside_ours_with_their_own_time(data, monkeypatch):
    problem = Problem(np.eye(4)[:, :3], np.array([1.0, -2.0, 3.0, 1.0]), np.array([0, 0, 1]))
    monkeypatch.setattr("benchmarks.runner.datasets", lambda: {"small": lambda seed: problem})
    published(data, "small-ALT-20", [np.sqrt(14.0), 3.5, np.sqrt(2.0)])  # the second is no pattern's
    published(data, "small-OPT", [np.sqrt(2.0)])
    runs = (Run("bnb"), Run("article_run", {"data": "small", "max_iter": 20}), Run("article_run", {"data": "small"}),
            Run("article_run", {"data": "small", "max_iter": 100}))
    (rows,) = run_case(Case("limpet-as-published", "small", {}, runs, seeds=1))
    ours, alternating, exact, missing = rows
    assert ours["objective"] == pytest.approx(2.0) and ours["machine"] != ELSEWHERE
    assert (alternating["status"], alternating["seconds"], alternating["machine"]) == ("published", 4.5, ELSEWHERE)
    assert alternating["claimed"] == pytest.approx(2.0) and alternating["objective"] is None
    assert table.notes(alternating)["at_a_pattern"] == 2 and table.notes(exact)["at_a_pattern"] == 1
    assert [round(value, 9) for _, value in table.notes(alternating)["trace"]] == [14.0, 12.25, 2.0, 2.0]
    assert missing["status"] == "skipped" and "small-ALT-100.csv not in" in missing["reason"]
    study = studies()["time_vs_objective"]
    page = study.page(rows)
    assert "| Limpet, article: PartLS-alt, T = 20 | 1.4142136 | 0 | 4.5 s | 2 of 3 |" in page
    assert "1 runs, 0 with a fault" in page and ELSEWHERE not in page
    assert set(study.figures(rows)) == {"curves", "article"}


def test_ames_encodes_words_and_keeps_groups(data, monkeypatch):
    from examples.ames import CODED, MEASURED, ORDERED

    shrink(monkeypatch, ames, 90)
    rng = np.random.default_rng(0)
    features = [feature for text in ames.GROUPS.values() for feature in text.split()]
    assert len(features) == len(set(features)) == 79
    houses = pd.DataFrame({name: rng.integers(1, 99, 90) for name in features})
    houses = houses.assign(**{name: rng.choice(words, 90) for name, words in ORDERED.items()})
    houses = houses.assign(**{name: rng.choice(["b", "a", "NA"], 90) for name in CODED})
    houses = houses.assign(**{name: rng.choice(["12.5", "80", "NA"], 90) for name in MEASURED})
    (data / "ames").mkdir()
    houses.assign(Id=range(90), SalePrice=rng.integers(1, 9, 90)).to_csv(data / "ames" / "train.csv", index=False)
    problem = datasets()["ames"](0, shuffled=True)
    assert problem.shape == (60, 79 + 2 * len(CODED), 10) and len(problem.y_test) == 30
    assert np.isfinite(problem.X).all()
    assert np.bincount(problem.labels)[6] == 4  # "Sizes": four numbers, no words


def test_a_file_that_is_not_the_original_is_refused(data, monkeypatch):
    shrink(monkeypatch, year_prediction, 10)
    path, values = data / "year_prediction" / "YearPredictionMSD.txt", np.ones((9, 91))
    write(path, values)
    with pytest.raises(MissingDataError, match="9 rows and 91 columns, the original 10 and 91"):
        datasets()["year_prediction"](0)
    write(path, np.ones((10, 91)))
    datasets()["year_prediction"](0)
    assert len((path.parent / "YearPredictionMSD.txt.sha256").read_text().strip()) == 64
    write(path, 2 * np.ones((10, 91)))
    with pytest.raises(MissingDataError, match="differs from the first one used here"):
        datasets()["year_prediction"](0)
    path.write_text("a,b\nc,d\n")
    with pytest.raises(MissingDataError, match="no table of numbers"):
        datasets()["year_prediction"](0)


def test_a_known_hash_must_match(data, monkeypatch):
    shrink(monkeypatch, year_prediction, 10)
    (file,) = year_prediction.SOURCE.files
    known = replace(file, sha256="0" * 64)
    monkeypatch.setattr(year_prediction, "SOURCE", replace(year_prediction.SOURCE, files=(known,)))
    write(data / "year_prediction" / file.name, np.ones((10, 91)))
    with pytest.raises(MissingDataError, match="differs from the original"):
        datasets()["year_prediction"](0)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args) -> None:
        pass


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    with HTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_files_are_fetched_only_when_allowed(data, server, monkeypatch):
    folder, address = server
    shrink(monkeypatch, year_prediction, 10)
    source = replace(year_prediction.SOURCE, archive=f"{address}/data.zip")
    monkeypatch.setattr(year_prediction, "SOURCE", source)
    rows = io.StringIO()
    np.savetxt(rows, np.ones((10, 91)), delimiter=",")
    with zipfile.ZipFile(folder / "data.zip", "w") as archive:
        archive.writestr("YearPredictionMSD.txt", rows.getvalue())
    with pytest.raises(MissingDataError, match="not found"):
        datasets()["year_prediction"](0)
    monkeypatch.setenv(DOWNLOAD, "1")
    assert datasets()["year_prediction"](0).shape == (6, 90, 9)
    assert (data / "year_prediction" / "YearPredictionMSD.txt").exists()


@pytest.mark.parametrize("content", [None, b"no archive"])
def test_a_download_that_fails_says_so(content, data, server, monkeypatch):
    folder, address = server
    monkeypatch.setattr(year_prediction, "SOURCE", replace(year_prediction.SOURCE, archive=f"{address}/data.zip"))
    monkeypatch.setenv(DOWNLOAD, "1")
    if content is not None:
        (folder / "data.zip").write_bytes(content)
    with pytest.raises(MissingDataError, match=r"data.zip gave no YearPredictionMSD.txt .* get it from"):
        datasets()["year_prediction"](0)
    assert not list((data / "year_prediction").glob("*"))


def test_artificial_is_as_described():
    problem, other = datasets()["artificial"](0), datasets()["artificial"](1)
    assert problem.shape == (70, 37, 5) and problem.X_test.shape == (930, 37) and problem.fit_intercept
    assert np.bincount(problem.labels).tolist() == [5, 10, 4, 12, 6]
    rows = [{tuple(row) for row in np.vstack([p.X, p.X_test])} for p in (problem, other)]
    assert rows[0] == rows[1] and len(rows[0]) == 1000  # the same data, split in another way
    X, y = np.vstack([problem.X, problem.X_test]), np.append(problem.y, problem.y_test)
    coef = np.linalg.lstsq(np.column_stack([X, np.ones(1000)]), y, rcond=None)[0]
    sums = np.bincount(problem.labels, coef[:-1])
    assert np.abs(sums - [-11, 4, 2, -1, 3]).max() < 0.4 and 0 < coef[-1] < 1
    clean = datasets()["artificial"](0, noise=0.0)
    assert np.linalg.lstsq(np.column_stack([clean.X, np.ones(70)]), clean.y, rcond=None)[1].max() < 1e-20
