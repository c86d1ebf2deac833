"""Hung bounds, full disks, little memory, read-only caches, more threads: each costs what it must and nothing else."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import partls
from formulations import Instance, SignPattern
from partls import InvalidInput, Status
from partls.runtime.progress import SearchState
from partls.search.trace import trace_search
from relaxations import ActiveSetRelaxation, Bound, Bounder, BoundStatus
from tests.families import FAMILIES, correlated
from tests.strategies import Tiny
from tests.tolerances import same_optimum

ROOT = Path(__file__).resolve().parents[1]
CASE = correlated(5, n_rows=40, n_columns=30, n_groups=9, corr=0.6)


@cache
def optimum() -> float:
    return partls.solve(CASE.X, CASE.y, CASE.labels).objective


def solved(case: Tiny = CASE, **options: Any) -> partls.Result:
    return partls.solve(case.X, case.y, case.labels, **{"ungrouped": "free", **case.options, **options})


def check_valid(result: partls.Result) -> None:
    assert result.audit().passed
    assert 0 <= result.lower_bound <= optimum() * (1 + 1e-12)
    assert result.objective >= optimum() * (1 - 1e-12)


# Bounds that do not return


@dataclass(frozen=True)
class Hanging:
    """The active-set relaxation, of which a call after the first few does not return before it is released."""

    after: int = 3
    in_prepare: bool = False
    sequential: bool = False
    name: str = "hanging"
    released: threading.Event = field(default_factory=threading.Event)
    asked: list[int] = field(default_factory=list)

    def prepare(self, instance: Instance) -> Bounder:
        if self.in_prepare:
            self.hang()
        return HangingBounder(ActiveSetRelaxation().prepare(instance), self)

    def hang(self) -> None:
        self.asked.append(1)
        if len(self.asked) > self.after:
            assert self.released.wait(timeout=300)


@dataclass(frozen=True)
class HangingBounder:
    honest: Bounder
    relaxation: Hanging

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        self.relaxation.hang()
        return self.honest.bound(signs, cutoff=cutoff)


@pytest.fixture
def released() -> Iterator[Callable[[Hanging], Hanging]]:
    """Let every hung thread go on when the test is over."""
    hung: list[Hanging] = []

    def remember(relaxation: Hanging) -> Hanging:
        hung.append(relaxation)
        return relaxation

    yield remember
    for relaxation in hung:
        relaxation.released.set()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", [{}, {"after": 0}, {"after": 0, "in_prepare": True}, {"sequential": True}])
def test_a_bound_that_hangs_is_left_behind_when_the_time_is_up(
    kind: dict[str, Any], n_jobs: int, released: Callable[[Hanging], Hanging]
) -> None:
    hanging = released(Hanging(**kind))
    result = solved(relaxation=hanging, time_limit=0.2, n_jobs=n_jobs, method="bnb")
    assert not hanging.released.is_set()  # it hangs while we look at the result
    assert result.status is Status.TIME_LIMIT
    check_valid(result)
    assert result.lower_bound > 0  # of the boxes left open, by factorisation


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", [{"after": 0}, {"after": 1}, {"after": 0, "in_prepare": True}])
def test_the_alternation_leaves_it_behind_too(
    kind: dict[str, Any], n_jobs: int, released: Callable[[Hanging], Hanging]
) -> None:
    result = solved(relaxation=released(Hanging(**kind)), time_limit=0.2, n_jobs=n_jobs, method="alternating")
    assert result.status is Status.TIME_LIMIT
    check_valid(result)


def test_a_program_ends_although_a_bound_hangs() -> None:
    script = """
from tests.test_faults import CASE, Hanging, solved
print(solved(relaxation=Hanging(), time_limit=0.2, method="bnb").status.name)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "TIME_LIMIT\n"


# Bounds of the alternation that are no bounds


@dataclass(frozen=True)
class Spoiled:
    spoil: Callable[[Bound], Bound]
    name: str = "spoiled"

    def prepare(self, instance: Instance) -> Bounder:
        return SpoiledBounder(ActiveSetRelaxation().prepare(instance), self.spoil)


@dataclass(frozen=True)
class SpoiledBounder:
    honest: Bounder
    spoil: Callable[[Bound], Bound]

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        return self.spoil(self.honest.bound(signs, cutoff=cutoff))


def failing(bound: Bound) -> Bound:
    raise ZeroDivisionError


SPOILS: dict[str, Callable[[Bound], Bound]] = {
    "raises": failing,
    "not a number": lambda bound: replace(bound, value=nan, coef=np.full(30, nan)),
    "too high, and says it is inaccurate": lambda bound: replace(
        bound, value=2 * bound.value, status=BoundStatus.INACCURATE
    ),
    "claims too much": lambda bound: replace(bound, value=9 * bound.value),
    "a point of another length": lambda bound: replace(bound, coef=np.zeros(3)),
}


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
def test_the_alternation_believes_no_bound_that_is_none(spoil: Callable[[Bound], Bound], n_jobs: int) -> None:
    result = solved(relaxation=Spoiled(spoil), method="alternating", random_state=0, n_jobs=n_jobs)
    check_valid(result)
    assert result.status is Status.HEURISTIC
    assert result.lower_bound > 0


# Little memory


@cache
def wide() -> tuple[Tiny, partls.Result]:
    rng = np.random.default_rng(0)
    case = Tiny(rng.normal(size=(200, 150)), rng.normal(size=200), tuple(i % 25 for i in range(150)))
    return case, solved(case)


def open_counts(case: Tiny, **options: Any) -> tuple[partls.Result, list[SearchState]]:
    states: list[SearchState] = []
    return solved(case, search="best-first", progress=states.append, **options), states


@pytest.mark.parametrize("most", [0, 40, 200])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_little_room_bounds_the_open_subtrees_and_not_the_answer(
    most: int, n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("partls.search.node_bound._FIRST_WORK", 0.0)
    case, best = wide()
    roomy, many = open_counts(case)
    result, few = open_counts(case, max_open_nodes=most, n_jobs=n_jobs)
    largest = max(state.n_open for state in few)
    assert largest <= most + 16 * (25 + 3)  # a round of 16 subtrees leaves at most a box per level of each
    assert largest < max(state.n_open for state in many) or most == 200
    for done in (roomy, result):
        assert done.status is Status.OPTIMAL
        assert done.objective == same_optimum(best.objective, case.y)
    assert all(state.lower_bound <= best.objective * (1 + 1e-9) for state in few)
    bounds = [state.lower_bound for state in few]
    assert result.lower_bound >= max(bounds) * (1 - 1e-9)


@pytest.mark.parametrize("node_limit", [200, 700])
def test_the_gap_stays_valid_with_little_room(node_limit: int) -> None:
    case, best = wide()
    result = solved(case, search="best-first", max_open_nodes=10, node_limit=node_limit)
    assert result.status is Status.NODE_LIMIT
    assert 0 < result.lower_bound <= best.objective * (1 + 1e-12)
    assert result.objective >= best.objective * (1 - 1e-12)
    assert result.audit().passed


def test_little_room_is_enough_for_other_relaxations() -> None:
    result, states = open_counts(CASE, max_open_nodes=3, relaxation="unconstrained")
    assert result.status is Status.OPTIMAL
    assert result.objective == same_optimum(optimum(), CASE.y)
    assert max(state.n_open for state in states) <= 3 + 16 * 9


@pytest.mark.parametrize("value", [-1, 1.5, "many", nan])
def test_a_room_that_cannot_be_meant_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match="max_open_nodes"):
        solved(max_open_nodes=value)


# A disk that is full


FULL_DISK = """
import json, logging, resource, sys
from pathlib import Path
from tests.test_faults import solved, wide
from tests.test_checkpoint import run
logging.basicConfig(level=logging.WARNING)
path = Path(sys.argv[1])
case, best = wide()
solved(case, method="bnb", checkpoint=path, node_limit=0)
before = path.read_bytes()
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
result = solved(case, method="bnb", checkpoint=path, checkpoint_interval=0, node_limit=400)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
same = path.read_bytes() == before
resumed = solved(case, method="bnb", checkpoint=path)
print(json.dumps([result.status.name, result.n_nodes, same, resumed.status.name, resumed.objective / best.objective]))
"""


def test_a_disk_without_room_costs_the_checkpoint_and_not_the_search(tmp_path: Path) -> None:
    """The system itself refuses to let the file grow; the last one that fitted is still there, and resumes."""
    path = tmp_path / "run.ckpt"
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path), "900"], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=300, check=True,
    )
    status, n_nodes, same, resumed, ratio = json.loads(done.stdout)
    assert (status, same, resumed) == ("NODE_LIMIT", True, "OPTIMAL")
    assert n_nodes >= 200
    assert ratio == pytest.approx(1.0, rel=1e-10)
    assert "not written, the search goes on" in done.stderr and "File too large" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["run.ckpt"]


# A cache that cannot be written


def obey_permissions() -> None:
    """Let the superuser, who may write everywhere, lose that right in a process about to start."""
    drop_from_bounding_set, write_anywhere = 24, 1
    ctypes.CDLL(None).prctl(drop_from_bounding_set, write_anywhere, 0, 0, 0)


def with_read_only_cache(folder: Path, script: str) -> str:
    folder.mkdir()
    folder.chmod(0o555)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=600, check=True,
        preexec_fn=obey_permissions,
    )
    assert list(folder.iterdir()) == []
    return done.stdout


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    script = """
from pathlib import Path
from relaxations.kernel.compilation import cache_folder
print(cache_folder(Path("relaxations").resolve()))
"""
    assert with_read_only_cache(tmp_path / "cache", script) == "None\n"


@pytest.mark.slow
def test_the_kernel_is_compiled_without_a_cache(tmp_path: Path) -> None:
    script = "from tests.test_faults import solved; print(solved().objective)"
    assert float(with_read_only_cache(tmp_path / "cache", script)) == same_optimum(optimum(), CASE.y)


# Threads of BLAS


def blas_answers(n_threads: int) -> list[tuple[list[int], float]]:
    answers = []
    with threadpool_limits(n_threads, user_api="blas"):
        for case in (correlated(1, n_rows=2000, n_columns=120, n_groups=12), FAMILIES["l1"](2), FAMILIES["l2"](3),
                     FAMILIES["conditioned"](4), FAMILIES["weights"](5) if "weights" in FAMILIES else CASE):
            options = {"ungrouped": "free", **case.options}
            instance = Instance(case.X, case.y, case.labels, **options)
            assert instance.reduction.n_columns  # computed here, with that many threads
            result = partls.solve_instance(instance)
            answers.append((result.signs.tolist(), result.objective))
    return answers


def test_threads_of_blas_change_no_sign_and_no_digit() -> None:
    for (signs, objective), (others, other) in zip(blas_answers(1), blas_answers(2), strict=True):
        assert signs == others
        assert other == pytest.approx(objective, rel=1e-12, abs=0)


@pytest.mark.parametrize(("place", "work"), [
    ("partls.search.trace.solve_pattern", lambda X, y: trace_search(Instance(X, y, [0, 0, 1, 1]))),
    ("partls.shortest._shortest_for", lambda X, y: partls.PartLSRegressor([0, 0, 1, 1]).fit(X, y)),
    (
        "partls.strategies.branch_and_bound._first_incumbent",
        lambda X, y: partls.solve(X, y, [0, 0, 1, 1], method="bnb"),
    ),
])
def test_small_matrices_are_left_to_one_thread_of_blas(
    place: str, work: Callable[[Any, Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second one waits, and makes them ten times slower as soon as another program has the core."""
    inside, _, name = place.rpartition(".")
    called, seen = getattr(import_module(inside), name), []

    def noted(*args: Any, **kwargs: Any) -> Any:
        seen.append(max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"))
        return called(*args, **kwargs)

    monkeypatch.setattr(place, noted)
    X = np.random.default_rng(0).normal(size=(30, 4))
    X[:, 3] = X[:, 2]  # a choice for the shortest coefficients
    with threadpool_limits(2, user_api="blas"):
        work(X, X[:, 0] - X[:, 2])
    assert set(seen) == {1}
