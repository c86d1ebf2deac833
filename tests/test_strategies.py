"""Strategies as objects: they mean the same as names and keywords, own their options, and can be written by users."""

from __future__ import annotations

import dataclasses
import inspect
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import clone

import partls
from partls import Alternating, BranchAndBound, Enumeration, InvalidInput, Outcome, SearchTask, Status, Strategy
from partls.explore.branching import MaxViolation
from partls.explore.incumbents import solve_pattern
from partls.strategies.choose import METHODS, STRATEGIES
from relaxations import ActiveSetRelaxation, CheapThenStrong

RNG = np.random.default_rng(5)
X, Y, GROUPS = RNG.normal(size=(40, 12)), RNG.normal(size=40), [*range(4)] * 3
SAME: list[tuple[Strategy, dict[str, Any]]] = [
    (BranchAndBound(), {"method": "bnb"}),
    (BranchAndBound(), {}),
    (BranchAndBound(search="best-first", node_limit=3), {"search": "best-first", "node_limit": 3}),
    (BranchAndBound(relaxation="unconstrained"), {"method": "bnb", "relaxation": "unconstrained"}),
    (BranchAndBound(relaxation=ActiveSetRelaxation(), branching="max-violation"), {"branching": "max-violation"}),
    (Enumeration(keep=3), {"keep": 3}),
    (Enumeration(max_groups=4), {"method": "enumerate", "max_groups": 4}),
    (Alternating(n_starts=3, starts="random", trace=True),
     {"method": "alternating", "n_starts": 3, "starts": "random", "trace": True}),
]


@pytest.mark.parametrize(("strategy", "keywords"), SAME, ids=str)
def test_an_object_means_the_same_as_its_name_and_keywords(strategy: Strategy, keywords: dict[str, Any]) -> None:
    one = partls.solve(X, Y, GROUPS, method=strategy, random_state=0)
    other = partls.solve(X, Y, GROUPS, random_state=0, **keywords)
    assert (one.method, one.status, one.objective, one.lower_bound) == (
        other.method, other.status, other.objective, other.lower_bound
    )
    assert one.counts == other.counts
    np.testing.assert_array_equal(one.coef, other.coef)
    assert [s.objective for s in one.solutions] == [s.objective for s in other.solutions]
    assert [t.strategy for t in one.trace] == [t.strategy for t in other.trace]


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=lambda strategy: strategy.__name__)
def test_a_strategy_is_frozen_and_describes_each_option_once(strategy: Any) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        strategy().name = "other"
    for one in dataclasses.fields(strategy):
        assert one.metadata["description"] and one.default is not dataclasses.MISSING
        assert f"{one.name} : default {one.default!r}" in strategy.__doc__
    assert strategy() == strategy()
    assert isinstance(strategy(), Strategy)


def test_every_option_of_a_strategy_is_an_option_of_solve() -> None:
    for strategy in STRATEGIES.values():
        for one in dataclasses.fields(strategy):
            partls.solve(X, Y, GROUPS, method=strategy.name, **{one.name: one.default})
    assert {"method", "time_limit", "ridge", "certificate"} <= set(inspect.signature(partls.solve).parameters)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"method": BranchAndBound(node_limit=5), "node_limit": 7},
     r"node_limit is given beside method=BranchAndBound\(...\): set it there, BranchAndBound\(node_limit=...\)"),
    ({"method": Enumeration(), "n_starts": 7}, r"n_starts is given beside method=Enumeration"),
    ({"nodelimit": 3}, r'nodelimit is not an option of solve; did you mean "node_limit"\?'),
    ({"peanlty": "l1"}, r'did you mean "penalty"\?'),
    ({"zzz": 1}, r"zzz is not an option of solve: those are "),
    ({"method": BranchAndBound}, r"method=<class .*neither a name nor a strategy"),
    ({"method": 3}, r"method=3 is neither"),
    ({"max_groups": -1}, r"max_groups=-1"),
    ({"method": "enumerate", "n_starts": 0}, r"n_starts=0"),
    ({"method": "enumerate", "checkpoint": "state.json"}, r'checkpoint is for branch and bound: use method="bnb"'),
    ({"method": Alternating(), "certificate": "proof.json"}, r"certificate is for the exact methods"),
]


@pytest.mark.parametrize(("options", "told"), REFUSED, ids=str)
def test_what_cannot_be_meant_is_refused_in_one_line(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as refusal:
        partls.solve(X, Y, GROUPS, **options)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("make", [
    lambda: BranchAndBound(search="breadth-first"), lambda: BranchAndBound(node_limit=-1),
    lambda: BranchAndBound(relaxation="shorr"), lambda: BranchAndBound(executor=3), lambda: Enumeration(keep=0),
    lambda: Alternating(polish="much"), lambda: Alternating(tol=-1.0),
])
def test_a_strategy_checks_its_options_when_it_is_made(make: Any) -> None:
    with pytest.raises(InvalidInput):
        make()


@dataclass(frozen=True)
class Guess(Strategy):
    """The best of a few random sign patterns."""

    name: ClassVar[str] = "guess"
    proves: ClassVar[bool] = False
    n_guesses: int = 5

    def run(self, task: SearchTask) -> Outcome:
        """Return the best of the patterns drawn, and no bound."""
        rng, reduction = np.random.default_rng(task.seed), task.instance.reduction
        drawn = [partls.SignPattern(rng.choice([-1, 1], reduction.n_groups).tolist()) for _ in range(self.n_guesses)]
        best = min((solve_pattern(reduction, signs) for signs in drawn), key=lambda found: found.value)
        return Outcome(best, 0.0, None, Counter(nodes=self.n_guesses))


def test_a_strategy_of_ones_own() -> None:
    result = partls.solve(X, Y, GROUPS, method=Guess(), random_state=0)
    best = partls.solve(X, Y, GROUPS)
    assert (result.status, result.method, result.n_nodes) == (Status.HEURISTIC, "guess", 5)
    assert result.audit().passed
    assert result.lower_bound <= best.objective <= result.objective
    model = partls.PartLSRegressor(GROUPS, method=Guess(200), random_state=0).fit(X, Y)
    assert model.objective_ <= result.objective


@dataclass(frozen=True)
class Wrong(Guess):
    """Claims a proof that it does not have."""

    proves: ClassVar[bool] = True


def test_the_word_of_a_strategy_is_not_enough_for_optimal() -> None:
    """Its gap is open, so a small problem is solved again in exact arithmetic."""
    result, best = partls.solve(X, Y, GROUPS, method=Wrong(1), random_state=1), partls.solve(X, Y, GROUPS)
    assert result.status is Status.OPTIMAL and result.counts["exact nodes"] > 0
    assert result.objective == pytest.approx(best.objective, rel=1e-9)


def test_names_are_those_of_the_strategies() -> None:
    assert METHODS == ("auto", "bnb", "enumerate", "alternating")


class Plain(Strategy):
    """A strategy of one's own need not be a dataclass."""

    name = "plain"
    proves = False

    def run(self, task: SearchTask) -> Outcome:
        """Return what the alternation finds."""
        return Alternating(n_starts=1).run(task)


@pytest.mark.parametrize("method", [None, 3, BranchAndBound], ids=str)
def test_an_estimator_refuses_what_is_no_strategy_in_one_line(method: Any) -> None:
    with pytest.raises(InvalidInput, match="neither a name nor a strategy"):
        partls.PartLSRegressor(GROUPS, method=method).fit(X, Y)


def test_a_strategy_that_is_no_dataclass_fits_an_estimator() -> None:
    model = partls.PartLSRegressor(GROUPS, method=Plain(), random_state=0).fit(X, Y)
    assert model.result_.method == "plain" and model.status_ is Status.HEURISTIC


def test_a_strategy_is_hashable_and_none_of_its_options_can_change() -> None:
    starts = ["random", "relaxation"]
    strategy = Alternating(starts=starts)
    starts.append("least-squares")
    assert strategy == Alternating(starts=("random", "relaxation"))
    assert len({strategy, Alternating(starts=["random", "relaxation"])}) == 1


def test_an_estimator_whose_strategy_has_an_executor_is_cloned() -> None:
    with ThreadPoolExecutor(1) as executor:
        model = partls.PartLSRegressor(GROUPS, method=BranchAndBound(executor=executor, node_limit=7))
        copied = clone(model)
    assert copied.method == model.method and copied.method is not model.method
    assert copied.method.executor is executor


SAVED: list[tuple[Any, Any]] = [
    (BranchAndBound(node_limit=np.int64(500)), BranchAndBound(node_limit=500)),
    (BranchAndBound(relaxation=CheapThenStrong("active-set", "unconstrained")), BranchAndBound()),
    (BranchAndBound(branching=MaxViolation()), BranchAndBound(branching="max-violation")),
    (Alternating(starts=["random"]), Alternating(starts=("random",))),
    (Guess(3), "auto"),
    (Plain(), "auto"),
]


@pytest.mark.parametrize(("method", "loaded"), SAVED, ids=["limit", "policy", "rule", "starts", "own", "plain"])
def test_every_saved_model_can_be_loaded(method: Any, loaded: Any, tmp_path: Path) -> None:
    model = partls.PartLSRegressor(GROUPS, method=method, random_state=0).fit(X, Y)
    model.save(tmp_path / "model.json")
    again = partls.PartLSRegressor.load(tmp_path / "model.json")
    assert again.method == loaded
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_an_option_that_json_cannot_hold_is_refused_in_one_line(tmp_path: Path) -> None:
    model = partls.PartLSRegressor(GROUPS, method=BranchAndBound(checkpoint_interval=np.inf)).fit(X, Y)
    with pytest.raises(InvalidInput, match="checkpoint_interval=inf of the strategy cannot be written to a file"):
        model.save(tmp_path / "model.json")
    assert not list(tmp_path.iterdir())
