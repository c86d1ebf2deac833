"""The options of solve(): what is refused and in which words, given signs and starts, solutions that are kept."""

from __future__ import annotations

import pickle
import re
import tracemalloc
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partls
from formulations import Instance, SignPattern, subset_sum
from formulations.errors import InvalidOption
from partls import InvalidInput, Status
from partls.cli.output import message_of
from partls.explore.branching import RULES, BranchingRule, StrongBranching, branching_rule
from partls.runtime.options import chosen, nonnegative, thread_count
from relaxations import ActiveSetRelaxation
from tests.families import FAMILIES, correlated, integers, overdetermined, singletons
from tests.oracles import brute_force
from tests.strategies import Tiny
from tests.tolerances import VANISHING, same_optimum

CASE = correlated(4, n_rows=30, n_columns=12, n_groups=4, corr=0.5)
NAMES = ("area", "rooms", "price", "age")
METHODS = ("bnb", "enumerate")


def solved(case: Tiny = CASE, **options: Any) -> partls.Result:
    options = {"ungrouped": "free", **case.options, **options}
    return partls.solve(case.X, case.y, named(case), **options)


def named(case: Tiny) -> dict[str, list[int]]:
    """Return groups with names of their own, so that names and positions cannot be confused."""
    names = NAMES if case.n_groups == len(NAMES) else [f"group {k}" for k in range(case.n_groups)]
    return {names[k]: [j for j, label in enumerate(case.labels) if label == k] for k in range(case.n_groups)}


def check_optimal(result: partls.Result, expected: float, case: Tiny = CASE) -> None:
    assert result.status is Status.OPTIMAL
    assert result.objective == same_optimum(expected, case.weighted_y)
    assert result.lower_bound <= expected + VANISHING * np.square(case.weighted_y).sum()


# Refusals: the message names the option, the value, and what can be said instead

REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({"method": "bmb"}, ["method='bmb'", "'auto', 'bnb', 'enumerate'", 'did you mean "bnb"?']),
    ({"method": None}, ["method=None", "'bnb'"]),
    ({"search": "best-frist"}, ["search='best-frist'", "'depth-first', 'best-first'", 'did you mean "best-first"?']),
    ({"relaxation": "activeset"}, ["relaxation='activeset'", "'active-set'", 'did you mean "active-set"?']),
    ({"relaxation": None}, ["relaxation=None", "name and prepare(instance)"]),
    ({"relaxation": ActiveSetRelaxation}, ["relaxation=<class", "neither a name nor an object"]),
    ({"branching": "storng"}, ["branching='storng'", *(f"'{name}'" for name in RULES), 'did you mean "strong"?']),
    ({"branching": 5}, ["branching=5"]),
    ({"branching": StrongBranching}, ["branching=<class"]),
    ({"time_limit": -1}, ["time_limit=-1", ">= 0"]),
    ({"time_limit": "1"}, ["time_limit='1'", "a number >= 0"]),
    ({"time_limit": float("nan")}, ["time_limit=nan", "a number >= 0"]),
    ({"time_limit": True}, ["time_limit=True", "a number >= 0"]),
    ({"node_limit": -5}, ["node_limit=-5", "a whole number >= 0"]),
    ({"node_limit": 2.5}, ["node_limit=2.5", "a whole number >= 0"]),
    ({"node_limit": float("inf")}, ["node_limit=inf", "a whole number >= 0"]),
    ({"gap_tol": -1e-9}, ["gap_tol=-1e-09", ">= 0"]),
    ({"n_jobs": 0}, ["n_jobs=0", "-1: one thread per core"]),
    ({"n_jobs": 1.5}, ["n_jobs=1.5", "a whole number"]),
    ({"max_groups": -1}, ["max_groups=-1", "a whole number >= 0"]),
    ({"keep": "everything"}, ["keep='everything'", '"best", "all" or a number of solutions >= 1']),
    ({"keep": 0}, ["keep=0", "a number of solutions >= 1"]),
    ({"keep": True}, ["keep=True", "a number of solutions >= 1"]),
    ({"keep": 2.5}, ["keep=2.5", "a number of solutions >= 1"]),
    ({"keep": "all", "method": "bnb"}, ["keep='all'", 'method="enumerate"']),
    ({"signs": {"prize": "+"}}, ['there is no group "prize"', 'did you mean "price"?']),
    ({"signs": {"zebra": "+"}}, ['there is no group "zebra"', 'there are "', '"price"']),
    ({"fit_intercept": "no"}, ["fit_intercept='no' must be True or False"]),
    ({"penalize_intercept": None}, ["penalize_intercept=None must be True or False"]),
    ({"signs": {7: "+"}}, ["group 7", "'area', 'rooms', 'price', 'age'"]),
    ({"signs": {"price": "up"}}, ["signs['price']='up'", 'use "+", "-" or None']),
    ({"signs": {"price": 2}}, ["signs['price']=2", 'use "+", "-" or None']),
    ({"signs": {"price": "+", 2: "-"}}, ["group 'price' both + and -"]),
    ({"signs": ["+", "-"]}, ["signs has 2 values", "4 groups"]),
    ({"signs": ["+", "-", "?", "+"]}, ["signs[2]='?'", 'use "+", "-" or None']),
    ({"signs": 1}, ["signs"]),
    ({"warm_start": [1.0, 2.0, 3.0]}, ["warm_start has shape (3,)", "12", "coefficients", "4 signs"]),
    ({"warm_start": np.zeros((2, 2))}, ["warm_start has shape (2, 2)", "12", "coefficients", "4 signs"]),
    ({"warm_start": np.full(12, np.nan)}, ["warm_start"]),
    ({"warm_start": {"prize": "+"}}, ['there is no group "prize"', 'did you mean "price"?']),
    ({"eta": -1.0}, ["eta=-1.0", ">= 0"]),
    ({"penalty": "l3"}, ["penalty='l3'", "'l2', 'l1'"]),
]


@pytest.mark.parametrize(("options", "fragments"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], fragments: list[str]) -> None:
    with pytest.raises(InvalidInput) as refusal:
        solved(**options)
    for fragment in fragments:
        assert fragment in str(refusal.value)


@pytest.mark.parametrize("groups", ["typo", 3.5])
def test_bad_problems_are_refused_by_the_instance(groups: Any) -> None:
    with pytest.raises(InvalidInput, match=r"groups|no such file"):
        partls.solve(CASE.X, CASE.y, groups)


def test_a_rule_that_looks_at_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="candidates"):
        branching_rule(StrongBranching(candidates=-1))


@pytest.mark.parametrize(("n_groups", "max_groups"), [(5, 4), (1, 0), (12, 11), (30, None), (70, None), (1100, 1000)])
def test_too_many_patterns_are_refused_with_an_estimate(n_groups: int, max_groups: int | None) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, n_groups)), rng.normal(size=12)
    limit = {} if max_groups is None else {"max_groups": max_groups}
    with pytest.raises(InvalidInput) as refusal:
        partls.solve(X, y, list(range(n_groups)), method="enumerate", eta=1.0, **limit)
    message = str(refusal.value)
    assert f"2^{n_groups} sign patterns are too many" in message
    assert f"limit 2^{24 if max_groups is None else max_groups}" in message
    assert re.search(r"about [\d.e+-]+ (seconds|minutes|hours|days|years)", message)
    assert 'use the method "bnb"' in message


def test_signs_leave_fewer_patterns_to_enumerate() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 30)), rng.normal(size=60)
    signs = dict.fromkeys(range(25), "+")
    result = partls.solve(X, y, list(range(30)), method="enumerate", signs=signs)
    assert result.n_nodes == 2**5
    assert (result.coef[:25] >= 0).all()


# A-priori signs

WORDS: list[Any] = ["+", "-", "plus", "minus", "positive", "negative", " + ", "MINUS", 1, -1, 1.0, None, "free", 0, ""]
MEANING = dict(zip(map(repr, WORDS), (1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, 0, 0, 0, 0), strict=True))


@pytest.mark.parametrize("word", WORDS, ids=repr)
def test_a_sign_can_be_said_in_several_ways(word: Any) -> None:
    sign = MEANING[repr(word)]
    objectives = brute_force(CASE.X, CASE.y, CASE.labels).objectives
    expected = min(value for pattern, value in objectives.items() if sign in (0, pattern[2]))
    for signs in ({"price": word}, {2: word}, [None, None, word, None]):
        check_optimal(solved(signs=signs), expected)


@pytest.mark.parametrize("method", ["auto", *METHODS])
@pytest.mark.parametrize("family", ["correlated", "integers", "l1", "l1 intercept", "free columns", "conditioned"])
def test_given_signs_hold_and_the_rest_is_optimal(family: str, method: str) -> None:
    for seed in range(6):
        case = FAMILIES[family](seed)
        rng = np.random.default_rng([41, seed])
        signs = rng.choice([-1, 0, 1], size=case.n_groups)
        oracle = brute_force(case.X, case.y, case.labels, **case.options)
        box = SignPattern(tuple(signs.tolist()))
        expected = min(v for pattern, v in oracle.objectives.items() if box.contains(SignPattern(pattern)))
        result = solved(case, method=method, signs=signs)
        check_optimal(result, expected, case)
        assert (np.append(signs, 0)[list(case.labels)] * result.coef >= 0).all()
        assert (signs * result.signs >= 0).all()


def test_all_signs_given_leave_one_pattern() -> None:
    objectives = brute_force(CASE.X, CASE.y, CASE.labels).objectives
    for pattern, value in objectives.items():
        for method in METHODS:
            check_optimal(solved(method=method, signs=pattern), value)


# Warm starts


@pytest.mark.parametrize("family", ["correlated", "singletons", "integers", "l1 intercept", "free columns"])
def test_any_start_is_accepted_and_changes_no_optimum(family: str) -> None:
    case = FAMILIES[family](2)
    first = solved(case, method="enumerate")
    names = list(named(case))
    rng = np.random.default_rng(2)
    starts = [
        first, first.coef, first.coef.tolist(), first.signs, first.signs.tolist(), rng.normal(size=len(case.labels)),
        np.zeros(len(case.labels)), ["+"] * case.n_groups, {names[0]: "-"}, [-1] * case.n_groups,
    ]
    for start in starts:
        for options in ({}, {"signs": {names[-1]: "+"}}, {"method": "enumerate"}):
            result = solved(case, warm_start=start, **{"method": "bnb", **options})
            plain = solved(case, **{"method": "bnb", **options})
            check_optimal(result, plain.objective, case)


def test_a_start_is_where_the_search_begins() -> None:
    """With no time to search, the answer is no worse than the start, which here is an optimum hard to find."""
    missed = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        instance, order = subset_sum(rng.integers(1, 1000, size=14).tolist(), 0.1), rng.permutation(14)
        case = Tiny(instance.X, instance.y, tuple(order[instance.partition.labels].tolist()), {"fit_intercept": False})
        best = solved(case)
        missed += solved(case, time_limit=0).objective > best.objective * (1 + 1e-9)
        for start in (best, best.coef, best.signs, dict(zip(best.groups, best.signs.tolist(), strict=True))):
            again = solved(case, warm_start=start, time_limit=0)
            assert again.status is Status.TIME_LIMIT
            assert again.objective == same_optimum(best.objective, case.y)
    assert missed > 0  # without the start


# Which method, which rule


def test_auto_says_what_it_chose() -> None:
    """The documented rule: a list of solutions needs enumeration, one solution branch and bound."""
    for n_groups in (1, 2, 3, 4):
        case = overdetermined(1, n_groups=n_groups)
        assert solved(case, method="auto").method == "bnb"
        assert solved(case, method="auto", keep=2).method == "enumerate"
        assert solved(case, method="auto", keep="all").method == "enumerate"
    assert [solved(method=method).method for method in METHODS] == list(METHODS)
    assert '"auto" enumerates when more than the best solution is to be' in str(partls.solve.__doc__)
    assert "by bnb" in str(solved(method="auto"))


@pytest.mark.parametrize("rule", [*RULES, *RULES.values(), StrongBranching(1), StrongBranching(99)], ids=str)
def test_rules_go_by_name_or_as_objects(rule: str | BranchingRule) -> None:
    check_optimal(solved(method="bnb", branching=rule), brute_force(CASE.X, CASE.y, CASE.labels).objective)


@pytest.mark.parametrize("options", [{"n_jobs": None}, {"n_jobs": -1}, {"n_jobs": -99}, {"gap_tol": None},
                                     {"random_state": 3}, {"time_limit": np.float64(60)}, {"node_limit": np.int64(99)},
                                     {"node_limit": 1e6}], ids=str)
def test_harmless_spellings_are_accepted(options: dict[str, Any]) -> None:
    check_optimal(solved(method="bnb", **options), brute_force(CASE.X, CASE.y, CASE.labels).objective)


# Keeping solutions


LISTED = ("correlated", "integers", "duplicates", "one-hot", "underdetermined", "reachable", "polynomial",
          "l2, dependent", "l1", "l1 intercept", "conditioned")


@pytest.mark.parametrize("family", LISTED)
def test_all_solutions_are_those_of_the_oracle_best_first(family: str) -> None:
    for seed in range(4):
        case = FAMILIES[family](seed)
        oracle = brute_force(case.X, case.y, case.labels, **case.options)
        kept = solved(case, method="enumerate", keep="all").solutions
        assert sorted(tuple(s.signs) for s in kept) == sorted(product((-1, 1), repeat=case.n_groups))
        objectives = [solution.objective for solution in kept]
        slack = VANISHING * np.square(case.weighted_y).sum()
        assert all(a <= b * (1 + 1e-9) + slack for a, b in pairwise(objectives))
        for solution in kept:
            assert solution.objective == same_optimum(oracle.objectives[tuple(solution.signs)], case.weighted_y)
            assert (np.append(solution.signs, 0)[list(case.labels)] * solution.coef >= 0).all()
        for n in (1, 3, len(kept), len(kept) + 5):
            few = solved(case, method="enumerate", keep=n).solutions
            assert [s.objective for s in few] == same_list(objectives[:n], slack)


def same_list(values: list[float], slack: float) -> object:
    return pytest.approx(values, rel=1e-9, abs=max(slack, 1e-300))


def test_the_best_are_kept_across_blocks_of_patterns() -> None:
    case = correlated(6, n_rows=30, n_columns=24, n_groups=12, corr=0.2)
    everything = [s.objective for s in partls.iterate_solutions(Instance(case.X, case.y, case.labels))]
    assert len(everything) == 2**12
    kept = solved(case, method="enumerate", keep=40).solutions
    assert [s.objective for s in kept] == pytest.approx(sorted(everything)[:40], rel=1e-9)
    assert not solved(case, method="enumerate").solutions


def test_a_longer_list_of_patterns_needs_no_more_memory() -> None:
    """Memory is O(K M^2), never O(2^K): 32 times the patterns, and next to nothing more."""
    peaks = []
    for n_groups in (10, 10, 15):
        case = correlated(6, n_rows=40, n_columns=30, n_groups=n_groups, corr=0.2)
        tracemalloc.start()
        assert solved(case, method="enumerate").n_nodes == 2**n_groups
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 2 * peaks[1]  # the first run loads the kernel


@pytest.mark.parametrize("case", [CASE, singletons(1), integers(5), FAMILIES["l1 intercept"](1)], ids=range(4))
def test_solutions_can_be_read_one_by_one(case: Tiny) -> None:
    instance = Instance(case.X, case.y, case.labels, **case.options)
    oracle = brute_force(case.X, case.y, case.labels, **case.options)
    solutions = partls.iterate_solutions(instance)
    first = next(solutions)
    found = {tuple(s.signs): s for s in [first, *solutions]}
    assert found.keys() == oracle.objectives.keys()
    for signs, solution in found.items():
        assert solution.objective == same_optimum(oracle.objectives[signs], case.weighted_y)
        assert solution.objective == instance.objective(solution.coef, solution.intercept)


@pytest.mark.parametrize("name", ["certificate", "checkpoint"])
def test_the_alternation_has_no_proof_and_no_state_to_write(name: str, tmp_path: Path) -> None:
    exact = {"certificate": "the exact methods", "checkpoint": "branch and bound"}[name]
    with pytest.raises(InvalidInput, match=f'{name} is for {exact}: use method="bnb"'):
        partls.solve([[1.0], [2.0]], [1.0, 2.0], ["a"], method="alternating", **{name: tmp_path / "file"})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("check", "python", "command"), [
    (lambda: nonnegative("time_limit", -1.0), "time_limit=-1.0 must be None or a number >= 0",
     "--time-limit -1.0 must be a number >= 0"),
    (lambda: chosen("method", "bnbb", ["bnb", "auto"]),
     "method='bnbb' is not one of ['bnb', 'auto']; did you mean \"bnb\"?",
     '--method bnbb is not one of bnb, auto; did you mean "bnb"?'),
    (lambda: thread_count(0), "n_jobs=0 must be a whole number other than 0 (-1: one thread per core)",
     "--n-jobs 0 must be a whole number other than 0 (-1: one thread per core)"),
], ids=["limit", "word", "threads"])
def test_a_refused_option_is_spelled_as_it_was_given(check: Callable[[], Any], python: str, command: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        check()
    again = pickle.loads(pickle.dumps(caught.value))  # as it comes from another process
    for error in (caught.value, again):
        assert (str(error), message_of(error)) == (python, command)
