"""A search that is cut short, or killed, goes on from its checkpoint to the same optimum; no other file is accepted."""

from __future__ import annotations

import errno
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import partls
from partls import InvalidInput, Status
from partls.certificate_file import sealed
from tests.families import FAMILIES
from tests.strategies import Tiny
from tests.tolerances import same_optimum

ROOT = Path(__file__).resolve().parents[1]


@cache
def hard() -> Tiny:
    """25 groups and a target that is noise: more than a thousand nodes."""
    rng = np.random.default_rng(0)
    return Tiny(rng.normal(size=(200, 150)), rng.normal(size=200), tuple(i % 25 for i in range(150)))


@cache
def optimum() -> partls.Result:
    partls.solve(hard().X[:, :6], hard().y, (0, 1, 2) * 2)  # so that the time is the search's, not the compiler's
    return partls.solve(hard().X, hard().y, hard().labels)


def run(case: Tiny, path: Path, **options: Any) -> partls.Result:
    options = {"method": "bnb", "ungrouped": "free", "checkpoint_interval": 0, **case.options, **options}
    return partls.solve(case.X, case.y, case.labels, checkpoint=path, **options)


def check_finished(result: partls.Result) -> None:
    assert result.status is Status.OPTIMAL
    assert result.objective == same_optimum(optimum().objective, hard().y)
    assert result.audit().passed


@pytest.mark.parametrize("search", ["depth-first", "best-first"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_search_cut_into_pieces_ends_with_the_same_optimum(search: str, n_jobs: int, tmp_path: Path) -> None:
    path, bounds, values = tmp_path / "run.ckpt", [], []
    for limit in (200, 600, 1000):
        result = run(hard(), path, node_limit=limit, search=search, n_jobs=n_jobs)
        assert result.status is Status.NODE_LIMIT
        assert result.n_nodes >= limit // 2
        bounds.append(result.lower_bound)
        values.append(result.objective)
    result = run(hard(), path, search=search, n_jobs=n_jobs)
    check_finished(result)
    assert result.n_nodes > 1000
    assert values == sorted(values, reverse=True) and values[-1] >= result.objective
    assert max(bounds) <= optimum().objective
    again = run(hard(), path)
    check_finished(again)
    assert again.n_nodes == result.n_nodes  # nothing was left to do


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_resumes_after_any_number_of_nodes(family: str, tmp_path: Path) -> None:
    case = FAMILIES[family](1)
    whole = partls.solve(case.X, case.y, case.labels, **{"ungrouped": "free", **case.options})
    for limit in range(4):
        path = tmp_path / f"{limit}.ckpt"
        run(case, path, node_limit=limit)
        result = run(case, path)
        assert result.status is whole.status
        assert result.objective == same_optimum(whole.objective, case.weighted_y)


def test_another_relaxation_may_go_on(tmp_path: Path) -> None:
    case, path = FAMILIES["correlated"](5), tmp_path / "run.ckpt"
    run(case, path, node_limit=1)
    result = run(case, path, relaxation="unconstrained")
    whole = partls.solve(case.X, case.y, case.labels)
    assert result.objective == same_optimum(whole.objective, case.y)


CHILD = """
import sys
import numpy as np
import partls
rng = np.random.default_rng(0)
X, y = rng.normal(size=(200, 150)), rng.normal(size=200)
partls.solve(X[:, :6], y, [0, 1, 2] * 2)  # so that the time until the kill is the search's
print("ready", flush=True)
partls.solve(X, y, [i % 25 for i in range(150)], checkpoint=sys.argv[1], checkpoint_interval=0)
print("done", flush=True)
"""


def kill_at_random(path: Path, seed: int) -> None:
    """Start a search in a process of its own, kill it, and resume it here."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", CHILD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(float(np.random.default_rng(seed).uniform(0.0, 1.0)) * optimum().seconds)
        child.send_signal(signal.SIGKILL)
    before = json.loads(path.read_text()) if path.exists() else {"counts": {"nodes": 0}, "open": [0]}
    result = run(hard(), path)
    check_finished(result)
    assert result.n_nodes >= before["counts"]["nodes"]


def test_a_killed_search_goes_on(tmp_path: Path) -> None:
    for seed in range(2):
        kill_at_random(tmp_path / f"{seed}.ckpt", seed)


@pytest.mark.slow
def test_fifty_killed_searches_go_on(tmp_path: Path) -> None:
    for seed in range(50):
        kill_at_random(tmp_path / f"{seed}.ckpt", 100 + seed)
    resumed = [path for path in tmp_path.iterdir() if path.suffix == ".ckpt"]
    assert len(resumed) == 50


def small(path: Path) -> dict[str, Any]:
    run(FAMILIES["correlated"](5), path, node_limit=1)
    return dict(json.loads(path.read_text()))


def refused(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"run\.ckpt") as caught:
        run(FAMILIES["correlated"](5), path)
    assert path.read_bytes() == content  # not overwritten either
    return str(caught.value)


def test_truncated_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    content = json.dumps(small(path)).encode()
    for length in range(0, len(content), 7):
        refused(path, content[:length])
    for foreign in (b"null", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"format": "partls certificate"}', b"1" * 9999):
        refused(path, foreign)
    refused(path, pickle.dumps({"format": "partls checkpoint"}))


def test_altered_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    document = small(path)
    for name in document:
        for value in (None, 0, "x", [], {}, [["+", "0", 1]], "nan"):
            assert value == document[name] or refused(path, json.dumps({**document, name: value}).encode())


def test_malformed_files_are_refused_whatever_their_digest(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    document = small(path)
    width = len(document["incumbent"])
    bad = {
        "version": [0, 2, True, "1", None], "data": ["", None, 5],
        "incumbent": ["", "0" * width, "+" * (width + 1), None, 3],
        "closed": ["nan", "x", None, []], "counts": [None, [], {"nodes": -1}, {"nodes": "x"}],
        "open": [None, 3, ["+"], [["+", "0.0"]], [["+" * (width + 1), "0.0", False]], [["+" * width, "0.0", 1]]],
    }
    for name, values in bad.items():
        for value in values:
            refused(path, json.dumps(sealed({**document, name: value})).encode())


def test_a_checkpoint_of_other_data_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    run(FAMILIES["correlated"](6), path, node_limit=1)
    assert "other data" in refused(path, path.read_bytes())
    content = json.dumps(small(tmp_path / "mine.ckpt")).encode()
    path.write_bytes(content)
    known = [1] + [0] * (FAMILIES["correlated"](5).n_groups - 1)
    for options in ({"eta": 1.0}, {"fit_intercept": False}, {"signs": known}):
        with pytest.raises(InvalidInput, match="other data, options"):
            run(FAMILIES["correlated"](5), path, **options)


def test_a_full_disk_costs_the_checkpoint_and_not_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("partls.search.checkpoint.os.fsync", full)
    with caplog.at_level(logging.WARNING):
        result = run(FAMILIES["correlated"](5), tmp_path / "run.ckpt")
    assert result.status is Status.OPTIMAL
    assert "No space left" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_options_that_cannot_be_meant_are_refused(tmp_path: Path) -> None:
    X, y = np.eye(3), [1.0, 2.0, 3.0]
    for options in ({"checkpoint": tmp_path}, {"checkpoint": tmp_path / "no" / "run.ckpt"}, {"checkpoint": 3},
                    {"checkpoint": tmp_path / "a", "method": "enumerate"}, {"checkpoint_interval": -1}):
        with pytest.raises(InvalidInput, match="checkpoint"):
            partls.solve(X, y, [0, 0, 1], **options)


def test_the_estimator_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 150)), rng.normal(size=200)
    model = partls.PartLSRegressor(np.arange(150) % 25, checkpoint=tmp_path / "run.ckpt")
    with pytest.warns(ConvergenceWarning, match="node limit"):
        model.set_params(node_limit=100).fit(X, y)
    stopped_at = model.n_iter_
    model.set_params(node_limit=None).fit(X, y)
    assert model.status_ is Status.OPTIMAL
    assert model.n_iter_ > stopped_at
    model.save(tmp_path / "model.json")
    assert "run.ckpt" not in (tmp_path / "model.json").read_text(encoding="utf-8")
    with pytest.raises(InvalidInput, match="checkpoint is for one target"):
        model.fit(X, np.column_stack([y, y]))
