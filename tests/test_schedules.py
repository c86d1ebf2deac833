"""Whatever the threads' timing, and however a run is cut and resumed: one answer, and a bound that never falls."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import partls
from formulations import Instance, SignPattern
from partls import Status
from partls.explore.compiled import CompiledExplorer
from partls.runtime.progress import SearchState
from relaxations import ActiveSetRelaxation, Bound, Bounder
from tests.oracles import Oracle, brute_force
from tests.strategies import Tiny

# Threads


@dataclass(frozen=True)
class Delayed:
    """The active-set relaxation, each bound after a random pause."""

    seed: int
    name: str = "delayed"
    pauses: list[float] = field(default_factory=list)

    def prepare(self, instance: Instance) -> Bounder:
        return DelayedBounder(ActiveSetRelaxation().prepare(instance), np.random.default_rng(self.seed), self.pauses)


@dataclass(frozen=True)
class DelayedBounder:
    honest: Bounder
    rng: np.random.Generator
    pauses: list[float] = field(default_factory=list)

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        pause(self.rng, self.pauses)
        return self.honest.bound(signs, cutoff=cutoff)


def pause(rng: np.random.Generator, pauses: list[float]) -> None:
    pauses.append(float(rng.exponential(5e-4)) if rng.uniform() < 0.5 else 0.0)
    time.sleep(pauses[-1])


@contextmanager
def restless(seed: int) -> Iterator[None]:
    """Let Python switch between threads at another pace."""
    before = sys.getswitchinterval()
    sys.setswitchinterval([1e-6, 1e-4, 5e-3][seed % 3])
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def fingerprint(result: partls.Result) -> tuple[Any, ...]:
    counts = tuple(sorted(result.counts.items()))
    return result.coef.tobytes(), result.objective, result.lower_bound, result.status, counts


def noise(seed: int, n_rows: int, n_columns: int, n_groups: int) -> Tiny:
    """Return a target that has nothing to do with the columns: the hardest to prove."""
    rng = np.random.default_rng(seed)
    labels = tuple(i % n_groups for i in range(n_columns))
    return Tiny(rng.normal(size=(n_rows, n_columns)), rng.normal(size=n_rows), labels)


def answers(n_runs: int, monkeypatch: pytest.MonkeyPatch) -> tuple[set[Any], set[Any], int]:
    """Return the different answers of the generic and of the compiled search, and how often they were delayed."""
    case, hard = noise(0, 40, 30, 10), noise(0, 200, 150, 25)
    rng = np.random.default_rng(1)
    pauses: list[float] = []
    explore = CompiledExplorer.explore

    def delayed(self: CompiledExplorer, *args: Any) -> Any:
        pause(rng, pauses)
        return explore(self, *args)

    monkeypatch.setattr(CompiledExplorer, "explore", delayed)
    monkeypatch.setattr("partls.search.node_bound._DEPTH_FIRST_BUDGET", 16)
    generic, compiled = set(), set()
    for seed in range(n_runs):
        n_jobs = 1 if seed == 0 else 2
        with restless(seed):
            if seed % 2 == 0:
                relaxation = Delayed(seed, pauses=pauses)
                result = partls.solve(case.X, case.y, case.labels, relaxation=relaxation, n_jobs=n_jobs)
                generic.add(fingerprint(result))
            else:
                compiled.add(fingerprint(partls.solve(hard.X, hard.y, hard.labels, n_jobs=n_jobs)))
    return generic, compiled, sum(length > 0 for length in pauses)


def check_one_answer(n_runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generic, compiled, n_delays = answers(n_runs, monkeypatch)
    assert len(generic) == len(compiled) == 1
    assert n_delays > 20 * n_runs
    assert {answer[3] for answer in generic | compiled} == {Status.OPTIMAL}


def test_random_delays_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    check_one_answer(10, monkeypatch)


@pytest.mark.slow
def test_random_delays_change_nothing_in_two_hundred_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    check_one_answer(200, monkeypatch)


# Steps, interrupts, checkpoints, resumed runs


@cache
def problem(seed: int) -> tuple[Tiny, Oracle]:
    case = noise(seed, 36, 27, 9)
    return case, brute_force(case.X, case.y, case.labels)


class PieceByPiece(RuleBasedStateMachine):
    """A search run in pieces, each by another number of threads or in another order, some cut short."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.path = Path(self.folder.name) / "run.ckpt"
        self.n_jobs, self.search, self.relaxation = 1, "depth-first", "active-set"
        self.result: partls.Result | None = None
        self.copies: list[tuple[bytes, partls.Result]] = []

    def teardown(self) -> None:
        self.folder.cleanup()

    @initialize(seed=st.integers(0, 4))
    def begin(self, seed: int) -> None:
        self.case, self.oracle = problem(seed)

    @rule(n_jobs=st.integers(1, 3), search=st.sampled_from(["depth-first", "best-first"]), plugged=st.booleans())
    def change(self, n_jobs: int, search: str, plugged: bool) -> None:
        self.n_jobs, self.search = n_jobs, search
        self.relaxation: Any = Delayed(0) if plugged else "active-set"

    @rule(n_nodes=st.integers(0, 12))
    def step(self, n_nodes: int) -> None:
        self.go_on(node_limit=n_nodes + (0 if self.result is None else self.result.n_nodes))

    @rule(n_rounds=st.integers(1, 4), n_nodes=st.integers(1, 20))
    def interrupt(self, n_rounds: int, n_nodes: int) -> None:
        seen: list[SearchState] = []

        def observer(state: SearchState) -> bool:
            seen.append(state)
            return len(seen) >= n_rounds

        self.go_on(progress=observer, node_limit=n_nodes + (0 if self.result is None else self.result.n_nodes))

    @precondition(lambda self: self.result is not None)
    @rule()
    def copy(self) -> None:
        assert self.result is not None
        self.copies.append((self.path.read_bytes(), self.result))

    @precondition(lambda self: self.copies)
    @rule(data=st.data())
    def resume_from_a_copy(self, data: st.DataObject) -> None:
        content, self.result = data.draw(st.sampled_from(self.copies))
        self.path.write_bytes(content)

    @rule()
    def finish(self) -> None:
        self.go_on()
        assert self.result is not None and self.result.status is Status.OPTIMAL
        assert self.result.objective == pytest.approx(self.oracle.objective, rel=1e-10)

    def go_on(self, **options: Any) -> None:
        before = self.result
        self.result = partls.solve(
            self.case.X, self.case.y, self.case.labels, method="bnb", checkpoint=self.path, checkpoint_interval=0,
            n_jobs=self.n_jobs, search=self.search, relaxation=self.relaxation, **options,
        )
        if before is not None:
            assert self.result.lower_bound >= before.lower_bound * (1 - 1e-12)
            assert self.result.objective <= before.objective * (1 + 1e-12)
            assert self.result.n_nodes >= before.n_nodes

    @invariant()
    def bound_and_incumbent_enclose_the_optimum(self) -> None:
        if self.result is not None:
            assert self.result.lower_bound <= self.oracle.objective * (1 + 1e-11)
            assert self.result.objective >= self.oracle.objective * (1 - 1e-11)
            assert self.result.lower_bound <= self.result.objective
            assert self.result.audit().passed

    @invariant()
    def cover_is_complete(self) -> None:
        """A pattern in no open box is no better than the incumbent: nothing is lost between runs."""
        if self.result is None:
            return
        document = json.loads(self.path.read_text())
        boxes = [SignPattern(tuple("-0+".index(sign) - 1 for sign in entry[0])) for entry in document["open"]]
        for pattern, value in self.oracle.objectives.items():
            if not any(box.contains(SignPattern(pattern)) for box in boxes):
                assert value >= self.result.objective * (1 - 1e-9)


def test_a_search_in_pieces_keeps_its_promises() -> None:
    run_state_machine_as_test(PieceByPiece, settings=settings(max_examples=12, stateful_step_count=12))


@pytest.mark.slow
def test_many_searches_in_pieces_keep_their_promises() -> None:
    run_state_machine_as_test(PieceByPiece, settings=settings(max_examples=400, stateful_step_count=20))
