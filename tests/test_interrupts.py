"""Ctrl-C, whenever it is pressed: a fitted model at once, at least as good as the last one shown."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partls
from partls import Status
from partls.interrupts import Keyboard
from partls.interrupts import keyboard as listening
from tests.families import correlated
from tests.interrupted_child import SCENARIOS

ROOT = Path(__file__).resolve().parents[1]
PROMISED = 1.0  # seconds
FOR_SURE = 60.0  # seconds after which a process counts as lost
NO_RESULT = "KeyboardInterrupt"


@contextmanager
def child() -> Iterator[subprocess.Popen[str]]:
    untraced = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    environment = {**untraced, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", str(ROOT / "tests" / "interrupted_child.py")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with subprocess.Popen(command, env=environment, **pipes) as process:  # type: ignore[call-overload]
        yield process
        process.stdin.close()


def interrupted(process: subprocess.Popen[str], scenario: str, delay: float) -> dict[str, Any]:
    """Let the process fit, interrupt it so many seconds later, and return its answer with the seconds it took."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(scenario + "\n")
    assert process.stdout.readline() == "go\n"
    pressed = None
    if not select.select([process.stdout], [], [], delay)[0]:
        pressed = time.monotonic()
        process.send_signal(signal.SIGINT)
    assert select.select([process.stdout], [], [], FOR_SURE)[0], f"{scenario} goes on after Ctrl-C at {delay}"
    while not (line := process.stdout.readline()).startswith("{"):  # SCS prints that it was interrupted
        assert line, "the process has ended"
    answer = json.loads(line)
    return {**answer, "scenario": scenario, "delay": delay, "pressed": pressed,
            "seconds": None if pressed is None else answer["ended"] - pressed}


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
        answers = [interrupted(process, *instant) for instant in instants(1, 7)]
    for answer in answers:
        check(answer)
    assert sum(answer["pressed"] is not None for answer in answers) >= 5


@pytest.mark.slow
def test_ctrl_c_at_a_hundred_instants_returns_a_model_within_a_second() -> None:
    with child() as process:
        answers = [interrupted(process, *instant) for instant in instants(0, 126)]
    for answer in answers:
        check(answer)
    pressed = sorted((answer for answer in answers if answer["pressed"] is not None), key=lambda a: a["seconds"])
    assert len(pressed) >= 100
    times = [answer["seconds"] for answer in pressed]
    print(f"\n{len(pressed)} instants: median {np.median(times):.3f} s, worst {times[-1]:.3f} s")
    for answer in pressed[-5:]:
        print(f"  {answer['seconds']:.3f} s: {answer['scenario']}, pressed after {answer['delay']:.3f} s")
    assert times[-1] <= PROMISED


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


def test_a_raised_interrupt_still_ends_the_run_in_good_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program with a handler of its own, which raises while this thread waits for others."""
    from partls import branch_and_bound
    from partls.search.crew import Threads

    case = correlated(3, n_rows=60, n_columns=40, n_groups=16)

    def raising(*_: Any) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(branch_and_bound, "_FIRST_WORK", 0.0)
    monkeypatch.setattr(Threads, "wait", raising)
    result = partls.solve(case.X, case.y, case.labels, method="bnb", relaxation="unconstrained")
    assert result.status is Status.INTERRUPTED
    assert result.audit().passed
    assert result.lower_bound <= result.objective


def test_a_keyboard_pressed_before_the_search_leaves_a_model() -> None:
    from partls.branch_and_bound import SearchOptions, branch_and_bound

    case, keys = correlated(3, n_rows=60, n_columns=40, n_groups=16), Keyboard()
    keys.press()
    found = branch_and_bound(partls.Instance(case.X, case.y, case.labels), SearchOptions(keyboard=keys))
    assert found.limit is Status.INTERRUPTED
    assert found.counts["nodes"] == 0
    assert 0 < found.lower_bound <= found.incumbent.value < np.inf
