"""The mixed-integer program: its bounds cut off no optimum, and SCIP finds what branch and bound proves."""

from __future__ import annotations

from fractions import Fraction
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
import pytest

import partls
from benchmarks.rational import nonnegative, normal_equations
from formulations import Instance, InvalidInput, miqp
from formulations.builders.coefficient_bounds import level_set_bounds
from tests.families import FAMILIES, split
from tests.strategies import Tiny

SCIP = 1e-5  # relative error allowed to SCIP's default tolerances


def drawn(seed: int) -> Tiny:
    """Return a problem without intercept: independent, ill-conditioned, badly scaled or wide columns, any penalty."""
    rng = np.random.default_rng([77, seed])
    n_columns = int(rng.integers(2, 6))
    n_rows = int(rng.integers(2, 12))
    X = rng.normal(size=(n_rows, n_columns))
    kind = seed % 5
    if kind == 1:
        X = X + 10.0 ** rng.integers(0, 4) * rng.normal(size=(n_rows, 1))
    if kind == 2:
        X = X * 10.0 ** rng.integers(-6, 7, size=n_columns)
    if kind == 3:
        X = rng.integers(-2, 3, size=X.shape).astype(float)
    if kind == 4:
        x = rng.uniform(0.5, 1.0, size=n_rows)
        X = x[:, None] ** np.arange(1, n_columns + 1)
    y = X @ rng.normal(size=n_columns) + rng.choice([0.0, 0.1, 1.0]) * rng.normal(size=n_rows)
    labels = split(rng, n_columns, int(rng.integers(1, 4)))
    options: dict[str, Any] = {"fit_intercept": False, "penalty": ("l2", "l1")[int(rng.integers(2))]}
    options["eta"] = rng.choice([0.0, 0.0, 0.25, 4.0], size=max(labels) + 1).tolist()
    options["ridge"] = float(rng.choice([0.0, 0.0, 0.125, 2.0]))
    return Tiny(X, y, labels, options)


def exact_optimum(case: Tiny, signs: tuple[int, ...]) -> tuple[Fraction, list[Fraction]]:
    """Return (objective less y'y, coefficients) of the optimum under signs without rounding."""
    Q, c, _ = normal_equations(case.X, case.y)
    column_signs = [signs[k] for k in case.labels]
    eta, ridge = [Fraction(value) for value in case.options["eta"]], Fraction(case.options["ridge"])
    for i, k in enumerate(case.labels):
        Q[i][i] += ridge
        for j, other in enumerate(case.labels):
            if k == other and case.options["penalty"] == "l2":
                Q[i][j] += eta[k]
    n = range(len(Q))
    turned = [[column_signs[i] * column_signs[j] * Q[i][j] for j in n] for i in n]
    cost = [s * value for s, value in zip(column_signs, c, strict=True)]
    if case.options["penalty"] == "l1":
        cost = [value - eta[k] / 2 for value, k in zip(cost, case.labels, strict=True)]
    w = nonnegative(turned, cost)
    value = sum(w[i] * (sum(turned[i][j] * w[j] for j in n) - 2 * cost[i]) for i in n)
    return value, [s * x for s, x in zip(column_signs, w, strict=True)]


def check_bounds(seed: int) -> bool:
    """Fail if a bound is below an exact optimum's coefficient; return whether there were bounds to check."""
    case = drawn(seed)
    instance = Instance(case.X, case.y, case.labels, **case.options)
    try:
        model = miqp(instance)
    except InvalidInput as error:
        assert "no bound on the coefficients of" in str(error)
        assert np.linalg.matrix_rank(case.X) < case.X.shape[1] or np.linalg.cond(case.X) > 1e6
        return False
    if np.linalg.matrix_rank(case.X) < case.X.shape[1] and case.options["ridge"] == 0:
        return False  # a penalty bounds them; the exact method needs a definite matrix
    found = {signs: exact_optimum(case, signs) for signs in product((1, -1), repeat=case.n_groups)}
    best = min(found, key=lambda signs: found[signs][0])
    for signs in (None, best, *list(found)[:2]):
        bounds = model.fix(signs).parameters["bounds"].value
        v = instance.reduction.project([float(value) for value in found[best if signs is None else signs][1]])
        assert (np.abs(v) <= bounds).all(), (seed, signs, v, bounds)
    return True


@pytest.mark.parametrize("seed", range(60))
def test_the_bounds_do_not_cut_off_the_exact_optimum(seed: int) -> None:
    check_bounds(seed)


@pytest.mark.slow
def test_the_bounds_do_not_cut_off_any_of_a_thousand_exact_optima() -> None:
    checked, seed = 0, 0
    while checked < 1000:
        checked += check_bounds(seed)
        seed += 1
    assert seed < 2000


def test_bounds_are_tight_where_least_squares_has_one_sign() -> None:
    """The level set is then a point: a bound far beyond it would come from a wrong excess."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 4))
    w = np.array([1.0, 2.0, -3.0, -4.0])
    bounds = level_set_bounds(X, X @ w, 0.0, 0.0)
    np.testing.assert_allclose(bounds, np.abs(w), rtol=1e-2)
    wrong = level_set_bounds(X, X @ w, 0.0, 100.0)
    direction = np.linalg.inv(X.T @ X)
    np.testing.assert_allclose(wrong, np.abs(w) + 10 * np.sqrt(np.diag(direction)), rtol=1e-2)


def test_columns_without_a_bound_are_named() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 4))
    X[:, 2] = X[:, 0] - X[:, 1]
    groups = {"a": ["one", "two"], "b": ["three", "four"]}
    flat = {"columns": ["one", "two", "three", "four"]}
    with pytest.raises(InvalidInput, match='no bound on the coefficients of "one", "two", "three": ') as caught:
        miqp(Instance(X, rng.normal(size=20), groups, **flat))
    assert "\n" not in str(caught.value)
    y = rng.normal(size=20)
    for options in ({"ridge": 0.1}, {"eta": 1.0}, {"eta": 1.0, "penalty": "l1"}):
        assert np.isfinite(miqp(Instance(X, y, groups, **flat, **options)).parameters["bounds"].value).all()
    with pytest.raises(InvalidInput, match='coefficients of "one", "two", "three"'):
        miqp(Instance(X, y, groups, **flat, ridge=0.1)).set(ridge=0.0)


def by_scip(instance: Instance, **options: Any) -> float:
    return miqp(instance).solve("SCIP", **options)


def check_against_branch_and_bound(seed: int) -> None:
    rng = np.random.default_rng([78, seed])
    family = ("overdetermined", "correlated", "l2", "l1", "weights", "no intercept", "l2 intercept", "l1 intercept",
              "free columns", "underdetermined")[seed % 10]
    case = FAMILIES[family](seed)
    options = dict(case.options)
    if seed % 10 == 9 or rng.integers(2):
        options["ridge"] = float(rng.choice([0.1, 1.0]))
    instance = Instance(case.X, case.y, case.labels, ungrouped="free", **options)
    best = partls.solve_instance(instance, method="bnb")
    assert best.status == partls.Status.OPTIMAL
    size = float(case.weighted_y @ case.weighted_y)
    assert by_scip(instance) == pytest.approx(best.objective, rel=SCIP, abs=SCIP * size)


def need(module: str, extra: str) -> None:
    if find_spec(module) is None:
        pytest.skip(f"{module} not installed: pip install 'partls[{extra}]'")


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("seed", range(10))
def test_scip_finds_what_branch_and_bound_proves(seed: int) -> None:
    need("pyscipopt", "bench")
    check_against_branch_and_bound(seed)


@pytest.mark.peers
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("seed", range(10, 100))
def test_scip_finds_what_branch_and_bound_proves_on_more(seed: int) -> None:
    need("pyscipopt", "bench")
    check_against_branch_and_bound(seed)


@pytest.mark.peers
def test_signs_and_penalties_move_and_their_bounds_with_them() -> None:
    need("pyscipopt", "bench")
    case = FAMILIES["overdetermined"](3)
    model = miqp(Instance(case.X, case.y, case.labels))
    signs = [1] + [0] * (case.n_groups - 1)
    for eta, ridge, given in ((2.0, 0.5, None), (0.0, 0.0, signs), (0.0, 3.0, [-s for s in signs])):
        moved = model.set(eta=eta, ridge=ridge).fix(given)
        fresh = Instance(case.X, case.y, case.labels, eta=eta, ridge=ridge)
        best = partls.solve_instance(fresh, signs=given).objective
        assert moved.solve("SCIP") == pytest.approx(best, rel=SCIP)
        assert fresh.objective(*moved.solution()) == pytest.approx(best, rel=1e-4)
