"""Alternating least squares: both halves are right, nothing ever increases, and it ends at a partial optimum."""

from __future__ import annotations

import re
import signal
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import partls
from formulations import Instance, SignPattern, alpha_fixed, beta_fixed, from_coef
from partls import InvalidInput, Status
from partls.runtime import progress
from partls.strategies.conic_halves import ConicHalves
from partls.strategies.halves import NonnegativeHalves, Split
from partls.strategies.starts import KINDS, Start, Starts
from relaxations import UnconstrainedRelaxation
from tests.families import FAMILIES, correlated, overdetermined, reachable, singletons
from tests.oracles import brute_force, sign_constrained
from tests.strategies import Tiny, instances
from tests.tolerances import QUADRATIC_PROGRAM, VANISHING, same_optimum

NEVER_INCREASES = 1e-12  # relative: the rounding of one objective
CASE = correlated(4, n_rows=40, n_columns=24, n_groups=8, corr=0.5)


def groups(case: Tiny) -> dict[str, list[int]]:
    return {f"g{k}": [j for j, label in enumerate(case.labels) if label == k] for k in range(case.n_groups)}


def instance_of(case: Tiny) -> Instance:
    return Instance(case.X, case.y, groups(case), **{"ungrouped": "free", **case.options})


def solved(case: Tiny = CASE, **options: Any) -> partls.Result:
    options = {"random_state": 0, "ungrouped": "free", **case.options, **options}
    return partls.solve(case.X, case.y, groups(case), method="alternating", **options)


def size(case: Tiny) -> float:
    return float(np.square(case.weighted_y).sum())


def random_point(instance: Instance, rng: np.random.Generator, zeros: float = 0.3) -> np.ndarray:
    """Return sign-consistent reduced coefficients with some zeros, in whole groups too."""
    reduction = instance.reduction
    beta = rng.normal(size=reduction.n_groups) * (rng.uniform(size=reduction.n_groups) > zeros)
    alpha = rng.uniform(size=reduction.n_columns) * (rng.uniform(size=reduction.n_columns) > zeros)
    return np.asarray(alpha * beta[reduction.labels])


def check_partial_optimum(result: partls.Result, slack: float) -> None:
    """Neither half of the problem, as CVXPY states it, improves on the result."""
    instance = result.instance
    for half in (alpha_fixed(instance, result.alpha), beta_fixed(instance, result.beta)):
        value = half.solve(solver="CLARABEL")
        assert value >= result.objective * (1 - QUADRATIC_PROGRAM) - slack
    assert result.audit().passed


# The halves


def test_a_group_at_zero_is_sent_where_the_penalty_leaves_a_slope() -> None:
    """Its shares are what the slope has beyond half the penalty, on the steeper side, relative to the largest."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(20, 5)), rng.normal(size=20)
    reduction = Instance(X, y, [0, 0, 0, 1, 1], eta=1.0, penalty="l1", fit_intercept=False).reduction
    split = Split(reduction, SignPattern.free(2))
    v = np.where(reduction.labels == 1, [0, 0, 0, 0.25, 0.5], 0.0)
    slope = reduction.R.T @ (reduction.z - reduction.R @ v)
    beyond = {side: np.maximum(side * slope[:3] - reduction.l1[:3] / 2, 0.0) for side in (1, -1)}
    side = split.signs(v)[0]
    assert np.abs(slope[:3]).max() > reduction.l1[:3].max() / 2  # so that it is worth leaving zero
    assert beyond[side].max() > 0
    np.testing.assert_allclose(split.shares(v), [*beyond[side] / beyond[side].max(), 0.5, 1.0], rtol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_each_half_is_solved_and_neither_increases_the_objective(family: str) -> None:
    for seed in range(3):
        case = FAMILIES[family](seed)
        instance, rng = instance_of(case), np.random.default_rng(seed)
        halves = NonnegativeHalves(instance.reduction, SignPattern.free(instance.reduction.n_groups))
        v = random_point(instance, rng)
        slack = VANISHING * size(case)
        for _ in range(3):
            shares = halves.split.shares(v)
            before, v = halves.split.value(v), halves.beta(v)
            middle, given_signs = halves.split.value(v), halves.split.signs(v)
            assert middle <= before * (1 + NEVER_INCREASES) + slack / instance.reduction.scale
            if seed == 0:
                coef = instance.reduction.restore(shares)[0]
                coef[instance.partition.free] = 0.0
                best = alpha_fixed(instance, from_coef(coef, instance.partition)[0]).solve(solver="CLARABEL")
                expected = pytest.approx(best, rel=QUADRATIC_PROGRAM, abs=10 * slack + 1e-9 * size(case))
                assert middle * instance.reduction.scale == expected
            v = halves.alpha(v)
            after = halves.split.value(v)
            assert after <= middle * (1 + NEVER_INCREASES) + slack / instance.reduction.scale
            columns = np.append(given_signs.values[: instance.n_groups], 0)[list(case.labels)]
            if not instance.strengths.intercept_has_sign:
                exact = sign_constrained(case.X, case.y, columns, labels=case.labels, **case.options).objective
                assert after * instance.reduction.scale == same_optimum(exact, case.weighted_y)


@pytest.mark.parametrize("signs", [(0, 0, 0), (1, 0, 0), (-1, 1, -1)])
@pytest.mark.parametrize("options", [{}, {"eta": 2.0}, {"eta": 2.0, "penalty": "l1"}], ids=["plain", "l2", "l1"])
def test_given_signs_bind_the_beta_half(options: dict[str, Any], signs: tuple[int, ...]) -> None:
    case = overdetermined(5, n_rows=20, n_columns=9, n_groups=3)
    instance = Instance(case.X, case.y, case.labels, **options)
    root = SignPattern(signs)
    fast, pure = NonnegativeHalves(instance.reduction, root), ConicHalves(instance, root, simplex=True, solver=None)
    rng = np.random.default_rng(3)
    for _ in range(4):
        v = np.abs(rng.normal(size=9)) * np.where(np.array(signs) == 0, 1, signs)[instance.reduction.labels]
        found = fast.beta(v)
        assert (np.array(signs)[instance.reduction.labels] * found >= 0).all()
        assert fast.split.value(found) == pytest.approx(fast.split.value(pure.beta(v)), rel=QUADRATIC_PROGRAM)


def test_a_group_at_zero_comes_back_on_the_better_side() -> None:
    for seed in range(5):
        case = overdetermined(seed, n_rows=25, n_columns=8, n_groups=4)
        instance = instance_of(case)
        halves = NonnegativeHalves(instance.reduction, SignPattern.free(4))
        nothing = np.zeros(8)
        back = halves.beta(nothing)
        assert np.isfinite(back).all()
        assert (np.bincount(instance.reduction.labels, np.abs(back)) > 0).all()
        assert halves.split.value(back) < halves.split.value(nothing)


def test_singletons_on_the_wrong_side_turn_round() -> None:
    """The wrong sign drives a group of one column to zero; staying there would be a partial optimum of no worth."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 6))
    case = Tiny(X, X @ [3.0, -2.0, 1.0, -1.0, 2.0, -4.0] + 0.1 * rng.normal(size=30), tuple(range(6)))
    best = brute_force(case.X, case.y, case.labels).objective
    for start in ([1] * 6, [-1] * 6, [-1, 1, -1, 1, -1, 1]):
        result = solved(case, warm_start=start, n_starts=1, polish="none")
        assert result.objective == same_optimum(best, case.y)


def test_a_column_without_effect_stays_at_zero() -> None:
    case = Tiny(np.column_stack([np.zeros(9), np.ones(9), np.arange(9.0)]), np.arange(9.0) % 4, (0, 1, 2))
    result = solved(case)
    assert result.coef[0] == result.coef[1] == 0
    assert result.audit().passed
    flat = solved(Tiny(np.ones((5, 2)), np.arange(5.0), (0, 1)))
    assert flat.status is Status.HEURISTIC
    assert flat.audit().passed and flat.objective == pytest.approx(10.0)


# Whole runs


@pytest.mark.parametrize("polish", ["flips", "none"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_result_is_a_partial_optimum_with_a_valid_bound(family: str, polish: str) -> None:
    for seed, max_iter in ((0, 100), (1, 1), (2, 2)):
        case = FAMILIES[family](seed)
        result = solved(case, polish=polish, max_iter=max_iter, trace=True, n_starts=6, presolve=False)
        best, slack = brute_force(case.X, case.y, case.labels, **case.options).objective, VANISHING * size(case)
        assert result.status is Status.HEURISTIC
        assert result.lower_bound <= best + slack
        assert result.objective >= best * (1 - 1e-10) - slack
        assert result.gap * result.objective == pytest.approx(result.objective - result.lower_bound, abs=2 * slack)
        if seed == 0 or polish == "none":
            check_partial_optimum(result, 1e-9 * size(case))
        for start in result.trace:
            assert len(start.objectives) == len(start.seconds) <= max_iter + 2
            assert (np.diff(start.objectives) <= NEVER_INCREASES * start.objectives[1:]).all()
            assert (np.diff(start.seconds) >= 0).all()
        reached = min(start.objectives[-1] for start in result.trace)
        assert result.objective <= reached * (1 + NEVER_INCREASES) + slack


@settings(max_examples=60)
@given(instances())
def test_tiny_and_spoiled_problems(case: Tiny) -> None:
    result = solved(case, n_starts=4)
    best, slack = brute_force(case.X, case.y, case.labels, **case.options).objective, VANISHING * size(case)
    assert result.audit().passed
    assert best * (1 - 1e-10) - slack <= result.objective
    assert result.lower_bound <= best + slack


@pytest.mark.parametrize("family", ["correlated", "l2", "l1", "no intercept", "l1 intercept"])
def test_the_pure_form_ends_at_the_same_points(family: str) -> None:
    """From the same starts, before any polish: alpha on the simplex by CVXPY, and without it by pivoting."""
    case = FAMILIES[family](1)
    options: dict[str, Any] = {"polish": "none", "n_starts": 3, "tol": 1e-6, "max_iter": 40, "trace": True}
    fast, pure = solved(case, **options), solved(case, backend="cvxpy", **options)
    for mine, theirs in zip(fast.trace, pure.trace, strict=True):
        assert theirs.strategy == mine.strategy
        assert theirs.objectives[0] == pytest.approx(mine.objectives[0], rel=QUADRATIC_PROGRAM)
        assert theirs.objectives[-1] == pytest.approx(mine.objectives[-1], rel=2e-5)
        assert (np.diff(theirs.objectives) <= 0).all()
    assert pure.objective == same_optimum(fast.objective, case.weighted_y)


def test_the_bound_is_that_of_the_root() -> None:
    centred, target = CASE.X - CASE.X.mean(axis=0), CASE.y - CASE.y.mean()
    free = float(np.linalg.lstsq(centred, target, rcond=None)[1][0])
    for relaxation in ("active-set", UnconstrainedRelaxation()):
        result = solved(relaxation=relaxation, n_starts=3)
        assert result.lower_bound == pytest.approx(free, rel=1e-6)
        assert result.lower_bound <= free * (1 + 1e-12)
    positive = solved(signs=["+"] * 8)
    exact = sign_constrained(CASE.X, CASE.y, [1] * 24).objective
    assert positive.lower_bound == pytest.approx(exact, rel=1e-9)
    assert positive.gap <= 1e-9 and positive.status is Status.HEURISTIC


def test_a_few_starts_find_the_optimum_of_most_small_problems() -> None:
    found = {"flips": 0, "none": 0}
    for seed in range(12):
        case = overdetermined(seed, n_rows=40, n_columns=20, n_groups=5)
        best = brute_force(case.X, case.y, case.labels).objective
        for polish in found:
            found[polish] += solved(case, polish=polish, random_state=seed).objective <= best * (1 + 1e-9)
    assert found["flips"] == 12
    assert found["none"] >= 8


@pytest.mark.parametrize("options", [{}, {"eta": 1.0, "penalty": "l1"}], ids=["kernel", "factorisation"])
def test_a_polished_answer_has_no_better_neighbour(options: dict[str, Any]) -> None:
    case = correlated(7, n_rows=40, n_columns=20, n_groups=5, corr=0.9)
    for signs in (None, {"g1": "+"}):
        result = solved(case, n_starts=1, starts="random", signs=signs, **options)
        objectives = brute_force(case.X, case.y, case.labels, **options).objectives
        for k in range(5):
            flipped = np.where(result.signs == 0, 1, result.signs)
            flipped[k] *= -1
            if not (signs and k == 1):
                assert objectives[tuple(flipped.tolist())] >= result.objective * (1 - 1e-9)


def test_zero_residuals_are_reached() -> None:
    for seed in range(4):
        result = solved(reachable(seed), n_starts=10)
        assert result.audit().passed and result.gap == 0


# Starts, seeds, threads


def fingerprint(result: partls.Result) -> tuple[Any, ...]:
    traces = tuple((start.strategy, start.objectives.tobytes()) for start in result.trace)
    return result.coef.tobytes(), result.intercept, result.objective, result.lower_bound, result.status, traces


@pytest.mark.parametrize("starts", ["mixed", *KINDS, ["random", "least-squares"]], ids=str)
@pytest.mark.parametrize("family", ["correlated", "l1", "underdetermined"])
def test_a_seed_decides_everything_and_threads_nothing(family: str, starts: Any) -> None:
    case = FAMILIES[family](3)
    options: dict[str, Any] = {"starts": starts, "n_starts": 7, "trace": True, "polish": "signs", "random_state": 11}
    once = fingerprint(solved(case, **options))
    for n_jobs in (1, 2, 3):
        assert fingerprint(solved(case, n_jobs=n_jobs, **options)) == once


@pytest.mark.parametrize("starts", ["mixed", *KINDS])
def test_seeds_differ_and_more_starts_begin_with_the_same_ones(starts: str) -> None:
    options: dict[str, Any] = {"starts": starts, "trace": True, "polish": "none"}
    few, many = solved(n_starts=6, **options), solved(n_starts=12, **options)
    beginnings = [start.objectives[0] for start in many.trace]
    assert [start.objectives[0] for start in few.trace] == beginnings[:6]
    assert len(set(beginnings)) > 6
    assert many.objective <= few.objective
    other = solved(n_starts=6, **{**options, "random_state": 1})
    assert [start.objectives[0] for start in other.trace] != beginnings[:6]
    wanted = KINDS if starts == "mixed" else (starts,)
    assert [start.strategy for start in few.trace] == [wanted[i % len(wanted)] for i in range(6)]


def test_the_first_proposals_are_the_signs_of_least_squares_and_of_the_relaxation() -> None:
    centred = CASE.X - CASE.X.mean(axis=0)
    free = np.linalg.lstsq(centred, CASE.y - CASE.y.mean(), rcond=None)[0]
    labels = np.array(CASE.labels)
    signs = np.where(np.bincount(labels, free) >= 0, 1, -1)
    expected = sign_constrained(CASE.X, CASE.y, signs[labels]).objective
    for starts in ("least-squares", "relaxation"):
        result = solved(starts=starts, n_starts=1, max_iter=1, polish="none", trace=True)
        assert result.trace[0].objectives[-1] == pytest.approx(expected, rel=1e-9)


def test_a_random_start_is_uniform_in_alpha_and_signed_in_beta() -> None:
    from relaxations import ActiveSetRelaxation

    instance = instance_of(CASE)
    root = SignPattern((1, -1, 0, 0, 0, 0, 0, 0))
    bounder = ActiveSetRelaxation().prepare(instance)
    starts = Starts(instance.reduction, root, ("random",), bounder, np.random.SeedSequence(5))
    points = np.array([starts.make(i).v for i in range(300)])
    labels = instance.reduction.labels
    sums = np.array([[point[labels == k].sum() for k in range(8)] for point in points])
    assert (sums[:, 0] > 0).all() and (sums[:, 1] < 0).all()
    assert all(100 < (sums[:, k] > 0).sum() < 200 for k in range(2, 8))
    shares = np.abs(points[:, labels == 2])
    assert shares.min() > 0
    assert 0.4 < (shares[:, 0] > shares[:, 1]).mean() < 0.6


def test_a_warm_start_comes_first() -> None:
    best = partls.solve(CASE.X, CASE.y, groups(CASE))
    for start in (best, best.coef, best.signs):
        result = solved(warm_start=start, n_starts=1, polish="none", trace=True)
        assert result.trace[0].strategy == "warm start"
        assert result.objective == same_optimum(best.objective, CASE.y)


@pytest.mark.parametrize("backend", ["kernel", "cvxpy"])
def test_given_signs_hold(backend: str) -> None:
    case = overdetermined(3, n_rows=25, n_columns=10, n_groups=4)
    for seed in range(3):
        signs = np.random.default_rng(seed).choice([-1, 0, 1], size=4)
        box = SignPattern(tuple(signs.tolist()))
        objectives = brute_force(case.X, case.y, case.labels).objectives
        best = min(value for pattern, value in objectives.items() if box.contains(SignPattern(pattern)))
        few = {"backend": backend, "n_starts": 3, "max_iter": 3} if backend == "cvxpy" else {}
        result = solved(case, signs=signs, **few)
        assert (signs[list(case.labels)] * result.coef >= 0).all()
        assert result.objective == same_optimum(best, case.y)


# Limits


@pytest.mark.parametrize("family", FAMILIES)
def test_no_time_is_enough_for_a_model(family: str) -> None:
    case = FAMILIES[family](1)
    result = solved(case, time_limit=0)
    assert result.status is Status.TIME_LIMIT
    assert result.counts["starts"] == 1
    assert result.audit().passed
    assert result.lower_bound <= brute_force(case.X, case.y, case.labels, **case.options).objective + size(case) * 1e-12


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("call", [1, 6])
def test_an_interrupt_returns_the_best_so_far(
    call: int, n_jobs: int, keyboard: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, calls, values = NonnegativeHalves.alpha, count(1), []

    def pressing(self: NonnegativeHalves, v: np.ndarray) -> np.ndarray:
        found = original(self, v)
        made = next(calls)
        if made < call:
            values.append(self.split.reduction.objective(found))
        if made == call:
            signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(NonnegativeHalves, "alpha", pressing)
    result = solved(n_starts=3000, n_jobs=n_jobs, polish="none", trace=True)
    assert result.status is Status.INTERRUPTED
    assert result.audit().passed
    assert 0 < len(result.trace) < 3000
    assert n_jobs > 1 or result.objective <= min(values, default=np.inf) * (1 + 1e-12)


def test_an_interrupt_before_any_start_leaves_a_model(keyboard: None, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Starts.make

    def pressing(self: Starts, number: int) -> Start:
        signal.raise_signal(signal.SIGINT)
        return original(self, number)

    monkeypatch.setattr("partls.strategies.starts.Starts.make", pressing)
    result = solved()
    assert result.status is Status.INTERRUPTED
    assert result.audit().passed


def test_an_error_in_a_thread_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: NonnegativeHalves, v: np.ndarray) -> np.ndarray:
        raise ArithmeticError("out of order")

    monkeypatch.setattr(NonnegativeHalves, "alpha", failing)
    for n_jobs in (1, 2):
        with pytest.raises(ArithmeticError, match="out of order"):
            solved(n_jobs=n_jobs)


def test_progress_counts_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    update = progress.SearchProgress.update

    def updated(self: progress.SearchProgress, *state: Any) -> None:
        update(self, *state)
        lines.append(self._line())

    monkeypatch.setattr(progress.SearchProgress, "update", updated)
    result = solved(progress=True, n_starts=9)
    assert len(lines) == 10
    assert all(re.search(r"\d+ starts +[\d,]+ starts/s +\d+ to go +incumbent .*bound .*gap ", line) for line in lines)
    assert f"{result.objective:.7g}" in lines[-1]
    assert "9 starts" in str(result)


REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({"n_starts": 0}, ["n_starts=0", "a whole number >= 1"]),
    ({"n_starts": 2.5}, ["n_starts=2.5", "a whole number"]),
    ({"max_iter": None}, ["max_iter=None", "a whole number >= 1"]),
    ({"tol": -1e-3}, ["tol=-0.001", ">= 0"]),
    ({"random_state": -1}, ["random_state=-1", "a whole number >= 0"]),
    ({"random_state": "seed"}, ["random_state='seed'", "None, a whole number >= 0 or a generator of NumPy"]),
    ({"starts": "randon"}, ["starts='randon'", 'did you mean "random"?']),
    ({"starts": ["random", "leastsquares"]}, ["starts='leastsquares'", 'did you mean "least-squares"?']),
    ({"starts": []}, ["starts=[]", "'least-squares'", "a list of such names"]),
    ({"starts": 3}, ["starts=3", "a list of such names"]),
    ({"halves": "simplices"}, ["halves='simplices'", "'nnls', 'simplex'"]),
    ({"halves": "simplex"}, ['halves="simplex" needs backend="cvxpy"']),
    ({"polish": "flip"}, ["polish='flip'", 'did you mean "flips"?']),
    ({"keep": "all"}, ["keep='all'", "only enumeration keeps", 'method="enumerate"']),
]


@pytest.mark.parametrize(("options", "fragments"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], fragments: list[str]) -> None:
    with pytest.raises(InvalidInput) as refusal:
        solved(**options)
    for fragment in fragments:
        assert fragment in str(refusal.value)


def test_singleton_groups_need_no_luck() -> None:
    case = singletons(2)
    best = brute_force(case.X, case.y, case.labels).objective
    assert solved(case, n_starts=4).objective == same_optimum(best, case.y)
