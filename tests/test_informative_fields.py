"""What a certificate says beside its claim: the strategy and the preparation of the data, kept and bounded in size."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import partls
from partls import InvalidInput, SignPattern
from partls.prove.certificate import certify
from partls.verification.document import (
    Certificate,
    Strategy,
    checked_preparation,
    read_certificate,
    sealed,
    write_certificate,
)
from partls.verification.fields import MOST_BRACKETS
from tests.families import overdetermined
from tests.proofs import certified, check

CASE = overdetermined(2, n_rows=9, n_columns=3, n_groups=2)
PREPARATION = {
    "target": "price", "groups": {"size": ["width", "depth"], "place": ["light"]}, "dropped": [], "missing": "mean",
    "encoding": {"colour": ["red", "blue", None]}, "standardisation": {"width": [0.5, 2.0]}, "big": 10**40, "yes": True,
}


@pytest.fixture
def plain(tmp_path: Path) -> Certificate:
    certified(CASE, tmp_path / "plain.json")
    return read_certificate(tmp_path / "plain.json")


def test_strategy_and_preparation_are_kept_and_change_nothing(plain: Certificate, tmp_path: Path) -> None:
    result = partls.solve(CASE.X, CASE.y, CASE.labels)
    strategy, path = Strategy("BranchAndBound", {"branching": "strong", "node_limit": None}), tmp_path / "c.json"
    certify(result, SignPattern.free(2), path, 1e-9, strategy=strategy, preparation=PREPARATION)
    claim = read_certificate(path)
    assert (claim.strategy, claim.preparation) == (strategy, PREPARATION)
    assert replace(claim, strategy=plain.strategy, preparation=None) == plain
    assert check(CASE, path) == check(CASE, tmp_path / "plain.json")
    assert plain.strategy == Strategy(result.method) and plain.preparation is None


def nested(depth: int) -> dict[str, Any]:
    value: Any = 0.5
    for _ in range(depth - 1):
        value = [value]
    return {"deep": value}


GOOD: dict[str, Any] = {
    "nothing": None, "empty": {}, "deep": nested(15), "long": {"x": "a" * (2**20 - 9)}, "accents": {"ä€😀": "ß"},
    "as many brackets as there may be": {"x": [[]] * (MOST_BRACKETS - 1)}, "brackets in names": {"price [EUR]": "{["},
}
BAD: dict[str, Any] = {
    "list": [], "text": "target", "number": 3.0, "too deep": nested(16), "far too deep": nested(500),
    "too long": {"x": "a" * (2**20 - 8)}, "too long in bytes": {"x": "ä" * 2**19}, "NaN": {"x": float("nan")},
    "infinity": {"x": [float("-inf")]}, "half a pair": {"x": "\ud800"}, "half a pair in a name": {"\udfff": 1},
    "too long a number": {"x": 1 << 14_000}, "lists": {"x": [[]] * MOST_BRACKETS}, "bytes": {"x": b"1"},
    "objects": {"x": [{}] * MOST_BRACKETS}, "brackets in names": {"x": "[" * (MOST_BRACKETS + 1)},
    "tuple": {"x": (1, 2)}, "no name": {3: 1}, "set": {"x": {1}},
}
IN_PYTHON_ALONE = ("bytes", "tuple", "no name", "set")  # JSON has no word for these


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_what_is_written_is_read(name: str, suffix: str, plain: Certificate, tmp_path: Path) -> None:
    """A text that repeats itself, too, though a file that grows a hundredfold when unpacked is not read."""
    claim = replace(plain, preparation=checked_preparation(GOOD[name]))
    write_certificate(claim, tmp_path / f"c.{suffix}")
    assert read_certificate(tmp_path / f"c.{suffix}") == claim
    check(CASE, tmp_path / f"c.{suffix}")


@pytest.mark.parametrize("name", BAD)
def test_what_there_is_no_room_for_is_refused(name: str, plain: Certificate, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"cannot hold this: preparation is (malformed|too large)"):
        checked_preparation(BAD[name])
    with pytest.raises(InvalidInput):
        read_certificate({**plain.document(), "preparation": BAD[name]})
    if name in IN_PYTHON_ALONE:
        return
    document = sealed({**plain.document(), "preparation": BAD[name]})
    with pytest.raises(InvalidInput, match="preparation is"):
        read_certificate(document)
    (tmp_path / "c.json").write_text(json.dumps(document))
    with pytest.raises(InvalidInput, match=r"preparation is|not a complete JSON|too many brackets") as caught:
        read_certificate(tmp_path / "c.json")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


@pytest.mark.parametrize("strategy", [
    "bnb", [], {}, {"name": "bnb"}, {"name": "bnb", "options": None}, {"name": 3, "options": {}},
    {"name": "b" * 101, "options": {}}, {"name": "two\nlines", "options": {}}, {"name": "\x1b[2J", "options": {}},
    {"name": "bnb", "options": {"x": "a" * 2**16}}, {"name": "bnb", "options": {"x": nested(16)}},
    {"name": "bnb", "options": {}, "more": 1},
], ids=lambda strategy: str(strategy)[:40])
def test_malformed_strategies_are_refused(strategy: Any, plain: Certificate) -> None:
    with pytest.raises(InvalidInput, match="strategy is"):
        read_certificate(sealed({**plain.document(), "strategy": strategy}))


@pytest.mark.parametrize("name", ["strategy", "preparation"])
def test_version_3_has_both_and_version_2_has_neither(name: str, plain: Certificate) -> None:
    document = plain.document()
    with pytest.raises(InvalidInput, match="the document is malformed"):
        read_certificate(sealed({key: value for key, value in document.items() if key != name}))
    for version in (0, 1, 2, 4, 2.0, "3", True, None):
        with pytest.raises(InvalidInput, match=r"the document is malformed|version .*; this program reads 2 and 3"):
            read_certificate(sealed({**document, "version": version}))
