"""Ctrl-C, whenever it is pressed: a fitted model at once, at least as good as the last one shown."""

from __future__ import annotations

import ctypes
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import partls
from formulations.signs import SignPattern
from partls import Status
from partls.estimators.eta_path import EtaPath
from partls.explain import bootstrap
from partls.runtime.daemon_threads import DaemonThreads
from partls.runtime.interrupts import Keyboard, lent, raising, wait
from partls.runtime.interrupts import keyboard as listening
from relaxations.protocol import Bound, Bounder
from relaxations.unconstrained import UnconstrainedRelaxation
from tests.families import correlated
from tests.interrupted_child import SCENARIOS

ROOT = Path(__file__).resolve().parents[1]
PROMISED = 1.0  # seconds
FOR_SURE = 300.0  # seconds after which a process counts as lost; it may have to compile first
NO_RESULT = "KeyboardInterrupt"


class Child:
    """The process that fits, and the lines it has written so far."""

    def __init__(self) -> None:
        untraced = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
        command = [sys.executable, "-W", "error", str(ROOT / "tests" / "interrupted_child.py")]
        self.process = subprocess.Popen(
            command, env={**untraced, "PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, bufsize=1,
        )
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._listener.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def _listen(self) -> None:
        for line in self.process.stdout or ():
            if line.startswith(("go", "{")):  # SCS prints that it was interrupted
                self.lines.put(line)

    def line(self, seconds: float) -> str | None:
        try:
            return self.lines.get(timeout=seconds)
        except queue.Empty:
            return None

    def interrupted(self, scenario: str, delay: float) -> dict[str, Any]:
        """Let the process fit, interrupt it so many seconds later; return its answer and the seconds it took."""
        assert self.process.stdin is not None
        self.process.stdin.write(scenario + "\n")
        assert self.line(FOR_SURE) == "go\n"
        pressed, line = None, self.line(delay)
        if line is None:
            pressed = time.monotonic()
            self.process.send_signal(signal.SIGINT)
            line = self.line(FOR_SURE)
        assert line is not None, f"{scenario} goes on after Ctrl-C at {delay}"
        answer = json.loads(line)
        if pressed is not None and answer["ended"] < pressed:
            pressed = None  # it was ready by then
        return {**answer, "scenario": scenario, "delay": delay, "pressed": pressed,
                "seconds": None if pressed is None else answer["ended"] - pressed}


@contextmanager
def child() -> Iterator[Child]:
    found = Child()
    try:
        yield found
    finally:
        found.end()


def check(answer: dict[str, Any]) -> None:
    assert answer["status"] != NO_RESULT, answer
    assert answer["passed"], answer
    assert 0 <= answer["lower_bound"] <= answer["objective"], answer
    assert answer["shown"] is None or answer["objective"] <= answer["shown"] * (1 + 1e-12), answer
    if answer["pressed"] is not None and answer["scenario"] not in ("certified bound", "proof"):
        assert answer["status"] == "INTERRUPTED", answer


def instants(seed: int, n_instants: int) -> Iterator[tuple[str, float]]:
    """Yield scenarios in turn and when to interrupt them: as often within milliseconds as within seconds."""
    rng = np.random.default_rng(seed)
    names = list(SCENARIOS)
    for number in range(n_instants):
        yield names[number % len(names)], float(np.exp(rng.uniform(np.log(1e-3), np.log(2.5))))


def test_ctrl_c_at_a_few_instants_returns_a_model() -> None:
    with child() as process:
        answers = [process.interrupted(*instant) for instant in instants(1, 7)]
    for answer in answers:
        check(answer)
    assert sum(answer["pressed"] is not None for answer in answers) >= 5


@pytest.mark.slow
def test_ctrl_c_at_a_hundred_instants_returns_a_model_within_a_second() -> None:
    with child() as process:
        answers = [process.interrupted(*instant) for instant in instants(0, 144)]
    for answer in answers:
        check(answer)
    pressed = sorted((answer for answer in answers if answer["pressed"] is not None), key=lambda a: a["seconds"])
    assert len(pressed) >= 100
    times = [answer["seconds"] for answer in pressed]
    print(f"\n{len(pressed)} instants: median {np.median(times):.3f} s, worst {times[-1]:.3f} s")
    for answer in pressed[-5:]:
        print(f"  {answer['seconds']:.3f} s: {answer['scenario']}, pressed after {answer['delay']:.3f} s")
    assert times[-1] <= PROMISED


@pytest.mark.slow
def test_ctrl_c_while_a_semidefinite_solver_begins_is_not_lost() -> None:
    """SCS handles Ctrl-C by itself and forgets one that comes before its first iteration, here after about 50 ms."""
    rng = np.random.default_rng(0)
    with child() as process:
        answers = [
            process.interrupted(scenario, rng.uniform(0.03, 0.08))
            for scenario in ("semidefinite", "semidefinite threads") for _ in range(150)
        ]
    for answer in answers:
        check(answer)
    assert all(answer["pressed"] is not None for answer in answers)
    times = [answer["seconds"] for answer in answers]
    print(f"\n{len(times)} instants: median {np.median(times):.3f} s, worst {max(times):.3f} s")
    assert max(times) <= PROMISED


# How Ctrl-C is noticed


def test_the_first_press_is_noted_and_the_second_raises(keyboard: None) -> None:
    with listening() as keys:
        assert not keys.pressed
        keys.check()
        signal.raise_signal(signal.SIGINT)
        assert keys.pressed and keys.pressed_at <= time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            keys.check()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_call_within_a_call_shares_its_keyboard(keyboard: None) -> None:
    with listening() as outer, listening() as inner:
        assert inner is outer
    with listening() as another:
        assert another is not outer and not another.pressed


def test_a_program_keeps_its_own_way_with_ctrl_c(keyboard: None) -> None:
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    with listening() as keys:
        signal.raise_signal(signal.SIGINT)
        assert heard == [signal.SIGINT] and not keys.pressed


def test_work_that_can_be_dropped_is_interrupted_at_once(keyboard: None) -> None:
    def own(number: int, frame: Any) -> None:
        """Do nothing."""

    with listening() as keys:
        with pytest.raises(KeyboardInterrupt), raising(keys):
            signal.raise_signal(signal.SIGINT)
        assert not keys.pressed
        signal.raise_signal(signal.SIGINT)
        assert keys.pressed
        with pytest.raises(KeyboardInterrupt), raising(keys):
            pytest.fail("the run is to end")
    signal.signal(signal.SIGINT, own)
    with listening() as keys, raising(keys):
        assert signal.getsignal(signal.SIGINT) is own


def test_other_threads_touch_no_handler(keyboard: None) -> None:
    seen: list[Any] = []

    def work() -> None:
        with listening() as keys:
            seen.append((signal.getsignal(signal.SIGINT), keys.pressed))
        case = correlated(3)
        seen.append(partls.solve(case.X, case.y, case.labels).status)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(signal.default_int_handler, False), Status.OPTIMAL]


class GreedyBounder:
    """Ctrl-C is pressed while a solver has it for itself, and does nothing with it.

    Again if need be: whoever runs the search may for once have looked away.
    """

    def __init__(self, bounder: Bounder) -> None:
        self._bounder = bounder

    def bound(self, signs: SignPattern, **options: Any) -> Bound:
        keys = getattr(signal.getsignal(signal.SIGINT), "__self__", None)
        for _ in range(10):
            if isinstance(keys, Keyboard) and not keys.pressed:
                time.sleep(0.01)
                ctypes.CDLL(None).signal(int(signal.SIGINT), 1)  # SIG_IGN, behind Python's back
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.01)
        return self._bounder.bound(signs, **options)


class GreedyRelaxation:
    name = "greedy"

    def prepare(self, instance: partls.Instance) -> GreedyBounder:
        return GreedyBounder(UnconstrainedRelaxation().prepare(instance))


on_linux = pytest.mark.skipif(not hasattr(signal, "sigtimedwait"), reason="this system cannot wait for a signal")


@on_linux
@pytest.mark.parametrize("method", ["bnb", "alternating"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_solver_takes_ctrl_c_away(n_jobs: int, method: str, keyboard: None) -> None:
    case = correlated(3, n_rows=60, n_columns=40, n_groups=16)
    options: dict[str, Any] = {"node_limit": 8} if method == "bnb" else {}
    result = partls.solve(
        case.X, case.y, case.labels, method=method, relaxation=GreedyRelaxation(), n_jobs=n_jobs, **options
    )
    assert result.status is Status.INTERRUPTED
    assert result.audit().passed
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])


@on_linux
def test_waiting_ends_with_the_last_future_or_with_the_time(keyboard: None) -> None:
    def ended() -> list[bool]:
        gates = threading.Event(), threading.Event()
        pool = DaemonThreads(2)
        calls = [pool.submit(gate.wait) for gate in gates]
        gates[0].set()
        wait(calls, 0.05)
        seen = [call.done() for call in calls]
        gates[1].set()
        wait(calls, 1e6)
        pool.shutdown(wait=True)
        return seen + [call.done() for call in calls]

    assert ended() == [True, False, True, True]
    with listening():
        assert ended() == [True, False, True, True]


@on_linux
def test_a_second_press_while_waiting_raises(keyboard: None) -> None:
    class Never(Future[None]):
        """Ctrl-C is pressed a moment after somebody has begun to wait for it."""

        def add_done_callback(self, fn: Any) -> None:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    with listening() as keys:
        for raised in (nullcontext(), pytest.raises(KeyboardInterrupt)):
            with raised:
                wait([Never()], 60.0)
            assert keys.pressed
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])


@on_linux
def test_an_interrupt_between_two_statements_leaves_nothing_blocked(
    keyboard: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = signal.pthread_sigmask

    def interrupted(how: int, signals: Any) -> Any:
        before = change(how, signals)
        if signals and how == signal.SIG_BLOCK:
            raise KeyboardInterrupt  # as Python raises what came before the change, after it
        return before

    monkeypatch.setattr(signal, "pthread_sigmask", interrupted)
    never: Future[None] = Future()
    with listening(), pytest.raises(KeyboardInterrupt):
        wait([never], 1e6)
    assert not change(signal.SIG_BLOCK, [])


def test_a_thread_ends_with_the_keyboard_lent_to_it() -> None:
    keys, seen = Keyboard(), []

    def work() -> None:
        with lent(keys), listening() as found:
            seen.append(found is keys)
        with listening() as found:
            seen.append(found is keys)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [True, False]


def test_ctrl_c_ends_the_resamples_at_work_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    case = correlated(3)
    result = partls.solve(case.X, case.y, case.labels)
    ended: queue.SimpleQueue[bool] = queue.SimpleQueue()
    begun = threading.Event()

    def endless(*_: Any, **__: Any) -> Any:
        with listening() as keys:
            begun.set()
            for _ in range(3000):
                if keys.pressed:
                    break
                time.sleep(0.01)
            ended.put(keys.pressed)
        return SimpleNamespace(status=Status.INTERRUPTED)

    def interrupted(*_: Any) -> Iterator[Any]:
        begun.wait()
        yield from ()
        raise KeyboardInterrupt

    monkeypatch.setattr("partls.explain.stability.solve_instance", endless)
    monkeypatch.setattr("partls.explain.stability.counted", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bootstrap(result, n_resamples=4, n_jobs=2)
    assert ended.get(timeout=60)


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("call", [1, 3, 6])
def test_ctrl_c_ends_cross_validation_with_the_folds_that_are_complete(
    call: int, n_targets: int, keyboard: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three values of eta on three folds: a press in the first fold, early and late, or in the second."""
    case, calls, solve = correlated(3), count(1), EtaPath.solve

    def pressing(self: EtaPath, *args: Any, **options: Any) -> Any:
        if next(calls) == call:
            signal.raise_signal(signal.SIGINT)
        return solve(self, *args, **options)

    monkeypatch.setattr(EtaPath, "solve", pressing)
    model = partls.PartLSRegressorCV(case.labels, etas=[0.0, 1.0, 100.0], ridges=[0.0], cv=3, ungrouped="free")
    y = np.column_stack([case.y, -case.y])[:, :n_targets]
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(case.X, y if n_targets > 1 else case.y)
    complete, reached = divmod(call, 3 * n_targets)
    known = np.isfinite(model.mse_path_[:, 0])
    assert known[:, :complete].all() and not known[:, complete + 1:].any()
    assert known[:, complete].sum() == (max(reached - 3 * (n_targets - 1), 0) if complete < 3 else 0)
    if complete:
        assert model.eta_ == model.etas_[np.argmin(model.mse_path_[:, 0, 0])]
    elif known.any():
        assert model.eta_ == model.etas_[np.nanargmin(model.mse_path_[:, 0, 0])]
    else:
        assert model.eta_ == model.etas_[0]


def test_ctrl_c_after_a_fold_without_weight_leaves_a_model(keyboard: None, monkeypatch: pytest.MonkeyPatch) -> None:
    case, calls, solve = correlated(3), count(1), EtaPath.solve

    def pressing(self: EtaPath, *args: Any, **options: Any) -> Any:
        if next(calls) == 4:  # in the second fold
            signal.raise_signal(signal.SIGINT)
        return solve(self, *args, **options)

    monkeypatch.setattr(EtaPath, "solve", pressing)
    weights = np.ones(len(case.y))
    weights[: -(-len(case.y) // 3)] = 0.0
    model = partls.PartLSRegressorCV(case.labels, etas=[0.0, 1.0, 100.0], ridges=[0.0], cv=3, ungrouped="free")
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(case.X, case.y, weights)
    assert model.eta_ in model.etas_


def test_a_raised_interrupt_still_ends_the_run_in_good_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program with a handler of its own, which raises while this thread waits for others."""
    from partls.parallel.pool import ThreadPool
    from partls.search import node_bound

    case = correlated(3, n_rows=60, n_columns=40, n_groups=16)

    def interrupted(*_: Any) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(node_bound, "_FIRST_WORK", 0.0)
    monkeypatch.setattr(ThreadPool, "wait", interrupted)
    result = partls.solve(case.X, case.y, case.labels, method="bnb", relaxation="unconstrained")
    assert result.status is Status.INTERRUPTED
    assert result.audit().passed
    assert result.lower_bound <= result.objective


def test_a_keyboard_pressed_before_the_search_leaves_a_model() -> None:
    case, keys = correlated(3, n_rows=60, n_columns=40, n_groups=16), Keyboard()
    keys.press()
    instance = partls.Instance(case.X, case.y, case.labels)
    task = partls.SearchTask(instance=instance, root=partls.SignPattern.free(16), keyboard=keys)
    found = partls.BranchAndBound().run(task)
    assert found.limit is Status.INTERRUPTED
    assert found.counts["nodes"] == 0
    assert 0 < found.lower_bound <= found.incumbent.value < np.inf
