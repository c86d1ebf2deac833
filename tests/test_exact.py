"""Every exact method proves the same optimum, that of the oracle: all families, search orders, rules and threads.

The toolkit is good at not searching: with its own first incumbent a small tree is one node. So each instance is also
solved from the worst start there is and in units of work of a few nodes, which makes the search itself do the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import partls
from formulations import SignPattern
from formulations.rows.reduction import Reduction
from partls.explore.compiled import CompiledExplorer
from partls.explore.incumbents import solve_pattern
from partls.explore.subtree import Incumbent
from partls.search import dispatch, node_bound
from partls.strategies import branch_and_bound
from tests.families import DEPENDENT, FAMILIES, FULL_RANK, big_groups, correlated, overdetermined, underdetermined
from tests.oracles import Oracle, brute_force, sign_constrained
from tests.strategies import Tiny
from tests.tolerances import VANISHING, same_optimum

PER_FAMILY = 24  # times 21 families: more than 500 instances
SLOW = range(PER_FAMILY, 265)  # the long run: 5,000 more
VARIANTS = [
    {"search": search, "branching": branching, "n_jobs": n_jobs}
    for search, branching, n_jobs in product(
        ("depth-first", "best-first"), ("strong", "bound-score", "max-violation"), (1, 2)
    )
]


def worst_start(reduction: Reduction, root: SignPattern) -> Incumbent:
    """Return the worse of two complete patterns within the root: an incumbent that prunes next to nothing."""
    patterns = [SignPattern(tuple(s or sign for s in root)) for sign in (1, -1)]
    return max((solve_pattern(reduction, pattern) for pattern in patterns), key=lambda incumbent: incumbent.value)


def make_hard(patch: pytest.MonkeyPatch) -> None:
    """Let branch and bound start badly and search in rounds of a few nodes, strengthening the bound early."""
    begin = node_bound.NodeBound.__init__

    def in_small_units(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        assert self.first_budget > 1
        assert self._budget > 2
        self.first_budget, self._budget, self._compiled_budget = 1, 2, 2

    patch.setattr(node_bound.NodeBound, "__init__", in_small_units)
    patch.setattr(branch_and_bound, "_first_incumbent", lambda g, task, *_, **__: worst_start(g.reduction, task.root))
    patch.setattr(node_bound, "_STRENGTHEN_AFTER", 4)
    patch.setattr(dispatch, "_ROUND", 3)


@pytest.fixture
def hard_search(monkeypatch: pytest.MonkeyPatch) -> Callable[..., partls.Result]:
    """Solve by a branch and bound that was made hard."""

    def hard(case: Tiny, **options: Any) -> partls.Result:
        with monkeypatch.context() as patch:
            make_hard(patch)
            return solved(case, "bnb", **options)

    return hard


def solved(case: Tiny, method: str, **options: Any) -> partls.Result:
    return partls.solve(case.X, case.y, case.labels, method=method, ungrouped="free", **case.options, **options)


def check(result: partls.Result, case: Tiny, oracle: Oracle) -> None:
    """The optimum, its proof and its audit, all against the oracle."""
    size = float(np.square(case.weighted_y).sum())
    assert result.objective == same_optimum(oracle.objective, case.weighted_y)
    assert result.lower_bound <= oracle.objective + VANISHING * size
    assert result.lower_bound <= result.objective
    assert result.status is partls.Status.OPTIMAL
    assert result.is_optimal()
    audit = result.audit()
    assert audit.passed, audit


def check_member(family: str, seed: int, hard: Callable[..., partls.Result]) -> int:
    """Check one instance by enumeration, by default, and by two variants that rotate with the seed."""
    case = FAMILIES[family](seed)
    oracle = brute_force(case.X, case.y, case.labels, **case.options)
    check(solved(case, "enumerate"), case, oracle)
    check(solved(case, "bnb"), case, oracle)
    check(solved(case, "bnb", **VARIANTS[seed % len(VARIANTS)]), case, oracle)
    result = hard(case, **VARIANTS[(5 * seed + 3) % len(VARIANTS)])
    check(result, case, oracle)
    return result.n_nodes


@pytest.mark.parametrize("family", FAMILIES)
def test_every_method_proves_the_optimum_of_the_oracle(family: str, hard_search: Any) -> None:
    n_nodes = sum(check_member(family, seed, hard_search) for seed in range(PER_FAMILY))
    assert n_nodes > PER_FAMILY or family == "reachable"  # the search did search, unless zero ended it at once


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_method_proves_the_optimum_of_the_oracle_in_the_long_run(family: str, hard_search: Any) -> None:
    for seed in SLOW:
        check_member(family, seed, hard_search)


def test_a_bound_that_fails_its_certificate_is_explored_again(hard_search: Any) -> None:
    """The kernel's word for a child, on data of condition 1e6, may be twenty times what can be certified."""
    check_member("conditioned", 230, hard_search)


@pytest.mark.parametrize("order", ["depth-first", "best-first"])
def test_the_search_does_not_end_on_the_word_of_open_subtrees(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every subtree that the kernel leaves open claims to be no better than the incumbent."""
    case = correlated(3, n_rows=60, n_columns=45, n_groups=9, corr=0.6)
    expected = solved(case, "enumerate")
    explore = CompiledExplorer.explore

    def boast(self: Any, *args: Any) -> Any:
        result = explore(self, *args)
        result.open = [replace(subtree, bound=1e9) for subtree in result.open]
        return result

    make_hard(monkeypatch)
    monkeypatch.setattr(CompiledExplorer, "explore", boast)
    result = solved(case, "bnb", search=order)
    assert result.status is partls.Status.OPTIMAL
    assert result.objective == same_optimum(expected.objective, case.y)
    assert result.counts["bounds by factorisation"] > 0


def test_a_certified_bound_below_zero_ends_the_search() -> None:
    """Offsets of 1e7, no intercept, weights from 0 to 1e4: the last bound falls below zero by rounding."""
    for seed in (18, 24, 30, 32):
        rng = np.random.default_rng(seed)
        X, y = np.round(rng.normal(size=(7, 5)), 3) - 1e7, rng.normal(size=7)
        weights = [0, 1, 0, 0, 1e-3, 1e-3, 1e4]
        result = partls.solve(X, y, [1, 3, 0, 2, 0], fit_intercept=False, sample_weight=weights)
        assert 0.0 <= result.lower_bound <= result.objective


def test_there_are_enough_instances() -> None:
    assert len(FAMILIES) * PER_FAMILY >= 500
    assert len(FAMILIES) * len(SLOW) >= 5000


@pytest.mark.parametrize("seed", range(4))
def test_a_group_may_need_more_pivots_than_a_trial_holds(seed: int, hard_search: Any) -> None:
    from relaxations.kernel.pivoting import MAX_PENDING

    case = big_groups(seed)
    oracle = brute_force(case.X, case.y, case.labels, **case.options)
    wrong = min(int((np.sign(oracle.coef[:110]) == 0).sum()), 110)
    assert wrong > MAX_PENDING  # at least as many columns must leave the passive set
    for result in (solved(case, "enumerate"), solved(case, "bnb"), hard_search(case)):
        check(result, case, oracle)
        assert result.counts.get("doubtful", 0) == 0  # the kernel carried every trial to its end


@pytest.mark.parametrize("options", VARIANTS, ids=lambda options: "-".join(map(str, options.values())))
def test_large_trees_agree_with_enumeration(options: dict[str, Any]) -> None:
    """Too large for the oracle; the enumeration it is compared with is held to the oracle above."""
    for seed, corr in enumerate((0.0, 0.7, 0.95)):
        case = correlated(seed, n_rows=50, n_columns=44, n_groups=10, corr=corr)
        expected = solved(case, "enumerate")
        result = solved(case, "bnb", **options)
        assert result.objective == same_optimum(expected.objective, case.y)
        assert result.lower_bound <= expected.objective * (1 + 1e-12)
        assert result.status is partls.Status.OPTIMAL


@pytest.mark.parametrize("family", DEPENDENT)
def test_dependent_columns_change_no_answer_of_any_variant(family: str) -> None:
    """Every variant, not a rotation: exchanges of dependent columns are where orders and rules may part."""
    case = FAMILIES[family](1000)
    oracle = brute_force(case.X, case.y, case.labels, **case.options)
    for options in VARIANTS:
        check(solved(case, "bnb", **options), case, oracle)


@pytest.mark.parametrize("seed", range(4))
def test_more_columns_than_rows_with_a_positive_optimum(seed: int, hard_search: Any) -> None:
    """The members of the family whose optimum is well above zero: stopping at zero does not apply."""
    positive = (underdetermined(s) for s in range(1000 + 40 * seed, 1040 + 40 * seed))
    found = ((case, brute_force(case.X, case.y, case.labels)) for case in positive)
    case, oracle = next((c, o) for c, o in found if o.objective > 1e-3 * np.square(c.y).sum())
    for result in (solved(case, "enumerate"), solved(case, "bnb"), hard_search(case)):
        check(result, case, oracle)


# Where the search begins and what its answer is worth


def objective_of(case: Tiny, signs: Sequence[int]) -> float:
    """Return the oracle's optimum under the signs of the groups; 0 leaves a group unconstrained."""
    columns = np.append(signs, 0)[list(case.labels)]
    return sign_constrained(case.X, case.y, columns, labels=np.array(case.labels), **case.options).objective


def test_a_large_answer_is_optimal_for_its_signs() -> None:
    case = overdetermined(7, n_rows=200, n_columns=90, n_groups=15)
    result = solved(case, "bnb")
    assert result.status is partls.Status.OPTIMAL
    assert result.objective == same_optimum(objective_of(case, result.signs), case.y)
    assert result.audit().passed


@pytest.mark.parametrize("family", FULL_RANK)
def test_the_first_incumbent_is_no_worse_than_rounding(family: str) -> None:
    """Unconstrained least squares, each group with the sign of its sum: what anyone would try first."""
    for seed in range(4):
        case = FAMILIES[family](seed)
        columns, labels = np.zeros(len(case.labels)), np.array(case.labels)
        relaxed = sign_constrained(case.X, case.y, columns, labels=labels, **case.options).coef
        sums = np.bincount(labels, np.linalg.norm(case.X, axis=0) * relaxed)
        plain = np.bincount(labels, relaxed)
        tried = [objective_of(case, np.where(total >= 0, 1, -1)) for total in (sums, plain)]
        first = solved(case, "bnb", time_limit=0)
        assert first.objective <= max(tried) * (1 + 1e-9) + VANISHING * np.square(case.weighted_y).sum()


def test_the_first_incumbent_cannot_be_improved_by_flipping_one_group() -> None:
    for seed in range(6):
        case = correlated(seed, n_rows=60, n_columns=45, n_groups=9, corr=0.6)
        first = solved(case, "bnb", time_limit=0)
        signs = np.where(first.signs >= 0, 1, -1)
        for k in range(9):
            flipped = np.where(np.arange(9) == k, -signs, signs)
            assert objective_of(case, flipped) >= first.objective * (1 - 1e-9)


def test_an_audit_forgives_a_dear_intercept_its_rounding() -> None:
    """Its slope is eta times its value, so that one digit more or less of it counts eta times."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(3, 4)) + 5.0, rng.normal(size=3) + 5.0
    result = partls.solve(X, y, [0, 0, 1, 1], eta=1e9, penalize_intercept=True)
    assert result.audit().passed
    assert not replace(result, intercept=result.intercept * (1 + 1e-3)).audit().passed


def test_an_audit_finds_what_is_wrong() -> None:
    """The audit looks at the data: whatever is changed afterwards, it notices."""
    result = solved(correlated(1, n_rows=30, n_columns=12, n_groups=4), "bnb")
    assert result.audit().passed
    boasting = replace(result, objective=result.objective * (1 - 1e-6))
    assert boasting.audit().objective_error > 1e-9
    labels = result.instance.partition.labels
    j = int(np.argmax(np.abs(result.coef) * (np.bincount(labels)[labels] > 1)))
    mixed = replace(result, coef=np.where(np.arange(12) == j, -result.coef, result.coef))
    assert mixed.audit().sign_violations >= 1
    moved = replace(result, coef=result.coef * (1 + 1e-4))
    assert moved.audit().kkt_residual > 1e-9
    assert not any(wrong.audit().passed for wrong in (boasting, mixed, moved))
    assert replace(result, lower_bound=0.5 * result.objective).audit().gap == pytest.approx(0.5)


@pytest.mark.parametrize("noise", [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 0.0])
def test_nearly_exact_data_get_one_verdict(noise: float) -> None:
    """Where the optimum nearly vanishes, status, gap and is_optimal must not contradict each other."""
    for seed in range(6):
        rng = np.random.default_rng([61, seed])
        X, labels = 0.3 * rng.normal(size=(20, 8)) + rng.normal(size=(20, 1)), tuple(j % 3 for j in range(8))
        coef = rng.choice([-1.0, 1.0], size=3)[list(labels)] * rng.uniform(0.1, 1.0, size=8)
        case = Tiny(X, X @ coef + noise * rng.normal(size=20), labels)
        for method in ("bnb", "enumerate"):
            check(solved(case, method), case, brute_force(case.X, case.y, case.labels))


@pytest.mark.parametrize("seed", [149, 1416, 1972, 2850, 3872, 4743, 0, 1, 2, 3])
def test_an_exact_fit_is_exact(seed: int) -> None:
    """Wide, nearly collinear data: a residual small enough to stop at is not yet one that passes the audit."""
    rng = np.random.default_rng([53, seed])
    n, wider, n_groups = int(rng.integers(8, 24)), rng.uniform(1.3, 2.2), int(rng.integers(3, 10))
    X = 0.1 * rng.normal(size=(n, int(n * wider))) + rng.normal(size=(n, 1))
    y, labels = rng.normal(size=n), tuple(j % n_groups for j in range(X.shape[1]))
    result = solved(Tiny(X, y, labels, {"fit_intercept": False}), "bnb")
    assert result.status is partls.Status.OPTIMAL
    assert result.is_optimal()
    audit = result.audit()
    assert audit.passed, audit
