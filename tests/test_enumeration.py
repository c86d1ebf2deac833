"""Every sign pattern solved: on data that make the compiled walk doubt itself, against the oracle's list of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

import partls
from partls.strategies import pattern_solver
from partls.strategies.pattern_solver import PatternSolver
from tests.families import conditioned, correlated, reachable
from tests.oracles import Oracle, brute_force
from tests.strategies import Tiny
from tests.tolerances import VANISHING, same_optimum


def wide(seed: int, n_rows: int = 20, n_columns: int = 30, n_groups: int = 6) -> Tiny:
    """N < M < 2N: no sign pattern fits, or only some do."""
    rng = np.random.default_rng([61, seed])
    X = rng.normal(size=(n_rows, n_columns))
    y = X @ rng.normal(size=n_columns) + rng.normal(size=n_rows)
    return Tiny(X, y, tuple(j % n_groups for j in range(n_columns)))


def repeated(seed: int) -> Tiny:
    """Each column stands in two groups, once negated: half of the patterns tie."""
    rng = np.random.default_rng([62, seed])
    X = rng.normal(size=(14, 8))
    return Tiny(np.hstack([X, -X]), rng.normal(size=14), tuple([0, 1, 2, 3] * 2 + [4, 4, 4, 5] * 2))


def powers(seed: int) -> Tiny:
    """Nearly collinear columns within each group."""
    rng = np.random.default_rng([63, seed])
    x = rng.uniform(size=(40, 4))
    X = np.hstack([x[:, [k]] ** np.arange(1, 7) for k in range(4)])
    return Tiny(X, np.sin(5 * x).sum(axis=1) + 0.1 * rng.normal(size=40), tuple(np.repeat(range(4), 6).tolist()))


def large_groups(seed: int) -> Tiny:
    """So many columns change sides at once that the pending pivots do not suffice."""
    rng = np.random.default_rng([64, seed])
    X = rng.normal(size=(260, 200)) + rng.normal(size=(260, 1))
    return Tiny(X, X @ rng.normal(size=200) + rng.normal(size=260), (0, 1) * 100)


def large_dependent_groups(seed: int) -> Tiny:
    rng = np.random.default_rng([65, seed])
    X = rng.normal(size=(120, 150))
    return Tiny(X, X @ rng.normal(size=150) + rng.normal(size=120), (0, 1) * 75)


def fitted_exactly(seed: int) -> Tiny:
    return reachable(seed, n_rows=12, n_columns=36, n_groups=5)


def ill_conditioned(seed: int) -> Tiny:
    return conditioned(seed, condition=10.0 ** (6 + seed % 3), n_columns=12, n_groups=5)


MAKERS = (wide, repeated, powers, large_groups, large_dependent_groups, fitted_exactly, ill_conditioned)
CASES: dict[str, Callable[[int], Tiny]] = {make.__name__: make for make in MAKERS}


def listed(case: Tiny, **options: object) -> partls.Result:
    return partls.solve(case.X, case.y, case.labels, method="enumerate", **options)  # type: ignore[arg-type]


def check(result: partls.Result, case: Tiny, oracle: Oracle) -> None:
    assert result.objective == same_optimum(oracle.objective, case.y)
    assert result.lower_bound <= oracle.objective + VANISHING * np.square(case.y).sum()
    assert result.status is partls.Status.OPTIMAL
    assert result.n_nodes == len(oracle.objectives)
    assert result.audit().passed


@pytest.mark.parametrize("seed", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_the_best_the_few_best_and_all_are_those_of_the_oracle(make: Callable[[int], Tiny], seed: int) -> None:
    case = make(seed)
    oracle = brute_force(case.X, case.y, case.labels)
    ranked = sorted(oracle.objectives.values())
    check(listed(case), case, oracle)
    for n in (1, 3, len(ranked)):
        result = listed(case, keep=n)
        check(result, case, oracle)
        assert len(result.solutions) == n
        for solution, objective in zip(result.solutions, ranked, strict=False):
            assert solution.objective == same_optimum(objective, case.y)
            assert solution.objective == same_optimum(oracle.objectives[tuple(solution.signs)], case.y)
            assert (np.array(solution.signs)[list(case.labels)] * solution.coef >= 0).all()
    one_by_one = partls.iterate_solutions(partls.Instance(case.X, case.y, case.labels))
    found = {tuple(solution.signs): solution.objective for solution in one_by_one}
    assert found == {signs: same_optimum(objective, case.y) for signs, objective in oracle.objectives.items()}


@pytest.mark.parametrize("work", [1.0, 4000.0])  # blocks of one pattern and of a few
@pytest.mark.parametrize("make", [wide, large_groups, ill_conditioned])
def test_the_few_best_of_many_blocks_are_those_of_the_oracle(
    make: Callable[[int], Tiny], work: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pattern_solver, "_BLOCK_WORK", work)
    for seed in range(5):
        case = make(seed)
        oracle = brute_force(case.X, case.y, case.labels)
        for n in (1, 4, 7):
            result = listed(case, keep=n)
            check(result, case, oracle)
            for solution, objective in zip(result.solutions, sorted(oracle.objectives.values())[:n], strict=True):
                assert solution.objective == same_optimum(objective, case.y)
        assert listed(case, keep="best").solutions == ()


@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_every_bound_is_below_the_optimum_of_its_pattern(make: Callable[[int], Tiny]) -> None:
    """Also the bounds nobody asked to confirm: they are what rules their patterns out."""
    case = make(7)
    objectives = brute_force(case.X, case.y, case.labels).objectives
    reduction = partls.Instance(case.X, case.y, case.labels).reduction
    for block in PatternSolver(reduction, partls.SignPattern.free(reduction.n_groups)).blocks():
        truths = np.array([objectives[tuple(pattern)] for pattern in block.patterns.tolist()])
        slack = VANISHING * np.square(case.y).sum()
        assert (block.certified * reduction.scale <= truths + slack).all()
        assert (block.values * reduction.scale >= truths * (1 - 1e-10) - slack).all()


def test_only_what_may_be_kept_is_solved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    solve = pattern_solver.solve_pattern

    def counted(*arguments: object) -> object:
        calls.append(arguments)
        return solve(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(pattern_solver, "solve_pattern", counted)
    case = wide(0, n_rows=60, n_columns=110, n_groups=8)
    solved_again = {}
    for keep in ("best", 5, "all"):
        calls.clear()
        assert listed(case, keep=keep).status is partls.Status.OPTIMAL
        solved_again[keep] = len(calls)
    assert solved_again["best"] <= solved_again[5] < solved_again["all"] / 2


def test_no_time_to_solve_again_is_time_over() -> None:
    """The clock is read between the patterns solved again: such a block does not count, its best model does."""
    case = wide(0, n_rows=60, n_columns=84, n_groups=8)
    result, full = listed(case, keep="all", time_limit=0), listed(case)
    assert result.status is partls.Status.TIME_LIMIT
    assert result.n_nodes == len(result.solutions) == 0
    assert result.objective == same_optimum(full.objective, case.y)
    assert result.lower_bound <= full.objective
    assert result.audit().passed


def test_signs_known_beforehand_are_let_in_first() -> None:
    case = correlated(4, n_rows=40, n_columns=24, n_groups=6)
    oracle = brute_force(case.X, case.y, case.labels)
    for signs in product((-1, 1), repeat=3):
        known = dict(zip((0, 2, 5), signs, strict=True))
        result = listed(case, signs=[known.get(k, 0) for k in range(6)])
        truth = min(v for pattern, v in oracle.objectives.items() if all(pattern[k] == s for k, s in known.items()))
        assert result.objective == same_optimum(truth, case.y)
        assert result.n_nodes == 8
    complete = listed(case, signs=list(oracle.signs), keep="all")
    assert [s.objective for s in complete.solutions] == [same_optimum(oracle.objective, case.y)]
