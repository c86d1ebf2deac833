"""Every prediction stands in the row of its input, whichever program reads the file."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import partls
from tests.test_cli import FIT, GROUPS, document, folder, houses, message, run  # noqa: F401

N_ROWS = 153
GAPS = {"one": [4], "first": [0], "last": [N_ROWS - 1], "two in turn": [4, 5], "ends": [0, N_ROWS - 1],
        "all": list(range(N_ROWS)), "none": []}


# A column of numbers, what is missing as NaN.


def of_polars(column: pl.Series) -> np.ndarray:
    assert column.dtype == pl.Float64
    return column.to_numpy()


def of_pandas(frame: pd.DataFrame) -> np.ndarray:
    assert frame.iloc[:, 0].dtype == np.float64
    return frame.iloc[:, 0].to_numpy()


def of_duckdb(path: Path) -> np.ndarray:
    found = duckdb.sql(f"from '{path}'")
    assert found.types == ["DOUBLE"]
    return np.array([np.nan if value is None else value for (value,) in found.fetchall()])


def of_arrow(table: pa.Table) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in table.column(0).to_pylist()])


READERS: dict[tuple[str, str], Callable[[Path], np.ndarray]] = {
    (".csv", "pandas"): lambda path: of_pandas(pd.read_csv(path)),
    (".csv", "polars"): lambda path: of_polars(pl.read_csv(path).to_series()),
    (".csv", "pyarrow"): lambda path: of_arrow(csv.read_csv(path)),
    (".csv", "duckdb"): of_duckdb,
    (".csv", "numpy"): lambda path: np.genfromtxt(path, skip_header=1),
    (".parquet", "pandas"): lambda path: of_pandas(pd.read_parquet(path)),
    (".parquet", "polars"): lambda path: of_polars(pl.read_parquet(path).to_series()),
    (".parquet", "pyarrow"): lambda path: of_arrow(parquet.read_table(path)),
    (".parquet", "duckdb"): of_duckdb,
    (".feather", "pandas"): lambda path: of_pandas(pd.read_feather(path)),
    (".feather", "polars"): lambda path: of_polars(pl.read_ipc(path).to_series()),
    (".arrow", "pyarrow"): lambda path: of_arrow(feather.read_table(path)),
}


@pytest.fixture
def model(folder: Path) -> partls.PartLSRegressor:  # noqa: F811
    data = houses()
    data.loc[3, "area"] = np.nan
    data.to_csv("houses.csv", index=False)
    assert document(*FIT, "--missing", "drop", "--out", "model.json")["rows_dropped"] == 1
    return partls.PartLSRegressor.load("model.json")


def expected_of(model: partls.PartLSRegressor, gaps: list[int]) -> np.ndarray:
    """Write new.parquet, with gaps in these rows; the predictions of the model where there are none, NaN elsewhere."""
    data = houses(N_ROWS)
    expected = data[list(model.feature_names_in_)].to_numpy() @ model.coef_ + model.intercept_
    data.loc[gaps, "rooms"], expected[gaps] = np.nan, np.nan
    data.to_parquet("new.parquet")
    return expected


@pytest.mark.parametrize("gaps", GAPS.values(), ids=GAPS)
def test_every_reader_finds_one_row_for_each_input_row(
    gaps: list[int], model: partls.PartLSRegressor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("partls.cli.tables.columnar.BATCH_ROWS", 50)
    expected = expected_of(model, gaps)
    for form in (".csv", ".parquet", ".feather", ".arrow"):
        path = Path(f"p{form}")
        assert run("predict", "model.json", "new.parquet", "--out", path).exit_code == 0
        for (kind, reader), read in READERS.items():
            if kind == form:
                np.testing.assert_allclose(read(path), expected, rtol=1e-12, err_msg=f"{form} read by {reader}")
    assert Path("p.csv").read_text(encoding="utf-8") == run("predict", "model.json", "new.parquet").stdout
    told = document("predict", "model.json", "new.parquet")["predictions"]
    np.testing.assert_allclose([np.nan if value is None else value for value in told], expected, rtol=1e-12)


def test_no_line_of_a_file_of_predictions_is_blank(model: partls.PartLSRegressor) -> None:
    """R's read.csv skips blank lines, and takes an empty cell in quotes for one."""
    expected_of(model, GAPS["all"])
    lines = run("predict", "model.json", "new.parquet").stdout.splitlines()
    assert lines == ['"predicted price"'] + ["NaN"] * N_ROWS


@pytest.mark.r
@pytest.mark.parametrize("gaps", GAPS.values(), ids=GAPS)
def test_r_finds_one_row_for_each_input_row(gaps: list[int], model: partls.PartLSRegressor) -> None:
    expected = expected_of(model, gaps)
    assert run("predict", "model.json", "new.parquet", "--out", "p.csv").exit_code == 0
    program = 'd <- read.csv("p.csv"); stopifnot(is.numeric(d[[1]])); cat(sprintf("%.17g", d[[1]]), sep="\\n")'
    told = subprocess.run(["Rscript", "-e", program], capture_output=True, text=True, check=True, timeout=60)
    np.testing.assert_allclose([float(line.replace("NA", "nan")) for line in told.stdout.split()], expected, rtol=1e-12)


def test_a_number_is_written_with_all_its_digits(model: partls.PartLSRegressor) -> None:
    """The text of a file is as good as its numbers: nothing is rounded on the way."""
    expected_of(model, [])
    for form in (".csv", ".parquet"):
        assert run("predict", "model.json", "new.parquet", "--out", f"p{form}").exit_code == 0
    _, *lines = Path("p.csv").read_text(encoding="utf-8").splitlines()
    assert [float(line) for line in lines] == pd.read_parquet("p.parquet").iloc[:, 0].tolist()


@pytest.mark.parametrize("text", ["x\n{}\n\n{}\n", "x\r\n{}\r\n\r\n{}\r\n", "\n\nx\n{}\n\n{}", 'x\n{}\n""\n{}\n',
                                  '"x"\n\n{}\n{}\n', "x\n{}\n{}\n\n"])
def test_a_blank_line_of_a_single_column_is_a_row(text: str, folder: Path) -> None:  # noqa: F811
    """An empty cell of a table of one column looks like a blank line, which other tables may have anywhere."""
    pd.DataFrame({"x": [1.0, 2.0, 3.0, None], "y": [3.0, 5.0, 7.0, 1.0]}).to_csv("line.csv", index=False)
    Path("x.json").write_text('{"all": ["x"]}', encoding="utf-8")
    fit = ("fit", "line.csv", "--target", "y", "--groups", "x.json", "--missing")
    assert run(*fit, "drop", "--out", "drop.json").exit_code == 0
    Path("new.csv").write_text(text.format(5, 6), encoding="utf-8", newline="")
    at = [line.strip() in ("", '""') for line in text.strip("\n").splitlines()[1:]] + [True] * text.endswith("\n\n")
    told = document("predict", "drop.json", "new.csv")["predictions"]
    assert [value is None for value in told] == at
    assert [round(value) for value in told if value is not None] == [11, 13]
    assert run(*fit[:-1], "--out", "strict.json").exit_code == 2
    pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [3.0, 5.0, 7.0]}).to_csv("line.csv", index=False)
    assert run(*fit[:-1], "--out", "strict.json").exit_code == 0
    assert f"has no value in row {at.index(True) + 1}" in message("predict", "strict.json", "new.csv")
