"""Certificates of every combination of penalties, against the optimum in rational arithmetic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import partls
from partls import InvalidInput, SignPattern, VerificationError
from partls.verification.data import Data
from partls.verification.document import Box, read_certificate, sealed
from partls.verification.exact_bounds import SIGNS, Checker
from partls.verification.fingerprint import data_of, problem_of
from partls.verification.problem import Problem
from tests.oracles import brute_force
from tests.proofs import MODES, REFUSALS
from tests.rational_optimum import every_candidate, optimum
from tests.strategies import Tiny
from tests.test_penalties import made, penalised
from tests.tolerances import same_optimum

ETAS: dict[str, Any] = {"no eta": 0.0, "one eta": 0.75, "eta by group": [2.0, 0.0, 0.3]}
INTERCEPTS: dict[str, dict[str, Any]] = {
    "no intercept": {"fit_intercept": False}, "intercept": {}, "penalised": {"penalize_intercept": True},
}
COMBINATIONS = list(product(
    ("l2", "l1"), ETAS, (0.0, 0.4), INTERCEPTS, (False, True), (False, True), (False, True), (9, 3)
))


def drawn(number: int) -> tuple[Tiny, list[int] | None]:
    """One combination of penalties, free columns, weights and known signs, and numbers of its own."""
    penalty, eta, ridge, intercept, free, weighted, known, n_rows = COMBINATIONS[number]
    rng = np.random.default_rng([71, number])
    labels = (0, 1, 0, 2, -1) if free else (0, 1, 0, 2, 1)
    X = rng.normal(size=(n_rows, 5)).round(2)
    y = (X @ rng.normal(size=5) + rng.normal(size=n_rows) + 1.0).round(2)
    options = {"penalty": penalty, "eta": ETAS[eta], "ridge": ridge, "sample_weight": None, **INTERCEPTS[intercept]}
    if options.get("penalize_intercept") and eta == "eta by group":
        options["eta_intercept"] = 0.5
    if weighted:
        options["sample_weight"] = rng.choice([0.25, 1.0, 3.0], n_rows)
    return Tiny(X, y, labels, options), [1, 0, -1] if known else None


def verified(case: Tiny, path: Path, signs: Any = None) -> list[partls.Verification]:
    """Solve, certify and verify in both modes."""
    partls.solve_instance(made(case), certificate=path, signs=signs)
    given = {"sample_weight": case.options.get("sample_weight"), "signs": signs, "ungrouped": "free"}
    return [partls.verify(path, case.X, case.y, case.labels, mode=mode, **given) for mode in MODES]


def hold(case: Tiny, path: Path, signs: Any = None) -> None:
    """Check every bound of a certificate that is accepted: none is above the optimum of its box."""
    answers = verified(case, path, signs)
    candidates = every_candidate(case.X, case.y, case.labels, **case.options)
    best = optimum(candidates, signs or [0] * case.n_groups)
    for answer in answers:
        assert answer.contribution_limit is None
        assert Fraction(answer.lower_bound) <= best
        assert answer.objective == same_optimum(float(best), case.weighted_y)
        assert float(best) - answer.lower_bound <= answer.tolerance + 1e-9 * float(best) + 1e-15
    claim = read_certificate(path)
    for box in claim.boxes:
        within = optimum(candidates, [SIGNS[sign] for sign in box.signs])
        assert Fraction(box.bound) <= within or within >= Fraction(claim.objective)


def hold_all(numbers: range, path: Path) -> None:
    for number in numbers:
        case, signs = drawn(number)
        hold(case, path, signs)


@pytest.mark.parametrize("part", range(4))
def test_no_accepted_bound_is_above_the_rational_optimum(part: int, tmp_path: Path) -> None:
    """Every eleventh combination: no number of options shares a divisor with eleven."""
    hold_all(range(11 * part, len(COMBINATIONS), 11 * 4), tmp_path / "c.json")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_no_accepted_bound_of_any_combination_is_above_the_rational_optimum(part: int, tmp_path: Path) -> None:
    hold_all(range(part, len(COMBINATIONS), 8), tmp_path / "c.json")


@settings(max_examples=40, deadline=None)
@given(case=penalised())
def test_penalties_of_mean_tables_are_certified(case: Tiny, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Columns that depend on each other, more columns than rows, y = 0."""
    path = tmp_path_factory.mktemp("certificate") / "c.json"
    answers, best = verified(case, path), brute_force(case.X, case.y, case.labels, **case.options).objective
    for answer in answers:
        assert answer.objective == same_optimum(best, case.weighted_y)
        assert answer.contribution_limit is None or answer.contribution_limit >= 1000


def strong(seed: int, **options: Any) -> Tiny:
    """A penalty on some groups that makes undecided ones expensive, and none on the others."""
    rng = np.random.default_rng([72, seed])
    X = rng.normal(size=(30, 12))
    y = X @ rng.normal(size=12) + rng.normal(size=30)
    return Tiny(X, y, tuple(i % 6 for i in range(12)), {"eta": [1e4, 0.0, 300.0, 1e5, 50.0, 0.0], **options})


@pytest.mark.parametrize("options", [{}, {"ridge": 0.5}, {"fit_intercept": False, "ridge": 3.0}], ids=str)
def test_boxes_are_strengthened_by_the_penalties_of_their_own_groups(options: dict[str, Any], tmp_path: Path) -> None:
    strengthened = 0
    for seed in range(3):
        case = strong(seed, **options)
        answers = verified(case, tmp_path / "c.json")
        best = brute_force(case.X, case.y, case.labels, **case.options).objective
        assert all(answer.objective == same_optimum(best, case.y) for answer in answers)
        boxes = read_certificate(tmp_path / "c.json").boxes
        assert len(boxes) < 40  # of 64 sign patterns
        strengthened += sum(box.strengthened for box in boxes)
    assert strengthened


@pytest.mark.parametrize("seed", range(40))
def test_bounds_are_those_of_the_theory(seed: int) -> None:
    """b'b - v'Q v - eta s^2 - 2 sum |e| |u| with each group's eta and with ridge, number by number."""
    rng = np.random.default_rng(seed)
    labels, etas, gamma = [0, 0, 1, 1, 2, -1], [Fraction(3), Fraction(0), Fraction(5, 4)], Fraction(int(seed % 3), 8)
    penalty, own = ("l2", "l1")[seed % 2], Fraction(7, 2)
    X, y = rng.integers(-5, 6, (7, 6)).tolist(), rng.integers(-9, 10, 7).tolist()
    X = [[*row, 1] for row in X]
    v = [Fraction(n, 16) for n in rng.integers(-6, 7, 7).tolist()]
    signs, reach = [*rng.choice([-1, 0, 0, 1], 3).tolist(), 0], [Fraction(1, 64)] * 7
    strengthened = penalty == "l2" and 0 in (signs[0], signs[2])
    residual = [b - sum(x * u for x, u in zip(row, v, strict=True)) for row, b in zip(X, y, strict=True)]
    # The bound as the least of a sum of terms, each below what it stands for.
    bound = sum(b * b for b in y) - sum((b - r) ** 2 for b, r in zip(y, residual, strict=True))
    bound -= gamma * sum(u * u for u in v[:6]) + (own * v[6] ** 2 if penalty == "l2" else 0)
    slopes = [sum(r * row[j] for r, row in zip(residual, X, strict=True)) - (gamma * v[j] if j < 6 else 0)
              for j in range(7)]
    costs = [Fraction(0)] * 7
    if penalty == "l2":
        slopes[6] -= own * v[6]
    else:
        costs[6] = own / 2
    for k in range(3):
        inside = [j for j in range(6) if labels[j] == k]
        total, size = sum(v[j] for j in inside), sum(abs(v[j]) for j in inside)
        turned = strengthened and signs[k] == 0
        bound -= (etas[k] * (size if turned else total) ** 2) if penalty == "l2" else 0
        for j in inside:
            costs[j] = etas[k] / 2 if penalty == "l1" else etas[k] * size if turned else Fraction(0)
            slopes[j] -= etas[k] * total if penalty == "l2" and not turned else 0
    for j, slope in enumerate(slopes):
        sign = signs[labels[j]] if j < 6 and labels[j] >= 0 else 0
        above, below = max(slope - costs[j], Fraction(0)), max(-slope - costs[j], Fraction(0))
        bound -= 2 * reach[j] * (above if sign > 0 else below if sign < 0 else above + below)
    instance = partls.Instance(
        [row[:6] for row in X], y, labels, penalty=penalty, ridge=float(gamma), ungrouped="free",
        eta={**{k: float(eta) for k, eta in enumerate(etas)}, "(intercept)": float(own)}, penalize_intercept=True,
    )
    box = Box("".join("-0+"[s + 1] for s in signs[:3]), 0.0, 16, [int(16 * u) for u in v], strengthened)
    for exact in (False, True):
        checker = Checker(data_of(instance), problem_of(instance, SignPattern.free(3)), exact=exact)
        assert next(checker.bounds([box], reach)) == max(bound, 0)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_the_reach_of_a_coefficient_is_that_of_its_own_penalties(penalty: str) -> None:
    """The least of F / eta_k or sqrt(F / eta_k), and sqrt(F / ridge); neither says anything of the intercept."""
    rng = np.random.default_rng(5)
    X, y, top = rng.normal(size=(9, 4)), rng.normal(size=9), 3.0
    for ridge, eta in product((0.0, 2.5), ([2.0, 0.0, 100.0], [0.0] * 3)):
        instance = partls.Instance(X, y, [0, 1, 2, -1], eta=eta, penalty=penalty, ridge=ridge, ungrouped="free")
        by_eta = [np.inf if not e else top / e if penalty == "l1" else np.sqrt(top / e) for e in (*eta, 0.0)]
        expected = np.minimum(by_eta, np.sqrt(top / ridge) if ridge else np.inf)
        for exact in (False, True):
            checker = Checker(data_of(instance), problem_of(instance, SignPattern.free(3)), exact=exact)
            reach = checker.reach(top, None, None)
            assert reach[4] is None
            assert [np.inf if size is None else float(size) for size in reach[:4]] == pytest.approx(expected.tolist())
            assert checker.unbounded.tolist() == [*np.flatnonzero(np.isinf(expected)).tolist(), 4]
            # The others by what the bounded columns leave: rho 2^(k/2) / ||column||, their rows of penalties included.
            squares = np.square(X).sum(axis=0) + ridge + (np.append(eta, 0.0) if penalty == "l2" else 0.0)
            contributed = np.where(np.isinf(expected), 0.0, expected) @ np.sqrt(squares)
            rho = np.sqrt(top) + np.linalg.norm(y) + contributed
            intercept = checker.reach(top, 20, None)[4]
            assert intercept is not None and float(intercept) == pytest.approx(rho * 2**10 / 3.0)


# Forgeries


@pytest.fixture
def genuine(tmp_path: Path) -> tuple[Tiny, dict[str, Any]]:
    case = strong(0, ridge=0.5)
    verified(case, tmp_path / "c.json")
    return case, json.loads((tmp_path / "c.json").read_text())


def judged(case: Tiny, document: dict[str, Any]) -> partls.Verification:
    return partls.verify(sealed(document), case.X, case.y, case.labels)


def reproved(case: Tiny, document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The certificate with another problem, and with every hash and number that can be made to fit."""
    problem = Problem(**{**document["problem"], **changes})
    data = Data(case.X, case.y, partls.Partition.of(case.labels, n_columns=case.X.shape[1]), None)
    objective = Checker(data, problem, exact=True).objective(document["coef"], document["intercept"])
    return {**document, "problem": vars(problem), "data": data.digest(problem), "objective": objective}


def other_penalties(problem: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for ridge in (0.0, 0.25, float(np.nextafter(0.5, 0)), 0.75, 1e6):
        yield {"ridge": ridge}
    for k in (0, 1, 2, 5):
        for factor in (0.0, 0.5, 2.0):
            eta = [value * factor if i == k else value for i, value in enumerate(problem["eta"])]
            if eta[k] != problem["eta"][k]:
                yield {"eta": eta}
    yield {"eta": [*problem["eta"][1:], problem["eta"][0]]}
    yield {"eta": [1.0, *problem["eta"][1:-1], 1.0]}
    yield {"penalize_intercept": True, "eta_intercept": 1.0}


def test_a_claim_of_other_penalties_is_refused(genuine: tuple[Tiny, dict[str, Any]]) -> None:
    """As it stands by its hash; with a new hash by the model's objective; with that, too, by what its points prove."""
    case, document = genuine
    true = []
    for changes in other_penalties(document["problem"]):
        problem = {**document["problem"], **changes}
        with pytest.raises(VerificationError, match="other data, groups or weights"):
            judged(case, {**document, "problem": problem})
        forged = reproved(case, document, **changes)
        if forged["objective"] != document["objective"]:
            with pytest.raises(VerificationError, match="objective that is claimed"):
                judged(case, {**forged, "objective": document["objective"]})
        try:
            true.append(judged(case, forged))
        except VerificationError:
            continue
        assert true[-1].problem == Problem(**problem)
    # One unit in the last place of ridge is less than the tolerance: this is true, of the problem that it tells.
    assert len(true) == 1
    assert "ridge 0.49999999999999994" in str(true[0])


def test_a_group_without_a_penalty_is_not_strengthened(genuine: tuple[Tiny, dict[str, Any]]) -> None:
    case, document = genuine
    for signs in ("+0+++0", "-+-+-0"):  # the groups left undecided have an eta of zero
        box = {**document["boxes"][0], "signs": signs, "strengthened": True}
        with pytest.raises(InvalidInput, match="box 0 is malformed"):
            judged(case, {**document, "boxes": [box]})
    without = {**document["problem"], "eta": [0.0] * 6}
    boxes = [box for box in document["boxes"] if box["strengthened"]]
    assert boxes
    with pytest.raises(InvalidInput, match="box 0 is malformed"):
        judged(case, {**document, "problem": without, "boxes": boxes})


@pytest.mark.parametrize("changes", [
    {"eta": [1.0] * 5}, {"eta": [1.0] * 7}, {"eta": [-1.0] + [0.0] * 5}, {"eta": 1.0}, {"eta": [1] * 6},
    {"eta": [True] * 6}, {"eta": [float("inf")] * 6}, {"eta": None}, {"ridge": -0.5}, {"ridge": 1}, {"ridge": None},
    {"ridge": float("inf")}, {"ridge": [0.5]}, {"eta_intercept": 1.0}, {"eta_intercept": -1.0}, {"other": 0.0},
], ids=str)
def test_malformed_penalties_are_refused(genuine: tuple[Tiny, dict[str, Any]], changes: dict[str, Any]) -> None:
    case, document = genuine
    with pytest.raises(REFUSALS, match=f"{next(iter(changes))}|problem"):
        judged(case, {**document, "problem": {**document["problem"], **changes}})
    for name in ("ridge", "eta_intercept"):
        less = {key: value for key, value in document["problem"].items() if key != name}
        with pytest.raises(InvalidInput, match="problem is malformed"):
            judged(case, {**document, "problem": less})


# Words and digests


WORDS = {
    "": {}, ", eta 0.5 (l2)": {"eta": [0.5] * 3},
    ", eta by group 2, 0, 0.1 (l1)": {"eta": [2.0, 0.0, 0.1], "penalty": "l1"},
    ", ridge 0.30000000000000004": {"ridge": 0.1 + 0.2},
    ", eta 0.5 (l2), the intercept penalised too, ridge 1e-20": {
        "eta": [0.5] * 3, "eta_intercept": 0.5, "penalize_intercept": True, "ridge": 1e-20},
    ", eta 4 (l2) of the intercept": {"eta_intercept": 4.0, "penalize_intercept": True},
    ", eta 0.1000001 (l2), no intercept": {"eta": [0.1000001] * 3, "fit_intercept": False},
}


def stated(**changes: Any) -> Problem:
    plain = {"eta": [0.0] * 3, "eta_intercept": 0.0, "ridge": 0.0, "penalty": "l2", "fit_intercept": True}
    return Problem(**{"n_rows": 9, "n_columns": 4, "n_groups": 3, "signs": "000", "penalize_intercept": False,
                      **plain, **changes})


@pytest.mark.parametrize("words", WORDS)
def test_the_words_tell_every_penalty_in_full(words: str) -> None:
    assert str(stated(**WORDS[words])) == f"9 rows, 4 columns, 3 groups{words}"


def test_each_problem_has_a_digest_of_its_own() -> None:
    """And one that is spelled in two ways has one."""
    data = Data(np.eye(4), np.ones(4), partls.Partition.of([0, 1, 2, 2], n_columns=4), None)
    problems = [stated(**changes) for changes in WORDS.values()]
    problems += [stated(ridge=0.5), stated(eta=[0.5, 0.5, 0.0]), stated(eta=[0.0, 0.5, 0.5]), stated(penalty="l1")]
    problems += [stated(eta=[0.5] * 3, eta_intercept=own, penalize_intercept=True) for own in (0.0, 0.25, 0.5)]
    assert len({data.digest(problem) for problem in problems}) == len(problems)
    one, each = (partls.Instance(np.eye(4), np.ones(4), [0, 1, 2, 2], eta=eta) for eta in (0.5, [0.5] * 3))
    root = SignPattern.free(3)
    assert data.digest(problem_of(one, root)) == data.digest(problem_of(each, root))
