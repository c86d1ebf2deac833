"""However a search ends, what it returns is a feasible model, a valid bound and an honest word on what was proved."""

from __future__ import annotations

import io
import logging
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import partls
from partls import Status
from partls.explore.compiled import CompiledExplorer
from partls.runtime import progress
from partls.search import dispatch, node_bound
from partls.strategies import branch_and_bound
from partls.strategies.pattern_solver import PatternSolver
from tests.families import FAMILIES, correlated, reachable
from tests.strategies import Tiny
from tests.tolerances import VANISHING

ORDERS = ("depth-first", "best-first")
NODE_LIMITS = (0, 1, 2, 5, 20, 64, 150, 400, 1000)


@cache
def hard() -> Tiny:
    """25 groups and a target that is noise: more than a thousand nodes, and a first incumbent that is not the best."""
    rng = np.random.default_rng(0)
    return Tiny(rng.normal(size=(200, 150)), rng.normal(size=200), tuple(i % 25 for i in range(150)))


@cache
def optimum() -> float:
    result = solved(hard())
    assert result.status is Status.OPTIMAL
    assert result.n_nodes > 1000
    return result.objective


def solved(case: Tiny, **options: Any) -> partls.Result:
    options = {"method": "bnb", "ungrouped": "free", **case.options, **options}
    return partls.solve(case.X, case.y, case.labels, **options)


def check_honest(result: partls.Result, status: Status) -> None:
    """A result on the hard instance: feasible, bounded from below, and optimal only if it says so."""
    assert result.status is status
    assert result.audit().passed
    assert result.objective >= optimum() * (1 - 1e-12)
    assert 0 < result.lower_bound <= optimum() * (1 + 1e-12)
    assert result.gap == pytest.approx((result.objective - result.lower_bound) / result.objective)


# Time and nodes


@pytest.mark.parametrize("order", ORDERS)
def test_no_time_is_enough_for_a_model_and_a_bound(order: str) -> None:
    result = solved(hard(), time_limit=0, search=order)
    check_honest(result, Status.TIME_LIMIT)
    assert result.n_nodes == 0
    assert result.gap < 1.0


@pytest.mark.parametrize("family", FAMILIES)
def test_no_time_is_enough_for_every_family(family: str) -> None:
    for seed in range(3):
        case = FAMILIES[family](seed)
        result, full = solved(case, time_limit=0), solved(case)
        assert result.status in (Status.TIME_LIMIT, Status.OPTIMAL)
        assert result.audit().passed
        assert result.lower_bound <= full.objective + VANISHING * np.square(case.weighted_y).sum()


BLOCKS = [((300, 100), {}, 2**10), ((800, 400), {}, 2**9), ((150, 400), {}, 2**7),
          ((300, 100), {"eta": 1.0, "penalty": "l1"}, 2**6)]


@pytest.mark.parametrize(("shape", "options", "patterns"), BLOCKS)
def test_a_block_of_the_enumeration_is_what_the_clock_can_wait_for(
    shape: tuple[int, int], options: dict[str, Any], patterns: int
) -> None:
    X = np.random.default_rng(0).normal(size=shape)
    instance = partls.Instance(X, X[:, 0], [j % 12 for j in range(shape[1])], **options)
    solver = PatternSolver(instance.reduction, partls.SignPattern.free(instance.reduction.n_groups))
    solver._solve = lambda prefix, tail, coefs: 2 ** len(tail)  # type: ignore[assignment, method-assign]
    sizes = list(solver.blocks())
    assert sizes == [patterns] * (2**12 // patterns)


def test_enumeration_stops_between_blocks() -> None:
    case = correlated(3, n_rows=40, n_columns=24, n_groups=12)
    result, full = solved(case, method="enumerate", time_limit=0), solved(case, method="enumerate")
    assert result.status is Status.TIME_LIMIT
    assert 0 < result.n_nodes < 2**12 == full.n_nodes
    assert result.audit().passed
    assert result.lower_bound <= full.objective <= result.objective


@pytest.mark.parametrize("order", ORDERS)
def test_more_nodes_never_lower_the_bound(order: str) -> None:
    lower, upper = 0.0, np.inf
    for node_limit in NODE_LIMITS:
        result = solved(hard(), node_limit=node_limit, search=order)
        check_honest(result, Status.NODE_LIMIT)
        assert node_limit <= result.n_nodes <= node_limit + 32  # a round is finished, not cut
        assert result.lower_bound >= lower * (1 - 1e-9)
        assert result.objective <= upper * (1 + 1e-12)
        lower, upper = result.lower_bound, result.objective
    assert lower > solved(hard(), node_limit=0).lower_bound


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("gap_tol", [0.5, 0.1, 0.05, 0.03, 0.02, 0.01, 1e-4, 1e-9])
def test_a_loose_gap_is_reached_and_said(gap_tol: float, order: str) -> None:
    result = solved(hard(), gap_tol=gap_tol, search=order)
    assert result.gap <= gap_tol
    check_honest(result, Status.GAP_REACHED if gap_tol > 1e-9 else Status.OPTIMAL)
    assert result.objective <= optimum() / (1 - gap_tol)


@pytest.mark.parametrize("gap_tol", [0.3, 0.1, 0.03, 0.01, 0.0])
def test_the_search_stops_only_on_what_it_can_certify(gap_tol: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small rounds and a bound strengthened at once: open subtrees promise more than plain least squares."""
    monkeypatch.setattr(node_bound, "_STRENGTHEN_AFTER", 2)
    monkeypatch.setattr(node_bound, "_BEST_FIRST_BUDGET", 2)
    for seed in range(6):
        case = correlated(seed, n_rows=80, n_columns=70, n_groups=14, corr=0.3)
        result = solved(case, gap_tol=gap_tol, search="best-first")
        assert result.status in (Status.OPTIMAL, Status.GAP_REACHED)
        assert result.gap <= max(gap_tol, 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_a_zero_residual_stops_the_search_at_once(seed: int) -> None:
    case = reachable(seed, n_rows=30, n_columns=90, n_groups=20)
    result = solved(case)
    assert result.status is Status.OPTIMAL
    assert result.objective <= VANISHING * np.square(case.y).sum()
    assert result.n_nodes <= 100  # of a million patterns


# Ctrl-C


def press(monkeypatch: pytest.MonkeyPatch, place: tuple[type, str], call: int) -> list[int]:
    """Press Ctrl-C when a method has been called so often; return the list in which the calls are counted."""
    owner, name = place
    method: Callable[..., Any] = getattr(owner, name)
    calls: list[int] = []

    def pressing(self: Any, *args: Any, **kwargs: Any) -> Any:
        out = method(self, *args, **kwargs)
        calls.append(len(calls))
        if len(calls) == call:
            signal.raise_signal(signal.SIGINT)
        return out

    monkeypatch.setattr(owner, name, pressing)
    return calls


PLACES = {
    "in the first unit of work": ((CompiledExplorer, "explore"), 1),
    "in a later round": ((CompiledExplorer, "explore"), 5),
    "while the bound is strengthened": ((CompiledExplorer, "convexify"), 1),
}


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("place", "call"), PLACES.values(), ids=PLACES)
def test_an_interrupted_search_loses_no_subtree(
    place: tuple[type, str], call: int, n_jobs: int, keyboard: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was dispatched when the key was pressed is still open: its bound counts. Here all of it was dispatched."""
    optimum()
    monkeypatch.setattr(dispatch, "_ROUND", 10**6)
    calls = press(monkeypatch, place, call)
    result = solved(hard(), n_jobs=n_jobs)
    assert len(calls) >= call
    check_honest(result, Status.INTERRUPTED)


@pytest.mark.parametrize("call", [1, 3])
def test_an_interrupted_enumeration_counts_only_what_it_finished(
    call: int, keyboard: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = correlated(3, n_rows=40, n_columns=24, n_groups=12)
    full = solved(case, method="enumerate")
    press(monkeypatch, (PatternSolver, "_solve"), call)
    result = solved(case, method="enumerate")
    assert result.status is Status.INTERRUPTED
    assert result.n_nodes < full.n_nodes
    assert result.audit().passed
    assert result.lower_bound <= full.objective <= result.objective


SEARCH = """
import signal
import numpy as np
import partls

signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 240)) + rng.normal(size=(400, 1))
y = rng.normal(size=400)
result = partls.solve(X, y, np.arange(240) % 60, method="bnb", progress=True, time_limit=300, **OPTIONS)
print(result.status.name, result.objective, result.lower_bound, result.audit().passed)
"""


def in_terminal(script: str, *, interrupt_at: bytes) -> tuple[str, str, int]:
    """Run a script whose standard error is a terminal; press Ctrl-C once the terminal shows something."""
    terminal, end = pty.openpty()
    untraced = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    environment = {**untraced, "TERM": "xterm", "COLUMNS": "160", "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-W", "error", "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=end, env=environment, text=True) as child:
        os.close(end)
        shown, pressed = b"", False
        with suppress(OSError):  # how a terminal says that nobody writes to it any more
            while chunk := os.read(terminal, 4096):
                shown += chunk
                if interrupt_at in shown and not pressed:
                    pressed = True
                    child.send_signal(signal.SIGINT)
        os.close(terminal)
        out = child.communicate(timeout=60)[0]
    return out, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()), child.returncode


@pytest.mark.parametrize("options", [{"n_jobs": 1}, {"n_jobs": 2, "search": "best-first"}], ids=["plain", "threads"])
def test_ctrl_c_in_a_terminal_returns_the_incumbent(options: dict[str, Any]) -> None:
    """The live line, and what is left when it is cut short."""
    out, shown, code = in_terminal(SEARCH.replace("**OPTIONS", f"**{options}"), interrupt_at=b"incumbent")
    assert code == 0, shown
    status, objective, lower_bound, passed = out.split()
    assert status == "INTERRUPTED"
    assert 0 < float(lower_bound) <= float(objective) < np.inf
    assert passed == "True"
    line = re.search(r"[\d,]+ nodes +[\d,]+ nodes/s +[\d,]+ open +incumbent (\S+) +bound (\S+)", shown)
    assert line, shown
    assert 0 < float(line[2]) <= float(line[1])
    assert re.search(r"searching +\S+ +gap \S+% +\S+ s", shown), shown


# Repetition


def fingerprint(result: partls.Result) -> tuple[Any, ...]:
    numbers = np.array([result.intercept, result.objective, result.lower_bound])
    return result.coef.tobytes(), numbers.tobytes(), result.n_nodes, result.status, tuple(result.signs.tolist())


@pytest.mark.parametrize("order", ORDERS)
def test_the_same_run_gives_the_same_bits(order: str) -> None:
    unreached = {"node_limit": 10**6, "time_limit": 10**6}
    assert fingerprint(solved(hard(), search=order)) == fingerprint(solved(hard(), search=order, **unreached))


@pytest.mark.parametrize("order", ORDERS)
def test_the_number_of_threads_changes_nothing(order: str) -> None:
    alone = fingerprint(solved(hard(), search=order))
    for n_jobs in (2, 3, -1):
        assert fingerprint(solved(hard(), search=order, n_jobs=n_jobs)) == alone
    limited = [solved(hard(), search=order, n_jobs=n_jobs, node_limit=700) for n_jobs in (1, 2, 3)]
    assert len({fingerprint(result) for result in limited}) == 1


@pytest.mark.parametrize("family", ["l1", "conditioned"])
def test_the_number_of_threads_changes_nothing_in_the_generic_search(family: str) -> None:
    case = FAMILIES[family](5)
    assert len({fingerprint(solved(case, n_jobs=n_jobs)) for n_jobs in (1, 2, 3)}) == 1


# Progress


def test_a_line_tells_the_progress_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.001)
    solved(hard(), progress=True)
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if "nodes" in line]
    assert lines
    pattern = r"^searching: \d+ s  .* nodes .*nodes/s .* open .*incumbent .*bound .*gap .*%$"
    assert all(re.search(pattern, line) for line in lines), lines
    nodes = [int(line.split()[3].replace(",", "")) for line in lines]
    assert nodes == sorted(nodes)
    assert out == ""


def test_work_of_one_piece_says_that_it_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.001)
    with progress.working("writing the proof"):
        time.sleep(0.1)
    err = capsys.readouterr().err
    assert set(err.splitlines()) == {"writing the proof: 0 s"}
    assert not [thread for thread in threading.enumerate() if thread.name == "partls-heartbeat"]


@pytest.mark.parametrize("width", [50, 80, 200])
@pytest.mark.parametrize("done", ["nodes", "starts"])
def test_the_bar_fits_the_terminal(done: str, width: int) -> None:
    terminal = Console(width=width, file=io.StringIO(), force_terminal=True, color_system=None)
    with progress.SearchProgress(True, done=done) as shown:
        terminal.print(shown._shown())  # before the first round
        shown._began -= 1000  # seconds
        shown.update(12_345_678, 1_234, 98_765.4321, 87_654.321)
        terminal.print(shown._shown())
    lines = terminal.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) == 3 or (width, done) != (80, "nodes")
    for fact in (f"12,345,678 {done}", "incumbent", "98765.43", "bound", "87654.32", "gap 11.25%"):
        assert fact in " ".join(lines)


def test_without_progress_nothing_is_said(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    with caplog.at_level(logging.INFO, logger="partls"):
        solved(hard(), node_limit=200)
    assert not [record for record in caplog.records if "open" in record.getMessage()]
    assert capsys.readouterr().out == ""


def test_the_first_incumbent_of_l1_data_looks_at_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    over: list[bool] = []
    plain = branch_and_bound.plain_incumbent

    def watched(*args: Any) -> Any:
        over.append(args[-1]())
        return plain(*args)

    monkeypatch.setattr(branch_and_bound, "plain_incumbent", watched)
    case = FAMILIES["l1"](0)
    for time_limit in (0, 60):
        solved(case, time_limit=time_limit)
    assert over == [True, False]


def test_the_bar_gives_way_on_a_narrow_terminal() -> None:
    shown = progress.SearchProgress(True)
    shown._began -= 1234
    shown._last = progress.SearchState(123456, 9876, 1234567.0, 1234000.0, 1234.0)
    console = Console(width=40)
    with console.capture() as capture:
        console.print(shown._shown())
    assert re.search(r"^searching .* gap 0\.05%  1234\.\d s", capture.get())
