"""Laws of Partition: every form spells the same groups, names decide the pairing, errors name the remedy."""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.errors import InvalidInput, PartLSError, counted, listing, suggestion
from formulations.partition import Partition
from formulations.partition.placement import Written

COLUMNS = ("area", "rooms", "year", "quality", "garage")
NAMES = ("size", "age", "rest")
LABELS = (0, 0, 1, 2, 2)
MATRIX = np.eye(3, dtype=int)[list(LABELS)]
GROUPS = {"size": ["area", "rooms"], "age": ["year"], "rest": ["quality", "garage"]}
EXPECTED = Partition(NAMES, np.array(LABELS), COLUMNS)

MATRIX_CSV = "name,size,age,rest\narea,1,0,0\nrooms,1,0,0\nyear,0,1,0\nquality,0,0,1\ngarage,0,0,1\n"
LONG_CSV = "feature,group\narea,size\nrooms,size\nyear,age\nquality,rest\ngarage,rest\n"
TOML = '[groups]\nsize = ["area", "rooms"]\nage = ["year"]\nrest = ["quality", "garage"]\n'


repeatable = settings(derandomize=True, database=None, deadline=None)


def of(groups: Written, columns: Written = COLUMNS, **options: str) -> Partition:
    return Partition.of(groups, n_columns=len(columns), columns=columns, **options)


def written(folder: Path, text: str, name: str = "groups.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_text(text, encoding=encoding)
    return path


def refused(*fragments: str) -> pytest.RaisesExc[InvalidInput]:
    """Expect InvalidInput whose message holds the fragments in this order."""
    return pytest.raises(
        InvalidInput, match="(?s)" + ".*".join(re.escape(fragment) for fragment in fragments)
    )


# Every form spells the same groups


NAMED_FORMS: dict[str, Written] = {
    "partition": EXPECTED,
    "labels": ["size", "size", "age", "rest", "rest"],
    "label array": np.array(["size", "size", "age", "rest", "rest"]),
    "label series": pd.Series(["size", "size", "age", "rest", "rest"]),
    "label index": pd.Index(["size", "size", "age", "rest", "rest"]),
    "categorical labels": pd.Series(["size", "size", "age", "rest", "rest"], dtype="category"),
    "dict of names": GROUPS,
    "dict of positions": {"size": [0, 1], "age": [2], "rest": [3, 4]},
    "dict of mixed": {"size": ["area", 1], "age": range(2, 3), "rest": np.array([3, 4])},
    "dict of collections": {"size": {"rooms", "area"}, "age": pd.Index(["year"]), "rest": (np.int32(4), 3)},
    "frame": pd.DataFrame(MATRIX, index=COLUMNS, columns=NAMES),
    "reversed frame": pd.DataFrame(MATRIX, index=COLUMNS, columns=NAMES)[::-1],
    "frame of truth values": pd.DataFrame(MATRIX == 1, columns=NAMES),
}


@pytest.mark.parametrize("form", NAMED_FORMS)
def test_named_forms_agree(form: str) -> None:
    assert of(NAMED_FORMS[form]) == EXPECTED


UNNAMED_FORMS: dict[str, Written] = {
    "lists of positions": [[0, 1], [2], [3, 4]],
    "lists of names": [["area", "rooms"], ["year"], ["quality", "garage"]],
    "tuple of sets": ({0, 1}, {2}, {3, 4}),
    "lists of arrays": [np.array([0, 1]), np.array([2]), np.array([3, 4])],
    "matrix": MATRIX,
    "float matrix": MATRIX.astype(float),
    "nested rows": MATRIX.tolist(),
}


@pytest.mark.parametrize("form", UNNAMED_FORMS)
def test_unnamed_forms_number_their_groups(form: str) -> None:
    assert of(UNNAMED_FORMS[form]) == Partition(("g0", "g1", "g2"), np.array(LABELS), COLUMNS)


FILES = {
    "matrix.csv": MATRIX_CSV,
    "semicolons.csv": MATRIX_CSV.replace(",", ";"),
    "tabs.tsv": MATRIX_CSV.replace(",", "\t"),
    "floats.csv": MATRIX_CSV.replace("1", "1.0"),
    "blank-lines.csv": "\n" + MATRIX_CSV.replace("\n", "\n\n") + ",,,\n",
    "spaces.csv": MATRIX_CSV.replace(",", " , "),
    "quoted.csv": MATRIX_CSV.replace("area", '"area"'),
    "windows.csv": MATRIX_CSV.replace("\n", "\r\n"),
    "long.csv": LONG_CSV,
    "long-semicolons.csv": LONG_CSV.replace(",", ";").replace("feature;group", "Feature;Group"),
    "long-reversed.csv": "\n".join(",".join(line.split(",")[::-1]) for line in LONG_CSV.splitlines()),
    "groups.toml": TOML,
    "toml-windows.toml": TOML.replace("\n", "\r\n"),
    "toml-by-another-name.txt": "# the groups\n\n" + TOML,
    "no-suffix": 'title = "mine"\n' + TOML,
    "groups.json": json.dumps(GROUPS),
    "json-by-another-name.txt": json.dumps({"groups": GROUPS}, indent=1),
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("name", FILES)
def test_files_agree(tmp_path: Path, name: str, encoding: str) -> None:
    path = written(tmp_path, FILES[name], name, encoding)
    assert Partition.from_file(path) == EXPECTED
    assert of(path) == of(str(path)) == EXPECTED


def test_none_is_one_group_of_all_columns() -> None:
    everything = of(None)
    assert everything.names == ("all",)
    assert everything.labels.tolist() == [0] * 5


def test_columns_may_hold_a_delimiter_when_quoted(tmp_path: Path) -> None:
    path = written(tmp_path, 'feature,group\n"area, net",size\nrooms,size\n')
    assert Partition.from_file(path).columns == ("area, net", "rooms")


# Labels


def test_integer_labels_are_sorted_and_others_keep_their_order() -> None:
    assert Partition.from_labels([10, 2, 10]).names == ("2", "10")
    assert Partition.from_labels(np.array([10, 2, 10])).labels.tolist() == [1, 0, 1]
    assert Partition.from_labels(["z", "a", "z"]).names == ("z", "a")
    assert Partition.from_labels([("z", 1), ("a", 1)]).names == ("('z', 1)", "('a', 1)")
    assert Partition.from_labels([2.0, 1.0]).names == ("1", "2")
    assert Partition.from_labels([True, False]).names == ("False", "True")


@pytest.mark.parametrize("blank", [None, -1, -1.0, np.int64(-1), "", " ", float("nan"), pd.NA])
def test_blank_labels_mean_no_group(blank: Written) -> None:
    assert Partition.from_labels(["a", blank], ungrouped="free").labels.tolist() == [0, -1]
    with refused("in no group: 1", 'ungrouped="free"'):
        Partition.from_labels(["a", blank])


def test_bad_labels() -> None:
    with refused("the label of column 1 is ['x']"):
        Partition.from_labels(["a", ["x"]])
    with refused('2 groups are called "1"'):
        Partition.from_labels([1, "1"])
    with refused("groups cover 3 columns but the data has 5"):
        of(["a", "b", "a"])
    with refused("there are none"):
        of([])
    with refused("groups mix lists and single values"):
        of([["area"], "rooms"])


# Pairing


@st.composite
def shuffled(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    """Draw labels using each of 0..K-1, and two orders of their columns."""
    labels = draw(st.lists(st.integers(0, 3), min_size=1, max_size=8))
    present = sorted(set(labels))
    order = st.permutations(range(len(labels)))
    return [present.index(label) for label in labels], draw(order), draw(order)


@repeatable
@given(shuffled())
def test_names_decide_the_pairing_in_any_order(case: tuple[list[int], list[int], list[int]]) -> None:
    labels, written_order, data_order = case
    names = [f"x{j}" for j in range(len(labels))]
    in_file = [names[j] for j in written_order]
    matrix = np.eye(max(labels) + 1)[[labels[j] for j in written_order]]
    partition = Partition.from_matrix(matrix, columns=in_file)
    data = [names[j] for j in data_order]
    expected = [labels[j] for j in data_order]
    frame = pd.DataFrame(matrix, index=in_file, columns=partition.names)
    for groups in (
        partition,
        partition.to_dict(),
        frame,
        [partition.to_dict()[name] for name in partition.names],
    ):
        paired = of(groups, data)
        assert paired.labels.tolist() == expected
        assert paired.columns == tuple(data)
        assert paired.align(in_file) == partition


@repeatable
@given(shuffled())
def test_every_description_of_a_partition_rebuilds_it(case: tuple[list[int], list[int], list[int]]) -> None:
    labels, _, _ = case
    partition = Partition.from_labels(labels)
    assert Partition.from_dict(partition.to_dict()) == partition
    assert Partition.from_matrix(partition.indicator(), names=partition.names) == partition
    assert Partition.of(partition, n_columns=len(labels)) == partition
    assert sorted(np.concatenate([partition.members(k) for k in range(partition.n_groups)])) == list(
        range(len(labels))
    )
    assert partition.indicator().sum(axis=0).tolist() == partition.sizes.tolist()


def test_position_decides_only_without_names_on_one_side(tmp_path: Path) -> None:
    assert Partition.of(EXPECTED, n_columns=5) == EXPECTED
    other = ("a", "b", "c", "d", "e")
    unnamed = Partition(NAMES, np.array(LABELS))
    assert of(unnamed, other) == Partition(NAMES, np.array(LABELS), other)
    assert of(unnamed, range(5)) == unnamed
    assert Partition.of(written(tmp_path, MATRIX_CSV), n_columns=5).labels.tolist() == list(LABELS)
    with refused("groups cover 5 columns but the data has 6"):
        Partition.of(EXPECTED, n_columns=6)


def test_names_gathered_group_by_group_never_pair_by_position(tmp_path: Path) -> None:
    for groups in (Partition.from_dict(GROUPS), written(tmp_path, TOML, "groups.toml")):
        with refused("list columns by name, but the data has none"):
            Partition.of(groups, n_columns=5)
    assert of(Partition.from_dict(GROUPS)).ordered
    with refused("are names, but columns have none; name them (in a pipeline"):
        Partition.of(GROUPS, n_columns=5)


def test_names_that_are_positions_pair_as_positions(tmp_path: Path) -> None:
    path = written(tmp_path, "feature,group\n2,a\n0,b\n1,b\n")
    assert Partition.of(path, n_columns=3).to_dict() == {"a": ["2"], "b": ["0", "1"]}


@pytest.mark.parametrize("names", [[3, 1, 2, 0, 4], ["a", "b", "c", "d", 0], [("a", 1)] * 5])
def test_column_names_that_could_be_positions_are_refused(names: Written) -> None:
    with refused("the columns are called", "make them strings"):
        of(GROUPS, names)
    with refused("the columns are called", "make them strings"):
        of(pd.Series(["a"] * 5, index=pd.Index(names, tupleize_cols=False)))


def test_the_index_of_a_series_names_its_columns() -> None:
    labels = pd.Series(["rest", "age", "size", "rest", "size"], index=[COLUMNS[j] for j in (4, 2, 0, 3, 1)])
    assert of(labels).names == ("rest", "age", "size")
    assert of(labels).labels.tolist() == [2, 2, 1, 0, 0]
    assert Partition.from_labels(labels).columns == tuple(labels.index)


def test_align() -> None:
    free = Partition.from_labels(["a", "b", None], ["x", "y", "z"], ungrouped="free")
    aligned = free.align(["z", "y", "x"])
    assert aligned == Partition(("a", "b"), np.array([-1, 1, 0]), ("z", "y", "x"))
    assert free.align(["w", "x", "y", "z"], ungrouped="free").labels.tolist() == [-1, 0, 1, -1]
    with refused('in no group: "w"'):
        free.align(["w", "x", "y", "z"])
    with refused('unknown column "z"'):
        free.align(["x", "y"])
    with refused("need column names"):
        Partition.from_labels([0, 1]).align(["x", "y"])


# The value


def test_properties() -> None:
    partition = of({"size": ["area", "rooms"], "age": ["year"]}, ungrouped="free")
    assert (partition.n_groups, partition.n_columns) == (2, 5)
    assert partition.sizes.tolist() == [2, 1]
    assert partition.free.tolist() == [3, 4]
    assert partition.members("size").tolist() == partition.members(0).tolist() == [0, 1]
    assert partition.index("age") == 1
    assert partition.indicator().tolist() == [[1, 0], [1, 0], [0, 1], [0, 0], [0, 0]]
    assert partition.to_dict() == {"size": ["area", "rooms"], "age": ["year"]}
    assert Partition.from_dict(partition.to_dict(), columns=COLUMNS, ungrouped="free") == partition
    assert repr(partition) == "Partition(5 columns in 2 groups, 2 free; size: 2, age: 1)"
    assert repr(Partition.from_labels(range(8))).endswith("5: 1, ...)")


def test_value_semantics() -> None:
    labels = np.array(LABELS)
    partition = Partition(NAMES, labels, COLUMNS)
    labels[0] = 2
    assert partition == EXPECTED
    assert hash(partition) == hash(EXPECTED)
    assert partition != Partition(NAMES, np.array(LABELS))
    assert partition != "size"
    for twin in (partition, copy.deepcopy(partition), pickle.loads(pickle.dumps(partition))):
        assert twin == EXPECTED
        assert twin.labels.dtype == np.intp
        with pytest.raises(ValueError, match="read-only"):
            twin.labels[0] = 1


@pytest.mark.parametrize(
    ("names", "labels", "fragment"),
    [
        (("a",), [[0]], "1-D array"),
        (("a",), [0.0], "1-D array"),
        (("a",), [1], "labels use each of 0 to 0"),
        (("a",), [0, -2], "labels use each of 0 to 0"),
        (("a", "b"), [0, 0], "labels use each of 0 to 1"),
        (("a", "a"), [0, 1], "group names must differ"),
    ],
)
def test_the_constructor_refuses_what_is_not_a_partition(
    names: Written, labels: Written, fragment: str
) -> None:
    with refused(fragment):
        Partition(names, labels)


def test_unknown_groups_are_refused() -> None:
    with refused('no group "sise"; did you mean "size"?'):
        EXPECTED.index("sise")
    with refused('no group "AGE"; did you mean "age"?'):
        EXPECTED.members("AGE")
    for k in (-1, 3):
        with refused(f"no group {k}: the 3 groups count from 0"):
            EXPECTED.members(k)


# Errors in memory


@pytest.mark.parametrize(
    ("groups", "fragments"),
    [
        (
            {**GROUPS, "rest": ["qualty", "garage"]},
            ['group "rest": unknown column "qualty"; did you mean "quality"?'],
        ),
        ({**GROUPS, "age": ["year", "area"]}, ['column "area" is in group "size" and in group "age"']),
        ({**GROUPS, "age": ["year", 2]}, ['column "year" is listed twice in group "age"']),
        ({"size": ["area"]}, ['in no group: "rooms", "year", "quality", "garage"; add', 'ungrouped="free"']),
        ({**GROUPS, "none": []}, ['group "none" is empty']),
        ({}, ["there are none"]),
        ({"": [0, 1, 2, 3, 4]}, ["a group has no name"]),
        ({1: [0, 1], "1": [2, 3, 4]}, ['2 groups are called "1"']),
        ({**GROUPS, "age": "year"}, ['group "age" must be a list of columns', "not 'year'"]),
        ({**GROUPS, "age": 2}, ['group "age" must be a list of columns', "not 2"]),
        ({**GROUPS, "age": np.array(2)}, ['group "age" must be a list of columns']),
        ({**GROUPS, "age": [2, 5]}, ['group "age": position 5 is out of range: the 5 columns count from 0']),
        ({**GROUPS, "age": [2, -1]}, ["position -1 is out of range"]),
        ({**GROUPS, "age": [2, 1.0]}, ['group "age": 1.0 is neither a column name nor an integer position']),
        ({**GROUPS, "age": [2, np.bool_(True)]}, ["True is neither a column name nor an integer position"]),
        (
            {"a": ["x1", "x2"], "b": ["y"]},
            ["4 problems", '"x1"', '"x2"', 'group "b": unknown column "y"', "in no group"],
        ),
        ({"a": [f"x{j}" for j in range(9)]}, ["10 problems", '"x4"', "and 5 more"]),
        ([["area"], ["area", "rooms"], [2, 3, 4]], ['column "area" is in group "g0" and in group "g1"']),
        (MATRIX.T, ["3 rows for 5 columns; transpose it"]),
        (MATRIX[:4], ["groups cover 4 columns but the data has 5"]),
        (2 * MATRIX, ["holds only 0 and 1", "5 problems", "row 0, column 0 is 2"]),
        (np.where(MATRIX == 1, np.nan, 0)[:, :1], ["row 0, column 0 is nan"]),
        (np.ones((5, 2)), ['column "area" is in group "g0" and in group "g1"']),
        (np.zeros((5, 0)), ["there are none"]),
        (np.eye(5, 4), ['in no group: "garage"']),
        (pd.DataFrame({"name": COLUMNS, "a": 1}), ["holds only 0 and 1", "row 0, column 0 is 'area'"]),
        ({"area", "rooms"}, ["groups cannot be a set; give labels"]),
        (3, ["groups cannot be a int"]),
        (np.array(None), ["groups cannot be a ndarray"]),
    ],
)
def test_errors_name_what_is_wrong(groups: Written, fragments: list[str]) -> None:
    with refused(*fragments):
        of(groups)


def test_errors_without_column_names_count_from_zero() -> None:
    with refused("column 1 is in group"):
        Partition.from_lists([[0, 1], [1]])
    with refused("in no group: 0, 2, 3, 4, 5 and 1 more"):
        Partition.from_lists([[1]], 7)
    with refused("1.5 is neither"):
        Partition.from_lists([["a", 1.5]])


def test_matrix_errors() -> None:
    with refused("2 group names for the 3 columns"):
        Partition.from_matrix(MATRIX, names=["a", "b"])
    with refused('2 groups are called "a"'):
        Partition.from_matrix(MATRIX, names=["a", "b", "a"])
    for shapeless in ([1, 0], [[1, 0], [1]]):
        with refused("M rows and K columns, not the shape (2,)"):
            Partition.from_matrix(shapeless)


def test_column_errors() -> None:
    twice = ("area", "rooms", "year", "quality", "area")
    with refused('several columns are called "area"'):
        of({"all": [*COLUMNS]}, twice)
    with refused('several columns are called "area"'):
        of(EXPECTED, twice)
    assert of(LABELS, twice).columns == twice  # nothing is looked up by name
    with refused("columns has 4 names but there are 5 columns"):
        Partition.of(GROUPS, n_columns=5, columns=COLUMNS[:4])


def test_the_policy_for_ungrouped_columns_is_checked() -> None:
    with refused("ungrouped='fre'", 'did you mean "free"?'):
        of(GROUPS, ungrouped="fre")
    assert of({"size": [0]}, ungrouped="free").free.tolist() == [1, 2, 3, 4]


# Errors in files


@pytest.mark.parametrize(
    ("name", "text", "fragments"),
    [
        ("g.csv", "", ["the file is empty"]),
        ("g.toml", " \n", ["the file is empty"]),
        ("g.csv", "area\nrooms\n", ["the header has one cell"]),
        ("g.csv", "name,a\n", ["there is a header but no row below it"]),
        (
            "g.csv",
            "name,a,b\nx,1,0\ny,1\nz,0,1,0\n",
            ["line 3 has 2 cells, the header has 3", "line 4 has 4 cells"],
        ),
        ("g.csv", "name,a,b\nx,1,0\n,0,1\n", ["line 3 does not begin with the name"]),
        ("g.csv", "name,a,b\nx,1,0\n\ny,0,2\n", ['line 4, column "b" is "2"']),
        ("g.csv", "column,cluster\nx,a\n", ["not a matrix of 0 and 1", 'head the second column "group"']),
        (
            "g.csv",
            "name,a,b\nx,1,0\nx,0,1\n",
            ['column "x" is on line 2 ("1", "0") and on line 3 ("0", "1")'],
        ),
        ("g.csv", "name,a,b\nx,1,1\n", ['column "x" is in group "a" and in group "b"']),
        ("g.csv", "name,a,a\nx,1,0\ny,0,1\n", ['2 groups are called "a"']),
        ("g.csv", "name,a,\nx,1,0\ny,0,1\n", ["a group has no name"]),
        ("g.csv", "name,a,b\nx,1,0\n", ['group "b" is empty']),
        ("g.csv", "name,a,b\nx,1,0\ny,0,1\nz,0,0\n", ['in no group: "z"']),
        ("g.csv", 'name,a\nx,1\n"y,1\n', ["line 3 is not valid CSV"]),
        ("g.csv", "feature,group\nx,a\nx,b\n", ['column "x" is on line 2 ("a") and on line 3 ("b")']),
        ("g.csv", "feature,group\nx,a\ny,\n", ['in no group: "y"']),
        ("g.toml", "[groups\n", ["not valid TOML", "line 1"]),
        ("g.toml", "[group]\na = ['x']\n", ["there is no [groups] table"]),
        ("g.toml", "groups = ['x']\n", ["there is no [groups] table"]),
        (
            "g.toml",
            "[groups]\na = 'x'\nb = [1]\n",
            ["2 problems", 'group "a" is not a list', 'group "b" is not a list'],
        ),
        ("g.toml", "[groups]\na = ['x', 'y']\nb = ['y']\n", ['column "y" is in group "a" and in group "b"']),
        ("g.toml", "[groups]\n", ["there are none"]),
        ("g.txt", "a = ['x']\n", ["there is no [groups] table"]),
        ("g.json", '{"a": ["x"', ["not valid JSON"]),
        ("g.json", '{"a": ' * 99_999, ["not valid JSON"]),
        ("g.json", "{}", ["there are none"]),
        ("g.json", '{"a": "x", "b": [1], "c": {"d": 1}}', ["3 problems", 'group "a" is not a list', 'group "c" is']),
        ("g.json", '{"a": ["x"], "a": ["y"]}', ['2 groups are called "a"']),
        ("g.csv", "group,feature\na,x\na,x\n", ['column "x" is on line 2 ("a") and on line 3 ("a")']),
        ("g.csv", "group,a\nx,1\ny,0\n", ['in no group: "y"']),
        ("g.csv", "# " * 999 + ",b\nx,2\n", ["not a matrix of 0 and 1"]),
    ],
)
def test_file_errors_name_the_file_and_the_line(
    tmp_path: Path, name: str, text: str, fragments: list[str]
) -> None:
    path = written(tmp_path, text, name)
    with refused(str(path), *fragments):
        Partition.from_file(path)


def test_unreadable_files(tmp_path: Path) -> None:
    with refused(str(tmp_path), "this is a directory"):
        of(tmp_path)
    with refused("there is no such file", "a string is read as the path"):
        of("size")
    path = written(tmp_path, MATRIX_CSV, "groups.csv")
    with refused('there is no such file; did you mean "groups.csv"?'):
        of(path.with_name("group.csv"))
    with refused("there is no such file"):
        of(tmp_path / "nowhere" / "groups.csv")
    with refused("not UTF-8 text"):
        of(written(tmp_path, MATRIX_CSV, "utf16.csv", "utf-16"))
    with refused("cannot be read"):
        of("a\0b")
    with refused("cannot be read"):
        of("x" * 5000)


def test_files_may_leave_columns_free(tmp_path: Path) -> None:
    matrix = written(tmp_path, "name;a;b\nx;1;0\ny;0;1\nz;0;0\n")
    long = written(tmp_path, "feature,group\nx,a\ny,b\nz,\n", "long.csv")
    for path in (matrix, long):
        assert of(path, ["z", "y", "x"], ungrouped="free").labels.tolist() == [-1, 1, 0]


def test_a_file_naming_an_absent_column_is_refused(tmp_path: Path) -> None:
    with refused('unknown column "garage"; did you mean "garages"?', 'in no group: "garages"'):
        of(written(tmp_path, MATRIX_CSV), ("area", "rooms", "year", "quality", "garages"))


# Wording


def test_errors_are_value_errors_of_ours() -> None:
    assert issubclass(InvalidInput, PartLSError)
    assert issubclass(InvalidInput, ValueError)


def test_suggestion_and_listing() -> None:
    assert suggestion("aera", COLUMNS) == '; did you mean "area"?'
    assert suggestion("GARAGE", COLUMNS) == '; did you mean "garage"?'
    assert suggestion("zzz", COLUMNS) == ""
    assert listing(["a", 1]) == '"a", 1'
    assert [counted(n, "row") for n in (0, 1, 2000)] == ["0 rows", "1 row", "2,000 rows"]
    assert repr(Partition.from_dict({"a": ["x"]})) == "Partition(1 column in 1 group; a: 1)"
    assert listing(range(7)) == "0, 1, 2, 3, 4 and 2 more"


def test_no_file_is_read_without_end() -> None:
    with refused("/dev/zero", "the file has more than 64 MiB"):
        Partition.from_file("/dev/zero")


def test_a_pipe_is_known_by_its_content(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for content in (TOML, LONG_CSV, json.dumps(GROUPS)):
        writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(content,))
        writer.start()
        assert Partition.from_file(tmp_path / "pipe") == EXPECTED
        writer.join()


@pytest.mark.parametrize("content", [",", ",,\n,,", "\t\t\n"])
def test_a_file_of_nothing_but_delimiters_is_empty(content, tmp_path):
    path = tmp_path / "groups.tsv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match="the file is empty"):
        Partition.from_file(path)


def test_names_for_columns_without_names_are_one_line() -> None:
    groups = {"one": [f"c{j}" for j in range(7)], "two": [f"c{j}" for j in range(7, 14)]}
    with pytest.raises(InvalidInput) as refusal:
        Partition.of(groups, n_columns=14)
    assert "\n" not in str(refusal.value) and '"c0", "c1"' in str(refusal.value)
    assert 'in a pipeline: set_output(transform="pandas")' in str(refusal.value)


def test_the_codes_of_a_column_are_suggested_by_their_pattern() -> None:
    with refused('unknown column "town"; did you mean the pattern "town_*"?'):
        Partition.of({"place": ["town"]}, n_columns=2, columns=["town_Bath", "town_Ely"])
