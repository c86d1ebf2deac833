"""Any relaxation and any branching rule plug into the search, and no fault of theirs can make it claim too much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from math import inf, nan
from typing import Any

import numpy as np
import pytest

import partls
from formulations import Instance, SignPattern
from partls import Status
from partls.explore.branching import RULES, BoundScore, MaxViolation, StrongBranching, number_of_candidates
from partls.explore.generic import GenericExplorer
from partls.explore.incumbents import solve_pattern
from partls.explore.subtree import Incumbent, violations
from partls.runtime.progress import SearchState
from partls.strategies import branch_and_bound
from relaxations import ActiveSetRelaxation, Bound, Bounder, BoundStatus, Relaxation
from relaxations.kernel import walk as _walk
from tests.families import FAMILIES, correlated
from tests.oracles import Oracle, brute_force
from tests.strategies import Tiny
from tests.tolerances import VANISHING, same_optimum

PLUGGED = ("correlated", "duplicates", "underdetermined", "l2", "l1", "l1 intercept", "free columns", "conditioned")
Fault = Callable[[Bound, SignPattern], Bound]


@dataclass(frozen=True)
class Faulty:
    """The active-set relaxation with something done to each of its bounds."""

    fault: Fault
    name: str = "faulty"
    asked: list[SignPattern] = field(default_factory=list)

    def prepare(self, instance: Instance) -> Bounder:
        return FaultyBounder(ActiveSetRelaxation().prepare(instance), self)


@dataclass(frozen=True)
class FaultyBounder:
    honest: Bounder
    relaxation: Faulty

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        self.relaxation.asked.append(signs)
        return self.relaxation.fault(self.honest.bound(signs, cutoff=cutoff), signs)


@dataclass(frozen=True)
class RootOnly:
    """Knows the unconstrained least squares of the original data and nothing else: no signs, no coefficients."""

    name: str = "root only"

    def prepare(self, instance: Instance) -> Bounder:
        A = np.column_stack([instance.X, np.ones(instance.n_rows)]) if instance.fit_intercept else instance.X
        residual = instance.y - A @ np.linalg.lstsq(A, instance.y, rcond=None)[0]
        return ConstantBounder(float(residual @ residual) * (1 - 1e-9))


@dataclass(frozen=True)
class ConstantBounder:
    value: float

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        return Bound(self.value, self.value, None, BoundStatus.OPTIMAL, 0.0)


def failing(bound: Bound, signs: SignPattern) -> Bound:
    raise ZeroDivisionError("a solver's bad day")


def sometimes_failing(bound: Bound, signs: SignPattern) -> Bound:
    return bound if len(signs.undecided) % 2 else failing(bound, signs)


def below_the_root(fault: Fault) -> Fault:
    """Return the fault at every node but the root, so that children tried for branching meet it as well."""
    return lambda bound, signs: fault(bound, signs) if any(signs) else bound


FAULTS: dict[str, tuple[Fault, str]] = {
    "too high, and says it is inaccurate": (
        lambda bound, signs: replace(bound, value=2 * bound.value + 1, status=BoundStatus.INACCURATE),
        "bound inaccurate",
    ),
    "infinite, and says it is inaccurate": (
        lambda bound, signs: replace(bound, value=inf, status=BoundStatus.INACCURATE), "bound inaccurate",
    ),
    "failed": (lambda bound, signs: Bound(-inf, -inf, None, BoundStatus.FAILED, 0.0), "bound failed"),
    "failed with a value": (lambda bound, signs: replace(bound, value=1e9, status=BoundStatus.FAILED), "bound failed"),
    "not a number": (lambda bound, signs: replace(bound, value=nan), "failed: not a number"),
    "not a number anywhere": (
        lambda bound, signs: Bound(nan, nan, np.full_like(bound.coef, nan), BoundStatus.OPTIMAL, 0.0),
        "failed: not a number",
    ),
    "raises": (failing, "failed: ZeroDivisionError"),
    "raises now and then": (sometimes_failing, "failed: ZeroDivisionError"),
    "returns nothing": (lambda bound, signs: None, "failed: AttributeError"),  # type: ignore[arg-type,return-value]
    "a status that is none": (lambda bound, signs: replace(bound, status="optimal"), "failed: TypeError"),
    "a complex point": (lambda bound, signs: replace(bound, coef=bound.coef * 1j), "failed: TypeError"),
    "a ragged point": (lambda bound, signs: replace(bound, coef=[[1.0], 2.0]), "failed: ValueError"),
    "no parts": (lambda bound, signs: replace(bound, parts=7), "failed: TypeError"),
    "parts of another kind": (lambda bound, signs: replace(bound, parts=(1, 2)), "failed: TypeError"),
}
HARMLESS: dict[str, Fault] = {
    "estimate too high": lambda bound, signs: replace(bound, estimate=bound.estimate * 2 + 1),
    "value far too low": lambda bound, signs: replace(bound, value=bound.value / 2 - 1),
    "minus infinity": lambda bound, signs: replace(bound, value=-inf),
    "no point": lambda bound, signs: replace(bound, coef=None),
    "a point in a list": lambda bound, signs: replace(bound, coef=list(bound.coef)),
    "a point of objects": lambda bound, signs: replace(bound, coef=bound.coef.astype(object)),
    "a value of another kind": lambda bound, signs: replace(bound, value=Decimal(bound.value)),
    "a senseless point": lambda bound, signs: replace(bound, coef=-bound.coef),
    "cut off": lambda bound, signs: replace(bound, status=BoundStatus.CUTOFF),
}


def solved(case: Tiny, relaxation: Any, **options: Any) -> partls.Result:
    options = {"method": "bnb", "ungrouped": "free", **case.options, **options}
    return partls.solve(case.X, case.y, case.labels, relaxation=relaxation, **options)


def oracle_of(case: Tiny) -> Oracle:
    return brute_force(case.X, case.y, case.labels, **case.options)


@cache
def binding(seed: int) -> tuple[Tiny, Oracle]:
    """Return a problem whose groups bind, with its oracle."""
    case = correlated(seed, n_rows=25, n_columns=14, n_groups=5, corr=0.9)
    return case, oracle_of(case)


def check(result: partls.Result, case: Tiny, oracle: Oracle, statuses: tuple[Status, ...] = (Status.OPTIMAL,)) -> None:
    assert result.objective == same_optimum(oracle.objective, case.weighted_y)
    assert result.lower_bound <= oracle.objective + VANISHING * np.square(case.weighted_y).sum()
    assert result.status in statuses
    assert result.audit().passed


@pytest.fixture
def no_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin every search at a bad incumbent: the optimum must be found by it, not before it."""

    def bad(grouped: Any, task: Any, *_: Any, **__: Any) -> Incumbent:
        sides = [SignPattern(tuple(s or sign for s in task.root)) for sign in (1, -1)]
        return max((solve_pattern(grouped.reduction, side) for side in sides), key=lambda incumbent: incumbent.value)

    monkeypatch.setattr(branch_and_bound, "_first_incumbent", bad)


# Relaxations


@pytest.mark.parametrize("order", ["depth-first", "best-first"])
@pytest.mark.parametrize("family", PLUGGED)
def test_a_relaxation_that_behaves_gives_the_same_answer(family: str, order: str) -> None:
    honest = Faulty(lambda bound, signs: bound)
    for seed in range(3):
        case = FAMILIES[family](seed)
        check(solved(case, honest, search=order), case, oracle_of(case))
    assert isinstance(honest, Relaxation)
    assert honest.asked


def test_the_weakest_relaxation_is_enough() -> None:
    """Every leaf is settled by itself, so even a constant bound ends in a proof."""
    for seed in range(4):
        case = correlated(seed, n_groups=4)
        result = solved(case, RootOnly())
        check(result, case, oracle_of(case))
        assert result.n_nodes > 16  # the whole tree


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("where", ["everywhere", "below the root"])
@pytest.mark.parametrize(("fault", "counted"), FAULTS.values(), ids=FAULTS)
def test_no_fault_of_a_relaxation_costs_the_optimum_or_the_proof(
    fault: Fault, counted: str, where: str, rule: str, no_luck: None
) -> None:
    """A node without a trusted bound stays open until its leaves are settled; the fault is counted, not hidden."""
    case, oracle = binding(2)
    faulty = Faulty(fault if where == "everywhere" else below_the_root(fault))
    result = solved(case, faulty, branching=rule)
    check(result, case, oracle)
    assert counted in result.counts
    assert 0 < result.counts[counted] <= len(faulty.asked)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("fault", HARMLESS.values(), ids=HARMLESS)
def test_a_weak_relaxation_costs_only_time(fault: Fault, n_jobs: int, no_luck: None) -> None:
    for family in ("correlated", "integers", "l1"):
        case = FAMILIES[family](3)
        check(solved(case, Faulty(fault), n_jobs=n_jobs), case, oracle_of(case))


LIES: dict[str, Fault] = {
    "everywhere": lambda bound, signs: replace(bound, value=100 * bound.value),
    "below the root": below_the_root(lambda bound, signs: replace(bound, value=100 * bound.value)),
    "without a point": lambda bound, signs: replace(bound, value=100 * bound.value, coef=None),
    "deep down": lambda bound, signs: replace(bound, value=9 * bound.value) if len(signs.undecided) < 4 else bound,
    "by little": lambda bound, signs: replace(bound, value=bound.value * (1 + 1e-6)),
    "infinite": lambda bound, signs: replace(bound, value=inf),
}


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_bound_that_a_solution_refutes_is_not_believed(
    lie: Fault, n_jobs: int, no_luck: None, caplog: pytest.LogCaptureFixture
) -> None:
    """The relaxation is named, what it has proved is forgotten, and factorisation proves the answer."""
    case, oracle = binding(2)
    result = solved(case, Faulty(lie), n_jobs=n_jobs)
    check(result, case, oracle)
    assert result.counts["contradicted: faulty"] == 1
    assert "relaxation 'faulty' claims that no solution with the signs" in caplog.text


@pytest.mark.parametrize("fault", HARMLESS.values(), ids=HARMLESS)
def test_an_honest_relaxation_is_not_accused(fault: Fault) -> None:
    for family in PLUGGED:
        for seed in range(3):
            result = solved(FAMILIES[family](seed), Faulty(fault))
            assert "contradicted: faulty" not in result.counts


def test_a_lie_that_no_solution_refutes_would_be_seen(no_luck: None) -> None:
    """The checks above can fail: a wrong value that calls the first incumbent optimal, and offers no other, does it."""
    case, oracle = binding(5)
    first = max(oracle.objectives[signs] for signs in ((1,) * 5, (-1,) * 5))
    with pytest.raises(AssertionError):
        check(solved(case, Faulty(lambda bound, signs: replace(bound, value=first, coef=None))), case, oracle)


@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_a_stopped_search_keeps_what_a_relaxation_certified(fault: str | None) -> None:
    """At a node limit the bound is at least the parents' certified values, and never more than is true."""
    case = correlated(5, n_rows=40, n_columns=30, n_groups=9, corr=0.6)
    full = partls.solve(case.X, case.y, case.labels)
    root = ActiveSetRelaxation().prepare(Instance(case.X, case.y, case.labels)).bound(SignPattern.free(9)).value
    do = FAULTS[fault][0] if fault else lambda bound, signs: bound
    for node_limit in (0, 1, 8, 40):
        result = solved(case, Faulty(do), node_limit=node_limit)
        assert result.status in (Status.NODE_LIMIT, Status.OPTIMAL)
        assert root * (1 - 1e-9) <= result.lower_bound <= full.objective * (1 + 1e-12)
        assert result.audit().passed


def test_a_strong_relaxation_is_not_replaced_by_a_weak_one_at_the_end() -> None:
    """An oracle as relaxation: the search stops at its root, and the reported bound is the relaxation's own."""
    case = correlated(5, n_rows=40, n_columns=30, n_groups=6, corr=0.6)
    objectives = oracle_of(case).objectives

    def strong(bound: Bound, signs: SignPattern) -> Bound:
        inside = [value for pattern, value in objectives.items() if signs.contains(SignPattern(pattern))]
        return replace(bound, value=0.98 * min(inside), estimate=0.98 * min(inside))

    for options in ({"gap_tol": 0.03}, {"node_limit": 1}):
        result = solved(case, Faulty(strong), **options)
        assert result.gap <= 0.03
        assert result.lower_bound <= min(objectives.values())


def test_a_relaxation_that_cannot_be_prepared_says_so() -> None:
    class Unprepared:
        name = "unprepared"

        def prepare(self, instance: Instance) -> Bounder:
            raise NotImplementedError("no such solver here")

    with pytest.raises(NotImplementedError, match="no such solver here"):
        solved(correlated(1), Unprepared())


def test_the_generic_search_reports_its_progress() -> None:
    seen: list[SearchState] = []
    result = solved(correlated(1), Faulty(lambda bound, signs: bound), progress=seen.append)
    assert seen[-1].nodes == result.n_nodes
    assert seen[-1].objective == pytest.approx(result.objective, rel=1e-9)


# Branching rules


@dataclass(frozen=True)
class Custom:
    """A rule of one's own: the first or the last group, bounding a child on the way."""

    last: bool
    name: str = "custom"
    ranking: int = 0
    candidates: int = 1
    chosen: list[int] = field(default_factory=list)

    def choose(self, groups: list[int], v: Any, labels: Any, try_child: Callable[[int, int], float]) -> int:
        k = groups[-1 if self.last else 0]
        assert (labels == k).any()
        assert len(v) == len(labels)
        assert isinstance(try_child(k, 1), float)
        self.chosen.append(k)
        return k


def test_every_rule_names_its_ranking_to_the_kernel() -> None:
    rankings = [rule.ranking for rule in (MaxViolation(), BoundScore(), StrongBranching())]
    assert rankings == [_walk.MAX_VIOLATION, _walk.BOUND_SCORE, _walk.BOUND_SCORE]


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("family", ["correlated", "l1", "duplicates", "conditioned"])
def test_a_rule_of_ones_own_directs_the_generic_search(family: str, last: bool) -> None:
    rule = Custom(last)
    for seed in range(6):
        case = FAMILIES[family](seed)
        check(solved(case, Faulty(lambda bound, signs: bound), branching=rule), case, oracle_of(case))
        check(solved(case, "active-set", branching=rule), case, oracle_of(case))  # compiled: by its ranking
    assert rule.chosen


def test_native_and_generic_searches_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bound through the kernel and through the protocol: one optimum, one proof."""
    explored: list[int] = []
    explore = GenericExplorer.explore
    monkeypatch.setattr(GenericExplorer, "explore", lambda self, *a: (explored.append(1), explore(self, *a))[1])
    case = correlated(8, n_rows=40, n_columns=32, n_groups=10, corr=0.5)
    native = solved(case, "active-set")
    assert not explored
    generic = solved(case, Faulty(lambda bound, signs: bound))
    assert explored
    assert generic.objective == pytest.approx(native.objective, rel=1e-12)
    assert generic.signs.tolist() == native.signs.tolist()
    assert generic.lower_bound == pytest.approx(native.lower_bound, rel=1e-9)


# What the rules say they choose

POINT = np.array([3.0, -0.5, 2.0, -2.0, 0.9, -0.9, 4.0, 4.0, 0.6, 0.6, -0.7])
LABELS = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4])


def test_a_rules_violation_is_the_sum_over_pairs_of_opposite_signs() -> None:
    for tolerance in (0.0, 0.55, 0.95):
        kept = np.where(np.abs(POINT) > tolerance, POINT, 0.0)
        groups = [kept[k == LABELS] for k in range(5)]
        pairs = [np.maximum(-np.outer(group, group), 0.0).sum() for group in groups]
        np.testing.assert_allclose(violations(POINT, LABELS, 5, tolerance), pairs)


def test_every_branching_rule_chooses_as_it_says() -> None:
    def never(group: int, sign: int) -> float:
        raise AssertionError("this rule tries no child")

    assert MaxViolation().choose([0, 1, 2, 3], POINT, LABELS, never) == 1
    assert MaxViolation().choose([0, 2, 4], POINT, LABELS, never) == 0  # 1.5 against 0.81 and 0.84
    assert BoundScore().choose([0, 2, 3, 4], POINT, LABELS, never) == 2  # 0.9 against 0.5, 0 and 0.7
    children = {(0, 1): 5.0, (0, -1): 1.0, (1, 1): 2.0, (1, -1): 9.0, (2, 1): 3.0, (2, -1): 2.5}
    tried: list[tuple[int, int]] = []

    def try_child(group: int, sign: int) -> float:
        tried.append((group, sign))
        return children[group, sign]

    assert StrongBranching(candidates=3).choose([0, 1, 2, 3], POINT, LABELS, try_child) == 2
    assert sorted(tried) == sorted(children)
    assert StrongBranching(candidates=1).choose([0, 1, 2, 3], POINT, LABELS, try_child) == 1


@pytest.mark.parametrize(("size", "candidates"), [(1, 16), (2, 16), (3, 11), (4, 6), (5, 4), (6, 3), (50, 3)])
def test_a_branching_rule_tries_more_of_smaller_groups(size: int, candidates: int) -> None:
    assert number_of_candidates(StrongBranching(), np.repeat(np.arange(7), size)) == candidates
    assert number_of_candidates(StrongBranching(), np.zeros(size, int)) == candidates
    assert number_of_candidates(StrongBranching(candidates=5), np.zeros(size, int)) == 5
