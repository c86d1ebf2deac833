"""What is no number is refused by one rule, with its place and what to do, in whatever it comes."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from scipy import sparse

import partls
from formulations.kinds import kind_of
from partls.cli.tables import open_table
from tests.test_cli import folder, message, run  # noqa: F401 -- a fixture

N = 6
NUMBERS = np.array([1.0, 2.0, 4.0, 7.0, 3.0, 5.0])
Y = np.array([1.0, 3.0, 2.0, 5.0, 4.0, 6.0])
DATES, ROUNDED = r"(?i)\bdates", r"whole numbers beyond 2\^53, such as"

# Values of a column, and what is told of them; None where they are numbers.
COLUMNS: dict[str, tuple[list[Any], str | None]] = {
    "int": ([1, 2, 3, 5, 8, 9], None),
    "bool": ([True, False, True, True, False, False], None),
    "float": ([0.5, 1.0, 2.0, 4.0, 3.0, 9.0], None),
    "Decimal": ([Decimal("1.5"), Decimal(2), Decimal(3), Decimal(7), Decimal(1), Decimal(0)], None),
    "Fraction": ([Fraction(i, 3) for i in range(N)], None),
    "exact": ([1, 2, 3, 4, 5, 2**60], None),
    "date": ([dt.date(2020, 1, 1 + i) for i in range(N)], DATES),
    "datetime": ([dt.datetime(2020, 1, 1 + i) for i in range(N)], DATES),
    "datetime64": (list(np.arange(N).astype("datetime64[D]")), DATES),
    "time": ([dt.time(i) for i in range(N)], DATES),
    "timedelta": ([dt.timedelta(days=i) for i in range(N)], DATES),
    "Period": (list(pd.period_range("2020-01", periods=N, freq="M")), DATES),
    "complex": ([1 + 2j] * N, "complex numbers into real and imaginary parts"),
    "bytes": ([b"a"] * N, "decode bytes"),
    "text": (list("abcdef"), r"'a', not a number a float can hold: encode or drop it"),
    "digits": (list("123456"), "text '.*': turn it into a number"),
    "dict": ([{"a": 1}] * N, "not a number|lists or records"),
    "set": ([{1}] * N, "not a number a float can hold|lists or records"),
    "gap": ([1, 2, None, 4, 5, 6], "row 2.* is nan: impute or drop|has missing values|missing values:"),
    "odd": ([1, 2, 3, 4, 5, 2**53 + 1], f"{ROUNDED} 9007199254740993,"),
    "negative": ([1, 2, 3, 4, 5, -(2**53) - 1], f"{ROUNDED} -9007199254740993,"),
    "unsigned": (list(np.array([1, 2, 3, 4, 5, 2**63 + 1], np.uint64)), f"{ROUNDED} 9223372036854775809,"),
    "26 digits": ([1, 2, 3, 4, 5, 10**25 + 7], f"{ROUNDED} 10000000000000000000000007,"),
    "odd Decimal": ([Decimal(i) for i in (1, 2, 3, 4, 5, 10**25 + 7)], f"{ROUNDED} 10000000000000000000000007,"),
    "400 digits": ([1, 2, 3, 4, 5, 10**400], "row 5.*'1000.*', not a number a float can hold"),
}


def objects(values: list[Any]) -> np.ndarray:
    array = np.empty((N, 2), object)
    array[:, 0] = NUMBERS
    for i, value in enumerate(values):
        array[i, 1] = value
    return array


def one_column(values: list[Any]) -> np.ndarray:
    return objects(values)[:, 1:]


CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "lists": lambda values: [[a, b] for a, b in zip(NUMBERS.tolist(), values, strict=True)],
    "objects": objects,
    "array": lambda values: np.array(values).reshape(N, -1),
    "pandas": lambda values: pd.DataFrame({"f": NUMBERS, "c": values}),
    "pandas objects": lambda values: pd.DataFrame({"f": NUMBERS, "c": pd.Series(values, dtype=object)}),
    "lone pandas": lambda values: pd.DataFrame({"c": values}),
    "pandas with Arrow": lambda values: pa.table({"c": pa.array(values)}).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda values: pl.DataFrame({"f": NUMBERS, "c": values}),
    "lone polars": lambda values: pl.DataFrame({"c": values}),
    "Arrow": lambda values: pa.table({"f": NUMBERS, "c": pa.array(values)}),
}
TARGETS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list, "array": np.array, "pandas": pd.Series, "polars": pl.Series, "objects": lambda v: one_column(v)[:, 0],
}
# What a library cannot hold at all.
CANNOT = (pa.ArrowException, pl.exceptions.PolarsError, TypeError, OverflowError, ValueError)


def made(make: Callable[[list[Any]], Any], values: list[Any]) -> Any:
    try:
        return make(values)
    except CANNOT:
        return None


def check(call: Callable[[], Any], told: str | None) -> None:
    """Numbers go through; all else is refused in one line."""
    if told is None:
        call()
        return
    with pytest.raises(partls.InvalidInput, match=told) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_in_python(kind: str, container: str) -> None:
    values, told = COLUMNS[kind]
    X = made(CONTAINERS[container], values)
    if X is None or (kind == "400 digits" and "polars" in container):  # polars makes a gap of them
        return
    names = getattr(X, "column_names", getattr(X, "columns", None))
    width = len(X[0]) if isinstance(X, list) else X.shape[1]
    groups = [0] * width
    if told is not None and names is not None:
        told = rf"(?=.*(\"c\"|'c')).*({told})" if "(?i)" not in told else told
    check(lambda: partls.Instance(X, Y, groups), told)
    check(lambda: partls.solve(X, Y, groups), told)
    check(lambda: partls.PartLSRegressor(groups).fit(X, Y), told)
    if container not in ("lists", "pandas", "polars"):
        return
    check(lambda: partls.PartLSRegressorCV(groups, cv=2, etas=[1.0]).fit(X, Y), told)
    known = np.column_stack([NUMBERS, NUMBERS**2])[:, :width]
    if names is not None:
        known = pd.DataFrame(known, columns=list(names))
    model = partls.PartLSRegressor(groups).fit(known, Y)
    check(lambda: model.predict(X), told)
    check(lambda: model.contributions(X), told)


@pytest.mark.parametrize("container", TARGETS)
@pytest.mark.parametrize("kind", COLUMNS)
def test_targets_and_weights_in_python(kind: str, container: str) -> None:
    values, told = COLUMNS[kind]
    y = made(TARGETS[container], values)
    if y is None:
        return
    X = np.column_stack([NUMBERS, NUMBERS**2])
    check(lambda: partls.solve(X, y, [0, 1]), told)
    check(lambda: partls.PartLSRegressor([0, 1]).fit(X, y), told)
    if kind != "negative":
        check(lambda: partls.solve(X, Y, [0, 1], sample_weight=y), told)
        check(lambda: partls.PartLSRegressor([0, 1]).fit(X, Y, sample_weight=y), told)
    blocks = told if told is None else f"{told}|y holds text, not numbers"
    check(lambda: partls.solve(da.from_array(X, chunks=3), y, [0, 1]), blocks)


def test_numbers_are_the_same_in_every_container() -> None:
    for kind, (values, told) in COLUMNS.items():
        if told is None:
            for container, make in CONTAINERS.items():
                X = made(make, values)
                if X is not None:
                    taken = partls.Instance(X, Y, [0] * (1 if container.startswith("lone") else np.shape(X)[1])).X
                    expected = [float(value) for value in values]
                    np.testing.assert_array_equal(taken[:, -1], expected, err_msg=f"{kind} in {container}")


def test_whole_numbers_beside_gaps_and_fractions() -> None:
    """A gap or a fraction makes a library turn whole numbers into floats: they are looked at before it does."""
    odd = 2**53 + 1
    nullable = pd.DataFrame({"c": pd.array([1, 2, None, 4, 5, odd], dtype="Int64")})
    for X in (nullable, pl.DataFrame({"c": [1, 2, None, 4, 5, odd]}), pa.table({"c": [1, 2, None, 4, 5, odd]}),
              [[1], [2], [3], [4], [0.5], [odd]], [[-1], [2], [3], [4], [5], [2**63 + 1]]):
        check(lambda X=X: partls.solve(X, Y, [0]), ROUNDED)
        check(lambda X=X: partls.PartLSRegressor([0]).fit(X, Y), ROUNDED)
    filled = nullable.assign(c=pd.array([1, 2, None, 4, 5, 6], dtype="Int64"))
    for X in (filled, filled.astype("Float64"), filled.astype(object)):
        check(lambda X=X: partls.solve(X, Y, [0]), "X, row 2, column 'c' is nan: impute or drop")
        check(lambda X=X: partls.PartLSRegressor([0]).fit(X, Y), "X, row 2, column 'c' is nan: impute or drop")
    check(lambda: partls.PartLSRegressor([0]).fit(NUMBERS[:, None], filled["c"]), "y, row 2 is nan: impute or drop")


def test_categories_of_numbers_are_numbers_and_others_are_not() -> None:
    X = pd.DataFrame({"c": pd.Categorical([3, 1, 2, 3, 3, 1])})
    np.testing.assert_array_equal(partls.Instance(X, Y, [0]).X[:, 0], [3, 1, 2, 3, 3, 1])
    words = X.assign(c=pd.Categorical(list("aabbcc")))
    check(lambda: partls.PartLSRegressor([0]).fit(words, Y), "row 0, column 'c' is 'a', not a number")
    check(lambda: partls.solve(pl.from_pandas(words), Y, [0]), "row 0, column 'c' is 'a', not a number")


def test_all_columns_that_are_no_numbers_are_named_at_once() -> None:
    frame = pd.DataFrame({"f": NUMBERS, "day": pd.date_range("2020", periods=N), "z": [1j] * N,
                          "took": pd.to_timedelta(np.arange(N))})
    with pytest.raises(partls.InvalidInput) as caught:
        partls.PartLSRegressor([0] * 4).fit(frame, Y)
    assert str(caught.value) == (
        'X: 3 columns hold no numbers: "day" (dates or durations), "z" (complex values), "took" (dates or durations)'
        "; turn dates into numbers, such as days since the first; split complex numbers into real and imaginary parts "
        "(Complex data not supported); or drop the column"
    )


def test_sparse_data() -> None:
    for values, told in (([1, 2, 3], None), ([1, 2, 2**53 + 1], ROUNDED), ([1j, 2, 3], "complex")):
        X = sparse.csr_matrix(np.array(values)[:, None])
        check(lambda X=X: partls.solve(X, [1, 2, 3], [0]), told)
        check(lambda X=X: partls.PartLSRegressor([0]).fit(X, [1, 2, 3]), told)


BLOCKS = ["int", "bool", "float", "exact", "datetime", "timedelta", "complex", "odd", "negative", "unsigned"]


@pytest.mark.parametrize("kind", BLOCKS)
def test_blocks(kind: str) -> None:
    values, told = COLUMNS[kind]
    frame = pd.DataFrame({"f": NUMBERS, "c": values, "y": Y})
    blocks = dd.from_pandas(frame, npartitions=2)
    check(lambda: partls.solve(blocks[["f", "c"]], blocks["y"], [0, 1]), told)
    check(lambda: partls.solve(blocks[["f"]], blocks["c"], [0]), told)
    check(lambda: partls.PartLSRegressor([0, 1]).fit(blocks[["f", "c"]], blocks["y"]), told)
    X = da.from_array(frame[["c"]].to_numpy(), chunks=(3, 1))
    check(lambda: partls.solve(X, da.from_array(Y, chunks=3), [0]), told)
    check(lambda: partls.solve(da.from_array(NUMBERS[:, None], chunks=(3, 1)), X[:, 0], [0]), told)


FILES = {
    "numbers": (pa.array([1, 2, 3, 4, 5, 2**60]), None),
    "decimals": (pa.array([Decimal(i) for i in range(N)]), None),
    "dictionary of numbers": (pa.array([1, 1, 2, 2, 3, 4]).dictionary_encode(), None),
    "dates": (pa.array(COLUMNS["date"][0]), "dates"),
    "times": (pa.array(COLUMNS["datetime"][0]), "dates"),
    "durations": (pa.array(COLUMNS["timedelta"][0]), "durations"),
    "bytes": (pa.array(COLUMNS["bytes"][0]), "bytes"),
    "records": (pa.array(COLUMNS["dict"][0]), "records"),
    "text": (pa.array(COLUMNS["text"][0]), "text"),
    "odd": (pa.array(COLUMNS["odd"][0]), ROUNDED),
    "unsigned": (pa.array(COLUMNS["unsigned"][0], pa.uint64()), ROUNDED),
    "odd decimals": (pa.array(COLUMNS["odd Decimal"][0]), ROUNDED),
    "odd dictionary": (pa.array(COLUMNS["odd"][0]).dictionary_encode(), ROUNDED),
}


@pytest.mark.parametrize("kind", FILES)
def test_files_of_columns(kind: str, folder: Path) -> None:  # noqa: F811
    column, told = FILES[kind]
    table = pa.table({"f": NUMBERS, "c": column, "y": Y})
    Path("g.json").write_text('{"a": ["f"], "b": ["c"]}', encoding="utf-8")
    parquet.write_table(table, "d.parquet")
    feather.write_feather(table, "d.feather")
    for name in ("d.parquet", "d.feather"):
        if kind == "durations" and name == "d.parquet":
            assert open_table(name).kinds["c"] == "duration"
        command = ("fit", name, "--target", "y", "--groups", "g.json")
        if told is None:
            assert run(*command).exit_code == 0
        else:
            refusal = message(*command)
            assert re.search(told, refusal) and '"c"' in refusal and "--drop" in refusal
            assert refusal.count("\n") == 1
    check(lambda: partls.solve("d.parquet", "y", {"a": ["f"], "b": ["c"]}), told)
    check(lambda: partls.PartLSRegressor({"a": ["f"], "b": ["c"]}).fit("d.parquet", "y"), told)


@pytest.mark.parametrize(("array", "told"), [
    (np.arange(N) * 1j, "complex numbers"), (np.arange(N).astype("timedelta64[s]"), "durations"),
    (np.arange(N).astype("datetime64[s]"), "dates"), (np.array([1, 2, 3, 4, 5, 2**53 + 1]), ROUNDED),
])
def test_arrays_in_a_file(array: np.ndarray, told: str, folder: Path) -> None:  # noqa: F811
    np.savez("d.npz", f=NUMBERS, c=array, y=Y)
    Path("g.json").write_text('{"a": ["f"], "b": ["c"]}', encoding="utf-8")
    assert re.search(told, message("fit", "d.npz", "--target", "y", "--groups", "g.json"))


CELLS = {
    "9007199254740993": True, "-9007199254740993": True, '"9007199254740993"': True, "+9007199254740993": True,
    "12345678901234567890123456": True, "9007199254740992": False, "100000000000000000000": False, "1e20": False,
    "1.2345678901234567e25": False, "123456789012345678901234567890.5": False,
}


@pytest.mark.parametrize("others", [["1"], ["0.5"], ["1"] * 300_000], ids=["whole", "fractions", "far below"])
@pytest.mark.parametrize("cell", CELLS)
def test_whole_numbers_in_text_files(cell: str, others: list[str], folder: Path) -> None:  # noqa: F811
    """Text is read as floats; what floats would round is looked at again as it was written."""
    if len(others) > 1 and cell not in ("9007199254740993", "12345678901234567890123456", "1e20"):
        return
    lines = [f"{i % 7},{value},{i % 3}" for i, value in enumerate([*others, *others, "3", "4", cell])]
    Path("d.csv").write_text("\n".join(["f,c,y", *lines]), encoding="utf-8")
    Path("g.json").write_text('{"a": ["f"], "b": ["c"]}', encoding="utf-8")
    command = ("fit", "d.csv", "--target", "y", "--groups", "g.json")
    if CELLS[cell]:
        whole = cell.strip('"+')
        assert message(*command) == (
            f'error: column "c" has whole numbers beyond 2^53, such as {whole}, which floating point cannot tell apart'
            ': subtract a constant, or leave the column out with --drop "c"\n'
        )
        assert run(*command, "--drop", "c").exit_code == 0
    else:
        assert run(*command).exit_code == 0


@pytest.mark.parametrize(("dtype", "kind"), [
    (np.dtype(">i8"), "numbers"), (np.dtype(">M8[s]"), "dates or durations"), (np.dtype("S3"), "bytes"),
    (np.dtype("U3"), "text"), (np.dtype([("a", "f8")]), "lists or records"), (np.dtype(np.longdouble), "numbers"),
    (np.dtype(np.clongdouble), "complex values"), (pd.DatetimeTZDtype(tz="UTC"), "dates or durations"),
    (pd.PeriodDtype("D"), "dates or durations"), (pd.IntervalDtype("int64"), "dates or durations"),
    (pd.SparseDtype(float), "numbers"), (pd.BooleanDtype(), "numbers"), (pd.StringDtype(), "text"),
    (pl.Float32(), "numbers"), (pl.Decimal(10, 2), "numbers"), (pl.Duration(), "dates or durations"),
    (pl.Time(), "dates or durations"), (pl.Enum(["a"]), "categories"), (pl.List(pl.Int64), "lists or records"),
    (pl.Struct({"date": pl.Date}), "lists or records"), (pl.Binary(), "bytes"), (pl.Null(), "numbers"),
    (pa.float16(), "numbers"), (pa.decimal256(50, 2), "numbers"), (pa.large_string(), "text"),
    (pa.string_view(), "text"), (pa.list_(pa.int64()), "lists or records"), (pa.date64(), "dates or durations"),
    (pa.dictionary(pa.int8(), pa.string()), "categories"), (pa.dictionary(pa.int8(), pa.int64()), "numbers"),
    (pa.binary(3), "bytes"), (pa.month_day_nano_interval(), "dates or durations"),
], ids=str)
def test_types_are_known_by_their_names(dtype: Any, kind: str) -> None:
    assert kind_of(dtype) == kind
