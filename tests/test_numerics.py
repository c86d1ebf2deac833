"""Numbers that can be trusted: well and ill conditioned, rank deficient, and bounds that are never too high."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partls
from benchmarks.contract import Problem
from benchmarks.datasets import ill_conditioned
from benchmarks.methods.rational_enumeration import RationalEnumeration
from formulations import Instance, SignPattern
from partls.explore.branching import StrongBranching
from partls.explore.compiled import CompiledExplorer
from partls.explore.incumbents import solve_pattern
from partls.explore.subtree import Incumbent, Subtree, Tolerances
from partls.strategies.pattern_solver import PatternSolver
from relaxations import ActiveSetRelaxation, BoundStatus
from relaxations.active_set import group_columns
from relaxations.diagonal import group_rise, optimal_diagonal
from relaxations.safe.least_squares import SafeBound
from tests.families import DEPENDENT, FAMILIES, FULL_RANK, conditioned, correlated, overdetermined
from tests.oracles import brute_force, kkt_residual, sign_constrained
from tests.strategies import Tiny
from tests.tolerances import COEFFICIENTS, KKT, OPTIMUM, VANISHING, same_optimum

METHODS = ("bnb", "enumerate")
GO_ON = np.zeros(1, np.uint8)


def solved(case: Tiny, method: str) -> partls.Result:
    return partls.solve(case.X, case.y, case.labels, method=method, ungrouped="free", **case.options)


def instance_of(case: Tiny) -> Instance:
    return Instance(case.X, case.y, case.labels, ungrouped="free", **case.options)


def column_signs(case: Tiny, signs: Iterable[int]) -> np.ndarray:
    return np.append(list(signs), 0)[list(case.labels)]


def node_optimum(case: Tiny, signs: SignPattern) -> float:
    """Return the oracle's optimum of a node's relaxation: undecided groups unconstrained."""
    stated = {"labels": np.array(case.labels), **case.options}
    return sign_constrained(case.X, case.y, column_signs(case, signs), **stated).objective


def best_below(objectives: dict[tuple[int, ...], float], signs: SignPattern) -> float:
    """Return the least objective of the complete patterns in the box of ``signs``."""
    return min(value for pattern, value in objectives.items() if signs.contains(SignPattern(pattern)))


def random_nodes(case: Tiny, seed: int, count: int) -> list[SignPattern]:
    rng = np.random.default_rng([31, seed])
    drawn = rng.choice([-1, 0, 1], size=(count, case.n_groups))
    return [SignPattern.free(case.n_groups), *(SignPattern(tuple(row)) for row in drawn.tolist())]


def is_below(bound: float, truth: float, case: Tiny) -> bool:
    """Whether a certified value is no higher than the truth, up to the rounding the contract allows."""
    return bound <= truth + VANISHING * float(np.square(case.weighted_y).sum())


# Answers


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", FULL_RANK)
def test_full_rank_data_are_solved_to_ten_digits(family: str, method: str) -> None:
    for seed in range(2000, 2006):
        case = FAMILIES[family](seed)
        oracle = brute_force(case.X, case.y, case.labels, **case.options)
        result = solved(case, method)
        assert result.objective == pytest.approx(oracle.objective, rel=OPTIMUM, abs=0)
        assert result.audit().kkt_residual <= COEFFICIENTS
        found = {"coef": result.coef, "intercept": result.intercept, "labels": np.array(case.labels)}
        assert kkt_residual(case.X, case.y, column_signs(case, result.signs), **found, **case.options).worst <= KKT


def powers(low: float, degree: int, seed: int = 0) -> Tiny:
    """Polynomial features on [low, low + 1] in two interleaved groups."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(low, low + 1.0, size=40)
    return Tiny(x[:, None] ** np.arange(1, degree + 1), np.sin(8.0 * x) + 0.1 * rng.normal(size=40), (0, 1) * 3)


ILL_CONDITIONED = {f"{c:.0e}, {s}": conditioned(s, condition=c) for c in (1e4, 1e6, 1e8) for s in range(4)}
ILL_CONDITIONED |= {f"powers from {low}": powers(low, 6) for low in (0.0, 1.0, 3.0)}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", ILL_CONDITIONED.values(), ids=ILL_CONDITIONED)
def test_ill_conditioned_data_are_solved_and_proved(case: Tiny, method: str) -> None:
    centred = case.X - case.X.mean(axis=0)  # the oracle has no remedy of its own against a column's offset
    oracle = brute_force(centred, case.y - case.y.mean(), case.labels, fit_intercept=False)
    result = solved(case, method)
    cancelling = np.abs(case.X) @ np.abs(result.coef) + abs(result.intercept) + np.abs(case.y)
    residual = result.instance.residual(result.coef, result.intercept)
    rounding = 4 * np.finfo(float).eps * float(cancelling @ np.abs(residual))  # of the objective itself
    assert result.objective == pytest.approx(oracle.objective, abs=OPTIMUM * oracle.objective + rounding)
    assert result.lower_bound <= oracle.objective * (1 + OPTIMUM) + rounding
    assert result.status is partls.Status.OPTIMAL
    assert result.audit().passed


def test_the_ill_conditioned_cases_are() -> None:
    for name, case in ILL_CONDITIONED.items():
        centred = case.X - case.X.mean(axis=0)
        condition = np.linalg.cond(centred / np.linalg.norm(centred, axis=0))
        assert condition == pytest.approx(float(name.split(",")[0]), rel=0.05) if "," in name else condition > 1e4


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", DEPENDENT)
def test_dependent_columns_get_finite_weights(family: str, method: str) -> None:
    for seed in range(2000, 2012):
        case = FAMILIES[family](seed)
        result = solved(case, method)
        oracle = brute_force(case.X, case.y, case.labels, **case.options)
        assert result.objective == same_optimum(oracle.objective, case.weighted_y)
        numbers = [*result.coef, result.intercept, *result.alpha, *result.beta, result.lower_bound, result.gap]
        assert np.isfinite(numbers).all()
        weights = np.linalg.norm(case.X, axis=0) * np.abs(result.coef)
        assert weights.max() <= 1e6 * (np.linalg.norm(case.y) or 1.0)
        assert result.audit().passed


# Bounds


@pytest.mark.parametrize("family", FAMILIES)
def test_a_node_bound_is_the_optimum_of_the_node_and_never_above(family: str) -> None:
    for seed in range(2):
        case = FAMILIES[family](seed)
        bounder = ActiveSetRelaxation().prepare(instance_of(case))
        for signs in random_nodes(case, seed, 6):
            truth, bound = node_optimum(case, signs), bounder.bound(signs)
            assert bound.status is BoundStatus.OPTIMAL
            assert is_below(bound.value, truth, case)
            assert bound.value == pytest.approx(truth, rel=1e-8, abs=1e-8 * np.square(case.weighted_y).sum())
            assert bound.estimate == same_optimum(truth, case.weighted_y)


def test_a_bound_that_is_too_high_would_be_noticed() -> None:
    case = overdetermined(11)
    bounder = ActiveSetRelaxation().prepare(instance_of(case))
    for signs in random_nodes(case, 11, 20):
        truth, bound = node_optimum(case, signs), bounder.bound(signs)
        assert is_below(bound.value, truth, case)
        assert not is_below(bound.value * (1 + 1e-6), truth, case)


@pytest.mark.parametrize("family", ["overdetermined", "correlated", "l2", "l1", "weights", "conditioned"])
def test_any_point_whatever_gives_a_safe_bound(family: str) -> None:
    """The certificate owes nothing to the point it starts from: not even that it is near the optimum."""
    for seed in range(2):
        case = FAMILIES[family](seed)
        reduction = instance_of(case).reduction
        safe, rng = SafeBound(reduction), np.random.default_rng(seed)
        for signs in random_nodes(case, seed, 4):
            columns, truth = reduction.column_signs(signs), node_optimum(case, signs)
            best = ActiveSetRelaxation().prepare(instance_of(case)).bound(signs).coef
            for v in (0 * best, best * (1 + 1e-9), best * 1.1, rng.normal(size=len(best)), -best):
                upper = max(reduction.objective(best) / reduction.scale, truth / reduction.scale)
                assert is_below(safe.value(v, columns, upper) * reduction.scale, truth, case)


def explorer_of(case: Tiny, *, strengthened: bool, tolerance: float = 0.0) -> CompiledExplorer:
    """Return the compiled search among all solutions; without a tolerance it closes nothing that could improve."""
    grouped = group_columns(instance_of(case).reduction)
    explorer = CompiledExplorer(grouped, StrongBranching(), Tolerances(tolerance, 0.0), grouped.size)
    if strengthened:
        explorer.add_diagonal()
    return explorer


KERNEL = ["overdetermined", "correlated", "integers", "duplicates", "one-hot", "underdetermined", "subset sum", "l2"]


@pytest.mark.parametrize("strengthened", [False, True])
@pytest.mark.parametrize("family", KERNEL)
def test_what_the_kernel_closes_is_certified(family: str, strengthened: bool) -> None:
    """With the cutoff below a node's own bound the kernel must close the node, at a value that is no lie."""
    n_closed = 0
    for seed in range(8):
        case = FAMILIES[family](seed)
        scale = instance_of(case).reduction.scale
        objectives = brute_force(case.X, case.y, case.labels, **case.options).objectives
        explorer = explorer_of(case, strengthened=strengthened)
        for signs in random_nodes(case, seed, 6):
            nothing = Incumbent(np.inf, np.empty(0))
            estimate = explorer.explore(Subtree(signs), nothing, 0, GO_ON).open[0].bound
            truth = best_below(objectives, signs)
            assert is_below(estimate * scale, truth * (1 + OPTIMUM), case)
            assert estimate * scale >= node_optimum(case, signs) * (1 - 1e-9) - VANISHING * np.square(case.y).sum()
            for share in (0.5, 0.99, 1 - 1e-9):
                closed = explorer.explore(Subtree(signs), Incumbent(share * estimate, np.empty(0)), 0, GO_ON).closed
                assert closed == np.inf or share * estimate <= closed
                assert closed == np.inf or is_below(closed * scale, truth, case)
                n_closed += closed < np.inf
            boast = Subtree(signs, bound=10 * estimate + 1)  # an open subtree's own word is no certificate
            assert is_below(explorer.safe_bound(boast, 5 * truth / scale) * scale, truth, case)
    assert n_closed > 30


def explored(explorer: CompiledExplorer, case: Tiny, budget: int) -> tuple[float, float, int]:
    """Run the compiled search to its end from a bad start: (optimum, lower bound, boxes the kernel left in doubt)."""
    reduction = instance_of(case).reduction
    best, lower = solve_pattern(reduction, SignPattern((1,) * case.n_groups)), np.inf
    doubtful, todo = [], [Subtree(SignPattern.free(case.n_groups))]
    while todo:
        out = explorer.explore(todo.pop(), best, budget, GO_ON)
        best, lower = out.best, min(lower, out.closed)
        doubtful += [subtree for subtree in out.open if subtree.doubtful]
        todo += [subtree for subtree in out.open if not subtree.doubtful]
    lower = min([lower, best.value, *(explorer.safe_bound(subtree, best.value) for subtree in doubtful)])
    return best.value * reduction.scale, lower * reduction.scale, len(doubtful)


@pytest.mark.parametrize("strengthened", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_kernel_alone_proves_the_optimum(seed: int, strengthened: bool) -> None:
    case = correlated(seed, n_rows=30, n_columns=24, n_groups=6, corr=0.3 * (seed % 3))
    oracle = brute_force(case.X, case.y, case.labels)
    for budget in (1, 1000):
        optimum, lower, doubtful = explored(explorer_of(case, strengthened=strengthened, tolerance=1e-10), case, budget)
        assert optimum == pytest.approx(oracle.objective, rel=OPTIMUM)
        assert is_below(lower, oracle.objective, case)
        assert lower == pytest.approx(oracle.objective, rel=2e-10)
        assert doubtful == 0


def spoilt(problem: Any, drift: float, seed: int) -> Any:
    """Return the kernel's problem with a tableau that has drifted (NaN: that has broken)."""
    noise = 1 + drift * np.random.default_rng(seed).normal(size=(len(problem.T) + 1, len(problem.T)))
    T, state = problem.T * (noise[:-1] + noise[:-1].T) / 2, problem.state.copy()
    state[0], state[1] = np.diag(T), state[1] * noise[-1]
    return problem._replace(T=T, state=state, value=problem.value * (1 + drift))


@pytest.mark.parametrize("drift", [1e-9, 1e-5, 1e-2, np.nan])
def test_a_drifting_tableau_proves_nothing_false(drift: float) -> None:
    """The proof must not rest on the tableau: spoil it, and the search may get stuck but must not lie."""
    in_doubt = 0
    for seed in range(12):
        case = correlated(seed, n_rows=20, n_columns=15, n_groups=5)
        oracle = brute_force(case.X, case.y, case.labels)
        explorer = explorer_of(case, strengthened=bool(seed % 2), tolerance=1e-10)
        explorer._problem = spoilt(explorer._problem, drift, seed)
        optimum, lower, doubtful = explored(explorer, case, 50)
        assert is_below(lower, oracle.objective, case)
        assert is_below(oracle.objective, optimum, case)
        in_doubt += doubtful
    assert in_doubt > 0 or drift < 1e-5  # the kernel noticed


@pytest.mark.parametrize("drift", [1e-9, 1e-5, 1e-2, np.nan])
def test_a_drifting_tableau_spoils_no_enumeration(drift: float) -> None:
    for seed in range(6):
        case = correlated(seed, n_rows=20, n_columns=15, n_groups=5)
        objectives, reduction = brute_force(case.X, case.y, case.labels).objectives, instance_of(case).reduction
        solver = PatternSolver(reduction, SignPattern.free(case.n_groups))
        next(solver.blocks())
        solver.engine.problem = spoilt(solver.engine.problem, drift, seed)
        block = next(solver.blocks(coefs=True))
        truths = np.array([objectives[tuple(pattern)] for pattern in block.patterns.tolist()])
        bounds = np.where(np.isnan(block.certified), -np.inf, block.certified)  # NaN says itself that it is none
        assert all(is_below(c * reduction.scale, t, case) for c, t in zip(bounds, truths, strict=True))
        solver.confirm(block, block.best.value)  # enough for the best, and for a bound on all others
        assert block.best.value * reduction.scale == pytest.approx(truths.min(), rel=1e-9)
        assert block.certified.min() * reduction.scale == pytest.approx(truths.min(), rel=1e-9)
        solver.confirm(block)
        assert block.values * reduction.scale == pytest.approx(truths, rel=1e-9)
        assert all(is_below(c * reduction.scale, t, case) for c, t in zip(block.certified, truths, strict=True))
        assert block.best.value * reduction.scale == pytest.approx(truths.min(), rel=1e-9)
        assert [reduction.objective(v) for v in block.coefs] == pytest.approx(truths.tolist(), rel=1e-9)


# The diagonal that adds up the rises of undecided groups


@pytest.mark.parametrize("family", ["overdetermined", "correlated", "l2", "subset sum", "conditioned", "singletons"])
def test_the_diagonal_is_below_and_its_rise_is_a_bound(family: str) -> None:
    rises = []
    for seed in range(8):
        case = FAMILIES[family](seed)
        reduction = instance_of(case).reduction
        grouped = group_columns(reduction)
        Q, labels = grouped.R.T @ grouped.R, reduction.labels
        D = optimal_diagonal(Q, -grouped.T, grouped.point, labels)
        assert (D >= 0).all()
        assert np.linalg.eigvalsh(Q - np.diag(D)).min() >= -1e-9
        rise = group_rise(D, grouped.point, labels)[0]
        optimum = brute_force(case.X, case.y, case.labels, **case.options).objective
        assert is_below((grouped.floor + rise) * reduction.scale, optimum * (1 + OPTIMUM), case)
        rises.append(rise)
    assert max(rises) > 0 or family == "singletons"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("exponent", [6, 8, 9, 10, 11, 12])
def test_nearly_repeated_columns_are_not_taken_for_dependent_ones(exponent: int, seed: int) -> None:
    """Two columns apart by 1e-9 leave room for coefficients of 1e9, and the best model may need them."""
    rng = np.random.default_rng(seed)
    X, y, labels = rng.standard_normal((16, 6)), rng.standard_normal(16), np.array([0, 1, 2, 0, 1, 2])
    X[:, 1] = X[:, 0] + 10.0**-exponent * rng.standard_normal(16)
    exact = RationalEnumeration()
    exact.set_up(Problem(X, y, labels, rational=True), time_limit=60.0)
    exact.run()
    optimum = exact.answer().notes["optimum"]
    result = partls.solve(X, y, labels, fit_intercept=False)
    rounding = 10.0 ** (exponent - 16)  # of a row's product with such coefficients
    assert result.objective == pytest.approx(optimum, rel=max(OPTIMUM, 10 * rounding))
    assert result.lower_bound <= optimum * (1 + max(OPTIMUM, 10 * rounding))


def test_no_proof_where_rounding_hides_the_optimum() -> None:
    """A condition number of 1e14: whatever the answer is worth, nothing better than it was ruled out wrongly."""
    for seed in range(2):
        problem = ill_conditioned.make(seed, N=24, M=12, K=4, condition=1e14)
        result = partls.solve(problem.X, problem.y, problem.labels, fit_intercept=False)
        assert result.lower_bound <= rational_optimum(problem) * (1 + 1e-6)


def rational_optimum(problem: Problem) -> float:
    exact = RationalEnumeration()
    exact.set_up(problem, time_limit=60.0)
    exact.run()
    return float(exact.answer().notes["optimum"])


@pytest.mark.parametrize("method", METHODS)
def test_offsets_that_no_intercept_takes_do_not_hide_the_optimum(method: str) -> None:
    """The target is 1e7 times what is left of it: 1e-14 of its square decides between the patterns."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(10, 5)) + 1e7 * rng.choice([0.0, 1.0], size=5)
        problem = Problem(X, X @ rng.normal(size=5) + rng.normal(size=10) + 1e7, np.array([0, 1, 2, 0, 1]))
        result = partls.solve(problem.X, problem.y, problem.labels, fit_intercept=False, method=method)
        assert result.objective <= rational_optimum(problem) * (1 + 1e-6)


@pytest.mark.parametrize("upper", [2.0, 7.0])
def test_the_box_of_the_improving_solutions_is_tight(upper: float) -> None:
    """Orthogonal columns: each coefficient may leave least squares by the root of the excess, and no further."""
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 3)))[0]
    y = Q @ [3.0, -1.0, 0.5] + np.linalg.qr(np.column_stack([Q, np.ones(6)]))[0][:, 3]
    reduction = Instance(Q, y, [0, 0, 1], fit_intercept=False).reduction
    scaled = upper / reduction.scale
    safe = SafeBound(reduction)
    least = safe.least_squares
    floor = float(np.sum((reduction.R @ least - reduction.z) ** 2)) + reduction.rest
    reach = np.sqrt(scaled - floor) / np.linalg.norm(reduction.R, axis=0)
    np.testing.assert_allclose(safe.coef_bounds(scaled), np.abs(least) + reach, rtol=1e-8)
    assert (safe.coef_bounds(scaled) >= np.abs(least) + reach * (1 - 1e-12)).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_price_of_a_slope_is_paid_by_a_solution_that_improves(seed: int) -> None:
    """Of all v with objective ``upper``, the one furthest along e pays it, and none pays more."""
    rng = np.random.default_rng(seed)
    reduction = Instance(rng.normal(size=(20, 4)), rng.normal(size=20), [0, 0, 1, 1]).reduction
    safe, e = SafeBound(reduction), rng.normal(size=4)
    least, inverse = safe.least_squares, np.linalg.inv(reduction.R.T @ reduction.R)
    upper = 1.5 * reduction.objective(least) / reduction.scale
    away = np.sign(e @ least) * inverse @ e / np.sqrt(e @ inverse @ e)
    furthest = least + np.sqrt(upper / 3) * away  # a third of the objective is excess
    assert reduction.objective(furthest) == pytest.approx(upper * reduction.scale)
    assert safe._price(e, upper, 0.0) == pytest.approx(abs(e @ furthest), rel=1e-9)
    assert safe._price(0.0 * e, upper, 0.0) == 0


def test_the_box_of_dependent_columns_is_wide_and_the_penalty_narrows_it() -> None:
    X = np.column_stack([np.eye(4)[:, :2], np.eye(4)[:, :2].sum(axis=1)])
    y = np.array([3.0, 1.0, 2.0, 0.0])
    plain = Instance(X, y, [0, 0, 1], fit_intercept=False).reduction
    assert SafeBound(plain).rank == 2
    np.testing.assert_allclose(SafeBound(plain).coef_bounds(1.0), 1e3 * np.linalg.norm(plain.z))
    for penalty, largest in (("l1", 8.0 / 2.0), ("l2", np.sqrt(8.0 / 2.0))):  # eta |beta| or eta beta^2 up to 8
        instance = Instance(X, y, [0, 0, 1], fit_intercept=False, eta=2.0, penalty=penalty)
        reduction = instance.reduction
        bounds = SafeBound(reduction).coef_bounds(8.0 / reduction.scale)
        coef = reduction.restore(bounds)[0]
        assert (np.abs(coef) <= largest * (1 + 1e-6)).all()
        if penalty == "l1":  # which leaves the columns dependent: nothing else bounds them
            np.testing.assert_allclose(np.abs(coef), largest, rtol=1e-6)


@pytest.mark.parametrize("penalty", ["none", "l2", "l1"])
@pytest.mark.parametrize("scale", [(1e-200, 1.0), (1e-150, 1e-150), (1e150, 1e-150), (1e200, 1.0), (1.0, 1e150)])
def test_squares_outside_of_the_range_of_floats_are_no_zeros(scale: tuple[float, float], penalty: str) -> None:
    """In other units, the same solution."""
    rng = np.random.default_rng(6)
    X, y, labels, (x, t) = rng.normal(size=(20, 5)), rng.normal(size=20), (0, 0, 1, 1, 2), scale
    kind = "l1" if penalty == "l1" else "l2"
    unit = {"none": 0.0, "l2": x * x, "l1": x * t}[penalty]
    ours = partls.solve(X * x, y * t, labels, eta=0.3 * min(unit, 1e308), penalty=kind)
    if penalty != "none" and not 0 < unit < np.inf:  # no other penalty corresponds to it
        return
    theirs = partls.solve(X, y, labels, eta=0.3 * bool(unit), penalty=kind)
    assert ours.coef * (x / t) == pytest.approx(theirs.coef, rel=COEFFICIENTS)
    assert ours.objective == pytest.approx(t * t * theirs.objective, rel=OPTIMUM)
    assert ours.lower_bound == pytest.approx(t * t * theirs.lower_bound, rel=OPTIMUM)


@pytest.mark.parametrize("scale", [(5e-310, 1.0), (1e-200, 1e150), (0.0, 1.0)])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"eta": 0.1}, {"eta": 0.1, "penalty": "l1"}])
def test_columns_whose_coefficients_would_be_no_numbers_get_none(
    scale: tuple[float, float], options: dict[str, Any], tmp_path: Path
) -> None:
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(20, 4)) * [scale[0], 1.0, scale[0], 1.0], rng.normal(size=20) * scale[1]
    result = partls.solve(X, y, (0, 0, 1, 1), certificate=tmp_path / "c.json", **options)
    alone = partls.solve(X[:, [1, 3]], y, (0, 1), **options)
    assert result.coef[[0, 2]].tolist() == [0.0, 0.0]
    assert result.objective == pytest.approx(alone.objective, rel=OPTIMUM)


@pytest.mark.parametrize("penalize_intercept", [False, True])
def test_a_penalty_beyond_every_scale_leaves_nothing(penalize_intercept: bool) -> None:
    rng = np.random.default_rng(6)
    X, y = 1e-150 * rng.normal(size=(20, 5)), 1e-150 * (rng.normal(size=20) + 1.0)
    result = partls.solve(X, y, (0, 0, 1, 1, 2), eta=1e100, penalty="l1", penalize_intercept=penalize_intercept)
    assert not result.coef.any()
    mean = 0.0 if penalize_intercept else y.mean()
    assert result.objective == pytest.approx(float(np.square(y - mean).sum()), rel=OPTIMUM)


def test_a_target_whose_squares_overflow_is_refused() -> None:
    with pytest.raises(partls.InvalidInput, match="y is too large"):
        partls.solve(np.eye(3), [1e160, -1e160, 0.0], (0, 0, 1))
