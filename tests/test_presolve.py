"""Presolve: the same optimum with and without, exact signs, certificates, checkpoints, and what the result tells."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import partls
from formulations import Instance
from formulations.signs import SignPattern
from partls.presolve.free_groups import without_signs
from partls.verification.document import sealed
from relaxations import CheapThenStrong
from tests.presolvable import KINDS, Case, one_hot, problem, problems
from tests.tolerances import same_optimum

MANY = 5000


def solved(case: Case, **options: Any) -> partls.Result:
    x = case.tiny
    return partls.solve(x.X, x.y, x.labels, ungrouped="free", signs=case.signs, **{**x.options, **options})


def check(case: Case, result: partls.Result, optimum: float) -> None:
    """Check an answer against the optimum: proved, audited, with exact signs, the given ones among them."""
    assert result.objective == same_optimum(optimum, case.tiny.weighted_y), case.name
    assert result.status is partls.Status.OPTIMAL, case.name
    assert result.audit().passed, case.name
    given = np.array(case.signs)
    assert (result.signs * given >= 0).all(), case.name


def count_settled(cases: Any) -> int:
    n_settled = 0
    for case in cases:
        result = solved(case)
        check(case, result, case.optimum())
        n_settled += bool(result.presolve)
    return n_settled


def test_the_optimum_is_that_of_brute_force() -> None:
    assert count_settled(problems(10 * len(KINDS))) > 2 * len(KINDS)


@pytest.mark.slow
def test_the_optimum_is_that_of_brute_force_many_times() -> None:
    assert count_settled(problems(MANY)) > MANY // 4


@given(st.sampled_from(sorted(KINDS)), st.integers(10**4, 10**6))
def test_presolve_changes_no_optimum(kind: str, seed: int) -> None:
    case = problem(kind, seed)
    check(case, solved(case), solved(case, presolve=False).objective)


@pytest.mark.parametrize("options", [
    {"method": "enumerate"}, {"relaxation": "unconstrained"}, {"relaxation": "perspective"}, {"search": "best-first"},
    {"n_jobs": 2}, {"relaxation": "shor"}, {"relaxation": "split-dnn"}, {"relaxation": "convexified"},
    {"relaxation": "strengthened"}, {"relaxation": CheapThenStrong("active-set", "shor")}, {"backend": "cvxpy"},
    {"executor": "loky", "n_jobs": 2},
])
def test_every_method_gains(options: dict[str, Any]) -> None:
    n_settled = 0
    for kind in ("one_text_column", "nested_text_columns", "shares"):
        case = problem(kind, 3)
        result = solved(case, **options)
        check(case, result, case.optimum())
        n_settled += bool(result.presolve.arbitrary)
    assert n_settled


@pytest.mark.parametrize("options", [
    {"eta": {"coarse": 0.0, "fine": 0.0, "own": 2.0, "other": 1.0}}, {"signs": {"coarse": "-", "own": "+"}},
    {"eta": {"coarse": 0.0, "fine": 0.0, "own": 2.0, "other": 1.0}, "penalty": "l1"},
    {"sample_weight": np.linspace(0.1, 2.0, 60)},
])
def test_penalties_on_other_groups_signs_and_weights_leave_text_columns_arbitrary(options: dict[str, Any]) -> None:
    X, y, groups = dummies()
    result = partls.solve(X, y, groups, **options)
    assert result.presolve.arbitrary == ("coarse", "fine")
    assert result.status is partls.Status.OPTIMAL
    assert result.objective == same_optimum(partls.solve(X, y, groups, presolve=False, **options).objective, y)
    assert result.audit().passed


def test_the_alternation_needs_no_constraint_that_is_arbitrary() -> None:
    X, y, groups = dummies()
    exact = partls.solve(X, y, groups)
    result = partls.solve(X, y, groups, method="alternating", n_starts=4, random_state=0)
    assert result.presolve.arbitrary == ("coarse", "fine")
    assert result.objective >= exact.objective * (1 - 1e-12)
    assert result.audit().passed
    for k, name in enumerate(result.groups):
        own = result.coef[np.array(groups) == name]
        assert (own * result.signs[k] >= 0).all()


def test_rows_that_dask_holds_are_presolved() -> None:
    X, y, groups = dummies()
    rows = da.from_array(np.column_stack([X, y]), chunks=(17, -1))
    result = partls.solve(rows[:, :-1], rows[:, -1], groups)
    assert result.presolve.arbitrary == ("coarse", "fine")
    assert result.objective == same_optimum(partls.solve(X, y, groups).objective, y)
    assert result.audit().passed


def halves(n_groups: int = 20, size: int = 5, n_rows: int = 220) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a table whose first and second half of groups are orthogonal to each other and to a constant."""
    rng = np.random.default_rng(1)
    width = n_groups * size
    basis = np.linalg.qr(np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, width))]))[0][:, 1:]
    mixed = np.linalg.cholesky(0.5 * np.eye(width // 2) + 0.5).T
    X = np.hstack([basis[:, : width // 2] @ mixed, basis[:, width // 2 :] @ mixed])
    return X, rng.normal(size=n_rows), np.repeat(np.arange(n_groups), size)


def test_two_independent_halves_cost_the_sum_of_their_nodes() -> None:
    X, y, groups = halves()
    half = X.shape[1] // 2
    for method in ("bnb", "enumerate"):
        whole = partls.solve(X, y, groups, method=method)
        parts = [partls.solve(X[:, own], y, groups[own], method=method) for own in (slice(half), slice(half, None))]
        assert whole.status is partls.Status.OPTIMAL
        assert whole.n_nodes == sum(part.n_nodes for part in parts)
        assert [len(part) for part in whole.presolve.parts] == [10, 10]
        assert str(whole.presolve) == "presolve: 2 independent parts searched on their own"
    together = partls.solve(X, y, groups, presolve=False)
    assert together.n_nodes > 2 * partls.solve(X, y, groups).n_nodes
    assert whole.objective == pytest.approx(together.objective, rel=1e-10)
    assert whole.audit().passed


@pytest.mark.parametrize("options", [
    {"eta": 0.5}, {"eta": 0.05, "penalty": "l1"}, {"ridge": 0.3}, {"relaxation": "unconstrained"},
    {"signs": [1, 0, 0, -1, 0, 0, 0, 0]}, {"search": "best-first"}, {"n_jobs": 2},
])
def test_independent_parts_have_the_optimum_of_the_whole(options: dict[str, Any]) -> None:
    X, y, groups = halves(8, 4, 60)
    result = partls.solve(X, y, groups, **options)
    whole = partls.solve(X, y, groups, presolve=False, **options)
    assert len(result.presolve.parts) == 2
    assert result.status is partls.Status.OPTIMAL
    assert result.objective == same_optimum(whole.objective, y)
    assert result.audit().passed


def test_a_limit_leaves_a_valid_bound_of_independent_parts() -> None:
    X, y, groups = halves(40, 5, 420)
    best = partls.solve(X, y, groups).objective
    for options in ({"node_limit": 5}, {"node_limit": 70}, {"time_limit": 0.0}):
        cut = partls.solve(X, y, groups, **options)
        assert cut.status in (partls.Status.NODE_LIMIT, partls.Status.TIME_LIMIT)
        assert 0 < cut.lower_bound <= best <= cut.objective * (1 + 1e-12)
        assert cut.n_nodes <= options.get("node_limit", 0) + 2
    assert not partls.solve(X, y, groups, method="alternating", n_starts=2).presolve


def test_columns_that_others_of_their_group_make_up_for_are_left_out() -> None:
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(200, 80)) + 0.7 * np.repeat(rng.normal(size=(200, 20)), 4, axis=1)
    groups = np.repeat(np.arange(20), 4)
    totals = np.stack([Z[:, groups == k].sum(axis=1) for k in range(20)], axis=1)
    X, labels = np.hstack([Z, totals, 2.0 * Z[:, ::4]]), [*groups, *range(20), *range(20)]
    y = rng.normal(size=200) + 0.2 * Z @ rng.normal(size=80)
    result, plain = partls.solve(X, y, labels), partls.solve(Z, y, groups)
    assert len(result.presolve.redundant) == 40
    assert str(result.presolve) == "presolve: 40 columns left out, other columns of the group replace them"
    assert result.n_nodes == plain.n_nodes < partls.solve(X, y, labels, presolve=False).n_nodes
    assert result.objective == pytest.approx(plain.objective, rel=1e-12)
    assert result.status is partls.Status.OPTIMAL
    assert result.audit().passed
    across = np.hstack([Z, -Z[:, :1]])  # the opposite of a column makes up for nothing: the two say which sign
    assert not partls.solve(across[:, 1:], y, [*groups[1:], 0]).presolve
    for penalty in ({"eta": 1.0}, {"ridge": 1.0}):
        assert not partls.solve(X, y, labels, **penalty).presolve
    with_cost = partls.solve(X, y, labels, eta=1.0, penalty="l1")
    assert 0 < len(with_cost.presolve.redundant) < 40  # the longer of two multiples costs less


def test_parts_that_all_but_touch_are_one() -> None:
    X, y, groups = halves(8, 4, 60)
    assert len(partls.solve(X, y, groups).presolve.parts) == 2
    X = X.copy()
    X[:, 0] += 1e-9 * X[:, -1]
    assert not partls.solve(X, y, groups).presolve


def test_a_proof_of_one_part_is_none_of_the_whole(tmp_path: Path) -> None:
    X, y, groups = halves(8, 4, 60)
    partls.solve(X, y, groups, certificate=tmp_path / "c.json")
    partls.verify(tmp_path / "c.json", X, y, groups)
    forged = json.loads((tmp_path / "c.json").read_text())
    first = [{**box, "signs": box["signs"][:4] + "0000"} for box in forged["boxes"]]
    forged["boxes"] = list({box["signs"]: box for box in first}.values())  # as if the second half had been settled
    with pytest.raises(partls.VerificationError):
        partls.verify(sealed(forged), X, y, groups)


def dummies(n_rows: int = 60, n_others: int = 6) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return a table with two coded text columns, the second finer than the first, and ordinary groups beside them."""
    rng = np.random.default_rng(4)
    coarse = rng.integers(0, 3, n_rows)
    A, B = one_hot(coarse), one_hot(2 * coarse + rng.integers(0, 2, n_rows))
    X = np.hstack([A, B, rng.normal(size=(n_rows, n_others))])
    y = X @ rng.normal(size=X.shape[1]) + rng.normal(size=n_rows)
    return X, y, ["coarse"] * 3 + ["fine"] * 6 + ["own", "other"] * (n_others // 2)


def test_the_result_says_what_was_settled_and_the_search_does_without_it() -> None:
    X, y, groups = dummies()
    result = partls.solve(X, y, groups)
    assert result.presolve is not None
    assert result.presolve.arbitrary == ("coarse", "fine")
    assert str(result.presolve) == "presolve: 2 groups without a search, their sign is arbitrary"
    assert result.groups == ("coarse", "fine", "own", "other")
    assert result.n_nodes < partls.solve(X, y, groups, presolve=False).n_nodes
    assert partls.solve(X, y, groups, presolve=False).presolve is None
    assert str(partls.solve(X[:, 9:], y, groups[9:]).presolve) == "presolve: nothing to settle"


def test_a_penalty_on_the_group_or_no_intercept_leaves_its_sign_to_the_search() -> None:
    X, y, groups = dummies()
    settled = lambda **options: partls.solve(X, y, groups, **options).presolve.arbitrary  # noqa: E731
    assert settled(eta={"coarse": 1.0, "fine": 0.0, "own": 1.0, "other": 0.0}) == ("fine",)
    assert settled(eta=[1e-9, 0.0, 1.0, 0.0], penalty="l1") == ("fine",)
    assert settled(eta=1.0) == settled(ridge=1e-6) == settled(fit_intercept=False) == ()
    own = {"eta": {"coarse": 0.0, "fine": 0.0, "own": 1.0, "other": 0.0, "(intercept)": 1.0}}
    for penalty in ("l1", "l2"):  # the fit may move between the two text columns, whatever the intercept costs
        assert settled(**own, penalty=penalty, penalize_intercept=True) == ()


def test_a_given_sign_is_kept_exactly() -> None:
    X, y, groups = dummies()
    free = partls.solve(X, y, groups)
    for signs in product((-1, 1), repeat=2):
        result = partls.solve(X, y, groups, signs=[*signs, 0, 0])
        assert result.presolve.arbitrary == ("coarse", "fine")
        assert tuple(result.signs[:2]) == signs
        assert result.objective == pytest.approx(free.objective, rel=1e-12)
        assert result.audit().passed


def test_the_sign_and_the_coefficients_of_a_freed_group_do_not_depend_on_the_order_of_columns() -> None:
    X, y, groups = dummies()
    first = partls.solve(X[:, 3:], y, groups[3:])
    order = np.random.default_rng(0).permutation(X.shape[1] - 3)
    again = partls.solve(X[:, 3:][:, order], y, [groups[3:][j] for j in order])
    np.testing.assert_allclose(again.coef, first.coef[order], atol=1e-9)
    for k in range(1):  # no more is moved than it takes: one coefficient of the group is zero
        assert (first.coef[first.instance.partition.members(k)] == 0).sum() == 1


def test_near_misses_are_settled_and_a_dependence_that_is_none_is_not() -> None:
    X, y, groups = dummies()
    standardised = (X - X.mean(axis=0)) / X.std(axis=0)
    weights = np.random.default_rng(1).uniform(0.1, 3.0, len(y))
    result = partls.solve(standardised, y, groups, sample_weight=weights)
    assert result.presolve.arbitrary == ("coarse", "fine")
    assert result.audit().passed
    assert result.objective == pytest.approx(
        partls.solve(standardised, y, groups, sample_weight=weights, presolve=False).objective, rel=1e-10
    )
    off = X.copy()
    off[0, 0] += 1e-6
    assert partls.solve(off, y, groups).presolve.arbitrary == ("fine",)


@pytest.mark.parametrize("power", [5, 8, 10, 12, 14, 15, 16])
def test_whatever_a_dependence_misses_the_optimum_is_the_same(power: int) -> None:
    """From a dependence that is none to rounding. What is between, exact arithmetic settles, and no rule does."""
    X, y, groups = dummies()
    rng = np.random.default_rng(power)
    near = X + 10.0**-power * rng.normal(size=X.shape) * (np.arange(X.shape[1]) < 9)
    near = (near - near.mean(axis=0)) / near.std(axis=0)
    result, plain = (partls.solve(near, y, groups, presolve=presolve) for presolve in (True, False))
    assert result.presolve.arbitrary == (("coarse", "fine") if power == 16 else ())
    assert result.objective == pytest.approx(plain.objective, rel=1e-10)
    assert max(result.lower_bound, plain.lower_bound) <= min(result.objective, plain.objective) * (1 + 1e-12)
    if power == 16:
        assert result.status is partls.Status.OPTIMAL
        assert result.audit().passed


def test_more_is_kept_than_the_best_solution_only_of_the_whole_problem() -> None:
    X, y, groups = dummies()
    whole = partls.solve(X, y, groups, method="enumerate", keep="all")
    assert len(whole.solutions) == 2**4
    assert not whole.presolve


def test_several_targets_the_estimator_and_a_saved_model(tmp_path: Path) -> None:
    X, y, groups = dummies()
    both = partls.PartLSRegressor(groups).fit(X, np.column_stack([y, -y]))
    assert [result.presolve.arbitrary for result in both.result_] == [("coarse", "fine")] * 2
    plain = partls.PartLSRegressor(groups, presolve=False).fit(X, y)
    assert plain.result_.presolve is None
    assert plain.objective_ == pytest.approx(both.objective_[0], rel=1e-10)
    plain.save(tmp_path / "m.json")
    assert partls.PartLSRegressor.load(tmp_path / "m.json").presolve is False
    with pytest.raises(partls.InvalidInput, match="presolve='no' must be True or False"):
        partls.solve(X, y, groups, presolve="no")


def test_a_checkpoint_is_of_what_is_left_and_resumes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = np.hstack([one_hot(rng.integers(0, 4, 120)), rng.normal(size=(120, 60))])
    y, groups = rng.normal(size=120), [0] * 4 + [1 + j % 15 for j in range(60)]
    path = tmp_path / "run.ckpt"
    options: dict[str, Any] = {"checkpoint": path, "checkpoint_interval": 0}
    cut = partls.solve(X, y, groups, node_limit=3, **options)
    assert cut.status is partls.Status.NODE_LIMIT
    whole = partls.solve(X, y, groups, **options)
    assert whole.status is partls.Status.OPTIMAL
    assert whole.objective == pytest.approx(partls.solve(X, y, groups).objective, rel=1e-12)
    with pytest.raises(partls.InvalidInput, match="other data"):
        partls.solve(X, y, groups, presolve=False, **options)


def test_the_problem_left_reduces_to_that_of_its_own_rows() -> None:
    for case in problems(6 * len(KINDS), first=900):
        x = case.tiny
        whole = Instance(x.X, x.y, x.labels, ungrouped="free", **x.options)
        left = without_signs(whole, [0])
        own = Instance(x.X, x.y, left.partition, **{**x.options, "eta": left.eta})
        if not whole.strengths.any_eta:
            v = np.random.default_rng(0).normal(size=own.reduction.n_columns)
            coef, intercept = own.reduction.restore(v)
            again = left.reduction.project(coef, intercept)
            assert left.reduction.objective(again) == same_optimum(own.reduction.objective(v), x.weighted_y)
            assert left.objective(*left.reduction.restore(again)) == same_optimum(
                own.objective(coef, intercept), x.weighted_y
            )


def certified(case: Case, path: Path) -> partls.Verification:
    result = solved(case, certificate=path)
    check(case, result, solved(case, presolve=False).objective)
    return verified(case, path)


def verified(case: Case, certificate: Any, **changes: Any) -> partls.Verification:
    x = case.tiny
    return partls.verify(
        certificate, x.X, x.y, x.labels, sample_weight=x.options.get("sample_weight"), ungrouped="free",
        signs=changes.get("signs", case.signs),
    )


def count_verified(cases: Any, path: Path) -> int:
    n = 0
    for case in cases:
        certified(case, path)
        n += 1
    return n


def test_certificates_of_presolved_fits_verify(tmp_path: Path) -> None:
    assert count_verified(problems(3 * len(KINDS)), tmp_path / "c.json") == 3 * len(KINDS)


@pytest.mark.slow
def test_many_certificates_of_presolved_fits_verify(tmp_path: Path) -> None:
    assert count_verified(problems(300, first=2000), tmp_path / "c.json") == 300


def test_a_freed_group_is_undecided_in_every_box_unless_its_sign_was_given(tmp_path: Path) -> None:
    X, y, groups = dummies()
    for fixed, spelled in (([0] * 4, "00"), ([0, -1, 0, 0], "0-")):
        partls.solve(X, y, groups, signs=fixed, certificate=tmp_path / "c.json")
        boxes = json.loads((tmp_path / "c.json").read_text())["boxes"]
        assert {box["signs"][:2] for box in boxes} == {spelled}
        partls.verify(tmp_path / "c.json", X, y, groups, signs=fixed)


def test_a_proof_that_leaves_out_the_sign_of_a_penalised_group_is_refused(tmp_path: Path) -> None:
    X, y, groups = dummies()
    partls.solve(X, y, groups, certificate=tmp_path / "free.json")
    free = json.loads((tmp_path / "free.json").read_text())
    for penalty in ({"eta": 5.0}, {"eta": 5.0, "penalty": "l1"}, {"ridge": 5.0}):
        partls.solve(X, y, groups, certificate=tmp_path / "own.json", **penalty)
        forged = json.loads((tmp_path / "own.json").read_text())
        forged["boxes"] = free["boxes"]  # the proof of the problem without the penalty
        for box in forged["boxes"]:
            box["bound"] = forged["objective"]
        with pytest.raises(partls.VerificationError, match="is proved"):
            partls.verify(sealed(forged), X, y, groups)


def test_a_group_whose_sign_matters_cannot_be_claimed_free(tmp_path: Path) -> None:
    X, y, groups = dummies()
    partls.solve(X, y, groups, certificate=tmp_path / "c.json")
    forged = json.loads((tmp_path / "c.json").read_text())
    assert len(forged["boxes"]) > 1
    forged["boxes"] = [{**forged["boxes"][0], "signs": "0000"}]
    with pytest.raises(partls.VerificationError, match="is proved"):
        partls.verify(sealed(forged), X, y, groups)


def test_a_pattern_of_the_problem_and_one_of_what_is_left_are_translated() -> None:
    from partls.presolve.free_groups import beside, within

    instance = Instance(np.eye(4), np.arange(4.0), ["a", "b", "c", "d"])
    assert within(SignPattern((1, -1, 0, 1)), instance, [1, 2]) == SignPattern((1, 1))
    root = SignPattern((0, -1, 0, 0))
    assert beside(SignPattern((1, -1)), root, instance, [1, 2]) == SignPattern((1, -1, 0, -1))
