"""A certificate proves what it claims to code that has no solver, and nothing else passes for one."""

from __future__ import annotations

import ast
import copy
import gzip
import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import partls
from partls import InvalidInput, SignPattern, Status, VerificationError, certificate, exact_integers
from partls.certificate_file import Box, Certificate, Problem, read_certificate, sealed
from partls.cli import app
from partls.dual_points import DualPoints, Relaxed
from partls.exact_bounds import Checker, Data
from partls.fingerprint import data_of, problem_of
from partls.verify import check_cover, check_model_signs
from relaxations.strengthened import StrengthenedBounder
from tests.families import FAMILIES, correlated, overdetermined
from tests.oracles import brute_force
from tests.strategies import Tiny, instances
from tests.tolerances import OPTIMUM, same_optimum

MODES = ("rounding", "exact")
REFUSALS = (InvalidInput, VerificationError)
MODULES = Path(partls.__file__).parent


def certified(case: Tiny, path: Path, **options: Any) -> partls.Result:
    return partls.solve(
        case.X, case.y, case.labels, **{"ungrouped": "free", **case.options, **options, "certificate": path}
    )


def check(case: Tiny, certificate: Any, **options: Any) -> partls.Verification:
    weights = case.options.get("sample_weight")
    return partls.verify(
        certificate, case.X, case.y, case.labels, **{"sample_weight": weights, "ungrouped": "free", **options}
    )


def proved(case: Tiny, path: Path) -> partls.Verification:
    """Solve, certify and verify in both modes; what is proved holds by brute force."""
    result = certified(case, path)
    answers = [check(case, path, mode=mode) for mode in MODES]
    optimum = brute_force(case.X, case.y, case.labels, **case.options).objective
    for answer in answers:
        assert answer.objective == same_optimum(result.objective, case.weighted_y)
        assert answer.objective == same_optimum(optimum, case.weighted_y)
        assert answer.lower_bound <= answer.objective
    return answers[0]


# What is true verifies


@pytest.mark.parametrize("family", FAMILIES)
def test_certificates_of_every_family_verify(family: str, tmp_path: Path) -> None:
    for seed in range(2):
        answer = proved(FAMILIES[family](seed), tmp_path / "c.json")
        assert answer.contribution_limit is None  # nothing is left out, dependent columns or not


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_certificates_of_many_instances_verify(family: str, tmp_path: Path) -> None:
    for seed in range(100, 120):  # 21 families: 420 instances
        assert proved(FAMILIES[family](seed), tmp_path / "c.json").contribution_limit is None


@settings(max_examples=60)
@given(case=instances())
def test_certificates_of_mean_tables_verify(case: Tiny, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("certificate") / "c.json"
    certified(case, path)
    limits = [check(case, path, mode=mode).contribution_limit for mode in MODES]
    # Columns that depend on each other but for their last bit fit anything with coefficients of 1e16.
    assert limits[0] is None or limits[0] >= 1000


@pytest.mark.slow
@settings(max_examples=600)
@given(case=instances())
def test_certificates_of_many_mean_tables_verify(case: Tiny, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("certificate") / "c.json"
    certified(case, path)
    check(case, path)


def badly_scaled() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 9))
    y = X @ rng.normal(size=9) + rng.normal(size=40)
    U, V = np.linalg.qr(X)[0], np.linalg.qr(rng.normal(size=(9, 9)))[0]
    return {
        "offset": (X + 1e6, y + 1e6),
        "large": (X * 1e100, y),
        "small": (X * 1e-150, y * 1e-150),
        "uneven": (X * 10.0 ** np.arange(-8, 10, 2), y),
        "collinear": (U * np.geomspace(1.0, 1e-9, 9) @ V, y),
        "nearly constant target": (X, 1e6 + 1e-3 * y),
    }


EXTREME_OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {}, "no intercept": {"fit_intercept": False}, "weights": {"sample_weight": np.geomspace(1e-30, 1e30, 40)},
    "small l2": {"eta": 1e-200}, "l1": {"eta": 1.0, "penalty": "l1"},
    "large l1": {"eta": 1e100, "penalty": "l1", "penalize_intercept": True},
}


def test_an_objective_that_is_small_beside_the_target_is_proved_all_the_same(tmp_path: Path) -> None:
    """The price of the intercept alone: to the search it vanishes beside the target, to the proof it does not."""
    X = np.random.default_rng(0).normal(size=(12, 4))
    options = {"eta": 1e-12, "penalty": "l1", "penalize_intercept": True}
    for case in (Tiny(X, np.full(12, 3.7), (0, 0, 1, 1), options), Tiny(X, np.full(12, 1e9), (0, 0, 0, 0), options)):
        certified(case, tmp_path / "c.json")
        for mode in MODES:
            answer = check(case, tmp_path / "c.json", mode=mode)
            assert answer.objective == pytest.approx(1e-12 * case.y[0], rel=1e-9)
            assert answer.lower_bound == pytest.approx(answer.objective, rel=1e-9)


@pytest.mark.parametrize("options", EXTREME_OPTIONS)
@pytest.mark.parametrize(
    "scale", [(1.0, 1.0), (1e-30, 1.0), (1e-150, 1e120), (1e150, 1e-120), (1e-160, 1.0), (1e150, 1e120), (1.0, 1e-160)]
)
def test_data_at_the_ends_of_the_range_are_proved_without_reserve(
    scale: tuple[float, float], options: str, tmp_path: Path
) -> None:
    """The reach of a coefficient may be 1e300 or 1e-300; prices are whole numbers in all cases."""
    X, y = badly_scaled()["offset"]
    case = Tiny((X - 1e6) * scale[0], (y - 1e6) * scale[1], (0, 1, 2) * 3, EXTREME_OPTIONS[options])
    certified(case, tmp_path / "c.json")
    for mode in MODES:
        assert check(case, tmp_path / "c.json", mode=mode).contribution_limit is None


@pytest.mark.parametrize("name", badly_scaled())
def test_badly_scaled_data_are_proved_without_reserve(name: str, tmp_path: Path) -> None:
    case = Tiny(*badly_scaled()[name], (0, 1, 2) * 3)
    # Where the objective itself is lost in rounding the search stops short of a proof; the certificate need not.
    assert certified(case, tmp_path / "c.json").status in (Status.OPTIMAL, Status.PRECISION_LIMIT)
    for mode in MODES:
        assert check(case, tmp_path / "c.json", mode=mode).contribution_limit is None


def test_columns_dependent_but_for_their_last_bit_are_proved_within_a_limit(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 6))
    case = Tiny(np.column_stack([X, 0.1 * X[:, :3]]), rng.normal(size=30), (0, 0, 1, 1, 2, 2, 1, 2, 0))
    certified(case, tmp_path / "c.json")
    stated = read_certificate(tmp_path / "c.json").limit
    assert stated in (20, 40)
    assert check(case, tmp_path / "c.json").contribution_limit == 2.0**stated


def test_a_hard_search_is_proved_within_a_few_megabytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    case = Tiny(rng.normal(size=(60, 40)), rng.normal(size=60), tuple(i % 10 for i in range(40)))
    certified(case, tmp_path / "c.json")
    certified(case, tmp_path / "c.json.gz")
    answer = check(case, tmp_path / "c.json.gz")
    assert answer == check(case, tmp_path / "c.json")
    assert answer.n_boxes > 10
    assert answer.contribution_limit is None
    assert (tmp_path / "c.json.gz").stat().st_size < (tmp_path / "c.json").stat().st_size < 2_000 * answer.n_boxes


def test_points_are_refined_where_they_have_to_be_and_only_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few digits prove what is far from a tie; without them every box is refined, and as much is proved."""
    case = correlated(3, n_rows=60, n_columns=40, n_groups=10)
    documents = {}
    for bits in (certificate._FEW_BITS, -50):
        monkeypatch.setattr(certificate, "_FEW_BITS", bits)
        assert certified(case, tmp_path / "c.json").status is Status.OPTIMAL
        documents[bits] = json.loads((tmp_path / "c.json").read_text())
        check(case, tmp_path / "c.json")
    few, all_refined = documents.values()
    assert few["tolerance"] == all_refined["tolerance"] <= 1e-14 * few["objective"]
    longest = max(box["denominator"] for box in all_refined["boxes"])
    assert all(box["denominator"] == longest for box in all_refined["boxes"])
    refined = [box for box in few["boxes"] if box["denominator"] == longest]
    assert 1 <= len(refined) <= len(few["boxes"]) / 4
    assert few["boxes"][-len(refined) :] == refined  # numbers of a length together
    assert {box["signs"] for box in few["boxes"]} == {box["signs"] for box in all_refined["boxes"]}


@pytest.mark.slow
def test_a_proof_of_twenty_groups_is_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    case = Tiny(rng.normal(size=(200, 100)), rng.normal(size=200), tuple(i % 20 for i in range(100)))
    certified(case, tmp_path / "c.json")
    assert check(case, tmp_path / "c.json").n_boxes >= 500
    assert (tmp_path / "c.json").stat().st_size < 10 * 2**20


@pytest.mark.parametrize("eta", [1.0, 100.0, 1e6])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"penalize_intercept": True}])
def test_a_strong_penalty_is_proved_in_few_boxes(eta: float, options: dict[str, Any], tmp_path: Path) -> None:
    """Undecided groups of both signs would cancel in it, and leave every box open: all 128 at eta 1e6."""
    rng = np.random.default_rng(0)
    case = Tiny(
        rng.normal(size=(40, 14)), rng.normal(size=40), tuple(i % 7 for i in range(14)),
        {"eta": eta, "sample_weight": rng.uniform(0.5, 2.0, 40), **options},
    )
    answer = proved(case, tmp_path / "c.json")
    assert answer.contribution_limit is None
    assert answer.n_boxes < 20
    boxes = read_certificate(tmp_path / "c.json").boxes
    assert eta == 1.0 or any(box.strengthened for box in boxes)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), eta=st.sampled_from([0.1, 1.0, 10.0, 1e3]))
def test_strengthened_bounds_hold_for_every_solution(seed: int, eta: float) -> None:
    """Whatever the point v, right or not: no feasible solution of the box has an objective below its bound."""
    rng = np.random.default_rng(seed)
    instance = partls.Instance(rng.normal(size=(8, 5)), rng.normal(size=8), [0, 0, 1, 1, 2], eta=eta)
    signs = rng.choice([-1, 0, 0, 1], 3)
    numerators = [int(value) for value in rng.integers(-3000, 3000, 6)]
    box = Box("".join("-0+"[s + 1] for s in signs), 0.0, 1000, numerators, True)
    of_groups = np.where(signs, signs, rng.choice([-1, 1], 3))
    w = np.abs(rng.normal(size=5)) * rng.choice([0.1, 1.0]) * of_groups[[0, 0, 1, 1, 2]]
    objective, reach = instance.objective(w, 0.3), [Fraction(abs(value)) for value in (*w, 0.3)]
    for exact in (False, True):
        checker = Checker(data_of(instance), problem_of(instance, SignPattern.free(3)), exact=exact)
        assert next(checker.bounds([box], reach)) <= objective * (1 + 1e-12)
        plain = next(checker.bounds([replace(box, strengthened=False)], reach))
        assert plain <= objective * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_strengthened_bounds_are_those_of_the_theory(seed: int) -> None:
    """b'b - v'Q v - eta s^2 - 2 sum |e| |u|, written down once more, number by number."""
    rng = np.random.default_rng(seed)
    labels, eta = [0, 0, 1, 1, 2, -1], 3
    X, y = rng.integers(-5, 6, (7, 6)).tolist(), rng.integers(-9, 10, 7).tolist()
    v = [Fraction(n, 16) for n in rng.integers(-6, 7, 6).tolist()]
    signs, reach = rng.choice([-1, 0, 0, 1], 3), [Fraction(1, 64)] * 6
    instance = partls.Instance(X, y, labels, eta=eta, fit_intercept=False, ungrouped="free")
    fitted = [sum(x * v_j for x, v_j in zip(row, v, strict=True)) for row in X]
    residual = [y_i - f for y_i, f in zip(y, fitted, strict=True)]
    bound = sum(y_i**2 for y_i in y) - sum(f**2 for f in fitted)
    for j, k in enumerate(labels):
        slope, cost, sign = sum(r * row[j] for r, row in zip(residual, X, strict=True)), Fraction(0), 0
        if k >= 0:
            inside, sign = [v[i] for i in range(6) if labels[i] == k], signs[k]
            cost = eta * sum(map(abs, inside)) if sign == 0 else cost
            slope -= eta * sum(inside) if sign else 0
        lacking = max(slope - cost, 0) if sign > 0 else max(-slope - cost, 0) if sign < 0 else max(abs(slope) - cost, 0)
        bound -= 2 * lacking * reach[j]
    for k, sign in enumerate(signs):
        inside = [v[i] for i in range(6) if labels[i] == k]
        bound -= eta * (sum(inside) ** 2 if sign else sum(map(abs, inside)) ** 2)
    box = Box("".join("-0+"[sign + 1] for sign in signs), 0.0, 16, [int(16 * value) for value in v], True)
    for exact in (False, True):
        checker = Checker(data_of(instance), problem_of(instance, SignPattern.free(3)), exact=exact)
        assert next(checker.bounds([box], reach)) == max(bound, 0)


def test_strengthened_points_are_as_sharp_as_the_relaxation() -> None:
    """Where coefficients of both signs stand in an undecided group, its row is turned."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 8))
    instance = partls.Instance(X, X @ rng.normal(size=8), [0, 0, 0, 0, 1, 1, 1, 1], eta=2.0)
    root = SignPattern.free(2)
    found = StrengthenedBounder(instance.reduction).bound(root)
    u = np.append(*instance.reduction.restore(found.coef))
    assert {-1.0, 1.0} <= set(np.sign(u[:4])) and {-1.0, 1.0} <= set(np.sign(u[4:8]))
    checker = Checker(data_of(instance), problem_of(instance, root), exact=False)
    points = DualPoints(instance, checker)
    relaxed = Relaxed(u, (0, 1))
    reach = checker.reach(2 * found.estimate, 30, None)
    proved = []
    for n, d in (points.refined([relaxed], 200)[0], points.rational(relaxed)):
        strong, plain = checker.bounds([Box("00", 0.0, d, n, True), Box("00", 0.0, d, n, False)], reach)
        assert float(strong) == pytest.approx(found.estimate, rel=1e-12)
        assert plain < strong
        proved.append(strong)
    assert 0 <= proved[1] - proved[0] <= proved[1] * Fraction(1, 2**150)  # what 200 bits leave of the exact point's


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_a_penalised_intercept_and_a_far_target_are_proved(offset: float, penalty: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    options = {"eta": 1.0, "penalty": penalty, "penalize_intercept": True}
    proved(Tiny(rng.normal(size=(30, 4)), rng.normal(size=30) + offset, (0, 0, 1, 1), options), tmp_path / "c.json")


@pytest.mark.parametrize("offset", [1e7, 1e9])
def test_far_columns_are_proved_without_reserve(offset: float, tmp_path: Path) -> None:
    """Refinement does not give up at the first step without gain."""
    rng = np.random.default_rng(0)
    case = Tiny(rng.normal(size=(12, 4)) + offset, rng.normal(size=12), (0, 0, 1, 1))
    certified(case, tmp_path / "c.json")
    for mode in MODES:
        assert check(case, tmp_path / "c.json", mode=mode).contribution_limit is None


def test_dependent_columns_are_proved_under_a_penalty_that_hardly_counts(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    B = rng.normal(size=(20, 2))
    case = Tiny(np.column_stack([B, 2 * B[:, 0]]), rng.normal(size=20), (0, 1, 2), {"eta": 1e-20})
    certified(case, tmp_path / "c.json")
    assert check(case, tmp_path / "c.json").contribution_limit is None


@pytest.mark.parametrize(("limit", "reason"), [({"time_limit": 0.3}, "more than 0.3 s"), ({}, "would be read")])
def test_a_proof_that_is_too_long_is_given_up_for_the_first_bound(
    limit: dict[str, float], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    rng = np.random.default_rng(1)
    case = Tiny(rng.normal(size=(60, 40)), rng.normal(size=60), tuple(i % 10 for i in range(40)))
    certified(case, tmp_path / "c.json")  # compiles what has to be
    if limit:
        clock = iter(range(10**6))
        monkeypatch.setattr("partls.certificate.time.monotonic", lambda: 0.1 * next(clock))
    else:
        monkeypatch.setattr("partls.certificate_file._MAX_BYTES", 10_000)
    assert certified(case, tmp_path / "c.json", **limit).status is Status.OPTIMAL
    assert "proves the first bound alone" in caplog.text and reason in caplog.text
    with pytest.raises(VerificationError, match="only proves the objective to within"):
        check(case, tmp_path / "c.json")
    assert check(case, tmp_path / "c.json", gap_tol=1.0).n_boxes == 1


def test_signs_are_given_as_to_solve_and_told(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    X, y, groups, path = rng.normal(size=(20, 4)), rng.normal(size=20), {"a": [0, 1], "b": [2, 3]}, tmp_path / "c.json"
    for signs in ({"a": 1}, "+0", [1, 0], {"a": "+"}, ["+", None]):
        partls.solve(X, y, groups, signs=signs, certificate=path, fit_intercept=False)
        told = str(partls.verify(path, X, y, groups, signs=signs))
        assert "no intercept" in told and "signs known beforehand +0" in told
    partls.solve(X, y, groups, eta=1.0, penalize_intercept=True, certificate=path)
    assert "eta 1 (l2), the intercept penalised too" in str(partls.verify(path, X, y, groups))


def test_small_whole_numbers_are_proved_to_the_last_bit(tmp_path: Path) -> None:
    """Repeated columns, pivots and squared norms of one: the dual points are exact, and so is the bound."""
    case = Tiny(np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([3.0, 1.0]), (0, 1), {"fit_intercept": False})
    certified(case, tmp_path / "c.json")
    for mode in MODES:
        answer = check(case, tmp_path / "c.json", mode=mode, gap_tol=0.0)
        assert (answer.objective, answer.tolerance, answer.contribution_limit) == (1.0, 0.0, None)


def test_signs_known_beforehand_bound_the_cover(tmp_path: Path) -> None:
    case, path = correlated(3, n_groups=4, n_columns=9), tmp_path / "c.json"
    free = certified(case, path).signs
    known = [int(-free[0]), 0, 0, int(free[3])]
    certified(case, path, signs=known)
    assert check(case, path, signs=known).problem.signs == "-0+"[known[0] + 1] + "00" + "-0+"[known[3] + 1]
    with pytest.raises(VerificationError, match="a-priori"):
        check(case, path)


@pytest.mark.parametrize("options", [{"method": "enumerate"}, {"relaxation": "unconstrained"}, {"n_jobs": 2}])
def test_every_method_can_be_certified(options: dict[str, Any], tmp_path: Path) -> None:
    case = overdetermined(4, n_groups=3, n_columns=6)
    certified(case, tmp_path / "c.json", **options)
    check(case, tmp_path / "c.json")


def test_an_unfinished_search_certifies_only_what_is_known(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    case = Tiny(rng.normal(size=(60, 40)), rng.normal(size=60), tuple(i % 10 for i in range(40)))
    result = certified(case, tmp_path / "c.json", node_limit=1)
    assert result.status is Status.NODE_LIMIT
    with pytest.raises(VerificationError, match="only proves the objective to within"):
        check(case, tmp_path / "c.json")
    answer = check(case, tmp_path / "c.json", gap_tol=1.0)
    optimum = partls.solve(case.X, case.y, case.labels).objective
    assert 0 < answer.lower_bound < optimum <= answer.objective * (1 + OPTIMUM)


def test_a_certificate_takes_the_place_of_the_file_a_link_leads_to(tmp_path: Path) -> None:
    case, link = correlated(1), tmp_path / "link.json"
    link.symlink_to(tmp_path / "c.json")
    certified(case, link)
    assert link.is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {"c.json", "link.json"}
    check(case, tmp_path / "c.json")


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_the_answer_outlives_its_proof(
    failure: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr("partls.certificate_file.Path.replace", fail)
    result = certified(overdetermined(4, n_groups=3, n_columns=6), tmp_path / "c.json")
    assert result.status is Status.OPTIMAL
    assert "not written" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_a_looser_gap_is_stated_and_has_to_be_accepted(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    case = Tiny(rng.normal(size=(60, 40)), rng.normal(size=60), tuple(i % 10 for i in range(40)))
    certified(case, tmp_path / "c.json", gap_tol=0.1)
    certified(case, tmp_path / "tight.json")
    loose, tight = check(case, tmp_path / "c.json", gap_tol=0.1), check(case, tmp_path / "tight.json")
    assert loose.n_boxes < tight.n_boxes
    with pytest.raises(VerificationError, match="within"):
        check(case, tmp_path / "c.json")


# What is false does not


Mutation = Callable[[dict[str, Any], np.random.Generator], None]


def some_box(document: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    boxes = document["boxes"]
    return boxes[int(rng.integers(len(boxes)))]


def other_sign(document: dict[str, Any], rng: np.random.Generator) -> None:
    box = some_box(document, rng)
    k = int(rng.integers(len(box["signs"])))
    new = str(rng.choice([sign for sign in "+-0" if sign != box["signs"][k]]))
    box["signs"] = box["signs"][:k] + new + box["signs"][k + 1 :]


def higher_bound(document: dict[str, Any], rng: np.random.Generator) -> None:
    box = some_box(document, rng)
    box["bound"] = float(np.nextafter(box["bound"], np.inf)) * float(rng.choice([1.0, 1.5, 10.0])) + 1e-300


def lower_bound(document: dict[str, Any], rng: np.random.Generator) -> None:
    box = some_box(document, rng)
    box["bound"] = min(document["objective"] - document["tolerance"], 0.0) * 0.5 - float(rng.uniform(0.1, 1.0))


def other_dual(document: dict[str, Any], rng: np.random.Generator) -> None:
    box = some_box(document, rng)
    if box["numerators"] is None:
        box["numerators"] = [box["denominator"]] * len(document["coef"])  # of the wrong length or a worse bound
        box["bound"] += 1.0
        return
    j = int(rng.integers(len(document["coef"])))
    value, change = box["numerators"][j], box["denominator"] // int(rng.choice([1, 3, 50])) + 1
    box["numerators"][j] = int(rng.choice([-1, 1])) * change + value


def other_denominator(document: dict[str, Any], rng: np.random.Generator) -> None:
    box = some_box(document, rng)
    if box["numerators"] is None or not any(box["numerators"]):
        box["denominator"] = 0
    else:
        box["denominator"] *= int(rng.integers(2, 9))


def dropped_box(document: dict[str, Any], rng: np.random.Generator) -> None:
    document["boxes"].remove(some_box(document, rng))


def doubled_box(document: dict[str, Any], rng: np.random.Generator) -> None:
    document["boxes"].append(copy.deepcopy(some_box(document, rng)))


def other_objective(document: dict[str, Any], rng: np.random.Generator) -> None:
    changed = document["objective"] * float(rng.choice([0.5, 1 - 1e-8, 1 + 1e-15, 2.0]))
    document["objective"] = changed if changed != document["objective"] else 1e-30


def larger_tolerance(document: dict[str, Any], rng: np.random.Generator) -> None:
    document["tolerance"] = document["objective"] * float(rng.uniform(0.01, 1.0)) + 1e3


def other_coefficient(document: dict[str, Any], rng: np.random.Generator) -> None:
    j = int(rng.integers(len(document["coef"])))
    document["coef"][j] = document["coef"][j] * float(rng.choice([-1.0, 0.5, 2.0])) + float(rng.choice([-0.25, 0.25]))


def other_intercept(document: dict[str, Any], rng: np.random.Generator) -> None:
    document["intercept"] += float(rng.choice([-1.0, 1.0])) * float(rng.uniform(0.1, 1.0))


def other_data_hash(document: dict[str, Any], rng: np.random.Generator) -> None:
    digits = list(document["data"])
    k = int(rng.integers(len(digits)))
    digits[k] = "0" if digits[k] != "0" else "f"
    document["data"] = "".join(digits)


def other_problem(document: dict[str, Any], rng: np.random.Generator) -> None:
    problem = document["problem"]
    match str(rng.choice(["eta", "penalty", "fit_intercept", "penalize_intercept", "signs", "n_rows"])):
        case "eta":
            problem["eta"] += 0.5
        case "penalty":
            problem["penalty"] = "l1" if problem["penalty"] == "l2" else "l2"
        case "signs":
            problem["signs"] = "+" + problem["signs"][1:]
        case "n_rows":
            problem["n_rows"] += 1
        case flag:
            problem[flag] = not problem[flag]


def bolder_eigenvalue(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Claim more independent columns than any can be, or take the claim away that the bounds need."""
    document["eigenvalue"] = 0


MUTATIONS: tuple[Mutation, ...] = (
    other_sign, higher_bound, lower_bound, other_dual, other_denominator, dropped_box, doubled_box, other_objective,
    larger_tolerance, other_coefficient, other_intercept, other_data_hash, other_problem, bolder_eigenvalue,
)


def sources(count: int) -> Iterator[Tiny]:
    """Instances without zero columns, whose entries would prove nothing and may be anything."""
    names = ("overdetermined", "correlated", "duplicates", "l2", "l1", "weights", "free columns", "underdetermined")
    for seed in range(count):
        for name in names:
            yield FAMILIES[name](1000 + seed)


def count_rejections(cases: Iterator[Tiny], rounds: int, path: Path) -> int:
    """Check that each mutation is refused as it is, and with a new digest by its mathematics; return how many."""
    rejected = 0
    for number, case in enumerate(cases):
        certified(case, path)
        genuine = json.loads(path.read_text())
        check(case, genuine)
        for mutate, attempt in product(MUTATIONS, range(rounds)):
            forged = copy.deepcopy(genuine)
            mutate(forged, np.random.default_rng([number, attempt]))
            assert forged != genuine
            with pytest.raises(InvalidInput, match="altered"):
                check(case, forged)
            with pytest.raises(REFUSALS):
                check(case, sealed(forged))
                raise AssertionError(f"{mutate.__name__} number {attempt} passed for {case}")
            rejected += 1
    return rejected


def test_every_mutation_is_rejected(tmp_path: Path) -> None:
    assert count_rejections(sources(1), 2, tmp_path / "c.json") == 224


@pytest.mark.slow
def test_every_one_of_many_mutations_is_rejected(tmp_path: Path) -> None:
    assert count_rejections(sources(8), 3, tmp_path / "c.json") >= 2000


def altered(case: Tiny) -> Iterator[tuple[Tiny, dict[str, Any]]]:
    """Problems that differ from a case in one number, one label or one option."""
    X, y, labels = case.X.copy(), case.y.copy(), list(case.labels)
    X[0, 0] = np.nextafter(X[0, 0], np.inf)
    yield Tiny(X, case.y, case.labels, case.options), {}
    yield Tiny(case.X[:, ::-1], case.y, case.labels, case.options), {}
    yield Tiny(case.X[:-1], case.y[:-1], case.labels, case.options), {}
    y[-1] += 1.0
    yield Tiny(case.X, y, case.labels, case.options), {}
    labels[0] = (labels[0] + 1) % case.n_groups
    yield Tiny(case.X, case.y, tuple(labels), case.options), {}
    yield Tiny(case.X, case.y, tuple([-1, *case.labels[1:]]), case.options), {}
    yield case, {"sample_weight": np.linspace(1.0, 2.0, len(case.y))}
    yield case, {"signs": [1] + [0] * (case.n_groups - 1)}


@pytest.mark.parametrize("reseal", [False, True])
def test_a_certificate_is_good_for_its_own_data_only(reseal: bool, tmp_path: Path) -> None:
    case = correlated(1, n_rows=20, n_columns=8, n_groups=3)
    certified(case, tmp_path / "c.json")
    document = json.loads(tmp_path.joinpath("c.json").read_text())
    for other, options in altered(case):
        if reseal and "signs" not in options:
            certified(other, tmp_path / "other.json", sample_weight=options.get("sample_weight"))
            theirs = json.loads(tmp_path.joinpath("other.json").read_text())
            document = sealed({**document, "data": theirs["data"], "problem": theirs["problem"]})
        with pytest.raises(REFUSALS):
            check(other, document, **options)


def test_a_certificate_of_other_sizes_is_refused_even_with_the_hash_it_needs(tmp_path: Path) -> None:
    case = overdetermined(2, n_rows=9, n_columns=3, n_groups=2)
    certified(case, tmp_path / "c.json")
    document = json.loads(tmp_path.joinpath("c.json").read_text())
    problem = {**document["problem"], "n_columns": 4}
    data = Data.read(case.X, case.y, case.labels, None, "error")
    boxes = [{**box, "numerators": [0, *box["numerators"]]} for box in document["boxes"]]
    forged = {**document, "problem": problem, "coef": [0.0, *document["coef"]], "boxes": boxes}
    forged["data"] = data.digest(Problem(**problem))
    with pytest.raises(VerificationError, match="4 columns"):
        check(case, sealed(forged))


def limited(case: Tiny, coef: list[float], point: list[Fraction]) -> dict[str, Any]:
    """A certificate of any model, limited to contributions of 2^10, with the best bound that a point proves."""
    data = Data.read(case.X, case.y, case.labels, None, "error")
    problem = Problem(*case.X.shape, max(case.labels) + 1, 0.0, "l2", False, False, "0" * (max(case.labels) + 1))
    checker = Checker(data, problem, exact=True)
    F, d = checker.objective(coef, 0.0), math.lcm(*(value.denominator for value in point))
    box = Box(problem.signs, 0.0, d, [int(value * d) for value in point])
    bound = min(float(next(checker.bounds([box], checker.reach(F, None, 10)))) * (1 - 1e-15), F)
    gap, boxes = (F - bound) * (1 + 1e-9), [replace(box, bound=bound)]
    return Certificate(problem, data.digest(problem), F, gap, coef, 0.0, None, 10, boxes).document()


@pytest.mark.parametrize("mode", MODES)
def test_a_limit_is_for_dependent_columns_and_for_models_within_it(mode: str) -> None:
    """The best solution among the small ones is not the best, and must not pass for it."""
    rng = np.random.default_rng(0)
    a, z = rng.normal(size=(2, 40))
    for apart, reason in ((1e-4, "columns are independent"), (1e-9, "its own model exceeds")):
        case = Tiny(np.column_stack([a, a + apart * z]), z, (0, 1), {"fit_intercept": False})
        far = [-1 / apart, 1 / apart]  # fits exactly, with contributions far beyond the limit
        forged = limited(case, [0.5 * value for value in far], [Fraction(0), Fraction(0)])
        with pytest.raises(VerificationError, match=reason):
            check(case, forged, mode=mode, gap_tol=2.0)


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """One reader would take the first, another the second."""
    path = tmp_path / "c.json"
    certified(correlated(3), path)
    path.write_text('{"objective":0.0,' + path.read_text()[1:])
    with pytest.raises(InvalidInput, match="stands twice"):
        check(correlated(3), path)


def test_a_model_of_mixed_signs_is_rejected_whatever_its_objective(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20, 2))
    case = Tiny(X, X @ [1.0, -1.0], (0, 0), {"fit_intercept": False})
    certified(case, tmp_path / "c.json")
    document = json.loads(tmp_path.joinpath("c.json").read_text())
    box = {"signs": "0", "bound": 0.0, "denominator": 1, "numerators": None, "strengthened": False}
    forged = {**document, "coef": [1.0, -1.0], "objective": 0.0, "tolerance": 0.0, "boxes": [box]}
    with pytest.raises(VerificationError, match=r"objective|wrong sign"):
        check(case, sealed(forged))


@pytest.mark.parametrize("size", [5e-324, 1e-9, 0.5, 1.0, 1e300])
@pytest.mark.parametrize(("coef", "signs"), [((1, -1), "0"), ((-1, 1), "0"), ((1, 0), "-"), ((0, -1), "+")])
def test_mixed_signs_are_seen_at_every_size(coef: tuple[int, int], signs: str, size: float) -> None:
    labels = np.array([0, 0, 1])

    def look(members: tuple[int, int], known: str) -> None:
        values = [size * value for value in members]
        problem = SimpleNamespace(signs=known + "0")
        check_model_signs(SimpleNamespace(problem=problem, coef=[*values, -1.0]), labels)

    with pytest.raises(VerificationError, match="group 0 of the model has coefficients of the wrong sign"):
        look(coef, signs)
    for allowed in ("0", "+"):
        look((1, 1), allowed)
    for allowed in ("0", "-"):
        look((-1, -1), allowed)
    look((0, 0), signs)


# Files that are none


def junk() -> list[Any]:
    return [None, True, 0, -1, 2**20000, 1.5, -1e308, "", "x", "+" * 1000, [], [1], {}, {"a": 1}, [[[]]]]


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a document, one element standing for all of a list."""
    if path:
        yield path
    if isinstance(node, dict):
        for key, value in node.items():
            yield from places(value, (*path, key))
    elif isinstance(node, list) and node:
        yield from places(node[0], (*path, 0))


def replaced(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    copied = copy.deepcopy(document)
    node: Any = copied
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    return copied


def test_wrong_types_anywhere_are_refused_clearly(tmp_path: Path) -> None:
    case = overdetermined(2, n_rows=9, n_columns=3, n_groups=2)
    certified(case, tmp_path / "c.json")
    document = json.loads(tmp_path.joinpath("c.json").read_text())
    sys_limit = sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(0)  # so that the seal itself can hold the huge number
        for place in places(document):
            for value in junk():
                forged = replaced(document, place, value)
                if json.dumps(forged) == json.dumps(document):
                    continue
                if place == ("digest",):
                    with pytest.raises(InvalidInput):
                        check(case, forged)
                    continue
                try:
                    answer = check(case, sealed(forged))
                except REFUSALS:
                    continue
                assert answer.lower_bound <= answer.objective  # weaker, but true
                assert place in {("eigenvalue",), ("tolerance",), ("boxes", 0, "bound")}
    finally:
        sys.set_int_max_str_digits(sys_limit)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"null", b"[]", b"17", b'"text"', b"\xff\xfe\x00", b"NaN", b"[" * 100_000, b"\x1f\x8b rubbish",
        b'{"format": "partls certificate"}', b'{"format": "partls certificate", "version": 2}',
        b'{"format": "partls certificate", "version": 1, "digest": Infinity}', b"1" * 100_000,
        b'{"format": "partls certificate", "version": 1, "objective": 1e999}', gzip.compress(b"{}")[:-4],
    ],
    ids=range(16),
)
def test_files_that_are_no_certificates_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"c\.json"):
        read_certificate(path)


def test_a_document_that_json_cannot_hold_is_refused(tmp_path: Path) -> None:
    certified(overdetermined(2, n_columns=3), tmp_path / "c.json")
    document = json.loads(tmp_path.joinpath("c.json").read_text())
    for value in ({1, 2}, object(), 1j, {(): 1}):
        with pytest.raises(InvalidInput, match="altered"):
            read_certificate({**document, "coef": value})


def test_a_truncated_file_is_refused_wherever_it_ends(tmp_path: Path) -> None:
    for name in ("c.json", "c.json.gz"):
        certified(overdetermined(2, n_columns=3), tmp_path / name)
        content = (tmp_path / name).read_bytes()
        for length in range(0, len(content), max(1, len(content) // 50)):
            (tmp_path / name).write_bytes(content[:length])
            with pytest.raises(InvalidInput, match=name):
                read_certificate(tmp_path / name)


@settings(max_examples=100)
@given(data=st.data())
def test_a_damaged_byte_is_noticed(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("certificate") / "c.json"
    case = Tiny(np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 2.0]]), np.array([1.0, -1.0, 4.0]), (0, 0))
    certified(case, path)
    content = bytearray(path.read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(content))
    try:
        check(case, path)
    except REFUSALS:
        return
    assert json.loads(bytes(content)) is not None  # the same content, spelled another way
    assert json.loads(bytes(content))["digest"] == read_certificate_digest(path)


def read_certificate_digest(path: Path) -> str:
    return str(sealed(json.loads(path.read_bytes()))["digest"])


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(InvalidInput, match="cannot be read"):
            read_certificate(path)
    for bad in (tmp_path, tmp_path / "no" / "c.json", 3, ""):
        with pytest.raises(InvalidInput, match="certificate="):
            partls.solve(np.eye(3), [1.0, 2.0, 3.0], [0, 0, 1], certificate=bad)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partls.certificate_file._MAX_BYTES", 1000)
    (tmp_path / "c.json.gz").write_bytes(gzip.compress(b" " * 10**6))
    with pytest.raises(InvalidInput, match="larger than 1000 bytes"):
        read_certificate(tmp_path / "c.json.gz")


# The parts of the verifier


def imported(module: str) -> Iterator[str]:
    """Every module that one of ours names in an import."""
    for node in ast.walk(ast.parse(MODULES.parent.joinpath(*module.split(".")).with_suffix(".py").read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module
            package = node.module in ("partls", "formulations", "relaxations")
            yield from (f"{node.module}.{alias.name}" for alias in node.names) if package else (node.module,)


def test_the_verifier_imports_no_solver() -> None:
    """Only the standard library, NumPy and the readers of data and groups, which are followed to their own imports."""
    names = ("verify", "certificate_file", "exact_bounds", "exact_integers", "whole_files")
    checking = {f"partls.{name}" for name in names}
    named = ("data", "errors", "given_signs", "partition", "partition_files", "partition_forms", "placement")
    reading = {f"formulations.{name}" for name in named}
    seen, pending = set(), ["partls.verify"]
    while pending:
        module = pending.pop()
        seen.add(module)
        for name in imported(module):
            foreign = name.partition(".")[0] in {*sys.stdlib_module_names, "numpy"}
            assert foreign or name in (checking | reading if module in checking else reading), f"{module}: {name}"
            assert name not in ("importlib", "ctypes") or module in reading, f"{module}: {name}"
            if not foreign and name not in seen:
                pending.append(name)
    assert seen == checking | reading


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1.0, 1e-310, 1e290, 3.0])
def test_both_gram_matrices_are_exact(scale: float, weighted: bool) -> None:
    rng = np.random.default_rng(7)
    table = rng.normal(size=(1100 if scale == 3.0 else 9, 3)) * scale
    table[0] = [5e-324, -0.0, 1e-17]
    weights = rng.uniform(0.0, 1.0, len(table)) if weighted else None
    (G, unit), (H, other) = exact_integers.exact_gram(table, weights), exact_integers.digit_gram(table, weights)
    assert (G * 2**other == H * 2**unit).all()
    w = [1.0] * len(table) if weights is None else weights.tolist()
    expected = sum(Fraction(w[n]) * Fraction(table[n, 0]) * Fraction(table[n, 2]) for n in range(len(table)))
    assert Fraction(G[0, 2], 2**unit) == expected


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_size_of_a_target_is_what_the_intercept_leaves(fit_intercept: bool, weighted: bool) -> None:
    """It scales the smallest tolerance that is accepted: too large a size would accept too much."""
    case = correlated(3)
    weights = np.arange(1.0, len(case.y) + 1.0) if weighted else None
    instance = partls.Instance(
        case.X, case.y + 5.0, case.labels, fit_intercept=fit_intercept, sample_weight=weights
    )
    data, problem = data_of(instance), problem_of(instance, SignPattern.free(instance.n_groups))
    w = np.ones(len(case.y)) if weights is None else weights
    y = case.y + 5.0 - (w @ (case.y + 5.0) / w.sum() if fit_intercept else 0.0)
    for exact in (False, True):
        size = Checker(data, problem, exact=exact).size
        assert float(size) == pytest.approx(w @ y**2, rel=1e-11)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("penalize_intercept", [False, True])
def test_no_penalty_bounds_a_column_without_a_group(penalty: str, penalize_intercept: bool) -> None:
    """A coefficient that is taken for bounded, and is not, would make a proof of nothing."""
    rng = np.random.default_rng(5)
    instance = partls.Instance(
        rng.normal(size=(8, 4)), rng.normal(size=8), [0, -1, 1, 1], eta=2.0, penalty=penalty, ungrouped="free",
        penalize_intercept=penalize_intercept,
    )
    assert instance.partition.labels.tolist() == [0, -1, 1, 1]
    data, problem = data_of(instance), problem_of(instance, SignPattern.free(instance.reduction.n_groups))
    for exact in (False, True):
        checker = Checker(data, problem, exact=exact)
        assert checker.unbounded.tolist() == ([1] if penalize_intercept else [1, 4])
        priced = [penalty == "l1" and grouped for grouped in (True, False, True, True, penalize_intercept)]
        assert [bool(half) for half in checker.half] == priced


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_the_reach_of_a_coefficient_is_that_of_the_theory(penalty: str) -> None:
    """F / eta or sqrt(F / eta) with a penalty; else rho 2^(k/2) / ||column||, rho with what the others contribute."""
    rng = np.random.default_rng(5)
    X, y, eta, top, k = rng.normal(size=(8, 4)), rng.normal(size=8), 2.0, 3.0, 30
    options = {"eta": eta, "penalty": penalty, "ungrouped": "free", "fit_intercept": False}
    instance = partls.Instance(X, y, [0, -1, 1, 2], **options)
    data, problem = data_of(instance), problem_of(instance, SignPattern.free(3))
    size = top / eta if penalty == "l1" else np.sqrt(top / eta)
    norms = np.sqrt(np.square(X).sum(axis=0) + (eta if penalty == "l2" else 0.0))
    rho = np.sqrt(top) + np.linalg.norm(y) + size * norms[[0, 2, 3]].sum()
    for exact in (False, True):
        checker = Checker(data, problem, exact=exact)
        reach = [float(bound) for bound in checker.reach(top, k, None)]
        expected = [size, rho * 2 ** (k / 2) / np.linalg.norm(X[:, 1]), size, size]
        assert reach == pytest.approx(expected, rel=1e-9)
        assert checker.reach(top, None, None)[1] is None
        limited = checker.reach(top, None, 10)[1]
        assert float(limited) == pytest.approx(2**10 * np.linalg.norm(y) / np.linalg.norm(X[:, 1]), rel=1e-9)


def test_powers_of_two_are_read_within_their_range(tmp_path: Path) -> None:
    """A limit below 2^10 would leave out solutions that may be meant."""
    certified(correlated(3), tmp_path / "c.json")
    document = {**json.loads((tmp_path / "c.json").read_text()), "eigenvalue": None, "limit": None}
    for field, allowed, refused in (("limit", (10, 512), (9, 513)), ("eigenvalue", (0, 512), (-1, 513))):
        for value in allowed:
            assert getattr(read_certificate(sealed({**document, field: value})), field) == value
        for value in refused:
            with pytest.raises(InvalidInput, match=f"{field} is malformed"):
                read_certificate(sealed({**document, field: value}))
    with pytest.raises(InvalidInput, match="limit is malformed"):
        read_certificate(sealed({**document, "eigenvalue": 20, "limit": 20}))


@pytest.mark.parametrize("field", ["eta", "objective", "tolerance"])
def test_numbers_below_zero_are_refused(field: str, tmp_path: Path) -> None:
    case = correlated(3)
    partls.solve(case.X, case.y, case.labels, certificate=tmp_path / "c.json")
    document = json.loads((tmp_path / "c.json").read_text())
    part = document["problem"] if field == "eta" else document
    part[field] = -0.5
    with pytest.raises(InvalidInput, match=f"{field} is malformed"):
        read_certificate(sealed(document))


@given(st.integers(0, 10**6), st.integers(1, 300), st.integers(1, 300))
def test_digit_products_are_exact(seed: int, left: int, right: int) -> None:
    """Of all lengths and signs, zeros and the largest digits among them."""
    rng = random.Random(seed)

    def drawn(bits: int) -> int:
        return rng.choice([0, 1 - 2**bits, 2**bits - 1, rng.randint(-(2**bits), 2**bits)])

    A = np.array([[drawn(left) for _ in range(5)] for _ in range(3)], dtype=object)
    B = np.array([[drawn(right) for _ in range(4)] for _ in range(5)], dtype=object)
    assert (exact_integers.digit_product(A, B) == A @ B).all()
    assert (exact_integers.digit_product(0 * A, B) == 0).all()


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 60))
def test_definiteness_is_claimed_only_where_it_holds(seed: int, n: int, eigenvalue: int) -> None:
    """Both proofs against exact determinants of the leading blocks."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, size=(int(rng.integers(1, n + 3)), n)) * 2 ** rng.integers(0, 20, size=n)
    block = np.array((rows.T @ rows).tolist(), dtype=object).reshape(n, n)
    block += np.diag([int(entry == 0) for entry in np.diag(block)]).astype(object)
    shifted = block * 2**eigenvalue - np.diag(np.diag(block))
    truth = all(determinant(shifted[:k, :k].tolist()) > 0 for k in range(1, n + 1))
    for proof in (exact_integers.proved_by_cholesky, exact_integers.proved_exactly):
        assert not proof(block, eigenvalue) or truth
    easier = block * 2**eigenvalue - 8 * np.diag(np.diag(block))
    if all(determinant(easier[:k, :k].tolist()) > 0 for k in range(1, n + 1)):
        assert exact_integers.proved_exactly(block, eigenvalue)


def determinant(matrix: list[list[int]]) -> Fraction:
    rows, total = [[Fraction(x) for x in row] for row in matrix], Fraction(1)
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != k:
            rows[k], rows[pivot], total = rows[pivot], rows[k], -total
        total *= rows[k][k]
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return total


@given(st.fractions(min_value=0, max_value=10**30))
def test_square_roots_round_up_and_hardly(value: Fraction) -> None:
    root = exact_integers.sqrt_up(value)
    assert root**2 >= value
    assert root**2 <= value * (1 + Fraction(1, 2**50))


@given(st.integers(1, 5), st.lists(st.text("+-0", min_size=5, max_size=5), min_size=1, max_size=12))
def test_the_cover_is_judged_as_by_counting(n_groups: int, drawn: list[str]) -> None:
    boxes = [box[:n_groups] for box in drawn]
    counts = [
        sum(all(b in ("0", s) for b, s in zip(box, vector, strict=True)) for box in boxes)
        for vector in product("+-", repeat=n_groups)
    ]
    if all(count == 1 for count in counts):
        check_cover("0" * n_groups, boxes)
    else:
        with pytest.raises(VerificationError, match=r"overlap|cover"):
            check_cover("0" * n_groups, boxes)


def test_complete_covers_of_every_shape_are_accepted() -> None:
    check_cover("000", ["0+-", "-0+", "+-0", "+++", "---"])  # no group splits all of them
    check_cover("+0", ["++", "+-"])
    with pytest.raises(VerificationError, match="outside"):
        check_cover("+0", ["+0", "-0"])


@pytest.mark.parametrize("options", [
    {"mode": "quick"}, {"signs": ["up"]}, {"signs": 3}, {"sample_weight": [-1, 1, 1]}, {"gap_tol": -1.0},
    {"gap_tol": math.inf},
])
def test_bad_arguments_are_named(options: dict[str, Any], tmp_path: Path) -> None:
    case = Tiny(np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 2.0]]), np.array([1.0, -1.0, 4.0]), (0, 0))
    certified(case, tmp_path / "c.json")
    with pytest.raises(InvalidInput, match=next(iter(options))):
        check(case, tmp_path / "c.json", **options)


# The command


def test_the_command_verifies_tables_and_archives(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    X, weights = rng.normal(size=(30, 4)).round(3), rng.integers(1, 4, 30).astype(float)
    y = (X @ [1.0, 2.0, -1.0, 0.5] + rng.normal(size=30)).round(3)
    names = ["a", "b", "c", "d"]
    (tmp_path / "groups.csv").write_text("feature,group\na,one\nb,one\nc,two\nd,two\n")
    rows = [",".join(map(repr, row)) for row in np.column_stack([X, y, weights]).tolist()]
    (tmp_path / "data.csv").write_text("\n".join([",".join([*names, "price", "count"]), *rows]))
    np.savez(tmp_path / "data.npz", X=X, y=y, columns=names, sample_weight=weights)
    partition = partls.Partition.from_file(tmp_path / "groups.csv")
    partls.solve(X, y, partition, sample_weight=weights, certificate=tmp_path / "c.json")
    asked = ["verify", str(tmp_path / "c.json"), "--groups", str(tmp_path / "groups.csv")]
    table = [str(tmp_path / "data.csv"), "--target", "price"]
    archive = [str(tmp_path / "data.npz"), "--target", "y"]
    run = CliRunner().invoke
    for arguments in ([*table, "--weights", "count"], [*table, "--weights", "count", "--exact"],
                      [*archive, "--weights", "sample_weight"]):
        answer = run(app, [*asked, *arguments])
        assert answer.exit_code == 0, answer.output
        assert "verified" in answer.output and "2 groups" in answer.output
    wrong = run(app, [*asked, str(tmp_path / "data.csv"), "--target", "count", "--weights", "price"])
    assert wrong.exit_code in (1, 2)
    assert run(app, [*asked, *table, "--weights", "cuont"]).exit_code == 2
    assert "did you mean" in run(app, [*asked, *table, "--weights", "cuont"]).output
    (tmp_path / "data.csv").write_text((tmp_path / "data.csv").read_text().replace("price", "prize", 1))
    assert run(app, [*asked, *table]).exit_code == 2
    changed = X.copy()
    changed[0, 0] += 0.001
    np.savez(tmp_path / "data.npz", X=changed, y=y, columns=names, sample_weight=weights)
    refused = run(app, [*asked, *archive, "--weights", "sample_weight"])
    assert refused.exit_code == 1 and "other data" in refused.output


@pytest.mark.parametrize("content", [b"", b"a,price\n", b"a,price\n1,x\n", b"a,price\n1\n", b"\xff\xff"])
def test_the_command_refuses_broken_tables(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(content)
    (tmp_path / "groups.csv").write_text("feature,group\na,one\n")
    (tmp_path / "c.json").write_text("{}")
    asked = ["verify", str(tmp_path / "c.json"), str(tmp_path / "data.csv"), "--groups", str(tmp_path / "groups.csv")]
    answer = CliRunner().invoke(app, [*asked, "--target", "price"])
    assert answer.exit_code == 2, answer.output
    assert "error:" in answer.output
