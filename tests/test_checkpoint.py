"""A search that is cut short or killed resumes from its checkpoint to the same optimum; no other file is accepted."""

from __future__ import annotations

import errno
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import partls
from partls import InvalidInput, SignPattern, Status
from partls.explore.subtree import Subtree
from partls.search.checkpoint import Checkpoint, Snapshot
from partls.verification.document import sealed
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


def test_a_checkpoint_is_written_once_per_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 10, 20, ... seconds, or at the last call before if the next would come too late; and when asked to."""
    clock = 0.0
    monkeypatch.setattr("partls.search.checkpoint.time.monotonic", lambda: clock)
    instance = partls.Instance(np.eye(4), np.arange(4.0), [0, 0, 1, 1])
    root = SignPattern.free(2)
    checkpoint = Checkpoint.of(tmp_path / "c", instance, root, 10.0)
    assert abs(checkpoint._due - checkpoint._asked - 10.0) < 1.0  # the first is due after an interval
    checkpoint._due, checkpoint._asked = 10.0, 0.0
    written = []
    for clock in (1.0, 4.0, 6.0, 9.0, 10.0, 13.0, 19.5, 20.0, 35.0):
        checkpoint.path.unlink(missing_ok=True)
        checkpoint.save(Snapshot(SignPattern((1, 1)), inf, 1e-9, False, 0.0, Counter(), [Subtree(root)]))
        written += [clock] if checkpoint.path.exists() else []
    assert written == [9.0, 19.5, 35.0]
    checkpoint.path.unlink()
    checkpoint.save(Snapshot(SignPattern((1, 1)), inf, 1e-9, False, 0.0, Counter(), [Subtree(root)]), now=True)
    assert checkpoint.path.exists()


def test_the_bound_that_a_search_has_gone_over_to_is_kept(tmp_path: Path) -> None:
    """A strong penalty is no match for the compiled bound: without the other one, 866,441 nodes were not enough."""
    rng = np.random.default_rng(3)
    case = Tiny(rng.normal(size=(120, 90)), rng.normal(size=120), tuple(i % 30 for i in range(90)), {"eta": 1000.0})
    path = tmp_path / "run.ckpt"
    stopped = run(case, path, node_limit=1004)
    assert stopped.status is Status.NODE_LIMIT and stopped.n_nodes > 1000
    result = run(case, path, node_limit=5000)
    assert result.status is Status.OPTIMAL and result.n_nodes < 1100


@pytest.mark.parametrize(("gap_tol", "node_limit"), [(0.3, None), (0.05, 400)])
def test_a_narrower_gap_goes_through_what_a_wider_one_has_closed(
    gap_tol: float, node_limit: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "run.ckpt"
    wide = run(hard(), path, gap_tol=gap_tol, node_limit=node_limit)
    assert wide.objective > optimum().objective * 1.001
    narrow = run(hard(), path)
    check_finished(narrow)
    assert run(hard(), path).n_nodes == narrow.n_nodes  # what is done with this gap is done
    assert run(hard(), path, gap_tol=gap_tol).n_nodes == narrow.n_nodes


def test_a_bound_that_a_solution_refutes_is_not_believed_from_a_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Such as that of a relaxation that was wrong; the search begins again, with bounds by factorisation."""
    rng = np.random.default_rng(5)
    case = Tiny(rng.normal(size=(30, 24)), rng.normal(size=30), tuple(i % 8 for i in range(24)))
    truth, path = run(case, tmp_path / "other.ckpt"), tmp_path / "run.ckpt"
    run(case, path, node_limit=3)
    document = json.loads(path.read_text())
    forged = {**document, "incumbent": "+" * 8, "proved": "1e6", "open": []}
    path.write_text(json.dumps(sealed(forged)))
    with caplog.at_level(logging.WARNING):
        result = run(case, path)
    assert "of the checkpoint" in caplog.text
    assert result.status is Status.OPTIMAL
    assert result.objective == same_optimum(truth.objective, case.y)
    assert result.counts["contradicted: of the checkpoint"] == 1


def test_of_runs_that_share_a_checkpoint_the_last_to_write_is_read(tmp_path: Path) -> None:
    instance, root = partls.Instance(np.eye(4), np.arange(4.0), [0, 0, 1, 1]), SignPattern.free(2)
    writers = [Checkpoint.of(tmp_path / "c", instance, root, 0.0) for _ in range(2)]
    states = [
        Snapshot(SignPattern((1, 1)), inf, 1e-9, False, 0.0, Counter(), [Subtree(root)] * n) for n in (3000, 50)
    ]
    over = threading.Event()

    def write(k: int) -> None:
        while not over.is_set():
            writers[k].save(states[k], now=True)

    threads = [threading.Thread(target=write, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    try:
        while not (tmp_path / "c").exists():  # a busy machine takes its time to begin
            time.sleep(0.01)
        sizes = Counter(len(state.open) for _ in range(300) if (state := writers[0].load(root)) is not None)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert sizes.keys() <= {3000, 50} and sum(sizes.values()) > 100
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_what_a_killed_write_has_left_is_removed(tmp_path: Path) -> None:
    old, new, other = (tmp_path / name for name in ("run.ckpt.0123abcd.part", "run.ckpt.dcba3210.part", "run.part"))
    for path in (old, new, other):
        path.write_text("half of a checkpo")
    for path in (old, other):
        os.utime(path, (0, 0))
    run(FAMILIES["correlated"](5), tmp_path / "run.ckpt")
    assert not old.exists() and new.exists() and other.exists()


@pytest.mark.parametrize("name", ["a" * 250, "run.ckpt"])
def test_no_name_costs_the_search(name: str, tmp_path: Path) -> None:
    (tmp_path / "run.ckpt.partial").mkdir()
    result = run(FAMILIES["correlated"](5), tmp_path / name)
    assert result.status is Status.OPTIMAL


def test_a_checkpoint_too_large_to_be_read_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "run.ckpt"
    run(hard(), path, search="best-first", node_limit=20)
    before = path.read_bytes()
    monkeypatch.setattr("partls.search.checkpoint._MAX_BYTES", len(before) + 100)
    with caplog.at_level(logging.WARNING):
        assert run(hard(), path, search="best-first", node_limit=600).status is Status.NODE_LIMIT
    assert "set max_open_nodes" in caplog.text
    assert len(path.read_bytes()) <= len(before) + 100
    check_finished(run(hard(), path, search="best-first"))
    monkeypatch.setattr("partls.search.checkpoint._MAX_BYTES", 100)
    with pytest.raises(InvalidInput, match="is larger than 100 bytes"):
        run(hard(), path)


def test_a_pipe_is_no_checkpoint(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="is not a file"):
        run(FAMILIES["correlated"](5), tmp_path / "pipe")


def test_a_checkpoint_behind_a_link_stays_there(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "run.ckpt")
    run(hard(), link, node_limit=20)
    assert link.is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {"link", "run.ckpt"}
    check_finished(run(hard(), tmp_path / "run.ckpt"))


def test_another_relaxation_may_go_on(tmp_path: Path) -> None:
    case, path = FAMILIES["correlated"](5), tmp_path / "run.ckpt"
    run(case, path, node_limit=1)
    result = run(case, path, relaxation="unconstrained")
    whole = partls.solve(case.X, case.y, case.labels)
    assert result.objective == same_optimum(whole.objective, case.y)


CHILD = """
import sys
import threading
import time
import numpy as np
import partls
rng = np.random.default_rng(0)
n_rows, n_columns, n_groups = map(int, sys.argv[2].split("x"))
X, y = rng.normal(size=(n_rows, n_columns)), rng.normal(size=n_rows)
partls.solve(X[:, :6], y, [0, 1, 2] * 2, time_limit=9)  # so that the time until the kill is the search's
print(-1, time.monotonic(), flush=True)
result = partls.solve(
    X, y, np.arange(n_columns) % n_groups, checkpoint=sys.argv[1], checkpoint_interval=float(sys.argv[3]),
    progress=lambda state: print(state.nodes, time.monotonic(), flush=True),
)
print(result.status.name, result.objective, flush=True)
"""


@dataclass(frozen=True)
class Piece:
    """What a process told before it was killed, or before it ended: (nodes, time) of each round, and its answer."""

    rounds: list[tuple[int, float]]
    killed: float | None
    answer: list[str]

    def lost(self, path: Path) -> float:
        """Return the seconds of search since the checkpoint was written, or since the search began."""
        assert self.killed is not None
        since_writing = time.time() - path.stat().st_mtime - (time.monotonic() - self.killed) if path.exists() else inf
        return min(since_writing, self.killed - self.rounds[0][1])

    @property
    def longest_round(self) -> float:
        ends = [*(told for _, told in self.rounds), self.killed or inf]
        return max(after - before for before, after in pairwise(ends))


def run_and_kill(path: Path, size: str, interval: float, delay: float) -> Piece:
    """Start a search in a process of its own and kill it so many seconds after its search has begun."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", CHILD, str(path), size, str(interval)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as child:
        assert child.stdout is not None
        lines, killed = [child.stdout.readline()], None
        try:
            lines += child.communicate(timeout=None if delay == inf else delay)[0].splitlines()
        except subprocess.TimeoutExpired:
            killed = time.monotonic()
            child.send_signal(signal.SIGKILL)
            lines += child.communicate()[0].splitlines()
    told = [line.split() for line in lines if line.count(" ") == 1 and line.split()[1]]
    answer = told.pop() if not told[-1][0].lstrip("-").isdigit() else []
    return Piece([(int(nodes), float(at)) for nodes, at in told], killed, answer)


def saved_nodes(path: Path) -> int:
    return int(json.loads(path.read_text())["counts"].get("nodes", 0)) if path.exists() else -1


def test_a_killed_search_goes_on(tmp_path: Path) -> None:
    for seed in range(2):
        path = tmp_path / f"{seed}.ckpt"
        delay = float(np.random.default_rng(seed).uniform(0.0, 1.0)) * optimum().seconds
        piece = run_and_kill(path, "200x150x25", 0.0, delay)
        result = run(hard(), path)
        check_finished(result)
        assert result.n_nodes >= max((nodes for nodes, _ in piece.rounds[:-1]), default=0)


@pytest.mark.slow
def test_fifty_kills_of_long_searches_cost_an_interval_each(tmp_path: Path) -> None:
    """Every resumed search is killed again, until it ends by itself; then another one begins."""
    size, interval, rng = "300x260x44", 0.5, np.random.default_rng(0)
    whole = run_and_kill(tmp_path / "whole", size, inf, inf)
    status, objective = whole.answer
    print(f"\nundisturbed: {whole.rounds[-1][1] - whole.rounds[0][1]:.1f} s, {whole.rounds[-1][0]:,} nodes")
    assert status == "OPTIMAL"
    losses: list[float] = []
    ended = 0
    while len(losses) < 50 or not ended:
        path = tmp_path / f"{ended}.ckpt"
        delay = float(rng.uniform(0.0, 4.0)) if len(losses) < 50 else inf
        before = saved_nodes(path)
        piece = run_and_kill(path, size, interval, delay)
        if piece.killed is None:
            assert piece.answer[0] == "OPTIMAL"
            assert float(piece.answer[1]) == pytest.approx(float(objective), rel=1e-10)
            ended += 1
            continue
        assert saved_nodes(path) >= before
        losses.append(piece.lost(path))
        assert losses[-1] <= interval + piece.longest_round
    print(f"{len(losses)} kills, {ended} searches ended: lost {np.median(losses):.2f} s in the median, "
          f"{max(losses):.2f} s at worst, of an interval of {interval} s")


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
        "version": [0, 1, True, "2", None], "data": ["", None, 5],
        "incumbent": ["", "0" * width, "+" * (width + 1), None, 3],
        "closed": ["nan", "x", None, []], "gap_tol": ["nan", "inf", "-1.0", None], "strong_penalty": [None, 1, "x"],
        "proved": ["nan", "inf", "-1e-9", "x", None],
        "counts": [None, [], {"nodes": -1}, {"nodes": "x"}],
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
    by_group = [0.0] * (FAMILIES["correlated"](5).n_groups - 1) + [0.5]
    for options in ({"eta": 1.0}, {"fit_intercept": False}, {"signs": known}, {"ridge": 0.5}, {"eta": by_group}):
        with pytest.raises(InvalidInput, match="other data, options"):
            run(FAMILIES["correlated"](5), path, **options)


def test_a_checkpoint_knows_ridge_and_the_eta_of_each_group(tmp_path: Path) -> None:
    case, path = hard(), tmp_path / "run.ckpt"
    options = {"ridge": 0.25, "eta": [0.1 * (k % 3) for k in range(case.n_groups)]}
    run(case, path, node_limit=100, **options)
    content = path.read_bytes()
    for changed in ({"ridge": 0.0}, {"ridge": 0.5}, {"eta": 0.0}, {"eta": options["eta"][::-1]}):
        with pytest.raises(InvalidInput, match="other data, options"):
            run(case, path, **{**options, **changed})
        assert path.read_bytes() == content
    resumed, whole = run(case, path, **options), partls.solve(case.X, case.y, case.labels, **options)
    assert resumed.status is whole.status is Status.OPTIMAL
    assert resumed.objective == same_optimum(whole.objective, case.y)


def test_a_full_disk_costs_the_checkpoint_and_not_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("partls.runtime.atomic_files.os.fsync", full)
    with caplog.at_level(logging.WARNING):
        result = run(FAMILIES["correlated"](5), tmp_path / "run.ckpt")
    assert result.status is Status.OPTIMAL
    assert "No space left" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_options_that_cannot_be_meant_are_refused(tmp_path: Path) -> None:
    X, y = np.eye(3), [1.0, 2.0, 3.0]
    for options in ({"checkpoint": tmp_path}, {"checkpoint": tmp_path / "no" / "run.ckpt"}, {"checkpoint": 3},
                    {"checkpoint": tmp_path / "a", "method": "enumerate"}, {"checkpoint_interval": -1},
                    {"checkpoint": "a\0b"}, {"checkpoint": "a" * 300},
                    {"checkpoint": tmp_path / "a", "certificate": str(tmp_path / "a")}):
        with pytest.raises(InvalidInput, match="checkpoint"):
            partls.solve(X, y, [0, 0, 1], **options)


def test_the_estimator_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 150)), rng.normal(size=200)
    search = partls.BranchAndBound(checkpoint=tmp_path / "run.ckpt")
    model = partls.PartLSRegressor(np.arange(150) % 25, method=search)
    with pytest.warns(ConvergenceWarning, match="node limit"):
        model.set_params(method=replace(search, node_limit=100)).fit(X, y)
    stopped_at = model.n_iter_
    model.set_params(method=search).fit(X, y)
    assert model.status_ is Status.OPTIMAL
    assert model.n_iter_ > stopped_at
    model.save(tmp_path / "model.json")
    assert "run.ckpt" not in (tmp_path / "model.json").read_text(encoding="utf-8")
    with pytest.raises(InvalidInput, match="checkpoint is for one target"):
        model.fit(X, np.column_stack([y, y]))
