"""partls.testing: what obeys the laws passes; a bound or a strategy that breaks one of them is caught by that law."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf, nan
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings

import partls
from formulations import Instance, InvalidInput, SignPattern, quadratic
from partls.explore.subtree import Incumbent
from partls.testing import (
    RELAXATION_LAWS,
    STRATEGY_LAWS,
    LawBroken,
    Problem,
    check_relaxation,
    check_strategy,
    instances,
    partitions,
    sign_patterns,
)
from relaxations import MEMBERS, ActiveSetRelaxation, Bound, Bounder, BoundStatus, CheapThenStrong, from_builder
from tests.plugged_models import big_m
from tests.strategies import penalised

# What obeys the laws


def test_the_compiled_bound_obeys_every_law() -> None:
    check_relaxation("active-set", examples=40)


@pytest.mark.parametrize("name", [name for name in MEMBERS if name != "active-set"])
def test_every_member_obeys_every_law(name: str) -> None:
    check_relaxation(name, examples=4)


@pytest.mark.slow
@pytest.mark.parametrize("name", MEMBERS)
def test_every_member_obeys_every_law_on_many_problems(name: str) -> None:
    check_relaxation(name, examples=100)


def test_a_policy_and_a_plugged_in_bound_obey_every_law() -> None:
    check_relaxation(CheapThenStrong("active-set", "perspective"), examples=5)
    check_relaxation(from_builder(quadratic), problems=instances(spoil=False), examples=5)
    check_relaxation(from_builder(big_m), problems=instances(plain=True), examples=5)


STRATEGIES = [partls.BranchAndBound(), partls.Enumeration(), partls.Alternating(n_starts=4)]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.name)
def test_every_strategy_obeys_every_law(strategy: Any) -> None:
    check_strategy(strategy, examples=25)


# Bounds that break a law


@dataclass(frozen=True)
class Wrong:
    """The active-set relaxation with something done to its answers."""

    change: Callable[[Bound, SignPattern, float, dict[str, Any]], Any]
    name: str = "wrong"
    shared: dict[str, Any] = field(default_factory=dict)

    def prepare(self, instance: Instance) -> Bounder:
        self.shared["last"] = instance
        return WrongBounder(ActiveSetRelaxation().prepare(instance), self)


@dataclass
class WrongBounder:
    honest: Bounder
    relaxation: Wrong
    asked: int = 0

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        self.asked += 1
        memory = {"asked": self.asked, **self.relaxation.shared}
        return self.relaxation.change(self.honest.bound(signs), signs, cutoff, memory)


def last_prepared(bound: Bound, signs: SignPattern, cutoff: float, memory: dict[str, Any]) -> Bound:
    """Answer for the instance that was prepared last, whoever asks."""
    return ActiveSetRelaxation().prepare(memory["last"]).bound(signs)


def raising(*_: Any) -> Bound:
    raise ZeroDivisionError("a solver's bad day")


def falling(bound: Bound, signs: SignPattern, cutoff: float, memory: dict[str, Any]) -> Bound:
    return replace(bound, value=0.5 * bound.value) if any(signs) else bound


def forgetful(bound: Bound, signs: SignPattern, cutoff: float, memory: dict[str, Any]) -> Bound:
    return replace(bound, value=bound.value * 0.9 ** max(memory["asked"] - 2 * len(signs), 0))


WRONG_BOUNDS: dict[str, tuple[str, Any]] = {
    "raises": ("answers", raising),
    "not a number": ("answers", lambda bound, *_: replace(bound, value=nan)),
    "no bound": ("answers", lambda bound, *_: bound.value),
    "a point of another size": ("answers", lambda bound, *_: replace(bound, coef=np.ones(17))),
    "too high": ("below the optimum", lambda bound, *_: replace(bound, value=1.001 * bound.value + 1e-6)),
    "too high by little": ("below the optimum", lambda bound, *_: replace(bound, value=bound.value * (1 + 1e-8))),
    "too high at the leaves": (
        "below the optimum", lambda bound, signs, *_: bound if 0 in signs else replace(bound, value=2 * bound.value)),
    "falls": ("rises with the signs", falling),
    "cut off too early": (
        "cutoff", lambda bound, signs, cutoff, _: replace(bound, status=BoundStatus.CUTOFF) if cutoff < inf else bound),
    "whatever is asked for": (
        "cutoff", lambda bound, signs, cutoff, _: replace(bound, value=cutoff) if cutoff < inf else bound),
    "forgetful": ("same answer", forgetful),
    "one instance for all": ("instances apart", last_prepared),
    "nothing": ("proves something", lambda bound, *_: replace(bound, value=-inf)),
    "untrusted": ("proves something", lambda bound, *_: replace(bound, status=BoundStatus.INACCURATE)),
}


@pytest.mark.parametrize(("law", "change"), WRONG_BOUNDS.values(), ids=WRONG_BOUNDS)
def test_a_bound_that_breaks_a_law_is_caught_by_it(law: str, change: Any) -> None:
    with pytest.raises(LawBroken) as caught:
        check_relaxation(Wrong(change), examples=60, shrink=False)
    assert caught.value.law == law
    assert f"wrong breaks the law {law!r}: " in str(caught.value)
    if law != "proves something":
        assert isinstance(caught.value.problem, Problem)
        assert "\n  on Problem(np.array([[" in str(caught.value)


def test_a_counterexample_is_the_smallest() -> None:
    too_high = Wrong(lambda bound, *_: replace(bound, value=bound.value + 1.0))
    with pytest.raises(LawBroken) as caught:
        check_relaxation(too_high, problems=instances(plain=True), examples=20)
    assert str(caught.value.problem) == "Problem(np.array([[0.0]]), np.array([0.0]), (0,), {})"


def test_a_bound_that_refuses_everything_is_caught() -> None:
    class Refusing:
        name = "refusing"

        def prepare(self, instance: Instance) -> Bounder:
            raise InvalidInput("not today")

    words = "refusing breaks the law 'takes problems': every one of them is refused: not today"
    with pytest.raises(LawBroken, match=words):
        check_relaxation(Refusing(), examples=5)


class Sly:
    """Lies to searches alone, which ask with a cutoff from the first node on."""

    name = "sly"

    def prepare(self, instance: Instance) -> Bounder:
        return SlyBounder(ActiveSetRelaxation().prepare(instance))


@dataclass
class SlyBounder:
    honest: Bounder
    lies: bool | None = None

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        self.lies = cutoff < inf if self.lies is None else self.lies
        bound = self.honest.bound(signs)
        return replace(bound, value=2 * bound.value + 1) if self.lies else bound


def test_a_search_that_a_bound_spoils_is_caught() -> None:
    with pytest.raises(LawBroken) as caught:
        check_relaxation(Sly(), problems=instances(plain=True, spoil=False), examples=100, shrink=False)
    assert caught.value.law == "right search"


def test_a_bound_that_is_wrong_now_and_then_is_caught() -> None:
    """Hypothesis asks again and hears another answer: what was broken first is reported."""
    calls: list[int] = []

    def moody(bound: Bound, *_: Any) -> Bound:
        calls.append(1)
        return replace(bound, value=bound.value + 1.0) if len(calls) == 50 else bound

    with pytest.raises(LawBroken, match=r"'below the optimum'|'same answer'|'instances apart'|'cutoff'"):
        check_relaxation(Wrong(moody), examples=60)


# Strategies that break a law


@dataclass(frozen=True)
class Spoilt(partls.Strategy):
    """Branch and bound with something done to its outcome."""

    name: ClassVar[str] = "spoilt"
    proves: ClassVar[bool] = True
    change: Any = None

    def run(self, task: partls.SearchTask) -> partls.Outcome:
        return self.change(partls.BranchAndBound().run(task), task)


def negated(outcome: partls.Outcome, task: partls.SearchTask) -> partls.Outcome:
    """Turn one coefficient round."""
    v = outcome.incumbent.v.copy()
    v[:1] *= -1
    value = task.instance.reduction.objective(v) / task.instance.reduction.scale
    return replace(outcome, incumbent=Incumbent(value, v), lower_bound=0.0)


def overconfident(outcome: partls.Outcome, task: partls.SearchTask) -> partls.Outcome:
    """Stop at zero coefficients and call them optimal."""
    reduction = task.instance.reduction
    zero = np.zeros(reduction.n_columns)
    value = reduction.objective(zero) / reduction.scale
    return replace(outcome, incumbent=Incumbent(value, zero), lower_bound=value)


def hurried(outcome: partls.Outcome, task: partls.SearchTask) -> partls.Outcome:
    return outcome if task.time_limit is None else replace(outcome, lower_bound=2 * outcome.incumbent.value + 1)


def random_side(outcome: partls.Outcome, task: partls.SearchTask) -> partls.Outcome:
    """Take the signs from a coin that no seed governs."""
    reduction = task.instance.reduction
    COIN.append(1)
    side = 1 if len(COIN) % 2 else -1
    pattern = SignPattern(tuple(sign or side for sign in task.root))
    return replace(outcome, incumbent=partls.explore.incumbents.solve_pattern(reduction, pattern), lower_bound=0.0,
                   limit=partls.Status.NODE_LIMIT)


COIN: list[int] = []
WRONG_STRATEGIES: dict[str, tuple[str, Any]] = {
    "raises": ("answers", lambda outcome, task: 1 / 0),
    "no outcome": ("answers", lambda outcome, task: outcome.incumbent),
    "mixed signs": ("keeps the signs", negated),
    "a better value than it has": (
        "own value", lambda outcome, task: replace(
            outcome, incumbent=Incumbent(0.9 * outcome.incumbent.value - 1e-3, outcome.incumbent.v), lower_bound=0.0)),
    "a bound too high": (
        "bound below the optimum",
        lambda outcome, task: replace(outcome, lower_bound=1.001 * outcome.lower_bound + 1e-6)),
    "overconfident": ("bound below the optimum", overconfident),
    "hurried": ("stops in time", hurried),
    "by chance": ("same answer", random_side),
}


@pytest.mark.parametrize(("law", "change"), WRONG_STRATEGIES.values(), ids=WRONG_STRATEGIES)
def test_a_strategy_that_breaks_a_law_is_caught_by_it(law: str, change: Any) -> None:
    COIN.clear()
    with pytest.raises(LawBroken) as caught:
        check_strategy(Spoilt(change), examples=60, shrink=False)
    assert caught.value.law == law
    assert f"spoilt breaks the law {law!r}: under the signs " in str(caught.value) or "it returns" in str(caught.value)
    assert "\n  on Problem(np.array([[" in str(caught.value)


def test_a_status_that_claims_too_much_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """``solve`` derives the status from the bound, so only a fault of its own could break this law."""
    from partls.testing import strategy_laws

    solve = strategy_laws.solve_instance
    for status, proves in ((partls.Status.OPTIMAL, True), (partls.Status.OPTIMAL, False)):
        def claims(instance: Instance, status: Any = status, **options: Any) -> Any:
            worse = solve(instance, **options | {"method": partls.Alternating(n_starts=1)})
            return replace(worse, status=status, objective=worse.objective + 1.0)

        monkeypatch.setattr(strategy_laws, "solve_instance", claims)
        kind = type("Claiming", (partls.BranchAndBound,), {"proves": proves})
        with pytest.raises(LawBroken, match="'honest status'"):
            check_strategy(kind(), examples=20, shrink=False)


def test_an_audit_that_fails_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from partls.testing import strategy_laws

    solve = strategy_laws.solve_instance

    def boasting(instance: Instance, **options: Any) -> Any:
        found = solve(instance, **options)
        return replace(found, objective=0.5 * found.objective)

    monkeypatch.setattr(strategy_laws, "solve_instance", boasting)
    with pytest.raises(LawBroken, match="'passes the audit'"):
        check_strategy(partls.BranchAndBound(), examples=30, shrink=False)


def test_every_law_has_a_test_that_breaks_it() -> None:
    assert {law for law, _ in WRONG_BOUNDS.values()} | {"takes problems", "right search"} == set(RELAXATION_LAWS)
    elsewhere = {"takes problems", "honest status", "passes the audit"}
    assert {law for law, _ in WRONG_STRATEGIES.values()} | elsewhere == set(STRATEGY_LAWS)


def test_what_is_no_strategy_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"is no partls\.Strategy: it needs name, proves and run\(task\)"):
        check_strategy("bnb")  # type: ignore[arg-type]


# Problems


def test_the_problems_are_unkind() -> None:
    generating = settings(derandomize=True, database=None, max_examples=2000, phases=[Phase.generate])
    for trait in (
        lambda problem: np.linalg.matrix_rank(problem.X) < min(problem.X.shape),
        lambda problem: problem.X.shape[0] < problem.X.shape[1],
        lambda problem: not problem.y.any(),
        lambda problem: problem.n_groups == 1 and len(problem.labels) > 1,
        lambda problem: -1 in problem.labels,
        lambda problem: problem.options["penalty"] == "l1" if "penalty" in problem.options else False,
    ):
        find(instances(), trait, settings=generating)


@given(partitions(5), sign_patterns(3), sign_patterns(3, complete=True))
def test_partitions_and_signs_are_what_they_are_called(labels: Any, node: SignPattern, leaf: SignPattern) -> None:
    assert set(labels) == set(range(max(labels) + 1))
    assert len(node) == 3
    assert leaf.is_complete


@settings(max_examples=20)
@given(penalised())
def test_a_problem_is_an_instance(problem: Problem) -> None:
    instance = problem.instance
    assert instance.n_groups == problem.n_groups
    zero = np.zeros(instance.n_columns)
    assert instance.objective(zero) == pytest.approx(problem.size)


def test_hypothesis_is_loaded_by_partls_testing_alone() -> None:
    code = "import sys, partls, relaxations\nassert 'hypothesis' not in sys.modules\nimport partls.testing"
    subprocess.run([sys.executable, "-c", code], check=True)
    code = "import sys; sys.modules['hypothesis'] = None\nimport partls.testing"
    missing = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "partls.testing needs Hypothesis, which is missing: python -m pip install hypothesis" in missing.stderr
