"""Laws of the optimum: what no correct solver can break, whatever its algorithm, on data chosen to be unkind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import partls
from tests.oracles import brute_force, kkt_residual
from tests.strategies import Tiny, entries, instances
from tests.tolerances import KKT, OPTIMUM, VANISHING, same_optimum

FREE_INTERCEPT = {"fit_intercept": True, "penalize_intercept": False}
SHIFTS = st.sampled_from([-40.0, 0.25, 7.0])


def solved(case: Tiny, **options: Any) -> partls.Result:
    return partls.solve(case.X, case.y, case.labels, method="auto", ungrouped="free", **{**case.options, **options})


def optimum(case: Tiny) -> float:
    """Return the optimum over the reals; floating-point coefficients may miss that of nearly dependent columns."""
    result = solved(case)
    if result.counts.get("exact nodes") and result.status is partls.Status.PRECISION_LIMIT:
        return result.lower_bound  # exact
    assert result.status is partls.Status.OPTIMAL
    return result.objective


def changed(case: Tiny, *, options: dict[str, Any] | None = None, **parts: Any) -> Tiny:
    return replace(case, **parts, options={**case.options, **(options or {})})


def check_not_above(lower: float, upper: float, case: Tiny) -> None:
    assert lower <= upper * (1 + OPTIMUM) + VANISHING * np.square(case.weighted_y).sum()


@given(instances())
def test_the_optimum_is_that_of_the_oracle(case: Tiny) -> None:
    oracle = brute_force(case.X, case.y, case.labels, **case.options)
    assert optimum(case) == same_optimum(oracle.objective, case.weighted_y)


@given(instances())
def test_the_lower_bound_is_below_the_true_optimum(case: Tiny) -> None:
    oracle = brute_force(case.X, case.y, case.labels, **case.options)
    check_not_above(solved(case).lower_bound, oracle.objective, case)


@given(instances())
def test_the_coefficients_are_optimal_for_their_signs(case: Tiny) -> None:
    result = solved(case)
    labels = np.array(case.labels)
    group_signs = np.where(result.signs == 0, 1, result.signs)
    for signs in (group_signs, np.where(result.signs == 0, -1, result.signs)):  # an all-zero group fits both
        columns = np.append(signs, 0)[labels]
        assert (columns * result.coef >= 0).all()
        found = {"coef": result.coef, "intercept": result.intercept}
        kkt = kkt_residual(case.X, case.y, columns, labels=labels, **found, **case.options)
        assert kkt.worst <= KKT
        assert kkt.weight <= 1e6


@given(instances())
def test_the_result_reads_as_alpha_and_beta(case: Tiny) -> None:
    result = solved(case)
    labels = np.array(case.labels)
    for k in range(case.n_groups):
        assert (result.alpha[labels == k] >= 0).all()
        assert result.alpha[labels == k].sum() == pytest.approx(1.0, abs=1e-12)
        assert result.alpha[labels == k] * result.beta[k] == pytest.approx(result.coef[labels == k], rel=1e-12)
        if not result.coef[labels == k].any():
            assert result.beta[k] == 0
            assert np.ptp(result.alpha[labels == k]) == 0
    assert result.objective == same_optimum(result.audit().objective, case.weighted_y)
    assert result.audit().passed


@given(instances(), st.data())
def test_the_order_of_the_rows_does_not_matter(case: Tiny, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(case.y))))
    weights = case.options["sample_weight"]
    options = {"sample_weight": None if weights is None else weights[order]}
    other = changed(case, X=case.X[order], y=case.y[order], options=options)
    assert optimum(other) == same_optimum(optimum(case), case.weighted_y)


@given(instances(), st.data())
def test_the_order_of_the_columns_does_not_matter(case: Tiny, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(case.labels))))
    other = changed(case, X=case.X[:, order], labels=tuple(case.labels[j] for j in order))
    assert optimum(other) == same_optimum(optimum(case), case.weighted_y)


@given(instances(), st.data())
def test_the_order_of_the_groups_does_not_matter(case: Tiny, data: st.DataObject) -> None:
    names = data.draw(st.permutations(range(case.n_groups)))
    other = changed(case, labels=tuple(names[k] if k >= 0 else -1 for k in case.labels))
    assert optimum(other) == same_optimum(optimum(case), case.weighted_y)


@given(instances(), st.data())
def test_negating_a_whole_group_turns_only_its_sign(case: Tiny, data: st.DataObject) -> None:
    group = data.draw(st.integers(0, case.n_groups - 1))
    other = changed(case, X=case.X * np.where(np.array(case.labels) == group, -1.0, 1.0))
    assert optimum(other) == same_optimum(optimum(case), case.weighted_y)


@given(instances())
def test_negating_the_target_changes_no_optimum(case: Tiny) -> None:
    assert optimum(changed(case, y=-case.y)) == same_optimum(optimum(case), case.weighted_y)


@given(instances(), st.sampled_from([0.01, -3.0, 1e6]))
def test_the_optimum_is_quadratic_in_the_target(case: Tiny, factor: float) -> None:
    degree = abs(factor) if case.options.get("penalty") == "l1" else 1.0  # an L1 penalty grows with the first power
    other = changed(case, y=case.y * factor, options={"eta": case.options["eta"] * degree})
    assert optimum(other) == same_optimum(optimum(case) * factor**2, other.weighted_y)


@given(instances(), SHIFTS)
def test_shifting_the_target_moves_only_the_intercept(case: Tiny, shift: float) -> None:
    here = changed(case, options=FREE_INTERCEPT)
    there = changed(here, y=case.y + shift)
    expected, result = same_optimum(optimum(here), there.weighted_y), solved(there)
    assert result.objective == expected
    assert solved(here).instance.objective(result.coef, result.intercept - shift) == expected


@given(instances(), st.data())
def test_shifting_a_column_moves_only_the_intercept(case: Tiny, data: st.DataObject) -> None:
    here = changed(case, options=FREE_INTERCEPT)
    shift = np.array([data.draw(SHIFTS) for _ in case.labels])
    assume(((case.X + shift) - shift == case.X).all())  # rounding would make other data of nearly dependent columns
    expected, result = same_optimum(optimum(here), case.weighted_y), solved(changed(here, X=case.X + shift))
    assert result.objective == expected
    assert solved(here).instance.objective(result.coef, result.intercept + shift @ result.coef) == expected


@given(instances(), st.data())
def test_splitting_a_group_never_raises_the_optimum(case: Tiny, data: st.DataObject) -> None:
    moved = data.draw(st.lists(st.booleans(), min_size=len(case.labels), max_size=len(case.labels)))
    finer = [k + case.n_groups if k >= 0 and move else k for k, move in zip(case.labels, moved, strict=True)]
    names = {k: i for i, k in enumerate(sorted(set(finer) - {-1}))}
    other = changed(case, labels=tuple(names.get(k, -1) for k in finer))
    check_not_above(optimum(other), optimum(case), case)


@given(instances(), st.data())
def test_one_more_column_never_raises_the_optimum(case: Tiny, data: st.DataObject) -> None:
    column, group = data.draw(entries(len(case.y))), data.draw(st.integers(-1, case.n_groups))
    other = changed(case, X=np.column_stack([case.X, column]), labels=(*case.labels, group))
    check_not_above(optimum(other), optimum(case), case)


@given(instances(), st.data())
def test_a_twin_in_the_same_group_changes_nothing(case: Tiny, data: st.DataObject) -> None:
    j = data.draw(st.integers(0, len(case.labels) - 1))
    other = changed(case, X=np.column_stack([case.X, case.X[:, j]]), labels=(*case.labels, case.labels[j]))
    assert optimum(other) == same_optimum(optimum(case), case.weighted_y)


@given(instances())
def test_singletons_are_ordinary_least_squares(case: Tiny) -> None:
    """With a penalty: ridge on the group sums, which for singletons are the coefficients."""
    n, m = case.X.shape
    alone = changed(case, labels=tuple(range(m)), options={"penalty": "l2"})
    eta, intercept = alone.options["eta"], alone.options["fit_intercept"]
    root = np.ones(n) if alone.options["sample_weight"] is None else np.sqrt(alone.options["sample_weight"])
    ridge = np.sqrt(eta) * np.diag([1.0] * m + [float(alone.options["penalize_intercept"])])
    A = np.vstack([np.column_stack([case.X, np.full(n, float(intercept))]) * root[:, None], ridge])
    b = np.append(case.y * root, np.zeros(m + 1))
    w = np.linalg.lstsq(A, b, rcond=None)[0]
    assert optimum(alone) == same_optimum(float(np.square(A @ w - b).sum()), case.weighted_y)


@given(instances(), st.data())
def test_a_weight_of_k_is_the_row_k_times(case: Tiny, data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(0, 3), min_size=len(case.y), max_size=len(case.y)).filter(any))
    weighted = changed(case, options={"sample_weight": np.array(counts)})
    repeated = changed(case, X=np.repeat(case.X, counts, axis=0), y=np.repeat(case.y, counts))
    repeated.options["sample_weight"] = None
    assert optimum(weighted) == same_optimum(optimum(repeated), repeated.y)


@given(instances(), st.data())
def test_one_more_row_never_lowers_the_optimum(case: Tiny, data: st.DataObject) -> None:
    row, target = data.draw(entries(len(case.labels))), data.draw(st.sampled_from([0.0, -5.0, 1.0]))
    weights = case.options["sample_weight"]
    options = {"sample_weight": None if weights is None else np.append(weights, 1.0)}
    other = changed(case, X=np.vstack([case.X, row]), y=np.append(case.y, target), options=options)
    check_not_above(optimum(case), optimum(other), other)


@given(instances(), st.sampled_from([0.1, 1.0, 20.0]))
def test_a_stronger_penalty_never_lowers_the_optimum(case: Tiny, more: float) -> None:
    stronger = changed(case, options={"eta": case.options["eta"] + more})
    check_not_above(optimum(case), optimum(stronger), case)


@given(instances())
def test_every_method_finds_the_same_optimum(case: Tiny) -> None:
    expected = same_optimum(optimum(case), case.weighted_y)
    for method in ("bnb", "enumerate"):
        result = partls.solve(case.X, case.y, case.labels, method=method, ungrouped="free", **case.options)
        assert result.status is partls.Status.OPTIMAL
        assert result.objective == expected
