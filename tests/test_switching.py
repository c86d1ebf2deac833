"""Policies that switch between relaxations: the same proof, a bound that says where it came from, and no clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partls
from formulations import Instance, SignPattern
from partls import BranchAndBound, InvalidInput, Status
from partls.explore.incumbents import solve_pattern
from partls.strategies import branch_and_bound
from relaxations import (
    SPLIT,
    ActiveSetRelaxation,
    Adaptive,
    Bound,
    BoundBy,
    Bounder,
    BoundStatus,
    ByDepth,
    CheapThenStrong,
    Fixed,
    Policy,
    PolicyNode,
    Price,
    Relaxation,
    SearchBy,
    Trial,
    TryBy,
)
from relaxations.policies.node import growing_trial
from relaxations.policies.prices import price_of
from relaxations.policies.run import PolicyRun
from tests.families import FAMILIES, correlated
from tests.oracles import Oracle, brute_force
from tests.strategies import Tiny
from tests.test_plugging import FAULTS, Fault, Faulty, binding, check, oracle_of, solved


@dataclass(frozen=True)
class Exact:
    """The strongest bound there is, the optimum of the node by brute force, or a share of it."""

    share: float = 1.0
    name: str = "exact"
    milliseconds: float = 5.0
    asked: list[SignPattern] = field(default_factory=list)

    def price(self, instance: Instance) -> Price:
        return Price(0.0, self.milliseconds / 1e3)

    def prepare(self, instance: Instance) -> Bounder:
        return ExactBounder(instance, self)


class ExactBounder:
    def __init__(self, instance: Instance, relaxation: Exact) -> None:
        self._relaxation = relaxation
        shape, labels = instance.X.shape, tuple(instance.partition.labels.tolist())
        self._objectives = every_optimum(instance.X.tobytes(), shape, instance.y.tobytes(), labels)

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        self._relaxation.asked.append(signs)
        inside = [value for pattern, value in self._objectives.items() if signs.contains(SignPattern(pattern))]
        value = min(inside) * self._relaxation.share
        return Bound(value, value, None, BoundStatus.OPTIMAL, 0.0)


@cache
def every_optimum(X: bytes, shape: tuple[int, int], y: bytes, labels: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    return brute_force(np.frombuffer(X).reshape(shape), np.frombuffer(y), labels).objectives


@dataclass(frozen=True)
class Unprepared:
    name: str = "unprepared"
    asked: list[int] = field(default_factory=list)

    def prepare(self, instance: Instance) -> Bounder:
        self.asked.append(1)
        raise NotImplementedError("no such solver here")


POLICIES: dict[str, Callable[[Any], Relaxation]] = {
    "fixed": Fixed,
    "cheap then strong": lambda strong: CheapThenStrong("active-set", strong, break_even=4),
    "strong is the cheap one": lambda strong: CheapThenStrong(strong, "active-set", gap=0.0, break_even=0),
    "by depth": lambda strong: ByDepth(strong, "active-set", depth=2),
    "adaptive": lambda strong: Adaptive(["active-set", strong], explore=0.5),
    "adaptive, strong first": lambda strong: Adaptive([strong, "active-set"], seed=1),
    "nested": lambda strong: ByDepth(CheapThenStrong("active-set", strong, break_even=2), Adaptive([strong]), depth=2),
}


@cache
def tree(seed: int) -> tuple[Tiny, Oracle]:
    """Return a problem with a tree to speak of, and its oracle."""
    case = correlated((7, 5)[seed], n_rows=30, n_columns=24, n_groups=8, corr=0.9)
    return case, oracle_of(case)


@pytest.fixture
def no_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin every search at a bad incumbent: the optimum must be found by it, not before it."""

    def bad(grouped: Any, task: Any, *_: Any, **__: Any) -> Any:
        sides = [SignPattern(tuple(s or sign for s in task.root)) for sign in (1, -1)]
        return max((solve_pattern(grouped.reduction, side) for side in sides), key=lambda incumbent: incumbent.value)

    monkeypatch.setattr(branch_and_bound, "_first_incumbent", bad)


@pytest.fixture
def short_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let first trials be as short as later ones, so that small trees outlast them."""
    monkeypatch.setattr("relaxations.policies.node._LEAST", 1)


# Every policy is a relaxation


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_every_policy_proves_the_oracles_optimum_and_accounts_for_every_node(
    make: Callable[[Any], Relaxation], no_luck: None
) -> None:
    for seed in range(2):
        case, oracle = tree(seed)
        policy = make(Exact(share=0.98))
        assert isinstance(policy, Relaxation)
        result = solved(case, policy)
        check(result, case, oracle)
        counts = result.counts
        closed = sum(n for key, n in counts.items() if key.startswith("closed by "))
        assert closed == sum(counts.get(how, 0) for how in ("prunes", "tight", "leaves"))
        assert closed > result.n_nodes // 4
        computed = sum(n for key, n in counts.items() if key.startswith("bounds by "))
        assert computed == sum(n for key, n in counts.items() if key.startswith(("bound ", "failed: ")))


@pytest.mark.parametrize("family", ["duplicates", "underdetermined", "l1", "free columns", "subset sum", "conditioned"])
def test_policies_of_the_toolkits_own_relaxations(family: str) -> None:
    for seed in range(2):
        case = FAMILIES[family](seed)
        check(solved(case, CheapThenStrong("active-set", "unconstrained", break_even=1)), case, oracle_of(case))
        check(solved(case, ByDepth("unconstrained", "active-set")), case, oracle_of(case))


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_the_bound_of_a_policy_is_the_highest_it_computed_and_names_its_source(
    make: Callable[[Any], Relaxation]
) -> None:
    case, oracle = tree(0)
    instance = Instance(case.X, case.y, case.labels)
    bounder, rng = make(Exact(share=0.97)).prepare(instance), np.random.default_rng(5)
    for _ in range(40):
        signs = SignPattern(tuple(rng.choice([-1, 0, 0, 1], size=8).tolist()))
        true = min(value for pattern, value in oracle.objectives.items() if signs.contains(SignPattern(pattern)))
        answer = bounder.bound(signs, cutoff=oracle.objective)
        assert answer.value == max(part.value for part in answer.parts) <= true * (1 + 1e-12)
        assert {part.source for part in answer.parts} <= {"active-set", "exact"}
        assert next(part for part in answer.parts if part.value == answer.value).source == answer.source
        if any(part.source == "active-set" for part in answer.parts):
            assert answer.coef is not None  # the strong one gives no point, the other's is kept


# When the strong bound is asked


def test_the_strong_bound_is_asked_only_where_much_is_left_to_do() -> None:
    case, oracle = tree(0)
    instance = Instance(case.X, case.y, case.labels)
    root = SignPattern.free(8)

    def sources(signs: SignPattern, cutoff: float, **options: Any) -> list[str]:
        policy = CheapThenStrong("active-set", Exact(), **options)
        return [part.source for part in policy.prepare(instance).bound(signs, cutoff=cutoff).parts]

    both = ["active-set", "exact"]
    assert sources(root, inf, break_even=2**8 / 10.1) == both  # the root, too
    assert sources(root, inf, break_even=2**8 / 9.9) == ["active-set"]  # at most 2^8 leaves below
    node = SignPattern((1, 0, 0, 0, 0, 0, 0, 0))
    value = ActiveSetRelaxation().prepare(instance).bound(node).value
    assert sources(node, 1e3 * value, break_even=2**7 / 10.1) == both
    assert sources(node, 1e3 * value, break_even=2**7 / 9.9) == ["active-set"]
    assert sources(node, 0.5 * value, break_even=0) == ["active-set"]  # closed by the cheap bound
    assert sources(node, 1.05 * value, gap=0.1, break_even=0) == ["active-set"]  # nearly closed
    assert sources(node, 1.2 * value, gap=0.1, break_even=0) == both
    complete = SignPattern(oracle.signs)
    assert sources(complete, 10 * oracle.objective, gap=0.0, break_even=1) == ["active-set"]  # nothing below it
    prices = {"active-set": 1e-5, "exact": Price(prepare=0.0, bound=1e-4)}
    assert sources(root, inf, prices=prices) == both
    assert sources(root, inf, prices={**prices, "exact": Price(prepare=1.0, bound=1e-4)}) == ["active-set"]


def test_fast_rises_promise_a_small_subtree() -> None:
    """A trial whose bounds rise fast with the decided groups is continued, not given to the strong bound.

    Until it has taken as many nodes as the bound is worth: then the estimate was wrong.
    """
    policy = CheapThenStrong("active-set", Exact(), break_even=2**4)
    open_nodes = tuple((SignPattern((1,) * depth + (0,) * (20 - depth)), 1.0 + 0.1 * depth) for depth in (1, 2, 3))
    instance = Instance(np.eye(20), np.ones(20), list(range(20)))
    node = PolicyRun(policy, instance).node(SignPattern.free(20), inf).with_trial(Trial(100, open_nodes))
    near, far = replace(node, cutoff=1.5), replace(node, cutoff=2.1)  # 4 and 10 levels below the first of them
    assert policy.decide(near) == TryBy(policy.members[0], 16)
    assert policy.decide(near.with_trial(Trial(200, open_nodes))) == BoundBy(policy.members[1])
    assert policy.decide(far) == BoundBy(policy.members[1])


# Subtrees in compiled code


@pytest.mark.parametrize("order", ["depth-first", "best-first"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_policy_without_choice_is_the_plain_search(order: str, n_jobs: int) -> None:
    """The same nodes, node for node: also where the tree is searched in many tasks."""
    X, y, groups = large_tree()
    options = {"search": order, "n_jobs": n_jobs, "relaxation": "active-set"}
    plain = partls.solve(X, y, groups, **options)
    assert plain.counts["tasks"] > 1
    for policy in (Fixed("active-set"), ByDepth(Fixed("active-set"), "active-set", 0), Fixed(Fixed("active-set"))):
        result = partls.solve(X, y, groups, **{**options, "relaxation": policy})
        assert result.counts == plain.counts
        assert (result.objective, result.lower_bound) == (plain.objective, plain.lower_bound)


def large_tree() -> tuple[Any, Any, Any]:
    """Return a problem of some 500 nodes."""
    rng = np.random.default_rng([1, 1])
    toeplitz = 0.9 ** np.abs(np.subtract.outer(np.arange(90), np.arange(90)))
    X = rng.normal(size=(180, 90)) @ np.linalg.cholesky(toeplitz).T
    return X, rng.normal(size=180), np.repeat(np.arange(18), 5)


def test_the_strong_bound_at_the_root_and_the_compiled_search_below() -> None:
    case, oracle = tree(0)
    plain = solved(case, "active-set")
    strong = Exact(share=0.9)
    result = solved(case, ByDepth(strong, "active-set", 1))
    check(result, case, oracle)
    assert strong.asked == [SignPattern.free(8)]
    assert result.counts["subtrees to active-set"] == 2
    assert abs(result.n_nodes - plain.n_nodes) <= 4


def test_a_stopped_search_keeps_the_strong_bound_of_the_subtrees_handed_over() -> None:
    X, y, groups = large_tree()
    optimum = partls.solve(X, y, groups).objective

    @dataclass(frozen=True)
    class Root(Exact):
        def prepare(self, instance: Instance) -> Bounder:
            return Faulty(lambda bound, signs: replace(bound, value=0.995 * optimum)).prepare(instance)

    result = partls.solve(X, y, groups, relaxation=ByDepth(Root(), "active-set", 1), node_limit=40)
    weak = partls.solve(X, y, groups, relaxation="active-set", node_limit=40)
    assert weak.lower_bound < 0.995 * optimum == pytest.approx(result.lower_bound, rel=1e-12)


def test_a_search_with_a_policy_resumes_where_it_was(tmp_path: Path) -> None:
    """What was given to the compiled search stays there: the strong bound is not asked again."""
    X, y, groups = large_tree()
    strong = Weak()
    policy = ByDepth(strong, "active-set", 1)
    whole = partls.solve(X, y, groups, relaxation=policy)
    assert len(strong.asked) == 1
    path = tmp_path / "search.ckpt"
    for node_limit in (1, 60, 200, None):
        result = partls.solve(X, y, groups, method=BranchAndBound(policy, node_limit=node_limit, checkpoint=path))
    assert result.status is Status.OPTIMAL
    assert result.objective == whole.objective
    assert len(strong.asked) == 2  # once more by the first piece
    assert result.counts["subtrees to active-set"] == 2


@dataclass(frozen=True)
class Weak:
    """A bound that proves little and counts how often it is asked."""

    name: str = "weak"
    asked: list[SignPattern] = field(default_factory=list)

    def prepare(self, instance: Instance) -> Bounder:
        asked = self.asked

        class Counting:
            def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
                asked.append(signs)
                return Bound(0.0, 0.0, None, BoundStatus.OPTIMAL, 0.0)

        return Counting()


def test_nothing_is_prepared_for_a_small_tree() -> None:
    """The search is over before the strong bound would pay: it is neither asked nor prepared."""
    case, oracle = tree(0)
    unused = Unprepared()
    result = solved(case, CheapThenStrong("active-set", unused, prices={"unprepared": Price(1.0, 1.0)}))
    check(result, case, oracle)
    assert unused.asked == []
    assert result.n_nodes <= solved(case, "active-set").n_nodes


def test_active_set_never_switches_and_auto_says_what_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partls.search.node_bound._STRENGTHEN_AFTER", 100)
    X, y, groups = large_tree()
    plain, auto = (partls.solve(X, y, groups, relaxation=name) for name in ("active-set", "auto"))
    assert not any(key.startswith("switched") for key in plain.counts)
    assert auto.counts["switched to convexified"] == 1
    assert partls.solve(X, y, groups).counts == auto.counts  # the default
    with monkeypatch.context() as patch:
        patch.setattr("partls.search.node_bound._NODE", 0.0)  # nodes so cheap that no multipliers pay
        assert partls.solve(X, y, groups).counts["switched to diagonal"] == 1
    strong, weak = (partls.solve(X, y, groups, relaxation=name, eta=1e4) for name in ("auto", "active-set"))
    assert strong.counts["switched to strengthened"] == 1
    assert not any("strengthened" in key for key in weak.counts)
    assert strong.objective == pytest.approx(weak.objective, rel=1e-12)


@dataclass(frozen=True)
class Deciding(Policy):
    """A policy that gives one answer, whatever the node."""

    answer: Any
    kind = "deciding"

    @property
    def members(self) -> tuple[Relaxation, ...]:
        return (ActiveSetRelaxation(),)

    def decide(self, node: PolicyNode) -> Any:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, r"policy 'deciding\(active-set\)' decides None: return BoundBy, SearchBy, TryBy or SPLIT"),
        (BoundBy("active-set"), "asks 'active-set' twice at the node 0"),
        (SearchBy("shor"), "decides for 'shor', which is not one of its members: active-set"),
    ],
)
def test_a_decision_that_cannot_be_carried_out_is_refused(answer: Any, message: str) -> None:
    case, _ = tree(0)
    with pytest.raises(InvalidInput, match=message):
        solved(case, Deciding(answer))


@pytest.mark.parametrize("answer", [SPLIT, TryBy("active-set", 3), SearchBy("active-set")], ids=str)
def test_any_policy_that_ends_finds_the_optimum(answer: Any, no_luck: None) -> None:
    """Splitting without a bound, and trying until the tree is done, are slow ways to a true answer."""
    for seed in range(2):
        case, oracle = tree(seed)
        check(solved(case, Deciding(answer)), case, oracle)


def test_by_depth_counts_decided_groups() -> None:
    case, _ = tree(0)
    bounder = ByDepth(Exact(), "active-set", depth=2).prepare(Instance(case.X, case.y, case.labels))
    assert bounder.bound(SignPattern((0, 1, 0, 0, 0, 0, 0, 0))).source == "exact"
    assert bounder.bound(SignPattern((0, 1, 0, 0, 0, -1, 0, 0))).source == "active-set"


def test_a_strong_bound_shrinks_the_tree(short_trials: None) -> None:
    case, oracle = tree(0)
    nodes = {}
    for share in (0.0, 0.98, 1.0):
        result = solved(case, CheapThenStrong("active-set", Exact(share), gap=0.0, break_even=1))
        check(result, case, oracle)
        nodes[share] = result.n_nodes
        assert (result.counts.get("closed by exact", 0) > 0) == (share > 0)
    assert nodes[1.0] < nodes[0.98]


# Adaptive


@dataclass(frozen=True)
class Scripted:
    """Closes the nodes with at most ``closes`` undecided groups, and no others."""

    closes: int
    name: str
    milliseconds: float
    asked: list[SignPattern] = field(default_factory=list)

    def price(self, instance: Instance) -> Price:
        return Price(0.0, self.milliseconds / 1e3)

    def prepare(self, instance: Instance) -> Bounder:
        return self

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        self.asked.append(signs)
        return Bound(float(len(signs.undecided) <= self.closes), 0.0, None, BoundStatus.OPTIMAL, 0.0)


@pytest.mark.parametrize(
    ("closes", "milliseconds", "asked"),
    [(8, 20.0, (0.9, 1.0)), (3, 20.0, (0.0, 0.2)), (8, 1e6, (0.0, 0.0)), (8, 0.5, (1.0, 1.0))],
    ids=["pays", "closes nothing", "too dear", "the cheapest itself"],
)
def test_adaptive_asks_what_it_has_seen_to_pay(closes: int, milliseconds: float, asked: tuple[float, float]) -> None:
    """The cheap bound closes leaves alone; with eight groups open a subtree of it costs some hundred bounds."""
    cheap, strong = Scripted(0, "cheap", 1.0), Scripted(closes, "strong", milliseconds)
    bounder = Adaptive([strong, cheap]).prepare(Instance(np.eye(8), np.ones(8), list(range(8))))
    rng = np.random.default_rng(0)
    for _ in range(300):
        bounder.bound(SignPattern(tuple(rng.choice([0, 1], size=8).tolist())), cutoff=0.5)
    strong.asked.clear()
    nodes = [SignPattern(tuple(rng.permutation([0] * 7 + [1]).tolist())) for _ in range(100)]
    for signs in nodes:
        bounder.bound(signs, cutoff=0.5)
    assert asked[0] <= len(strong.asked) / len(nodes) <= asked[1]


def tried(nodes: int, open_at: tuple[tuple[int, float], ...]) -> Trial:
    """Return a trial with open nodes of these depths and bounds, of twelve groups."""
    return Trial(nodes, tuple((SignPattern((1,) * depth + (0,) * (12 - depth)), bound) for depth, bound in open_at))


def test_another_compiled_search_takes_over_what_two_estimates_call_large() -> None:
    """One large estimate is not enough, nor a large one after a small one; a huge one is; none is needed for ever."""
    root = PolicyNode(SignPattern.free(12), members=None, cutoff=1.0)  # type: ignore[arg-type]
    many = tuple((depth, 0.01 * depth) for depth in range(1, 8))  # 2^11 + ... + 2^5 nodes are left
    worth = 1000.0
    assert not root.outweighs(worth)
    once = root.with_trial(tried(64, many))
    assert once.estimate > 3 * worth
    assert not once.outweighs(worth)
    assert once.outweighs(worth / 30)
    assert once.with_trial(tried(128, many)).outweighs(worth)
    few = tried(64, ((11, 0.9),))
    assert not root.with_trial(few).with_trial(tried(128, many)).outweighs(worth)
    assert not root.with_trial(few).with_trial(tried(1900, ((11, 0.9),))).outweighs(worth)
    assert root.with_trial(few).with_trial(tried(2000, ((11, 0.9),))).outweighs(worth)


def test_an_open_subtree_is_no_larger_than_its_sibling() -> None:
    """A single open node high in the tree says 2^11 by its depth, and 100 by what was searched beside it."""
    root = PolicyNode(SignPattern.free(12), members=None, cutoff=1.0)  # type: ignore[arg-type]
    alone = tried(100, ((1, 0.5),))
    node = root.with_trial(alone).with_trial(alone)
    assert node.estimate == 2.0**11
    assert not node.outweighs(100.0)


def test_trials_grow_up_to_twice_the_price_and_confirm_a_large_estimate_soon() -> None:
    root = PolicyNode(SignPattern.free(12), members=None, cutoff=1.0)  # type: ignore[arg-type]
    small, large = ((11, 0.9),), tuple((depth, 0.01 * depth) for depth in range(1, 8))
    assert growing_trial(root, 2000.0) == 100
    assert growing_trial(root.with_trial(tried(100, large)), 1000.0) == 64
    assert growing_trial(root.with_trial(tried(100, small)), 1000.0) == 200
    assert growing_trial(root.with_trial(tried(1700, small)), 1000.0) == 300


@pytest.mark.parametrize("break_even", [0.5, 1e6])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_compiled_strong_member_takes_large_trees_only(
    break_even: float, seed: int, short_trials: None, no_luck: None
) -> None:
    case, oracle = tree(seed)
    result = solved(case, CheapThenStrong("active-set", "convexified", break_even=break_even))
    check(result, case, oracle)
    assert (result.counts.get("subtrees to convexified", 0) > 0) == (break_even < 1)


def test_adaptive_is_the_same_in_every_run_and_for_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, short_trials: None
) -> None:
    """A clock that jumps changes nothing, a seed does."""
    case, _ = tree(0)

    def run(seed: int, n_jobs: int) -> tuple[dict[str, int], list[SignPattern]]:
        strong = Exact(0.9, milliseconds=0.1)
        policy = Adaptive(["active-set", strong], seed=seed, explore=0.5)
        return dict(solved(case, policy, n_jobs=n_jobs).counts), strong.asked

    first = run(0, 1)
    rng, clock = np.random.default_rng(0), time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: clock() + rng.uniform(0, 100))
    assert run(0, 1) == run(0, 3) == first
    assert any(run(seed, 1)[1] != first[1] for seed in range(1, 6))


def test_prices_are_measured_or_stated_by_the_relaxation_or_given_by_the_user() -> None:
    small, large = (Instance(np.eye(m)[:, : m - 1], np.ones(m), [0] * (m - 1)) for m in (5, 50))
    own = price_of(ActiveSetRelaxation(), small), price_of(ActiveSetRelaxation(), large)
    assert 0 < own[0].bound < own[1].bound
    assert price_of(Exact(milliseconds=7.0), large) == Price(0.0, 0.007)
    policy = CheapThenStrong("active-set", Exact(milliseconds=7.0))
    assert price_of(policy, large).bound == pytest.approx(0.007 + own[1].bound)


# Threads


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_the_answer_does_not_depend_on_the_number_of_threads(make: Callable[[Any], Relaxation]) -> None:
    case, _ = tree(0)
    results = [solved(case, make(Exact(share=0.95)), n_jobs=n_jobs) for n_jobs in (1, 2, 5)]
    for result in results[1:]:
        assert result.objective == results[0].objective
        assert result.signs.tolist() == results[0].signs.tolist()
        assert result.counts == results[0].counts


@dataclass(frozen=True)
class NotShared:
    """A bounder that notices a second thread."""

    name: str = "not shared"
    in_use: list[int] = field(default_factory=list)

    def prepare(self, instance: Instance) -> Bounder:
        import threading

        honest, mine = ActiveSetRelaxation().prepare(instance), threading.get_ident()
        relaxation = self

        class Alone:
            def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
                relaxation.in_use.append(mine)
                assert threading.get_ident() == mine
                time.sleep(1e-3)  # let another thread in
                return honest.bound(signs, cutoff=cutoff)

        return Alone()


def test_no_bounder_is_shared_between_threads() -> None:
    relaxation = NotShared()
    case, oracle = tree(1)
    result = solved(case, relaxation, n_jobs=3, branching="max-violation")
    check(result, case, oracle)
    assert len(set(relaxation.in_use)) > 1
    assert not any(key.startswith("failed") for key in result.counts)


# Faults


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize(("fault", "counted"), FAULTS.values(), ids=FAULTS)
def test_no_fault_of_a_member_costs_the_optimum_or_the_proof(
    make: Callable[[Any], Relaxation], fault: Fault, counted: str, no_luck: None
) -> None:
    case, oracle = binding(2)
    faulty = Faulty(fault)
    result = solved(case, make(faulty))
    check(result, case, oracle)
    assert bool(faulty.asked) == ("bounds by faulty" in result.counts)
    assert not faulty.asked or result.counts.get(counted, 0) > 0 or counted.endswith("ZeroDivisionError")


def test_a_failing_member_does_not_cost_the_others_bound() -> None:
    case, _ = tree(0)
    instance = Instance(case.X, case.y, case.labels)
    expected = ActiveSetRelaxation().prepare(instance).bound(SignPattern.free(8)).value
    for fault, _counted in FAULTS.values():
        answer = CheapThenStrong("active-set", Faulty(fault)).prepare(instance).bound(SignPattern.free(8))
        backed = CheapThenStrong(Faulty(fault), "active-set").prepare(instance).bound(SignPattern.free(8))
        assert answer.value == pytest.approx(expected)
        assert "faulty" not in (answer.source,) or answer.status.trusted
        assert backed.value == pytest.approx(expected)


def test_a_member_that_cannot_be_prepared_is_tried_once_and_counted(short_trials: None) -> None:
    broken = Unprepared()
    case, oracle = tree(0)
    result = solved(case, CheapThenStrong("active-set", broken, break_even=1))
    check(result, case, oracle)
    assert broken.asked == [1]
    assert result.counts["failed: NotImplementedError"] == result.counts["bounds by unprepared"] >= 1


def test_nothing_certified_means_nothing_claimed() -> None:
    """Every member fails: at a node limit the bound is that of the search itself, and OPTIMAL is not claimed."""
    case, oracle = tree(0)
    nothing = Faulty(lambda bound, signs: Bound(nan, nan, None, BoundStatus.OPTIMAL, 0.0))
    result = solved(case, Adaptive([nothing, Faulty(FAULTS["raises"][0], "raising")]), node_limit=3)
    assert result.status is Status.NODE_LIMIT
    assert result.lower_bound < oracle.objective


def test_a_slow_member_ends_at_the_time_limit_with_a_true_bound() -> None:
    def slow(bound: Bound, signs: SignPattern) -> Bound:
        time.sleep(0.05)
        return replace(bound, value=-inf)

    case, oracle = tree(1)
    for relaxation in (Faulty(slow), ByDepth(Faulty(slow), "active-set", depth=8)):
        result = solved(case, relaxation, time_limit=0.12)
        assert result.status is Status.TIME_LIMIT
        assert result.lower_bound <= oracle.objective <= result.objective * (1 + 1e-10)
        assert result.audit().passed


def test_a_slow_preparation_counts_towards_the_time_limit() -> None:
    @dataclass(frozen=True)
    class SlowToPrepare:
        name: str = "slow to prepare"

        def prepare(self, instance: Instance) -> Bounder:
            time.sleep(0.3)
            return ActiveSetRelaxation().prepare(instance)

    result = solved(tree(1)[0], SlowToPrepare(), time_limit=0.1)
    assert result.status is Status.TIME_LIMIT
    assert result.n_nodes == 0


# Tight answers


def test_a_feasible_point_that_meets_its_bound_closes_the_node(no_luck: None) -> None:
    """Signs that the unconstrained solution already has: one node, even through a solver of few digits."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 9))
    y = X @ np.repeat([1.0, -2.0, 0.5], 3) + 0.01 * rng.normal(size=60)
    for relaxation, closer in (
        (Faulty(lambda bound, signs: bound), "bounds by faulty"),
        (Faulty(lambda bound, signs: replace(bound, value=bound.value * (1 - 1e-7))), "closed by factorisation"),
        ("unconstrained", "bounds by unconstrained"),
        (Fixed("unconstrained"), "bounds by unconstrained"),
    ):
        result = partls.solve(X, y, np.arange(9) // 3, relaxation=relaxation)
        assert (result.status, result.n_nodes) == (Status.OPTIMAL, 1)
        assert result.counts["tight"] == result.counts[closer] == 1


def test_a_feasible_point_above_its_bound_closes_nothing(no_luck: None) -> None:
    """A sign-feasible point proves nothing by itself: the certified value decides."""
    case, oracle = tree(0)
    best = partls.solve(case.X, case.y, case.labels)
    point = best.instance.reduction.project(best.coef, best.intercept)
    result = solved(case, Faulty(lambda bound, signs: replace(bound, value=bound.value / 2, coef=point)))
    check(result, case, oracle)
    assert result.n_nodes > 1


def test_children_tried_for_branching_do_not_ask_the_relaxation(short_trials: None) -> None:
    case, oracle = tree(0)
    strong = Exact(share=0.9)
    policy = ByDepth(CheapThenStrong("active-set", strong, gap=0.0, break_even=0), "active-set", depth=8)
    result = solved(case, policy, branching="strong")
    check(result, case, oracle)
    assert result.counts["trials"] > 0
    assert len(strong.asked) == result.counts["bounds by exact"] <= result.n_nodes


# Bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Fixed("shorr"), "relaxation='shorr' is not one of"),
        (lambda: ByDepth("active-set", ActiveSetRelaxation), "neither a name nor an object"),
        (lambda: CheapThenStrong("active-set", 3), "relaxation=3 is neither a name nor an object"),
        (lambda: CheapThenStrong("active-set", "unconstrained", gap=-1.0), "gap=-1.0 must be a number >= 0"),
        (lambda: CheapThenStrong("active-set", "unconstrained", break_even=nan), "break_even=nan must be"),
        (lambda: Adaptive([]), "list at least one relaxation"),
        (lambda: Adaptive("active-set"), "list at least one relaxation"),
    ],
)
def test_a_policy_refuses_what_it_cannot_use(make: Callable[[], Relaxation], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


def test_policies_say_what_they_are() -> None:
    assert ByDepth("unconstrained", "active-set").name == "by-depth(unconstrained, active-set)"
    assert Adaptive(["active-set", Fixed("unconstrained")]).name == "adaptive(active-set, fixed(unconstrained))"
