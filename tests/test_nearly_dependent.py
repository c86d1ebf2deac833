"""Columns that repeat others up to noise of 1e-6 to 1e-14: no bound is too high, and exact arithmetic decides.

An optimum over the reals may need coefficients that floating point cannot hold to enough digits: with coefficients of
1e13 the last digit moves a row by a thousandth. Such a result is ``PRECISION_LIMIT``, and has to be as near to
the optimum as the rounding of its coefficients allows, with a lower bound that is the optimum.

Bounds and objectives are compared relative to the optimum, to 1e-9. Where the optimum nearly vanishes, 1e-12 of
``||y||^2`` counts as zero for an objective, as in ``Result.gap``, and 1e-16 of it, its own rounding, for a bound.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import partls
from formulations import Instance, SignPattern
from partls import Status
from partls.exact.search import ExactSearch
from partls.exact.tableau import ExactTableau
from partls.result import target_size
from tests import rational_optimum as rational
from tests.families import DEPENDENT, FAMILIES, FULL_RANK
from tests.nearly_dependent import Exact, Hostile, hostile, optimum, rounding_at_optimum, solve
from tests.oracles import brute_force
from tests.strategies import Tiny
from tests.tolerances import same_optimum

RELATIVE, ZERO_BOUND, ZERO_OBJECTIVE = 1e-9, 1e-16, 1e-12
VANISHED = 1e-22  # residuals below 1e-12 of the target are rounding: the square, for some rows
SAMPLE, ALL = range(120), range(5000)
METHODS = ("bnb", "enumerate")


def solved(problem: Hostile, method: str, **options: object) -> partls.Result:
    case = problem.case
    signs = list(problem.signs)
    return partls.solve(
        case.X, case.y, list(case.labels), method=method, ungrouped="free", signs=signs, **case.options, **options
    )


def is_above(value: float, best: Fraction, zero: float) -> bool:
    return Fraction(value) > best * Fraction(1 + RELATIVE) + Fraction(zero)


def verdict(problem: Hostile, exact: Exact, best: Fraction, method: str) -> str:
    """Check one result and return what became of it; "rounded" is a known optimum beyond floating point."""
    result = solved(problem, method)
    size, status = target_size(result.instance), result.status
    model = [*result.coef.tolist(), *[result.intercept] * problem.case.options["fit_intercept"]]
    objective = exact.value([Fraction(value) for value in model])
    target = float(np.square(problem.case.weighted_y).sum())
    assert result.objective == pytest.approx(float(objective), rel=RELATIVE, abs=VANISHED * target)
    assert objective >= best
    if is_above(result.lower_bound, best, ZERO_BOUND * size):
        return "bound above the optimum"
    if status is Status.OPTIMAL:
        return "OPTIMAL above it" if is_above(result.objective, best, ZERO_OBJECTIVE * size) else "optimal"
    assert status is Status.PRECISION_LIMIT
    decided = not is_above(float(best), Fraction(result.lower_bound), ZERO_OBJECTIVE * size)
    excess = rounding_at_optimum(exact, problem.signs) + ZERO_OBJECTIVE * size
    return "rounded" if decided and objective - best <= Fraction(excess) else "open"


def verdicts(seeds: range) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        problem = hostile(seed)
        exact = Exact.of(problem.case)
        best = optimum(exact, problem.signs)
        found.update(f"{method}, {verdict(problem, exact, best, method)}" for method in METHODS)
    return found


def check(found: Counter[str], n: int) -> None:
    for method in METHODS:
        assert found[f"{method}, bound above the optimum"] == found[f"{method}, OPTIMAL above it"] == 0, found
        assert found[f"{method}, open"] < 0.001 * n, found
        assert found[f"{method}, optimal"] > 0.85 * n, found


def test_nearly_dependent_columns_are_decided() -> None:
    check(verdicts(SAMPLE), len(SAMPLE))


def penalised(seed: int) -> Hostile:
    """Return a problem with ridge down to 1e-14 and an eta for each group, which may be less than rounding, too."""
    rng, problem = np.random.default_rng([72, seed]), hostile(seed)
    options = {**problem.case.options, "ridge": 10.0 ** rng.uniform(-14, 1)}
    if "eta" in options and not options["penalize_intercept"]:
        options["eta"] = rng.choice([0.0, 1e-8, 1e-3, 1.0], problem.case.n_groups).tolist()
    return Hostile(replace(problem.case, options=options), problem.signs, problem.noise)


def check_penalised(seeds: range) -> Counter[str]:
    """Compare bounds and proved objectives with the optimum; return how often each status came."""
    found: Counter[str] = Counter()
    for seed in seeds:
        problem = penalised(seed)
        case = problem.case
        best = rational.optimum(rational.every_candidate(case.X, case.y, case.labels, **case.options), problem.signs)
        for method in METHODS:
            result = solved(problem, method)
            size = target_size(result.instance)
            assert not is_above(result.lower_bound, best, ZERO_BOUND * size), (seed, method)
            if result.status is Status.OPTIMAL:
                assert not is_above(result.objective, best, ZERO_OBJECTIVE * size), (seed, method)
            else:
                assert not is_above(float(best), Fraction(result.lower_bound), ZERO_OBJECTIVE * size), (seed, method)
            found[result.status.value] += 1
    return found


def test_small_penalties_of_nearly_dependent_columns_are_right() -> None:
    assert check_penalised(range(60))["optimal"] > 0.85 * 120


@pytest.mark.slow
def test_small_penalties_of_nearly_dependent_columns_are_right_in_the_long_run() -> None:
    print(found := check_penalised(range(2000)))
    assert found["optimal"] > 0.85 * 4000


@pytest.mark.parametrize("seed", [
    306, 1296,  # presolve frees the only group: no column with a sign is left
    128, 611, 1623, 2003, 4966,  # presolve leaves out columns that others make up for, but for rounding
])
def test_columns_that_presolve_has_settled_are_in_doubt_like_the_others(seed: int) -> None:
    found = verdicts(range(seed, seed + 1))
    assert set(found) <= {f"{method}, {good}" for method in METHODS for good in ("optimal", "rounded")}


@pytest.mark.slow
def test_nearly_dependent_columns_are_decided_in_the_long_run() -> None:
    found = verdicts(ALL)
    print(found)
    check(found, len(ALL))


def test_no_bound_is_above_the_optimum_where_a_search_is_cut_short() -> None:
    for seed in (*range(60), 128, 2003, 4966):
        problem = hostile(seed)
        best = optimum(Exact.of(problem.case), problem.signs)
        started = {"n_starts": 1, "random_state": 0, "polish": "none"}
        for options in ({"time_limit": 0}, {"node_limit": 1}, *[started] * (seed < 20)):
            result = solved(problem, "alternating" if "n_starts" in options else "bnb", **options)
            assert not is_above(result.lower_bound, best, ZERO_BOUND * target_size(result.instance)), (seed, options)


def test_all_solutions_are_those_of_their_patterns() -> None:
    for seed in range(40):
        problem = hostile(seed)
        result = solved(problem, "enumerate", keep="all")
        if "exact nodes" not in result.counts:
            continue
        assert result.solutions[0].objective == pytest.approx(result.objective, rel=1e-12)
        assert all(a.objective <= b.objective for a, b in pairwise(result.solutions))
        exact, size = Exact.of(problem.case), target_size(result.instance)
        for solution in result.solutions:
            best = optimum(exact, solution.signs.values)
            model = [*solution.coef.tolist(), *[solution.intercept] * problem.case.options["fit_intercept"]]
            assert exact.value([Fraction(value) for value in model]) >= best
            rounded = rounding_at_optimum(exact, solution.signs.values)
            assert solution.objective <= float(best) * (1 + RELATIVE) + ZERO_OBJECTIVE * size + rounded


def test_more_columns_than_exact_arithmetic_takes_on_have_an_honest_bound() -> None:
    """Problems side by side, in groups of their own: the optimum of the whole is the sum of theirs."""
    for first in (0, 200, 400):
        parts = [hostile(seed) for seed in range(first, first + 200)]
        parts = [part for part in parts if set(part.case.options) == {"fit_intercept"} and not any(part.signs)][:14]
        best = sum((optimum(side(part), part.signs) for part in parts), Fraction(0))
        X, y, labels = side_by_side(parts)
        assert X.shape[1] > 40
        result = partls.solve(X, y, labels, ungrouped="free", fit_intercept=False, time_limit=1.0)
        assert not is_above(result.lower_bound, best, 0.0)
        assert result.status is not Status.OPTIMAL or not is_above(result.objective, best, ZERO_OBJECTIVE * (y @ y))


def side(problem: Hostile) -> Exact:
    """Return the problem without an intercept."""
    case = problem.case
    return Exact.of(Tiny(case.X, case.y, case.labels, {"fit_intercept": False}))


def side_by_side(parts: list[Hostile]) -> tuple[np.ndarray, np.ndarray, list[int]]:
    heights = np.cumsum([0, *(len(part.case.y) for part in parts)])
    widths = np.cumsum([0, *(part.case.X.shape[1] for part in parts)])
    X, labels, n_groups = np.zeros((heights[-1], widths[-1])), list[int](), 0
    for part, row, column in zip(parts, heights, widths, strict=False):
        n, m = part.case.X.shape
        X[row : row + n, column : column + m] = part.case.X
        labels += [label + n_groups if label >= 0 else -1 for label in part.case.labels]
        n_groups += part.case.n_groups
    return X, np.concatenate([part.case.y for part in parts]), labels


@pytest.mark.parametrize("family", [*FULL_RANK, *DEPENDENT])
def test_ordinary_data_need_no_exact_arithmetic(family: str) -> None:
    for seed in range(3000, 3010):
        case = FAMILIES[family](seed)
        for method in METHODS:
            result = solved(Hostile(case, (0,) * case.n_groups, 0.0), method)
            assert "exact nodes" not in result.counts


def test_the_optimum_in_rational_arithmetic_is_that_of_the_other_oracle() -> None:
    for family in ("overdetermined", "l1", "l2", "weights", "l2 intercept", "l1 intercept", "free columns"):
        for seed in (s for s in range(4000, 4040) if FAMILIES[family](s).X.shape[1] <= 6):
            case = FAMILIES[family](seed)
            expected = brute_force(case.X, case.y, case.labels, **case.options).objective
            assert float(optimum(Exact.of(case), (0,) * case.n_groups)) == same_optimum(expected, case.weighted_y)


def test_exact_branch_and_bound_finds_the_optimum_without_rounding() -> None:
    for seed in range(60):
        problem = hostile(seed)
        case, best = problem.case, optimum(Exact.of(problem.case), problem.signs)
        instance = Instance(case.X, case.y, list(case.labels), ungrouped="free", **case.options)
        free = [0] * (instance.reduction.n_groups - len(problem.signs))
        root = SignPattern((*problem.signs, *free))
        found = ExactSearch(instance, root, lambda: False).run(root, np.zeros(instance.n_columns), 0.0)
        assert found.closed
        assert found.lower_bound == best
        assert Fraction(found.bound_below) <= best


def test_a_tableau_swept_in_solves_and_swept_out_is_the_first_again() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        A = rng.integers(-9, 10, size=(8, 6)).astype(object)
        gram = A.T @ A
        tableau = ExactTableau(gram, lambda work: None)
        order = rng.permutation(5)[:4]
        for k in order:
            tableau.sweep(int(k))
        n, d = solve(gram[np.ix_(order, order)].tolist(), gram[order, 5].tolist()) or ([], 1)
        assert [tableau.coefficient(int(k)) for k in order] == [Fraction(value, d) for value in n]
        for k in rng.permutation(order):
            tableau.sweep(int(k))
        assert np.array_equal(tableau.T, gram)
        assert tableau.denominator == 1
