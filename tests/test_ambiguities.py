"""What the data do not determine: each claim is checked by brute force, or by making the move that is claimed free."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy.linalg import toeplitz

import partls
from formulations import SignPattern
from relaxations import named
from tests.families import FAMILIES
from tests.oracles import brute_force
from tests.presolvable import KINDS, problems
from tests.strategies import Tiny, instances
from tests.test_presolve import dummies
from tests.tolerances import OPTIMUM, VANISHING, same_optimum

PROVED = 1e-12  # relative: objectives of optima that are the same
NEARLY_ZERO = 1e-6  # of the target's norm: what a coefficient may contribute that is zero
FAR = 1.0  # a move without an end is made this far


def solved(case: Tiny, **options: Any) -> partls.Result:
    return partls.solve(case.X, case.y, case.labels, ungrouped="free", **{**case.options, **options})


def position(name: str) -> int:
    return int(name.removeprefix("column "))


def check_moves(result: partls.Result, case: Tiny) -> None:
    """Check that each move leaves the objective and every sign as they are, to both of its ends."""
    labels, size, rows = np.array(case.labels), np.square(case.weighted_y).sum(), np.square(case.X).sum()
    for move in result.ambiguities.moves:
        for end in (-FAR if move.low is None else move.low, FAR if move.high is None else move.high):
            coef = result.coef.copy()
            for name, weight in zip(move.columns, move.weights, strict=True):
                coef[position(name)] += weight * end
            instance = result.instance
            v = instance.reduction.project(coef, result.intercept)
            objective = instance.objective(*instance.reduction.restore(v))
            scale = 1.0 + np.abs(coef).max()
            assert objective == pytest.approx(result.objective, rel=1e-9, abs=1e-11 * size + 1e-22 * rows * scale**2)
            for k in range(case.n_groups):
                own = coef[labels == k]
                assert min(own.max(), -own.min()) <= 1e-9 * scale


def check_zeros(case: Tiny, zeros: tuple[str, ...], allowed: dict[tuple[int, ...], float], best: float) -> None:
    """Check that each column is zero, or all but zero, in the optima of all sign patterns that are as good."""
    if not zeros:
        return
    columns, size = [position(name) for name in zeros], np.square(case.weighted_y).sum()
    for pattern, objective in allowed.items():
        if objective <= best * (1 + PROVED):
            signs = [int(sign) for sign in pattern]
            optimal = partls.solve(
                case.X, case.y, case.labels, ungrouped="free", signs=signs, method="enumerate", presolve=False,
                **case.options,
            )
            fits = np.abs(optimal.coef[columns]) * np.linalg.norm(case.X[:, columns], axis=0)
            assert fits.max() <= NEARLY_ZERO * np.sqrt(size), zeros


def check_against(case: Tiny, result: partls.Result, given: tuple[int, ...] = ()) -> None:
    """Check the signs and the uniqueness that are claimed against all sign patterns."""
    told, found = result.ambiguities, brute_force(case.X, case.y, case.labels, **case.options)
    given = given or (0,) * case.n_groups
    allowed = {p: f for p, f in found.objectives.items() if all(g in (0, s) for g, s in zip(given, p, strict=True))}
    size, best = np.square(case.weighted_y).sum(), min(allowed.values())
    for k, name in enumerate(result.groups):
        sides = [min((f for p, f in allowed.items() if p[k] == sign), default=np.inf) for sign in (1, -1)]
        if name in told.either_sign:
            assert sides[0] == same_optimum(sides[1], case.weighted_y), name
        if name in told.proved_signs and given[k] == 0:
            assert max(sides) > best * (1 + OPTIMUM), name
            assert result.signs[k] == (1 if sides[0] < sides[1] else -1)
    check_zeros(case, told.proved_zeros, allowed, best)
    if told.unique:
        assert not told.moves
        for pattern, objective in allowed.items():
            zero = [result.signs[k] == 0 for k in range(case.n_groups)]
            same = all(z or s == own for z, s, own in zip(zero, pattern, result.signs, strict=True))
            assert same or objective > best * (1 + OPTIMUM) - VANISHING * size


def test_claims_hold_where_presolve_has_something_to_settle() -> None:
    kinds = {"either": 0, "moves": 0, "unique": 0, "zeros": 0}
    for case in problems(12 * len(KINDS), first=500):
        x = case.tiny
        result = partls.solve(x.X, x.y, x.labels, ungrouped="free", signs=case.signs, **x.options)
        check_against(x, result, case.signs)
        check_moves(result, x)
        told = result.ambiguities
        kinds["either"] += bool(told.either_sign)
        kinds["moves"] += bool(told.moves)
        kinds["unique"] += told.unique is True
        kinds["zeros"] += bool(told.proved_zeros)
    assert min(kinds.values()) > 10, kinds


@pytest.mark.parametrize("family", FAMILIES)
def test_claims_hold_on_every_family(family: str) -> None:
    for seed in range(3):
        case = FAMILIES[family](seed)
        if case.n_groups <= 8:
            result = solved(case)
            check_against(case, result)
            check_moves(result, case)


@given(instances())
def test_claims_hold_on_hostile_instances(case: Tiny) -> None:
    result = solved(case)
    check_against(case, result)
    check_moves(result, case)
    assert all(line and "\n" not in line for line in result.ambiguities.lines)
    assert list(result.ambiguities) == list(result.ambiguities.lines)


def test_no_group_is_left_out_that_ties_in_every_case() -> None:
    """Where columns of a group sum to a constant, or a group stands twice, its sign is told to be open."""
    X, y, groups = dummies()
    for presolve in (True, False):
        assert partls.solve(X, y, groups, presolve=presolve).ambiguities.either_sign == ("coarse", "fine")
    assert partls.solve(X, y, groups, signs={"fine": "-"}).ambiguities.either_sign == ("coarse",)
    assert partls.solve(X, y, groups, eta=1.0).ambiguities.either_sign == ()
    plain = X[:, 9:]
    twice = np.hstack([plain, plain])
    result = partls.solve(twice, y, [f"{half} {name}" for half in ("one", "two") for name in groups[9:]])
    in_use = {name for name, sign in zip(result.groups, result.signs, strict=True) if sign}
    assert set(result.ambiguities.either_sign) == in_use


def test_a_model_is_said_to_be_unique_only_with_a_proof() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 6))
    clear = partls.solve(X, X @ [3.0, 2.0, -2.0, -4.0, 1.0, 2.0] + 0.1 * rng.normal(size=60), list("aabbcc"))
    assert clear.ambiguities.unique is True
    assert clear.ambiguities.proved_signs == ("a", "b", "c")
    assert clear.ambiguities.lines == ("the model is unique (proved): every other one has a larger objective",)
    assert not clear.ambiguities
    noise = partls.solve(X, rng.normal(size=60), list("aabbcc")).ambiguities
    assert noise.unique is None
    assert noise.lines == ()
    mirrored = partls.solve([[1.0], [-1.0]], [0.0, 0.0], ["a"], fit_intercept=False)
    assert mirrored.ambiguities.zero_groups == ("a",)


def test_signs_that_are_proved_prove_others_and_zeros() -> None:
    """One sign at a time proves a few; with these as given, bounds rise, and in the end the model is unique."""
    rng = np.random.default_rng(0)
    groups = np.sort(np.arange(100) % 20)
    X = rng.normal(size=(200, 100)) @ np.linalg.cholesky(toeplitz(0.5 ** np.arange(100))).T
    sizes, signs = rng.exponential(size=100), rng.choice([-1, 1], size=20)
    result = partls.solve(X, X @ (signs[groups] * sizes) + 10.0 * rng.normal(size=200), groups)
    told = result.ambiguities
    root = SignPattern.free(20)
    bounder = named("active-set").prepare(result.instance)
    alone = [bounder.bound(root.fix(k, -int(result.signs[k]))).value > result.objective * (1 + 1e-9) for k in range(20)]
    assert 0 < sum(alone) < len(told.proved_signs) == 20
    assert told.unique
    zero = {f"column {j}" for j in np.flatnonzero(result.coef == 0)}
    assert len(told.proved_zeros) > 10 and set(told.proved_zeros) <= zero


def test_columns_that_say_nothing_are_named() -> None:
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(30, 3))
    X = np.column_stack([Z, -2.0 * Z[:, 0] + 5.0, np.full(30, 7.0), Z[:, 1], np.zeros(30)])
    result = partls.solve(X, Z @ [1.0, 2.0, 3.0] + rng.normal(size=30), list("abcdefa"))
    assert result.ambiguities.constant_columns == ("column 6", "column 4")
    assert result.ambiguities.repeated_columns == (("column 0", "column 3"), ("column 1", "column 5"))
    lines = "\n".join(result.ambiguities.lines)
    assert 'no effect of their own: "column 6", "column 4"' in lines
    assert 'up to a factor and a constant: "column 0 = column 3", "column 1 = column 5"' in lines


def test_a_target_without_variation_and_a_fit_without_a_choice_are_told() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(10, 30))
    groups = [j % 3 for j in range(30)]
    wide = partls.solve(X, rng.normal(size=10), groups).ambiguities
    assert wide.exact_fit
    assert "an exact fit says nothing here: 10 rows and 30 columns fit almost any target" in wide.lines
    assert wide.unique is False
    constant = partls.solve(X[:, :3], np.full(10, 2.0), groups[:3]).ambiguities
    assert "the target is constant: there is nothing to explain" in constant.lines
    y = -np.abs(rng.normal(size=10))
    bound = partls.solve(np.abs(X), y, groups, signs=["+"] * 3, fit_intercept=False).ambiguities
    assert "no more rows than columns: 10 rows and 30 columns fit almost any target well" in bound.lines


def test_the_summary_shows_one_line_per_kind() -> None:
    X, y, groups = dummies()
    model = partls.PartLSRegressor(groups).fit(X, y)
    shown = str(model.summary()).splitlines()
    assert [line for line in shown if line.startswith("either sign fits equally well for 2 groups")]
    assert "presolve: 2 groups without a search, their sign is arbitrary" in shown
    assert len([line for line in chain(shown) if "not unique" in line]) == 1
