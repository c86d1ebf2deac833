"""Whoever explores the tree, it is the same tree: node for node, bit for bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import partls
from benchmarks.schedule import Recorder, Step, enlarged, replay
from formulations.compact import compact
from partls import InvalidInput, Status, WorkersLost
from partls.parallel import remote_pool
from partls.parallel import remote_worker as worker
from partls.parallel.pool import ThreadPool
from partls.parallel.remote_pool import RemotePool
from partls.search import node_bound
from partls.search.window import window_and_budget
from relaxations.unconstrained import UnconstrainedRelaxation
from tests.families import FAMILIES, correlated
from tests.strategies import Tiny
from tests.test_limits import fingerprint, hard
from tests.tolerances import REDUCTION


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dispatch many small tasks early, so that a small tree is one for many workers."""
    monkeypatch.setattr(node_bound, "_DEPTH_FIRST_BUDGET", 16)
    monkeypatch.setattr(node_bound, "_STRENGTHEN_AFTER", 100)
    monkeypatch.setattr(remote_pool, "_BUNDLE_SECONDS", 0.02)


@cache
def alone() -> tuple[Any, ...]:
    """The serial search with small tasks."""
    return fingerprint(solved())


def solved(case: Tiny | None = None, **options: Any) -> partls.Result:
    """Solve with the bound that leaves a large tree to explore, unless another is asked for."""
    case, options = case or hard(), {"relaxation": "active-set", **options}
    return partls.solve(case.X, case.y, case.labels, method="bnb", ungrouped="free", **{**case.options, **options})


@pytest.mark.parametrize("relaxation", ["auto", "convexified"])
def test_the_multipliers_of_the_convexified_bound_travel(small_tasks: None, relaxation: str) -> None:
    executor = OneByOne()
    here, there = solved(relaxation=relaxation), solved(relaxation=relaxation, executor=executor)
    assert here.counts["closed by convexified"] > 0 < executor.n_requests
    assert fingerprint(there) == fingerprint(here)


class OneByOne(Executor):
    """Runs a request when its result is asked for, in this process, and counts what it is sent."""

    def __init__(self) -> None:
        self.n_requests = self.n_problems = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.n_requests += 1
        self.n_problems += args[1] is not None
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


def test_processes_explore_the_same_tree(processes: ProcessPoolExecutor, small_tasks: None) -> None:
    assert fingerprint(solved(executor=processes)) == alone()
    assert fingerprint(solved(executor=processes)) == alone()  # another search, the same processes


def test_a_pool_of_threads_explores_the_same_tree(small_tasks: None) -> None:
    with ThreadPoolExecutor(3) as pool:
        assert fingerprint(solved(executor=pool)) == alone()
        assert pool.submit(int, "7").result() == 7  # it is the user's, and still open


def test_processes_of_joblib_explore_the_same_tree(small_tasks: None) -> None:
    assert fingerprint(solved(executor="loky", n_jobs=2)) == alone()
    interrupted = solved(executor="loky", n_jobs=2, progress=lambda state: state.nodes > 400)
    assert interrupted.status is Status.INTERRUPTED
    assert interrupted.n_nodes < alone()[2]


def test_the_problem_is_sent_once_to_each_process(small_tasks: None) -> None:
    executor = OneByOne()
    assert fingerprint(solved(executor=executor)) == alone()
    assert executor.n_requests > 10
    assert executor.n_problems == 1


def test_a_process_that_forgot_the_problem_gets_it_again(small_tasks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = OneByOne()
    monkeypatch.setattr(worker, "_KEPT", 1)

    def forget(state: Any) -> bool:
        worker._explorers.clear()
        return False

    assert fingerprint(solved(executor=executor, progress=forget)) == alone()
    assert executor.n_problems > 1


class Instant(RemotePool):
    """Two workers whose results are there at once: each task is its own exploration, of a millisecond."""

    sizes: tuple[int, ...] = ()

    def n_workers(self) -> int:
        return 2

    def send(self, bundle: Any, request: Any, *, with_problem: bool) -> None:
        self.sizes += (len(request.tasks),)
        bundle.future = worker.WorkResult(tuple(request.tasks), (0.001,) * len(request.tasks))

    def receive(self, bundle: Any, seconds: float) -> Any:
        return bundle.future


def test_bundles_are_as_large_as_the_clock_and_the_other_workers_allow() -> None:
    pool: Any = Instant(SimpleNamespace(packed=lambda: None), np.inf)  # type: ignore[arg-type]
    for n_tasks in (30, 600, 6000):
        tickets = [pool.submit(task) for task in range(n_tasks)]
        assert [pool.wait(ticket, 0.0) for ticket in tickets] == list(range(n_tasks))
        assert pool._n_waiting == 0
    assert pool._seconds_per_task == pytest.approx(0.001, rel=0.05)
    assert pool.sizes[0] == 1  # nothing is known yet
    assert 200 < max(pool.sizes) <= 500  # half a second, and a third of a worker's share of what waits


def test_a_process_keeps_the_last_two_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Any] = {}
    monkeypatch.setattr(worker, "_explorers", known)
    for key in "aabcbd":
        made = worker._known(key, SimpleNamespace(explorers=object))  # type: ignore[arg-type]
        assert made is known[key] is worker._known(key, None)
    assert list(known) == ["c", "d"]
    assert worker._known("a", None) is None


@pytest.mark.parametrize("options", [{"node_limit": 700}, {"gap_tol": 0.02}, {"search": "best-first"}], ids=str)
def test_limits_end_the_same_tree_at_the_same_node(options: dict[str, Any], small_tasks: None) -> None:
    here, there = solved(**options), solved(executor=OneByOne(), **options)
    assert fingerprint(here) == fingerprint(there)


@pytest.mark.parametrize("family", ["l1", "conditioned", "duplicates", "integers"])
def test_ties_and_hard_numbers_are_decided_alike(family: str, small_tasks: None,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_bound, "_STRENGTHEN_AFTER", 2)
    for seed in range(6):
        case = FAMILIES[family](seed)
        assert fingerprint(solved(case)) == fingerprint(solved(case, executor=OneByOne()))


def test_another_relaxation_travels_too() -> None:
    case, executor = correlated(5), OneByOne()
    options = {"relaxation": UnconstrainedRelaxation()}
    assert fingerprint(solved(case, **options)) == fingerprint(solved(case, executor=executor, **options))
    assert executor.n_requests


@dataclass(frozen=True)
class Local(UnconstrainedRelaxation):
    """A relaxation that cannot leave its process."""

    own: Callable[[], int] = lambda: 0


def test_what_cannot_be_sent_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"relaxation=Local.*cannot be sent.*n_jobs"):
        solved(correlated(5), executor=OneByOne(), relaxation=Local())


def test_time_is_up_there_too(processes: ProcessPoolExecutor) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 240)) + rng.normal(size=(400, 1))
    large = Tiny(X, rng.normal(size=400), tuple(i % 60 for i in range(240)))
    result = solved(large, executor=processes, time_limit=1.5)
    assert result.status is Status.TIME_LIMIT
    assert result.n_nodes > 0
    assert 0 < result.lower_bound <= result.objective
    assert result.audit().passed


def test_ctrl_c_returns_the_incumbent(processes: ProcessPoolExecutor, small_tasks: None) -> None:
    result = solved(executor=processes, progress=lambda state: state.nodes > 400)
    assert result.status is Status.INTERRUPTED
    assert 400 < result.n_nodes < alone()[2]
    assert 0 < result.lower_bound <= solved().objective * (1 + 1e-12)


@pytest.mark.parametrize("executor", ["fork", "spawn", "loky"])
def test_a_terminals_ctrl_c_which_the_workers_hear_too_returns_the_incumbent(executor: str) -> None:
    """A process group of its own is interrupted as a whole."""
    root = Path(__file__).parents[1]
    command = [sys.executable, "-W", "ignore", str(root / "tests" / "interrupted_group.py"), executor]
    done = subprocess.run(
        command, text=True, timeout=100, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(root)},
        start_new_session=True,
    )
    assert done.stdout.split() == ["INTERRUPTED", "True"]


def test_a_killed_process_ends_the_search_with_its_checkpoint(small_tasks: None, tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:

        def kill(state: Any) -> bool:
            if state.nodes > 400:
                os.kill(next(iter(pool._processes)), signal.SIGKILL)
            return False

        with pytest.raises(WorkersLost, match=r"the executor failed.*checkpoint"):
            solved(executor=pool, progress=kill, checkpoint=path)
    result = solved(checkpoint=path)
    assert result.status is Status.OPTIMAL
    assert result.n_nodes >= 400
    assert fingerprint(result)[0] == alone()[0]  # the same coefficients


def test_an_executor_that_was_shut_down_says_so(small_tasks: None) -> None:
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    pool.shutdown()
    with pytest.raises(WorkersLost, match="after shutdown"):
        solved(executor=pool)


@pytest.mark.parametrize("executor", [3, "locky", "multiprocessing", object(), [1]])
def test_what_is_no_executor_is_refused(executor: Any) -> None:
    with pytest.raises(InvalidInput, match=r"executor=.*dask.distributed.Client.*joblib"):
        solved(executor=executor)


def test_own_pools_can_be_make_poold(small_tasks: None) -> None:
    class Own:
        """The smallest executor: it makes a pool of its own."""

        def make_pool(self, problem: Any, explore: Any, deadline: float) -> ThreadPool:
            return ThreadPool(explore, 2)

    assert fingerprint(solved(executor=Own())) == alone()


L1 = {"eta": 1.0, "penalty": "l1", "penalize_intercept": True}


@pytest.mark.parametrize("options", [{}, {"eta": 2.0}, L1], ids=str)
def test_a_packed_instance_is_the_same_problem(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    X, weights = rng.normal(size=(90, 6)) + 40, rng.random(90)
    instance = partls.Instance(X, X @ rng.normal(size=6), [0, 0, 1, 1, 2, 2], sample_weight=weights, **options)
    small = compact(instance)
    assert (len(small.X), small.n_rows) == (15, 90)
    assert small.reduction.R is instance.reduction.R
    v = rng.normal(size=small.reduction.n_columns)
    for restored, original in zip(small.reduction.restore(v), instance.reduction.restore(v), strict=True):
        np.testing.assert_array_equal(restored, original)
    coef = rng.normal(size=6)
    assert small.objective(coef, 3.0) == pytest.approx(instance.objective(coef, 3.0), rel=REDUCTION * 100)
    assert compact(small) is small


# The schedule, as the benchmarks replay it


def test_window_and_tasks_grow_with_what_is_explored() -> None:
    assert window_and_budget(0, 0, 16, 512) == (16, 512)
    sizes = [window_and_budget(100 * 10**e, 10**e, 16, 512) for e in range(12)]
    assert sizes == sorted(sizes) and sizes[-1] == (4096, 32_768)
    assert all(window <= max(10**e / 8, 16) for e, (window, _) in enumerate(sizes))


def test_a_recorded_schedule_can_be_replayed(small_tasks: None) -> None:
    recorder = Recorder()
    assert fingerprint(solved(executor=recorder)) == alone()
    steps = recorder.steps
    assert len(steps) > 50 and all(step.after <= i for i, step in enumerate(steps))
    work = sum(step.seconds for step in steps)
    longest = max(step.seconds for step in steps)
    times = [replay(steps, workers, 0.0) for workers in (1, 2, 8, 64)]
    assert times[0] >= work and times[1] >= work / 2 and times[3] >= longest
    assert times[0] > times[1] > times[3]
    assert replay(steps, 8, 0.01) > times[2]
    alike = [Step(max(0, i - 15), 1.0) for i in range(64)]  # a window of 16, tasks of a second each
    assert replay(alike, 16, 0.0) == pytest.approx(4.0, abs=0.2)
    assert replay(alike, 1000, 0.0) == pytest.approx(4.0, abs=0.2)  # no more than the window
    larger = sum(step.seconds for step in enlarged(steps, 2000, 3))
    assert work < larger < 4 * work  # what comes after the first 2000 nodes, twice as many
