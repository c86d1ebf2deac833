"""Run methods on problems: set up, time, score. One row per method, problem and seed."""

from __future__ import annotations

import gc
import json
import logging
import statistics
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from os import environ
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.contract import Answer, Method, MissingDataError, Problem
from benchmarks.machine import ELSEWHERE, machine, one_thread, peak_mb, reset_peak, resident_mb, versions
from benchmarks.referee import Entry, faults, score
from benchmarks.registry import datasets, methods
from benchmarks.table import Row, tidy

logger = logging.getLogger(__name__)

SHORT = 0.2  # seconds: a run shorter than this is repeated, whoever made it
REPEATS = 5
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Run:
    """A method and its settings; a slow one may have a time limit of its own, or fewer seeds than the case."""

    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    time_limit: float | None = None
    seeds: int | None = None

    def make(self) -> Method:
        return methods()[self.method](**self.settings)


@dataclass(frozen=True)
class Case:
    """A family of problems, one per seed, and the runs that are made on each of them, one after the other."""

    key: str
    dataset: str
    settings: dict[str, Any]
    runs: tuple[Run, ...]
    seeds: int = 5
    time_limit: float = 60.0
    isolated: bool = False  # each run in a process of its own, for its memory


def run_case(case: Case, done: Collection[int] = ()) -> Iterator[list[Row]]:
    """Yield the rows of each seed that is not done, with the referee's verdict on all of them."""
    with threadpool_limits(1):
        for seed in range(case.seeds):
            if seed in done:
                continue
            try:
                problem = datasets()[case.dataset](seed, **case.settings)
            except MissingDataError as missing:  # and so for all seeds: one set of rows says it
                yield [_not_here(case, run, seed, str(missing)) for run in runs_of(case, seed)]
                return
            yield _run_seed(case, problem, seed)


def runs_of(case: Case, seed: int) -> list[Run]:
    """Return the runs made on a seed."""
    return [run for run in case.runs if run.seeds is None or seed < run.seeds]


def _run_seed(case: Case, problem: Problem, seed: int) -> list[Row]:
    rows, entries = [], []
    for run in runs_of(case, seed):
        if case.isolated:
            row, answer = _measure_isolated(case, run, seed)
        else:
            row, answer = measure(case, run, problem, seed, warm_up=seed == 0)
        method = run.make()
        scored = score(problem, answer)
        rows.append(row | vars(scored) | {"claimed": answer.claimed, "lower_bound": answer.lower_bound})
        entries.append(Entry(answer, scored, method.exact, method.signed))
    found = faults(problem, entries)
    tidied = [tidy(row | {"faults": "; ".join(own)}) for row, own in zip(rows, found, strict=True)]
    for row in tidied:
        logger.info(describe(row))
    return tidied


def _not_here(case: Case, run: Run, seed: int, reason: str) -> Row:
    row = tidy(_describe_settings(case, run, seed) | {"status": "skipped", "reason": reason})
    logger.info(describe(row))
    return row


def measure(case: Case, run: Run, problem: Problem, seed: int, *, warm_up: bool) -> tuple[Row, Answer]:
    """Time one method on one problem; what goes wrong inside it becomes a row, not an exception."""
    method, row = run.make(), describe_run(case, run, problem, seed)
    reason = method.reason_to_skip(problem)
    if reason:
        return row | {"status": "skipped", "reason": reason}, Answer("skipped")
    try:
        if warm_up:
            method.warm_up(problem)
            gc.collect()
            gc.freeze()  # what is loaded stays: the collections before each timing need not look at it again
        row |= _timed(run, problem, time_limit_of(case, run))
        answer = row.pop("answer")
    except Exception as error:  # a peer's failure is a result
        logger.debug("%s failed", run.method, exc_info=True)
        return row | {"status": "failed", "reason": f"{type(error).__name__}: {error}"}, Answer("failed")
    if answer.seconds is not None:  # what was timed here is the reading of a file
        row |= {"seconds": answer.seconds, "cpu_seconds": None, "resident_mb": None, "peak_mb": None, "repeats": 1,
                "machine": ELSEWHERE, "versions": ""}
    notes = {key: value for key, value in answer.notes.items() if value == value}
    return row | {"status": answer.status, "nodes": answer.nodes, "notes": json.dumps(notes) if notes else ""}, answer


def _timed(run: Run, problem: Problem, time_limit: float) -> Row:
    """Run once, and again if that was short; return the median times, the last answer and the memory of the first."""
    seconds, cpu_seconds, memory = [], [], {}
    while not seconds or (seconds[0] < SHORT and len(seconds) < REPEATS):
        method = run.make()
        method.set_up(problem, time_limit)
        gc.collect()
        gc.disable()
        reset_peak()
        before = resident_mb()
        began, cpu_began = time.perf_counter(), time.process_time()
        try:
            method.run()
        finally:
            seconds.append(time.perf_counter() - began)
            cpu_seconds.append(time.process_time() - cpu_began)
            gc.enable()
        memory = memory or {"resident_mb": before, "peak_mb": peak_mb()}
    times = {"seconds": statistics.median(seconds), "cpu_seconds": statistics.median(cpu_seconds)}
    return memory | times | {"repeats": len(seconds), "answer": method.answer()}


def _measure_isolated(case: Case, run: Run, seed: int) -> tuple[Row, Answer]:
    """Do the same in a new process, which is stopped if it does not keep the time limit by itself."""
    from benchmarks.isolated import request, response

    environment = environ | one_thread()
    command = [sys.executable, "-m", "benchmarks.isolated"]
    patience = 5 * time_limit_of(case, run) + 60  # warm-up, set-up and, for short runs, repeats
    try:
        done = subprocess.run(
            command, input=request(case, run, seed), capture_output=True, text=True, cwd=ROOT, env=environment,
            timeout=patience,
        )
        if done.returncode == 0:
            return response(done.stdout)
        status, reason = "failed", (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    except subprocess.TimeoutExpired:
        status, reason = "time limit", f"stopped after {patience:.0f} s"
    problem = datasets()[case.dataset](seed, **case.settings)
    return describe_run(case, run, problem, seed) | {"status": status, "reason": reason}, Answer(status)


def is_wrong(row: Row) -> bool:
    """Whether a row fails the run: a fault or a failure of a method that is trusted to be right."""
    return bool(row["trusted"]) and (bool(row["faults"]) or row["status"] == "failed")


def time_limit_of(case: Case, run: Run) -> float:
    return case.time_limit if run.time_limit is None else run.time_limit


def describe_run(case: Case, run: Run, problem: Problem, seed: int) -> Row:
    N, M, K = problem.shape
    row = _describe_settings(case, run, seed)
    return row | {"N": N, "M": M, "K": K, "trusted": bool(row["trusted"]) and problem.well_posed}


def _describe_settings(case: Case, run: Run, seed: int) -> Row:
    method = run.make()
    return {
        "case": case.key, "dataset": case.dataset, "settings": json.dumps(case.settings), "method": run.method,
        "method_settings": json.dumps(method.settings()), "trusted": method.trusted, "seed": seed,
        "time_limit": time_limit_of(case, run), "isolated": case.isolated, "reason": "", "notes": "",
        "threads": method.threads, "versions": versions(), "machine": machine(),
    }


def describe(row: Row) -> str:
    """Return one line about a row."""
    what = f"{row['case']:24} seed {row['seed']}  {row['method']:22} {row['status']:13}"
    took = f" {row['seconds']:11.5f} s" if row["seconds"] is not None else f" {row['reason']}"
    return what + took + (f"  FAULT: {row['faults']}" if row["faults"] else "")
