"""Files of every kind become the same numbers; what is wrong with one is told in one clear message."""

from __future__ import annotations

import datetime
import errno
import gc
import gzip
import io
import os
import sys
import time
import zipfile
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from partls import InvalidInput
from partls.cli.missing_values import Gaps
from partls.cli.output import message_of
from partls.cli.preparation import Preparation
from partls.cli.prepare import prepare
from partls.cli.tables import columnar, delimited, in_memory, open_table
from partls.cli.tables import table as table_module
from partls.cli.tables.unsupported import unsupported
from partls.cli.training_data import TrainingData, read_rows


def frame(n_rows: int = 50) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    columns = {"a": rng.normal(size=n_rows), "b": rng.integers(0, 9, n_rows), "y": rng.normal(size=n_rows)}
    return pd.DataFrame(columns)


def write(path: Path, data: pd.DataFrame) -> Path:
    kind = path.suffix
    if kind == ".parquet":
        data.to_parquet(path)
    elif kind == ".feather":
        feather.write_feather(pa.Table.from_pandas(data), path)
    elif kind == ".arrow":
        with pa.ipc.new_file(path, pa.Table.from_pandas(data).schema) as writer:
            writer.write(pa.Table.from_pandas(data))
    elif kind == ".npz":
        np.savez_compressed(path, **{name: data[name].to_numpy() for name in data})
    else:
        data.to_csv(path, index=False, sep={".tsv": "\t", ".ssv": ";", ".psv": "|"}.get(kind, ","))
    return path


def rows(path: Path, **options) -> TrainingData:
    reading = {name: options.pop(name) for name in ("delimiter", "encoding", "decimal") if name in options}
    memory = options.pop("memory", 1024.0)
    table = open_table(path, **reading)
    return read_rows(table, prepare(table, **{"target": "y", **options}), memory=memory)


def refused(call, *args, **kwargs) -> str:
    with pytest.raises(InvalidInput) as caught:
        call(*args, **kwargs)
    return message_of(caught.value)


def text(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# Formats


@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.ssv", "d.psv", "d.csv.gz", "d.parquet", "d.feather", "d.arrow",
                                  "d.npz", "no_suffix"])
def test_every_format_gives_the_same_numbers(name: str, tmp_path: Path) -> None:
    data = frame()
    got = rows(write(tmp_path / name, data))
    assert got.columns == ("a", "b")
    assert got.n_rows == 50
    np.testing.assert_allclose(got.X, data[["a", "b"]], rtol=1e-15)
    np.testing.assert_allclose(got.y, data["y"], rtol=1e-15)


def test_the_content_says_what_a_file_is_not_its_name(tmp_path: Path) -> None:
    parquet_file = write(tmp_path / "d.parquet", frame())
    parquet_file.rename(tmp_path / "d.csv")
    assert open_table(tmp_path / "d.csv").n_rows == 50


def test_kinds_of_numbers(tmp_path: Path) -> None:
    table = pa.table({
        "small": pa.array([1, 2, None], pa.uint8()), "yes": [True, False, True],
        "half": pa.array([1.5, 2, 3], pa.float32()),
        "money": pa.array([Decimal("1.00"), Decimal(2), Decimal(3)], pa.decimal128(5, 2)), "y": [1.0, 2.0, 3.0],
    })
    parquet.write_table(table, tmp_path / "d.parquet")
    got = rows(tmp_path / "d.parquet", missing="drop")
    np.testing.assert_array_equal(got.X, [[1, 1, 1.5, 1], [2, 0, 2, 2]])
    assert (got.n_rows, got.n_dropped) == (2, 1)


def test_a_matrix_in_an_npz_file_names_its_columns(tmp_path: Path) -> None:
    X = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "d.npz", X=X, y=np.ones(3))
    assert open_table(tmp_path / "d.npz").columns == ("X0", "X1", "y")
    np.savez(tmp_path / "n.npz", X=X, y=np.ones(3), columns=np.array(["u", "v"]))
    got = rows(tmp_path / "n.npz")
    assert got.columns == ("u", "v")
    np.testing.assert_array_equal(got.X, X)


@pytest.mark.parametrize(("arrays", "message"), [
    ({"a": np.ones(3), "y": np.ones(4)}, '"a" has 3 rows, "y" has 4'),
    ({"X": np.ones((2, 2, 2))}, 'the array "X" has 3 dimensions'),
    ({"X": np.ones((2, 2)), "columns": np.array(["u"])}, '"columns" has 1 name for the 2 columns of "X"'),
    ({"X": np.ones((2, 2)), "columns": np.array(["u", "u"])}, 'several columns are called "u"'),
    ({"X": np.ones((2, 1)), "columns": np.array("u")}, 'the array "columns" has 0 dimensions'),
    ({"a": np.array([b"\xff"])}, 'the array "a" has bytes that are not UTF-8 text'),
    ({"a": np.array([{}], dtype=object)}, "is not an NPZ file of plain arrays"),
])
def test_npz_files_that_are_no_tables(arrays: dict, message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", **arrays)
    assert message in refused(open_table, tmp_path / "d.npz")


@pytest.mark.parametrize("dtype", [">f8", ">i4", ">f4", np.longdouble, np.float16, np.int8, np.bool_], ids=str)
def test_arrays_of_any_type_of_number(dtype: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", a=np.array([1, 0, 1], dtype), y=np.array([1, 2, 3], ">f8"))
    got = rows(tmp_path / "d.npz")
    np.testing.assert_array_equal(got.X, [[1], [0], [1]])
    np.testing.assert_array_equal(got.y, [1, 2, 3])


@pytest.mark.parametrize("dtype", ["S6", "U6", ">U6"])
def test_arrays_of_text(dtype: str, tmp_path: Path) -> None:
    X = {"town": np.array([b"oslo", b"rome"]).astype(dtype), "columns": np.array(["u"], "S1")}
    np.savez(tmp_path / "d.npz", **X, X=np.ones((2, 1)), y=np.ones(2))
    got = rows(tmp_path / "d.npz", encode="onehot")
    assert got.columns == ("town_oslo", "town_rome", "u")
    np.testing.assert_array_equal(got.X, [[1, 0, 1], [0, 1, 1]])


def zipped(path: Path, name: str, content: bytes, patch: tuple[int, int, bytes] = (0, 0, b"")) -> Path:
    """Write a zip archive of one file; ``patch`` overwrites bytes of its local and its central header."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, content)
    local, central, value = patch
    data = bytearray(path.read_bytes())
    for start in (local, data.index(b"PK\x01\x02") + central) if value else ():
        data[start : start + len(value)] = value
    path.write_bytes(bytes(data))
    return path


def test_archives_that_hold_no_arrays(tmp_path: Path) -> None:
    told = refused(open_table, zipped(tmp_path / "c.zip", "n.csv", b"a,y\n1,2\n"))
    assert 'c.zip is a zip archive with "n.csv", not one of NumPy arrays: unpack it first' in told
    assert '"a" is not a NumPy array' in refused(open_table, zipped(tmp_path / "b.npz", "a.npy", b"1,2"))
    buffer = io.BytesIO()
    np.save(buffer, np.ones(3))
    locked = zipped(tmp_path / "l.npz", "a.npy", buffer.getvalue(), (6, 8, b"\x01"))
    assert "l.npz is encrypted: unpack it first" in refused(open_table, locked)
    unknown = zipped(tmp_path / "u.npz", "a.npy", buffer.getvalue(), (8, 10, b"\x63\x00"))
    assert "is not an NPZ file of plain arrays (That compression method" in refused(open_table, unknown)
    with zipfile.ZipFile(tmp_path / "p.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", bytes(range(256)) * 99)
    packed = bytearray((tmp_path / "p.npz").read_bytes())
    packed[35:60] = b"\xff" * 25
    assert "is not an NPZ file" in refused(open_table, text(tmp_path / "p.npz", bytes(packed)))


def test_whole_numbers_that_rounding_would_change_are_refused(tmp_path: Path) -> None:
    large = 2**60
    for dtype, exact in ((np.int64, [large, -large, 0]), (np.uint64, [2**63, 2**53, 1])):
        np.savez(tmp_path / "e.npz", a=np.array(exact, dtype), y=np.ones(3))
        np.testing.assert_array_equal(rows(tmp_path / "e.npz").X[:, 0], exact)
    for kind in (".npz", ".parquet", ".feather"):
        data = pd.DataFrame({"a": [1, large, large + 1], "y": [1.0, 2.0, 3.0]})
        told = refused(rows, write(tmp_path / f"d{kind}", data))
        assert told == (
            'column "a" has whole numbers beyond 2^53, such as 1152921504606846977, which floating point cannot tell '
            'apart: subtract a constant, or leave the column out with --drop "a"'
        )
    parquet.write_table(pa.table({"a": pa.array([2**53 + 1, None]), "y": [1.0, 2.0]}), tmp_path / "n.parquet")
    assert "such as 9007199254740993" in refused(rows, tmp_path / "n.parquet", missing="mean")


# Text files as they come


@pytest.mark.parametrize(("content", "options"), [
    (b"\xef\xbb\xbfa,y\n1,2\n3,4\n", {}),
    (b"a,y\r\n1,2\r\n3,4\r\n", {}),
    (b"a,y\r1,2\r3,4", {}),
    ("a,y\n1,2\n3,4\n".encode("utf-16"), {}),
    (b'"a","y"\n"1","2"\n"3","4"', {}),
    (b"a\ty\n1\t2\n3\t4\n", {}),
    (b"a y\n1 2\n3 4\n", {"delimiter": " "}),
    (b"a y\n1 2\n3 4\n", {}),
    (b"a;y\n1,0;2,0\n3,0;4\n", {"decimal": ","}),
], ids=["bom", "crlf", "cr", "utf-16", "quoted", "tabs", "blanks", "found blanks", "decimal comma"])
def test_text_is_read_however_it_is_written(content: bytes, options: dict, tmp_path: Path) -> None:
    got = rows(text(tmp_path / "d.csv", content), **options)
    np.testing.assert_array_equal(got.X, [[1], [3]])
    np.testing.assert_array_equal(got.y, [2, 4])


def test_latin_1_is_asked_for(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", "größe,y\n1,2\n3,4\n".encode("latin-1"))
    assert "is not UTF-8 text; if an older program wrote it, try --encoding latin-1" in refused(open_table, path)
    assert rows(path, encoding="latin-1").columns == ("größe",)
    for unknown in ("latin-9999", "hex"):  # hex is a codec, but not of text
        assert f'--encoding "{unknown}" is unknown' in refused(open_table, path, encoding=unknown)


def test_latin_1_far_down_a_text_column(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", b"c,y\n" + b"oslo,1\n" * 20_000 + "köln,2\n".encode("latin-1"))
    assert "try --encoding latin-1" in refused(rows, path, encode="onehot")


def test_an_unnamed_column_gets_a_name_that_can_be_dropped(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    frame(5).to_csv(path)  # with the index of pandas in front
    assert rows(path).columns == ("unnamed_1", "a", "b")
    np.testing.assert_allclose(rows(path, drop=["unnamed_1"]).X, frame(5)[["a", "b"]])


def test_whole_numbers_may_turn_into_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "_LONGEST", 1 << 10)  # the first block decides about types
    path = text(tmp_path / "d.csv", "a,b,y\n" + "1,,2\n" * 1000 + "1.5,7,2e1\n")
    got = rows(path, missing="drop")
    np.testing.assert_array_equal(got.X, [[1.5, 7]])
    assert got.n_dropped == 1000


# Hostile files: each a message


HEADERS = {
    "empty": (b"", "d.csv is empty"),
    "blank": (b"\n \n\n", "d.csv is empty"),
    "header only": (b"a,y\n", "d.csv has a header but no rows"),
    "header without an end": (b"a,y", "d.csv has a header but no rows"),
    "duplicates": (b"a,b,a,b,y\n1,2,3,4,5\n", 'several columns are called "a", "b"; give each a name of its own'),
    "ragged": (b"a,y\n1,2\n1,2,3\n", "d.csv, line 3 has 3 cells, the header has 2: complete it or take it out"),
    "late text": (b"a,y\n" + b"1,2\n" * 3000 + b"n/k,2\n",
                  'column "a": "n/k" is not a number, and the first rows hold'),
    "binary": (b"\x7fELF\0\0\0\0\n\0", "is neither text nor Parquet, Arrow, Feather or NPZ"),
    "damaged gzip": (gzip.compress(b"a,y\n" + b"".join(b"%d,%d\n" % (i, i**7) for i in range(999)))[:-99],
                     "damaged gzip"),
    "damaged parquet": (b"PAR1" + b"\0" * 50, "cannot be read as Parquet"),
    "damaged arrow": (b"ARROW1" + b"\0" * 50, "cannot be read as Arrow"),
    "a zip of something else": (b"PK\x03\x04" + b"\0" * 50, "is not an NPZ file of plain arrays"),
}


@pytest.mark.parametrize(("content", "message"), HEADERS.values(), ids=HEADERS)
def test_hostile_files(content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "_LONGEST", 1 << 12)
    told = refused(rows, text(tmp_path / "d.csv", content))
    assert message in told
    assert "d.csv" in told


def test_the_row_of_a_wrong_length_is_found_far_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "_LONGEST", 1 << 12)
    path = text(tmp_path / "d.csv", b"a,y\n" + b"1,2\n" * 5000 + b"1\n" + b"1,2\n" * 5000)
    assert "line 5002 has 1 cell, the header has 2" in refused(rows, path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    assert "there is no such file" in refused(open_table, tmp_path / "d.csv")
    assert "is a directory; give the file that holds the data, or a folder of Parq" in refused(open_table, tmp_path)


def test_a_giant_cell_is_bounded(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", b"a,y\n1,2\n" + b"9" * (17 << 20) + b",2\n")
    assert "has a row longer than 8 MiB: a quote that is not closed, or a giant cell" in refused(rows, path)


def test_an_open_quote_is_bounded(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", b'a,y\n1,"2\n' + b"1,2\n" * (5 << 20))
    assert "a quote that is not closed" in refused(rows, path)


def test_a_gzip_bomb_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "UNPACKED", 1 << 20)
    path = text(tmp_path / "d.csv.gz", gzip.compress(b"a,y\n" + b"0,0\n" * (4 << 20)))
    told = refused(rows, path)
    assert "250 times its size: this looks like a zip bomb; if you trust it, unpack it yourself" in told


def test_an_npz_bomb_is_refused_before_it_unpacks(tmp_path: Path) -> None:
    path = tmp_path / "d.npz"
    np.savez_compressed(path, a=np.zeros(9 << 20))
    assert "unpacks to 72 MiB" in refused(open_table, path)
    assert "this looks like a zip bomb" in refused(open_table, path)


def test_an_arrow_bomb_is_refused_before_it_unpacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "UNPACKED", 1 << 20)
    path = tmp_path / "d.feather"
    zeros = np.zeros(1 << 18)
    feather.write_feather(pa.table({"a": zeros, "y": zeros}), path, compression="zstd", chunksize=1 << 18)
    told = refused(open_table, path)
    assert "d.feather unpacks to 4 MiB" in told
    assert "this looks like a zip bomb; if you trust it, write it again without compression" in told


def test_an_npz_file_that_lies_about_its_size(tmp_path: Path) -> None:
    """The true size of an array is in its header inside the archive: NumPy must not allocate it unread."""
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": "<f8", "fortran_order": False, "shape": (1 << 50,)})
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("a.npy", content.getvalue())
    assert "is not an NPZ file of plain arrays" in refused(open_table, tmp_path / "d.npz")


def test_ten_thousand_columns(tmp_path: Path) -> None:
    names = [f"column_{j}" for j in range(10_000)]
    data = np.random.default_rng(0).normal(size=(20, 10_000)).round(6)
    lines = [",".join([*names, "y"]), *(",".join([*map(str, row), "1"]) for row in data)]
    path = text(tmp_path / "d.csv", "\n".join(lines))
    got = rows(path, memory=0.0)
    assert not got.folded  # twenty rows stay what they are
    np.testing.assert_array_equal(got.X, data)


def test_a_parquet_bomb_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columnar, "_LARGEST_PIECE", 1 << 20)
    path = tmp_path / "d.parquet"
    parquet.write_table(pa.table({"a": np.arange(1 << 18) * 0.5, "y": np.zeros(1 << 18)}), path, use_dictionary=["y"])
    assert 'column "a" unpacks to 0.0 GiB in one row group; write the file with smaller' in refused(open_table, path)


@pytest.mark.parametrize("name", ["d.parquet", "d.feather", "d.npz"])
def test_a_table_without_rows(name: str, tmp_path: Path) -> None:
    assert "has a header but no rows" in refused(rows, write(tmp_path / name, frame().iloc[:0]))


def most_held(path: Path) -> int:
    """Return the bytes that pyarrow holds at most while a file is read."""
    table, pool, most = open_table(path), pa.default_memory_pool(), 0
    before = pool.bytes_allocated()
    for _ in table.batches(table.columns):
        most = max(most, pool.bytes_allocated() - before)
    return most


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_memory_stays_flat_however_long_the_file(suffix: str, tmp_path: Path) -> None:
    held = []
    for n_rows in (100_000, 1_000_000):
        data = pa.table({name: np.random.default_rng(0).normal(size=n_rows) for name in "aby"})
        path = tmp_path / f"{n_rows}{suffix}"
        if suffix == ".parquet":
            parquet.write_table(data, path, row_group_size=50_000)
        else:
            feather.write_feather(data, path, compression="lz4", chunksize=50_000)
        del data
        held.append(most_held(path))
    assert held[1] < 1.5 * held[0] + (4 << 20)


@pytest.mark.parametrize("packed", [False, True])
def test_memory_for_text_is_bounded_by_the_blocks_read_ahead(packed: bool, tmp_path: Path) -> None:
    """Arrow reads 32 of them ahead of whoever is slower, and parses one per core; the file has 160."""
    columns = {name: np.random.default_rng(0).normal(size=1_000_000) for name in "aby"}
    path = tmp_path / "d.csv"
    with gzip.open(path, "wb", 1) if packed else path.open("wb") as file:
        for _ in range(3):
            csv.write_csv(pa.table(columns), file, csv.WriteOptions(include_header=not file.tell()))
    assert most_held(path) < (48 + 3 * (os.cpu_count() or 1)) << 20


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_no_thread_of_arrow_asks_python_for_bytes(packed: bool, encoding: str, tmp_path: Path) -> None:
    """One that still does when the interpreter ends takes the process down, which nothing can catch."""
    content = "größe,y\n1,2\n".encode(encoding)
    path = text(tmp_path / "d.csv", gzip.compress(content) if packed else content)
    table = open_table(path, encoding=encoding)
    assert table.columns == ("größe", "y")
    with table._stream() as stream:  # type: ignore[attr-defined]
        assert type(stream) in (pa.OSFile, pa.CompressedInputStream)
        assert type(table._position) is pa.OSFile  # type: ignore[attr-defined]


def test_text_in_another_encoding_is_copied_and_the_copy_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(delimited.tempfile, "tempdir", str(scratch))
    path = text(tmp_path / "d.csv", "größe,y\n1,2\n3,4\n".encode("latin-1"))
    table = open_table(path, encoding="latin-1")
    for _ in range(2):  # as often as needed, from one copy
        assert [batch["größe"].to_pylist() for batch in table.batches(table.columns)] == [[1, 3]]
        assert len(list(scratch.iterdir())) == 1
    del table
    assert list(scratch.iterdir()) == []
    path.write_bytes("größe,y\n1,2\n".encode("utf-16")[:-1])
    assert "is not UTF-16 text" in refused(open_table, path)
    path.write_bytes(gzip.compress("größe,y\n".encode("latin-1") + b"0,0\n" * (30 << 20)))
    assert "looks like a zip bomb" in refused(open_table, path, encoding="latin-1")
    gc.collect()  # the tables that came to nothing
    assert list(scratch.iterdir()) == []


def test_a_full_disk_while_text_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = text(tmp_path / "d.csv", "größe,y\n1,2\n".encode("latin-1"))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(delimited.tempfile, "mkstemp", full)
    told = refused(open_table, path, encoding="latin-1")
    assert "cannot be copied to" in told and "No space left on device" in told


def test_a_row_longer_than_a_block_is_read_once(tmp_path: Path) -> None:
    """Arrow gives up there: the pass begins again with larger blocks, and passes over the rows it knows."""
    lines = [f"{i},{'x' * (3 << 20) if i == 90_000 else 'x' * 9},{i % 7}" for i in range(180_000)]
    path = text(tmp_path / "d.csv", "\n".join(["a,c,y", *lines]))
    table = open_table(path)
    assert table._block == 1 << 20  # type: ignore[attr-defined]
    for _ in range(2):
        seen = np.concatenate([batch["a"].to_numpy() for batch in table.batches(["a", "y"])])
        np.testing.assert_array_equal(seen, np.arange(180_000))
    np.testing.assert_array_equal(rows(path, drop=["c"], memory=1024).y, np.arange(180_000) % 7)


@pytest.mark.parametrize("packed", [False, True])
def test_no_file_is_closed_under_a_thread_that_may_read_it(
    packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread of Arrow that reads a little late would take its bytes from the file opened next, under that number."""
    content = "\n".join(["a,c,y", *(f"{i},{'x' * 99},{i % 7}" for i in range(100_000))]).encode()
    table = open_table(text(tmp_path / "d.csv", gzip.compress(content, 1) if packed else content))
    closed: list[object] = []

    class File(pa.OSFile):
        def close(self) -> None:
            closed.append(self)

    class Unpacked(pa.CompressedInputStream):
        def close(self) -> None:
            closed.append(self)

    def descriptors() -> int:  # of the table that are open; only Linux tells
        if sys.platform != "linux":
            return 0
        return sum("d.csv" in os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd"))

    monkeypatch.setattr(pa, "OSFile", File)
    monkeypatch.setattr(pa, "CompressedInputStream", Unpacked)
    for _ in range(20):
        batches = table.batches(["a", "y"])
        next(batches)
        assert table.share_read is not None
        assert descriptors() or sys.platform != "linux"
        batches.close()
    assert closed == [] and table.share_read is None
    del batches
    gc.collect()
    deadline = time.monotonic() + 60
    while descriptors() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert descriptors() == 0  # the last thread to read has closed them


def test_a_block_holds_many_rows_of_a_wide_file(tmp_path: Path) -> None:
    """With few rows in a block, every column would cost more to take over than to parse."""
    for n_columns, block in ((10, 1 << 20), (3000, 8 << 20)):
        line = ",".join(["1.5"] * n_columns)
        content = "\n".join([",".join(f"c{j}" for j in range(n_columns)), *[line] * ((9 << 20) // len(line))])
        table = open_table(text(tmp_path / f"{n_columns}.csv", content))
        assert table._block == block  # type: ignore[attr-defined]


def test_a_column_stays_what_its_first_rows_are_wherever_blocks_end(tmp_path: Path) -> None:
    """The first eight MiB decide, though a pass begins with a block of one."""
    n_rows = 150_000
    lines = [f"{'' if i < n_rows - 5 else 'oslo'},{i % 2 == 0},{i % 7},123456789" for i in range(n_rows)]
    path = text(tmp_path / "d.csv", "\n".join(["city,even,y,z", *lines]))
    table = open_table(path)
    assert table.kinds == {"city": "text", "even": "number", "y": "number", "z": "number"}
    got = rows(path, encode="onehot", missing="mean")
    assert got.columns[:2] == ("city_oslo", "city_(missing)")
    assert got.X[:, 0].sum() == 5


def test_columns_may_be_known_to_hold_text(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", "a,code,day,y\n1,007,2020-01-01,2\n3,08,2020-01-02,4\n")
    table = open_table(path, as_text=["code", "day", "absent"])
    assert table.kinds == {"a": "number", "code": "text", "day": "text", "y": "number"}
    assert [batch.to_pydict() for batch in table.batches(["code", "day"])] == [
        {"code": ["007", "08"], "day": ["2020-01-01", "2020-01-02"]}
    ]


@pytest.mark.parametrize("content", [
    "\n,a,y\n0,1,2\n1,3,4\n", "\r\n\r\n,a,y\r\n0,1,2\r\n1,3,4\r\n",
    ',"a",y\n0,1,2\n1,3,4\n', ',"a\nb",y\n0,1,2\n1,3,4\n',
    ',"a\r\n\r\nb",y\r\n0,1,2\r\n1,3,4\r\n',
])
def test_a_header_may_come_late_or_take_several_lines(content: str, tmp_path: Path) -> None:
    got = rows(text(tmp_path / "d.csv", content))
    assert got.columns[0] == "unnamed_1"
    np.testing.assert_array_equal(got.X, [[0, 1], [1, 3]])


@pytest.mark.parametrize("name", ['"a,b,c\nd,e"', '"x\x0by,,,"', '"p,q"'])
def test_a_name_in_quotes_does_not_choose_the_delimiter(name: str, tmp_path: Path) -> None:
    assert open_table(text(tmp_path / "d.csv", f"{name};z;y\n1;2;3\n4;5;6\n")).columns[1:] == ("z", "y")


def test_whole_numbers_too_long_for_floating_point_stay_whole(tmp_path: Path) -> None:
    """Whoever uses the column can tell; who drops it need not."""
    lines = [f"{2**60 + i},{i},{i % 3}" for i in range(9)]
    path = text(tmp_path / "d.csv", "\n".join(["a,b,y", *lines]))
    batch = next(open_table(path).batches(["a", "b"]))
    assert (batch["a"].type, batch["b"].type) == (pa.int64(), pa.float64())
    assert batch["a"].to_pylist() == [2**60 + i for i in range(9)]
    assert rows(path, drop=["a"]).columns == ("b",)


def test_a_pipe_is_refused_and_does_not_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "pipe is a pipe or a device, and data are read more than once" in refused(open_table, tmp_path / "pipe")


# Columns that are no numbers, and gaps


MIXED = "city,when,a,y\noslo,2024-01-31,1,1\nrome,2024-02-01,,2\n,2024-02-01,3,4\noslo,2024-03-01,5,5\n"


def test_text_columns_are_listed_with_the_option_that_encodes_them(tmp_path: Path) -> None:
    told = refused(rows, text(tmp_path / "d.csv", MIXED))
    assert "holds numbers but for" not in told
    assert '1 column holds text: "city"; turn each value into a 0/1 column with --encode onehot' in told
    assert '1 column holds dates: "when"; leave it out with --drop' in told
    assert "--encode one-hot is not one of onehot; did you mean" in refused(
        rows, tmp_path / "d.csv", encode="one-hot"
    )


def test_cells_that_spoil_a_column_of_numbers_are_named(tmp_path: Path) -> None:
    told = refused(rows, text(tmp_path / "d.csv", "a,b,y\n1,x1,1\n2,x2,2\nsold,x3,4\n5.5,x4,5\n"))
    assert '2 columns hold text: "a", "b"' in told
    assert told.endswith('"a" holds numbers but for "sold": correct these cells, or empty them and say --missing')
    for odd in ("1_000", "\u0661"):  # numbers to Python
        told = refused(rows, text(tmp_path / "u.csv", f"a,y\n1,1\n{odd},2\n3,3\n"))
        assert f'"a" holds numbers but for "{odd}"' in told


def test_missing_values_are_counted_by_column(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", "a,b,y\n1,,3\n,,4\n5,6,\n")
    told = refused(rows, path)
    assert 'd.csv has missing values: "b" 2, "a" 1, "y" 1 (of 3 rows), the first in row 1;' in told
    assert "--missing drop" in told and "--missing mean" in told
    assert "every row has a missing value" in refused(rows, path, missing="drop")
    assert "--missing mode is not one of error, drop, mean" in refused(rows, path, missing="mode")


@pytest.mark.parametrize("columns", [("y", "w"), ("w", "y")])
def test_gaps_that_no_column_can_be_left_out_for(columns: tuple[str, str], tmp_path: Path) -> None:
    told = "a,{},{}\n1,2,3\n2,2,3\n5,6,{}\n1,1,1\n"
    path = text(tmp_path / "d.csv", told.format(*columns, ""))
    expected = f'd.csv has missing values: "{columns[1]}" 1 (of 4 rows), the first in row 3; leave such rows out with '
    assert refused(rows, path, weights="w").endswith(expected + "--missing drop")
    assert rows(path, weights="w", missing="drop").n_dropped == 1
    path = text(tmp_path / "i.csv", told.format(*columns, "inf"))
    assert refused(rows, path, weights="w").endswith("1, the first in row 3; correct them")


def test_the_rows_of_gaps_are_counted_across_batches_and_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columnar, "BATCH_ROWS", 4)
    data = frame(30)
    data.loc[[13, 17], "a"] = np.nan
    data.loc[22, "y"] = -np.inf
    path = write(tmp_path / "d.parquet", data)
    told = refused(rows, path)
    assert 'infinite values: "y" 1' in told and "the first in row 23; correct them" in told
    assert "the first in row 14; leave" in refused(rows, write(path, data[:20]))
    preparation, parts = Preparation(("a",), "y"), []
    for i, piece in enumerate((data[:9], data[9:15], data[15:])):
        parts.append(Gaps())
        table = open_table(write(tmp_path / f"p{i}.parquet", piece))
        list(preparation.chunks(table, parts[-1], piece=True))
    gaps = sum(parts, Gaps())
    assert (gaps.missing.first, gaps.infinite.first, gaps.n_rows) == ((14, "a"), (23, "y"), 30)


def test_rows_with_gaps_are_dropped(tmp_path: Path) -> None:
    got = rows(text(tmp_path / "d.csv", MIXED), drop=["when"], encode="onehot", missing="drop")
    assert got.columns == ("city_oslo", "city_rome", "a")
    np.testing.assert_array_equal(got.X, [[1, 0, 1], [1, 0, 5]])
    np.testing.assert_array_equal(got.y, [1, 5])
    assert got.n_dropped == 2


def test_gaps_are_filled(tmp_path: Path) -> None:
    got = rows(text(tmp_path / "d.csv", MIXED), drop=["when"], encode="onehot", missing="mean")
    assert got.columns == ("city_oslo", "city_rome", "city_(missing)", "a")
    np.testing.assert_array_equal(got.X, [[1, 0, 0, 1], [0, 1, 0, 3], [0, 0, 1, 3], [1, 0, 0, 5]])


def test_a_column_without_any_value_has_no_mean(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", "a,y\n,1\n,2\n")
    assert 'no value at all in "a", so no mean' in refused(rows, path, missing="mean")


def test_infinite_values_are_refused_whatever_is_done_with_gaps(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", "a,y\ninf,1\n2,2\n-inf,1\n")
    for missing in ("error", "drop", "mean"):
        assert 'infinite values: "a" 2' in refused(rows, path, missing=missing)


def test_columns_by_name_with_suggestions(tmp_path: Path) -> None:
    path = write(tmp_path / "d.csv", frame())
    assert '--target: ' in refused(rows, path, target="Y2")
    assert 'd.csv has no column "yy"' in refused(rows, path, target="yy")
    assert 'has no column "A"; did you mean "a"?' in refused(rows, path, drop=["A"])
    assert 'has no column "zzz"; the columns are "a", "b", "y"' in refused(rows, path, weights="zzz")
    assert "has no columns beside the target" in refused(rows, path, drop=["a", "b"])
    words = text(tmp_path / "w.csv", "a,y\n1,low\n2,high\n")
    assert '--target: column "y" holds text, not numbers' in refused(rows, words)


def test_weights_must_count(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", "a,w,y\n1,1,1\n2,-3,2\n")
    assert '--weights: column "w", row 2 is -3; it must be >= 0' in refused(rows, path, weights="w")
    path = text(tmp_path / "z.csv", "a,w,y\n1,0,1\n2,0,2\n")
    assert '--weights: column "w" is zero in every row' in refused(rows, path, weights="w")


def test_a_decimal_comma_is_asked_for(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", "a;b;y\n1,5;2;3\n2,5;3;1\n")
    told = refused(rows, path)
    assert '1 column holds text: "a"' in told and told.endswith("if the comma is its decimal point, say --decimal ,")
    assert "not numbers; if the comma is its decimal point" in refused(rows, path, target="a")
    np.testing.assert_array_equal(rows(path, decimal=",").X, [[1.5, 2], [2.5, 3]])
    words = text(tmp_path / "w.csv", "a;y\nrome, italy;3\n1,5,2;1\nx1,5;2\n")
    assert "--decimal" not in refused(rows, words)


def test_text_of_too_many_values_is_refused(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", "id,y\n" + "".join(f"n{i},1\n" for i in range(1500)))
    assert 'column "id" has more than 1,000 different values' in refused(rows, path, encode="onehot")
    path = text(tmp_path / "e.csv", "id,y\n" + "x" * 300 + ",1\n")
    assert 'column "id" has a value of 300 letters' in refused(rows, path, encode="onehot")


def test_a_level_the_fit_has_not_seen(tmp_path: Path) -> None:
    table = open_table(text(tmp_path / "d.csv", "city,y\noslo,1\nbonn,2\n"))
    preparation = Preparation(("city",), "y", levels={"city": ("oslo", "rome")})
    told = refused(lambda: list(preparation.chunks(table, Gaps())))
    assert told.endswith(
        'd.csv: column "city" has "bonn" (first in row 2), which the model was not fitted to; it knows "oslo", "rome"'
    )


def test_files_that_are_known_and_not_read(tmp_path: Path) -> None:
    data = pa.table({"a": [1.0, 2.0]})
    with pa.ipc.new_stream(tmp_path / "stream", data.schema) as writer:
        writer.write(data)
    np.save(tmp_path / "one.npy", np.ones(3))
    np.savez(tmp_path / "none.npz")
    text(tmp_path / "old.feather", b"FEA1\x00\x00\x00\x00")
    for name, told in (
        ("stream", "is an Arrow stream: save it as a Feather (Arrow IPC) or Parquet file"),
        ("one.npy", "is a single NumPy array: save it with its column names as an NPZ file"),
        ("none.npz", "is an empty zip archive"),
        ("old.feather", "is a Feather file of version 1: save it as Feather version 2 or as Parquet"),
    ):
        assert unsupported((tmp_path / name).read_bytes()[:8]).startswith(told)
    for name in ("d.csv", "d.parquet", "d.feather", "d.npz"):
        assert unsupported(write(tmp_path / name, frame()).read_bytes()[:8]) == ""


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(),
                                  pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_every_type_of_text(kind: pa.DataType, tmp_path: Path) -> None:
    data = pa.table({"town": pa.array(["oslo", "rome", None], kind), "y": [1.0, 2.0, 3.0]})
    feather.write_feather(data, tmp_path / "d.feather", compression="uncompressed")
    got = rows(tmp_path / "d.feather", encode="onehot", missing="mean")
    assert got.columns == ("town_oslo", "town_rome", "town_(missing)")
    np.testing.assert_array_equal(got.X, np.eye(3))


def test_bytes_are_no_text(tmp_path: Path) -> None:
    feather.write_feather(pa.table({"a": [b"x", b"\xff"], "y": [1.0, 2.0]}), tmp_path / "d.feather")
    assert '1 column holds bytes, lists or records: "a"; leave it out' in refused(rows, tmp_path / "d.feather")


# Folders


def test_a_folder_of_parquet_files_is_one_table(tmp_path: Path) -> None:
    data = frame(90).assign(year=np.arange(90) % 3 + 2020).sort_values("year", kind="stable")
    parquet.write_to_dataset(pa.Table.from_pandas(data, preserve_index=False), tmp_path, partition_cols=["year"])
    table = open_table(tmp_path)
    assert table.n_rows == 90 == sum(piece.n_rows or 0 for piece in table.pieces())
    assert len(table.pieces()) == 3
    whole = rows(tmp_path)
    assert whole.columns == ("a", "b", "year")
    np.testing.assert_array_equal(whole.X, data[["a", "b", "year"]].to_numpy(float))
    assert rows(tmp_path, memory=0.0).folded
    (tmp_path / "year=2021" / "zz.parquet").write_bytes(b"PAR1 and no more")
    assert "cannot be read as a folder of Parquet files" in refused(open_table, tmp_path)


def test_files_that_are_known_and_not_read_are_refused_by_what_they_are(tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", np.zeros((3, 2)))
    assert "d.npy is a single NumPy array: save it with its column names" in refused(open_table, tmp_path / "d.npy")
    np.savez(tmp_path / "d.npz")
    assert "d.npz is an empty zip archive" in refused(open_table, tmp_path / "d.npz")


def test_long_whole_numbers_of_a_text_file_are_refused_where_they_are_used(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", "\n".join(["a,b,y", *(f"{2**60 + i},{i},{i % 3}" for i in range(9))]))
    assert 'column "a" has whole numbers beyond 2^53' in refused(rows, path)


def xlsx(path: Path, rows: list[list[object]], sheets: tuple[str, ...] = ("Data",)) -> Path:
    """Write the smallest workbook, all its sheets the same.

    Numbers stand as such, dates as styled serial numbers, all else as inline strings.
    """

    def cell(value: object) -> str:
        if value is None:
            return "<c/>"
        if isinstance(value, bool):
            return f'<c t="b"><v>{int(value)}</v></c>'
        if isinstance(value, float):
            return f"<c><v>{value!r}</v></c>"
        if isinstance(value, datetime.date):
            return f'<c s="1"><v>{(value - datetime.date(1899, 12, 30)).days}</v></c>'
        return f'<c t="inlineStr"><is><t>{value}</t></is></c>'

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    named = "".join(f'<sheet name="{name}" sheetId="{i}" r:id="a"/>' for i, name in enumerate(sheets, start=1))
    sheet = "".join("<row>" + "".join(map(cell, row)) + "</row>" for row in rows)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="a" '
            f'Type="{rel}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{rel}"><sheets>{named}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="a" '
            f'Type="{rel}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
            "xl/styles.xml": f'<styleSheet xmlns="{main}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
            "</styleSheet>",
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>',
        }.items():
            archive.writestr(name, '<?xml version="1.0" encoding="UTF-8"?>' + text)
    return path


def test_the_first_sheet_of_a_workbook_is_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    day = datetime.date(2024, 5, 17)
    rows = [["size", "town", "day", "code", "new"], [1.5, "Bath", day, 1.0, True], [2.0, None, None, "x", False],
            [None, "Ely", day, 3.0, True]]
    path = xlsx(tmp_path / "d.xlsx", rows)
    table = open_table(path)
    assert table.kinds == {"size": "number", "town": "text", "day": "date", "code": "text", "new": "number"}
    assert table.n_rows == 3
    read = pa.Table.from_batches(table.batches(["size", "town", "code"]))
    assert read.to_pydict() == {"size": [1.5, 2.0, None], "town": ["Bath", None, "Ely"], "code": ["1", "x", "3"]}
    assert open_table(path, as_text=["size"]).kinds["size"] == "text"
    assert "d.xlsx has a header but no rows" in refused(open_table, xlsx(tmp_path / "d.xlsx", rows[:1]))
    with zipfile.ZipFile(tmp_path / "bad.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "")
    told = refused(open_table, tmp_path / "bad.xlsx")
    assert "bad.xlsx cannot be read as an Excel workbook" in told and "\n" not in told
    monkeypatch.setattr(in_memory, "import_module", lambda name: __import__(f"no_{name}"))
    assert "python -m pip install 'partls[excel]'" in refused(open_table, path)


def test_which_of_several_sheets_was_read_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows: list[list[object]] = [["size"], [1.5]]
    open_table(xlsx(tmp_path / "one.xlsx", rows))
    assert not caplog.messages
    assert open_table(xlsx(tmp_path / "two.xlsx", rows, ("Houses", "Notes"))).n_rows == 1
    assert caplog.messages == [f'{tmp_path / "two.xlsx"}: read "Houses", the first of 2 sheets']


def test_json_lines_are_a_table(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    frame = pd.DataFrame({"size": [1.5, None, 3.0], "town": ["a", "b", None], "rooms": [1, 2, 3]})
    frame.to_json(path, orient="records", lines=True)
    table = open_table(path)
    assert table.kinds == {"size": "number", "town": "text", "rooms": "number"}
    read = pa.Table.from_batches(table.batches(table.columns)).to_pydict()
    assert read == {"size": [1.5, None, 3.0], "town": ["a", "b", None], "rooms": [1, 2, 3]}
    assert open_table(path, as_text=["rooms"]).kinds["rooms"] == "text"
    frame.to_json(path, orient="records", indent=1)
    told = refused(open_table, path)
    assert "write one record per line" in told and "\n" not in told


def test_a_header_of_a_million_columns_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(",".join(["c"] * 1_000_000) + "\n1,2\n", encoding="utf-8")
    assert "has 1,000,000 columns, more than the 100,000 that are read" in refused(open_table, path)
