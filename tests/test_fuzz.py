"""Whatever a file or an argument holds, a reader returns something valid or raises an exception of ours."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import partls
from partls import Instance, InvalidInput, Partition, PartLSError, PartLSRegressor
from partls.cli import model_file
from partls.runtime.options import a_priori_signs
from partls.search.checkpoint import Checkpoint
from partls.verification.document import sealed

SHORT, LONG = 100, 18_000  # inputs per target; there are six
COLUMNS = ("a", "b", "c", "d")
GROUPS = {"first": ["a", "b"], "second": ["c", "d"]}
GROUP_FILES = {
    "csv": ["group,column\nfirst,a\nfirst,b\nsecond,c\nsecond,d\n", "column,first,second\na,1,0\nb,1,0\nc,0,1\nd,0,1\n",
            'first,"a"\nfirst,b\nsecond,"c"\nsecond,d\n', "a;first\nb;first\nc;second\nd;second\n"],
    "tsv": ["a\tfirst\nb\tfirst\nc\tsecond\nd\tsecond\n"],
    "toml": ['[groups]\nfirst = ["a", "b"]\nsecond = ["c", "d"]\n'],
    "json": ['{"first": ["a", "b"], "second": ["c", "d"]}'],
}


@cache
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    return rng.normal(size=(12, 4)).round(3), rng.normal(size=12).round(3)


@cache
def documents() -> dict[str, Any]:
    """Valid files of each kind, as JSON documents."""
    import pandas as pd

    X, y = data()
    with TemporaryDirectory() as folder:
        base = Path(folder)
        partls.solve(X, y, [0, 0, 1, 1], certificate=base / "c.json", checkpoint=base / "r.ckpt", method="bnb")
        partls.solve(X, y, [0, 0, 1, 1], checkpoint=base / "open.ckpt", method="bnb", node_limit=0)
        frame = pd.DataFrame(X, columns=list(COLUMNS))
        PartLSRegressor(GROUPS).fit(frame, y).save(base / "m.json")
        model = json.loads((base / "m.json").read_text())
        prepared = {"features": list(COLUMNS), "target": "y", "weights": None, "levels": {}, "missing": "error",
                    "means": {}, "standardized": False}
        eta = {"0": 0.5, "1": 0.0, "(intercept)": 2.0}
        partls.solve(X, y, ["0", "0", "1", "1"], certificate=base / "r.json", method="bnb", eta=eta, ridge=0.1,
                     penalize_intercept=True)
        told = {"preparation": {"target": "y", "groups": GROUPS}, "strategy": {"name": "bnb", "options": {"n_jobs": 1}}}
        proofs = [json.loads((base / name).read_text()) for name in ("c.json", "r.json")]
        return {
            "certificate": [*proofs, sealed({**proofs[1], **told}), of_version_2(proofs[0])],
            "checkpoint": [json.loads((base / name).read_text()) for name in ("r.ckpt", "open.ckpt")],
            "model": [model, {**model, "preparation": prepared}],
        }


def of_version_2(document: dict[str, Any]) -> dict[str, Any]:
    """Return a certificate with one eta as version 2 wrote it."""
    problem = {key: value for key, value in document["problem"].items() if key not in ("ridge", "eta_intercept")}
    content = {key: value for key, value in document.items() if key not in ("strategy", "preparation")}
    return sealed({**content, "version": 2, "problem": {**problem, "eta": problem["eta"][0]}})


# What goes in

UNWRITABLE = {  # stand-ins for what Python does not write, put into the bytes
    "a very long number": b"9" * 5000, "a very deep list": b"[" * 50_000 + b"]" * 50_000, "no number": b"NaN",
}
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["", "nan", "inf", "+", "-", "0", "\ud800", "\x00", "\ufeff", "1e999", *UNWRITABLE]),
)
NUMBERS = st.one_of(
    st.integers(-3, 3), st.floats(), st.sampled_from([2**31, 2**63, -(2**64), 10**400, 1e308, 5e-324, -0.0])
)
NESTED = st.sampled_from([5, 90]).map(lambda depth: _nested(depth))
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, NESTED)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)


def _nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every member of a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, member in inner for place in places(member, (*path, key)))]


@st.composite
def edited(draw: st.DrawFn, kind: str) -> Any:
    """Return a valid document with some members replaced, dropped, repeated or moved; half of them sealed anew."""
    original = json.loads(json.dumps(draw(st.sampled_from(documents()[kind]))))
    paths = [path for path in places(original) if path]
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(paths))
        parent = original
        try:
            for key in way:
                parent = parent[key]
            match draw(st.sampled_from(["replace", "replace", "drop", "repeat", "move"])):
                case "replace":
                    parent[last] = draw(VALUES)
                case "drop":
                    del parent[last]
                case "repeat":
                    parent.append(parent[last])
                case "move":
                    parent[last] = copy.deepcopy(original[draw(st.sampled_from(sorted(original)))])
        except (LookupError, TypeError, AttributeError):  # an earlier edit has removed the place
            continue
    return resealed(original) if draw(st.booleans()) else original


def resealed(document: Any) -> Any:
    """Return the document with a digest that fits, so that what lies behind that check is reached."""
    try:
        return sealed(document)
    except (TypeError, ValueError, RecursionError, AttributeError):
        return document


def spelled(document: Any) -> bytes:
    """Return JSON, with values in it that no writer of JSON would write."""
    content = json.dumps(document).encode("utf-8", "surrogatepass")
    for word, value in UNWRITABLE.items():
        content = content.replace(b'"' + word.encode() + b'"', value)
    return content


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """Return the bytes of a file with some cut out, inserted, overwritten or cut off; or other bytes altogether."""
    how = draw(st.sampled_from(["cut", "insert", "overwrite", "truncate", "repeat", "other"]))
    start, length = draw(st.integers(0, len(content))), draw(st.integers(0, 20))
    new = draw(st.binary(max_size=12)) if how in ("insert", "overwrite", "other") else b""
    return {
        "cut": content[:start] + content[start + length :], "insert": content[:start] + new + content[start:],
        "overwrite": content[:start] + new + content[start + len(new) :], "truncate": content[:start],
        "repeat": content[: start + length] + content[start:], "other": new,
    }[how]


@st.composite
def files(draw: st.DrawFn, kind: str) -> bytes:
    """Return the content of a file that was to be of this kind."""
    if draw(st.integers(0, 3)) == 0:
        content = draw(damaged(spelled(draw(st.sampled_from(documents()[kind])))))
    else:
        content = spelled(draw(edited(kind)))
    match draw(st.integers(0, 14)):
        case 0:
            return gzip.compress(content)
        case 1:
            return content.decode("utf-8", "replace").encode("utf-16")
    return content


@st.composite
def group_files(draw: st.DrawFn) -> tuple[str, bytes]:
    suffix = draw(st.sampled_from(sorted(GROUP_FILES)))
    content = draw(st.sampled_from(GROUP_FILES[suffix]))
    for _ in range(draw(st.integers(0, 2))):  # in terms of what such files are made of
        old = draw(st.sampled_from(["a", "first", ",", "\n", "1", '"', "[", "=", "second"]))
        new = draw(st.one_of(TEXTS, st.sampled_from([",", "\n", "=", "[[", "*", "2", "'''", "0.5", ";", '"', "?"])))
        content = content.replace(old, new, draw(st.sampled_from([1, -1])))
    raw = content.encode(draw(st.sampled_from(["utf-8", "utf-16", "utf-8-sig"])), "surrogatepass")
    return suffix, draw(damaged(raw)) if draw(st.booleans()) else raw


NAMES = st.sampled_from([None, COLUMNS, ("a", "b"), ("a", "a", "b", "c"), (0, 1, 2, 3), (), ("c", "x", "a", "b")])
ARRAYS = st.one_of(
    VALUES,
    st.lists(st.lists(LEAVES, max_size=4), max_size=4),
    st.sampled_from([
        np.zeros((3, 4)), np.zeros((0, 4)), np.zeros((3, 0)), np.zeros(3), np.zeros((2, 2, 2)), np.array(None),
        np.full((3, 4), np.nan), np.full((3, 4), np.inf), np.full((3, 4), 1e308), np.full((3, 4), 1e-320),
        np.ones((3, 4), complex),
        np.ones((3, 4), bool), np.array([["x"] * 4] * 3), np.array([[None] * 4] * 3), np.zeros((3, 4), "datetime64[s]"),
        np.arange(12.0).reshape(3, 4), np.arange(3.0), np.ones(3, np.float16), np.arange(12).reshape(3, 4).T,
    ]),
)
PROBLEMS = st.fixed_dictionaries(
    {"X": ARRAYS, "y": ARRAYS, "groups": st.one_of(ARRAYS, st.just([0, 0, 1, 1]), st.just(GROUPS))},
    optional={"eta": LEAVES, "penalty": st.one_of(TEXTS, st.sampled_from(["l1", "l2"])), "fit_intercept": st.booleans(),
              "penalize_intercept": st.booleans(), "sample_weight": ARRAYS, "columns": st.one_of(NAMES, VALUES),
              "ungrouped": st.one_of(st.just("free"), TEXTS)},
)


# What may come out


def reads(read: Callable[[Path], Any], content: bytes, suffix: str = "json") -> None:
    with TemporaryDirectory(dir=_memory()) as folder:
        path = Path(folder) / f"file.{suffix}"
        path.write_bytes(content)
        try:
            read(path)
        except PartLSError as error:
            assert str(error)


def _memory() -> str | None:
    """Return a folder in memory, where there is one: a hundred thousand files need no disk."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


@cache
def checkpoint_of() -> tuple[str, Any]:
    X, y = data()
    instance = Instance(X, y, [0, 0, 1, 1])
    root = a_priori_signs(instance, None)
    return Checkpoint.of(Path("x"), instance, root, 1.0).data, root


def read_instance(problem: dict[str, Any]) -> None:
    try:
        instance = Instance(**problem)
    except PartLSError as error:
        assert str(error)
    else:
        assert np.isfinite(instance.X).all() and np.isfinite(instance.y).all()
        assert instance.n_groups >= 1


def read_groups(case: tuple[tuple[str, bytes], Any]) -> None:
    (suffix, content), names = case
    n_columns = 4 if names is None else len(names)
    reads(lambda path: Partition.of(path, n_columns=n_columns, columns=names), content, suffix)


def read_model(content: bytes) -> None:
    reads(PartLSRegressor.load, content)


def read_command_line_model(content: bytes) -> None:
    reads(model_file.load, content)


def read_proof(content: bytes) -> None:
    X, y = data()
    reads(lambda path: partls.verify(path, X, y, [0, 0, 1, 1]), content)


def read_checkpoint(content: bytes) -> None:
    digest, root = checkpoint_of()
    reads(lambda path: Checkpoint(path, digest).load(root), content)


TARGETS: dict[str, tuple[Callable[[Any], None], st.SearchStrategy[Any]]] = {
    "instance": (read_instance, PROBLEMS),
    "groups": (read_groups, st.tuples(group_files(), NAMES)),
    "model": (read_model, st.deferred(lambda: files("model"))),
    "command line's model": (read_command_line_model, st.deferred(lambda: files("model"))),
    "certificate": (read_proof, st.deferred(lambda: files("certificate"))),
    "checkpoint": (read_checkpoint, st.deferred(lambda: files("checkpoint"))),
}


def fuzz(target: str, n_inputs: int) -> int:
    """Feed a reader with so many inputs; return how many it has got."""
    read, inputs = TARGETS[target]
    fed = []

    @settings(max_examples=n_inputs, suppress_health_check=list(HealthCheck))
    @given(inputs)
    def feed(content: Any) -> None:
        fed.append(1)
        read(content)

    feed()
    return len(fed)


@pytest.mark.parametrize("target", TARGETS)
def test_readers_raise_nothing_but_our_own(target: str) -> None:
    assert fuzz(target, SHORT) >= SHORT


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_readers_raise_nothing_but_our_own_for_long(target: str) -> None:
    assert fuzz(target, LONG) >= LONG
    assert LONG * len(TARGETS) > 100_000


@pytest.mark.parametrize("kind", ["model", "certificate", "checkpoint"])
def test_what_is_damaged_was_good(kind: str) -> None:
    """The inputs begin at files that are accepted: otherwise nothing behind the first check would be reached."""
    reader = {"model": PartLSRegressor.load, "certificate": lambda p: partls.verify(p, *data(), [0, 0, 1, 1]),
              "checkpoint": lambda p: Checkpoint(p, checkpoint_of()[0]).load(checkpoint_of()[1])}[kind]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file.json"
        for document in documents()[kind]:
            path.write_bytes(spelled(document))
            assert reader(path) is not None
            path.write_bytes(spelled({**document, "format": "another"}))
            with pytest.raises(InvalidInput):
                reader(path)
