"""Ridge, and eta by group, against brute force: in the objective, in the reduction and in every exact method."""

from __future__ import annotations

import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import partls
from formulations import Instance, InvalidInput
from partls.explain.price import price_of_constraint
from partls.result import kkt_residual
from relaxations import named
from tests.oracles import brute_force, sign_constrained
from tests.strategies import Tiny, penalised
from tests.tolerances import REDUCTION, same_optimum

GROUPS = {"a": [0, 1, 2], "b": [3, 4], "c": [5, 6, 7]}
LABELS = np.array([0, 0, 0, 1, 1, 2, 2, 2])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 8))
Y = X @ RNG.normal(size=8) + 3.0 + RNG.normal(size=40)
BY_GROUP = {"a": 2.0, "b": 0.0, "c": 0.1}


def made(case: Tiny) -> Instance:
    """Return the instance of a problem; the intercept's own eta needs a mapping."""
    options = dict(case.options)
    if "eta_intercept" in options:
        options["eta"] = dict(enumerate(options["eta"])) | {"(intercept)": options.pop("eta_intercept")}
    return Instance(case.X, case.y, case.labels, ungrouped="free", **options)


def by_hand(case: Tiny, coef: np.ndarray, intercept: float) -> float:
    """Return the objective term by term, with no linear algebra."""
    options, total = case.options, 0.0
    for n, row in enumerate(case.X):
        fitted = sum(value * weight for value, weight in zip(row, coef, strict=True)) + intercept
        total += (1.0 if options["sample_weight"] is None else options["sample_weight"][n]) * (case.y[n] - fitted) ** 2
    size = abs if options["penalty"] == "l1" else lambda beta: beta**2
    for k, eta in enumerate(options["eta"]):
        total += eta * size(sum(w for w, label in zip(coef, case.labels, strict=True) if label == k))
    return total + options.get("eta_intercept", 0.0) * size(intercept) + options["ridge"] * sum(w**2 for w in coef)


@given(penalised(), st.integers(0, 1000))
def test_the_objective_is_the_written_formula(case: Tiny, seed: int) -> None:
    rng = np.random.default_rng(seed)
    coef, intercept = rng.normal(size=len(case.labels)), float(rng.normal()) * case.options["fit_intercept"]
    expected = by_hand(case, coef, intercept)
    assert made(case).objective(coef, intercept) == pytest.approx(expected, rel=REDUCTION, abs=REDUCTION)


@given(penalised())
def test_every_exact_method_finds_the_optimum_of_brute_force(case: Tiny) -> None:
    oracle = brute_force(case.X, case.y, case.labels, **case.options)
    instance = made(case)
    v = instance.reduction.project(oracle.coef, oracle.intercept)
    assert instance.reduction.objective(v) == same_optimum(oracle.objective, case.weighted_y)
    for method in ("bnb", "enumerate"):
        result = partls.solve_instance(instance, method=method)
        assert result.objective == same_optimum(oracle.objective, case.weighted_y)
        assert result.lower_bound <= oracle.objective * (1 + 1e-9) + 1e-11 * float(case.weighted_y @ case.weighted_y)


@given(penalised(), st.integers(0, 1000))
def test_the_reduction_has_the_same_objective(case: Tiny, seed: int) -> None:
    instance = made(case)
    reduction, rng = instance.reduction, np.random.default_rng(seed)
    v = rng.uniform(0.1, 1.0, size=reduction.n_columns) * rng.choice([-1.0, 1.0], reduction.n_groups)[reduction.labels]
    coef, intercept = reduction.restore(v)
    size = np.square(np.abs(case.X) @ np.abs(coef) + abs(intercept) + np.abs(case.y)).sum()
    value = instance.objective(coef, intercept)
    assert reduction.objective(v) == pytest.approx(value, rel=REDUCTION, abs=REDUCTION * size)
    sums = reduction.penalty_rows @ v
    total = reduction.data_part.objective(v) + reduction.scale * (sums @ sums)
    assert total == pytest.approx(value, rel=1e-11, abs=REDUCTION * size)


@pytest.mark.parametrize("options", [{}, {"eta": BY_GROUP}, {"eta": BY_GROUP, "penalty": "l1"}], ids=str)
@pytest.mark.parametrize("n_rows", [40, 5])
def test_ridge_is_as_many_rows_more(n_rows: int, options: dict[str, Any]) -> None:
    """Rows of the square root of gamma, with target zero, on centred data."""
    A, b = X[:n_rows] - X[:n_rows].mean(axis=0), Y[:n_rows] - Y[:n_rows].mean()
    rows, target = np.vstack([A, np.sqrt(0.7) * np.eye(8)]), np.append(b, np.zeros(8))
    plain = partls.solve(rows, target, GROUPS, fit_intercept=False, **options)
    ridged = partls.solve(X[:n_rows], Y[:n_rows], GROUPS, ridge=0.7, **options)
    assert ridged.objective == same_optimum(plain.objective, b)
    np.testing.assert_allclose(ridged.coef, plain.coef, rtol=1e-8, atol=1e-10)


def test_ridge_counts_free_columns_and_not_the_intercept() -> None:
    labels = [0, 0, -1]
    table = RNG.normal(size=(12, 3))
    y = table @ [1.0, 2.0, 3.0] + 50.0
    result = partls.solve(table, y, labels, ridge=1e9, ungrouped="free")
    assert np.abs(result.coef).max() < 1e-6
    assert result.intercept == pytest.approx(y.mean(), rel=1e-6)


@pytest.mark.parametrize("relaxation", ["perspective", "shor", "strengthened", "unconstrained", "split-dnn"])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_every_bound_proves_the_penalised_optimum(relaxation: str, penalty: str) -> None:
    options = {"eta": [2.0, 0.0, 0.1], "penalty": penalty, "ridge": 0.3}
    for n_rows in (40, 6):
        best = brute_force(X[:n_rows], Y[:n_rows], LABELS, **options).objective
        result = partls.solve(
            X[:n_rows], Y[:n_rows], GROUPS, relaxation=relaxation, method="bnb", **{**options, "eta": BY_GROUP}
        )
        assert result.objective == pytest.approx(best, rel=1e-9)
        assert best * (1 - 1e-6) <= result.lower_bound <= best * (1 + 1e-9)


@pytest.mark.parametrize("relaxation", ["perspective", "shor"])
def test_ridge_gives_curvature_to_fewer_rows_than_columns(relaxation: str) -> None:
    """Without it these bounds close nothing here; with it, nearly all of the gap."""
    rng = np.random.default_rng(0)
    table, y = rng.normal(size=(15, 24)), 3 * rng.normal(size=15)
    instance = Instance(table, y, np.arange(24) % 6, ridge=1.0)
    best, root = partls.solve_instance(instance).objective, partls.SignPattern.free(6)
    cheap, strong = (named(name).prepare(instance).bound(root).value for name in ("active-set", relaxation))
    assert cheap + 0.9 * (best - cheap) < strong <= best * (1 + 1e-9)


def test_eta_may_be_a_number_a_list_or_a_mapping() -> None:
    same = [Instance(X, Y, GROUPS, eta=eta) for eta in (1.5, [1.5] * 3, np.full(3, 1.5), dict.fromkeys("abc", 1.5),
                                                       {0: 1.5, "b": 1.5, 2: 1.5})]
    coef = np.arange(8.0)
    assert {instance.objective(coef, 0.5) for instance in same} == {same[0].objective(coef, 0.5)}
    assert [instance.strengths.groups.tolist() for instance in same] == [[1.5] * 3] * 5


def test_changing_a_part_keeps_the_penalties() -> None:
    instance = Instance(X, Y, GROUPS, eta=BY_GROUP, ridge=0.3)
    other = pickle.loads(pickle.dumps(instance)).replace(y=Y + 1.0)
    assert (other.eta, other.ridge) == (BY_GROUP, 0.3)
    assert other.strengths.groups.tolist() == [2.0, 0.0, 0.1]
    assert repr(other) == "Instance(40 rows, 8 columns, 3 groups, eta=by group (l2), ridge=0.3)"


def test_a_penalised_intercept_has_its_own_eta() -> None:
    options = {"penalize_intercept": True, "penalty": "l2"}
    named = Instance(X, Y, GROUPS, eta={**BY_GROUP, "(intercept)": 7.0}, **options)
    assert named.objective(np.zeros(8), 2.0) == pytest.approx(np.square(Y - 2.0).sum() + 28.0, rel=REDUCTION)
    assert Instance(X, Y, GROUPS, eta=3.0, **options).strengths.intercept == 3.0
    without = Instance(X, Y, GROUPS, eta=BY_GROUP, fit_intercept=False, **options)
    assert without.strengths.intercept == 0.0


REFUSED = {
    "negative": ({"eta": {"a": 1, "b": -2.0, "c": 0}}, r"eta\['b'\]=-2.0 must be a finite number >= 0"),
    "NaN": ({"eta": {"a": 1, "b": np.nan, "c": 0}}, r"eta\['b'\]=nan must be"),
    "text": ({"eta": {"a": 1, "b": "much", "c": 0}}, r"eta\['b'\]='much' is not a number"),
    "missing": ({"eta": {"a": 1}}, r'eta misses "b", "c": give each group a number, 0 for no penalty'),
    "invented": ({"eta": {**BY_GROUP, "d": 1.0}}, r"eta names group 'd', which does not exist: groups are \"a\""),
    "beyond": ({"eta": {0: 1, 1: 1, 3: 1}}, r"eta names group 3, which does not exist"),
    "twice": ({"eta": {**BY_GROUP, 0: 1.0}}, r'eta gives group "a" twice'),
    "too short": ({"eta": [1.0, 2.0]}, r"eta has 2 values but there are 3 groups"),
    "negative in a list": ({"eta": [1.0, -1.0, 0.0]}, r"eta\[1\]=-1.0 must be"),
    "table": ({"eta": np.ones((3, 2))}, r"eta\[0\]=.* is not a number"),
    "intercept": ({"eta": {**BY_GROUP, "(intercept)": 1.0}}, r'eta names "\(intercept\)", which is not penalised'),
    "intercept missing": ({"eta": BY_GROUP, "penalize_intercept": True}, r'eta misses "\(intercept\)"'),
    "intercept in a list": ({"eta": [1, 1, 1], "penalize_intercept": True}, r"no place for the penalised intercept"),
    "a group of that name": (
        {"groups": {"(intercept)": [0, 1], "b": range(2, 8)}, "eta": {"(intercept)": 1.0, "b": 1.0},
         "penalize_intercept": True}, r"rename the group"),
    "negative ridge": ({"ridge": -0.1}, r"ridge=-0.1 must be a finite number >= 0"),
    "NaN ridge": ({"ridge": np.nan}, r"ridge=nan must be"),
    "ridge by group": ({"ridge": {"a": 1.0}}, r"ridge=.* is not a number"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_wrong_penalties_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        Instance(X, Y, **{"groups": GROUPS, **options})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_answers_audit_themselves_and_know_the_price_of_their_constraint(penalty: str) -> None:
    result = partls.solve(X, Y, GROUPS, eta=BY_GROUP, ridge=0.3, penalty=penalty)
    assert kkt_residual(result.instance, result.coef, result.intercept) < 1e-9
    assert kkt_residual(result.instance, 1.01 * result.coef, result.intercept) > 1e-4
    options = {"eta": [2.0, 0.0, 0.1], "penalty": penalty, "ridge": 0.3}
    price = price_of_constraint(result)
    for k, row in enumerate(price.rows):
        patterns = (np.where(np.arange(3) == k, 0, signs) for signs in product((1, -1), repeat=3))
        freed = min(sign_constrained(X, Y, s[LABELS], labels=LABELS, **options).objective for s in patterns)
        assert row.freed_objective == pytest.approx(freed, rel=1e-8)
    free = sign_constrained(X, Y, np.zeros(8, int), labels=LABELS, **options).objective
    assert price.unconstrained == pytest.approx(free, rel=1e-8)
