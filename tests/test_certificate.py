"""A certificate proves what it claims to code that has no solver: whatever the data, as far as it can be true."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partls
from partls import SignPattern, Status, VerificationError
from partls.prove import certificate
from partls.prove.dual_points import DualPoints, Relaxed
from partls.verification.document import Box, read_certificate, sealed
from partls.verification.exact_bounds import Checker
from partls.verification.fingerprint import data_of, problem_of
from relaxations.strengthened import StrengthenedBounder
from tests.families import FAMILIES, correlated, overdetermined
from tests.proofs import MODES, certified, check, proved
from tests.strategies import Tiny, instances
from tests.tolerances import OPTIMUM


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
    "small ridge": {"ridge": 1e-200}, "large ridge": {"ridge": 1e100, "eta": [1.0, 0.0, 1e-9]},
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


@pytest.mark.parametrize("ridge", [0.0, 1e-8])
@pytest.mark.parametrize("name", badly_scaled())
def test_badly_scaled_data_are_proved_without_reserve(name: str, ridge: float, tmp_path: Path) -> None:
    case = Tiny(*badly_scaled()[name], (0, 1, 2) * 3, {"ridge": ridge})
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


@pytest.mark.parametrize("options", [{"eta": 1e-20}, {"ridge": 1e-20}], ids=str)
def test_dependent_columns_are_proved_under_a_penalty_that_hardly_counts(
    options: dict[str, float], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    B = rng.normal(size=(20, 2))
    case = Tiny(np.column_stack([B, 2 * B[:, 0]]), rng.normal(size=20), (0, 1, 2), options)
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
        monkeypatch.setattr("partls.prove.certificate.time.monotonic", lambda: 0.1 * next(clock))
    else:
        monkeypatch.setattr("partls.verification.document._MAX_BYTES", 10_000)
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
    with pytest.raises(VerificationError, match="given signs"):
        check(case, path)


@pytest.mark.parametrize("options", [{"method": "enumerate"}, {"relaxation": "unconstrained"}, {"n_jobs": 2}])
def test_every_method_can_be_certified(options: dict[str, Any], tmp_path: Path) -> None:
    case = overdetermined(4, n_groups=3, n_columns=6)
    certified(case, tmp_path / "c.json", **options)
    check(case, tmp_path / "c.json")


def test_a_proof_of_less_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The penalty is so small beside the columns that floating point cannot tell which of them is cheaper."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(20, 4)) * 1e6
    X[:, 3] = X[:, 0] + X[:, 1]
    case = Tiny(X, rng.normal(size=20), (0, 0, 1, 1), {"eta": 1e-8, "penalty": "l1"})
    with caplog.at_level(logging.WARNING):
        assert certified(case, tmp_path / "c.json").status is Status.OPTIMAL
    assert "proves only that no solution is better by more than" in caplog.text
    with pytest.raises(VerificationError, match="only proves the objective to within"):
        check(case, tmp_path / "c.json")


@pytest.mark.parametrize("n_columns", [6, 60])
@pytest.mark.parametrize("repeated", [False, True])
def test_a_constant_or_repeated_free_column_beside_the_intercept_is_proved(
    repeated: bool, n_columns: int, tmp_path: Path
) -> None:
    """One of the dependent columns stays at zero: the slope vanishes on it, too, and exactly so if they are few."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(100, n_columns)) + 50.0
    X[:, 1] = X[:, 0] if repeated else 50.26119727
    y = X[:, 2:].sum(axis=1) + rng.normal(size=100) + 3e5
    case = Tiny(X, y, (-1, -1, *(j % 3 for j in range(n_columns - 2))))
    certified(case, tmp_path / "c.json")
    answer = check(case, tmp_path / "c.json")
    assert answer.tolerance <= 1e-12 * answer.objective
    assert (answer.contribution_limit is None) == (n_columns == 6)


@pytest.mark.parametrize("offset", [1e6, 1e8, 1.7e9])
def test_a_far_target_is_proved_whoever_provides_the_constant(offset: float, tmp_path: Path) -> None:
    """Beside such a target the objective vanishes; beside what its constant leaves of it, it does not."""
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(200, 3))
    y = offset + Z @ [3.0, 2.0, -1.0] + rng.normal(size=200)
    constant = Tiny(np.column_stack([np.ones(200), Z]), y, (0, 1, 1, 2), {"fit_intercept": False})
    penalised = Tiny(Z + 2 * offset, y, (0, 0, 1), {"eta": 1.0, "penalize_intercept": True})
    for case in (constant, penalised):
        certified(case, tmp_path / "c.json")
        answer = check(case, tmp_path / "c.json")
        assert answer.tolerance <= 1e-12 * answer.objective
    case = constant
    certified(case, tmp_path / "c.json")
    document = json.loads((tmp_path / "c.json").read_text())
    instance = partls.Instance(case.X, y, case.labels, fit_intercept=False)
    coef = [float(y.mean()), 0.0, 0.0, 0.0]  # all but the constant ignored
    worse = Checker(data_of(instance), problem_of(instance, SignPattern.free(3)), exact=False).objective(coef, 0.0)
    nothing = {"signs": "000", "bound": 0.0, "denominator": 1, "numerators": None, "strengthened": False}
    forged = {**document, "coef": coef, "objective": worse, "tolerance": worse, "boxes": [nothing]}
    with pytest.raises(VerificationError, match="only proves the objective to within"):
        check(case, sealed(forged))


def test_an_unfinished_search_certifies_only_what_is_known(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rng = np.random.default_rng(1)
    case = Tiny(rng.normal(size=(60, 40)), rng.normal(size=60), tuple(i % 10 for i in range(40)))
    with caplog.at_level(logging.WARNING):
        result = certified(case, tmp_path / "c.json", node_limit=1)
    assert result.status is Status.NODE_LIMIT
    assert "proves the first bound alone: the search did not end" in caplog.text
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

    monkeypatch.setattr("partls.verification.document.Path.replace", fail)
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
