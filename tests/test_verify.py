"""The verifier's parts, each against its theory or another computation, and the command."""

from __future__ import annotations

import ast
import json
import math
import random
import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import partls
from partls import InvalidInput, SignPattern, VerificationError
from partls.cli import app
from partls.verification import exact_bounds, exact_integers
from partls.verification.document import Box, read_certificate, sealed
from partls.verification.exact_bounds import Checker
from partls.verification.fingerprint import data_of, problem_of
from partls.verification.verifier import check_cover
from tests.families import correlated
from tests.proofs import certified, check
from tests.strategies import Tiny

MODULES = Path(partls.__file__).parent


def imported(module: str) -> Iterator[str]:
    """Every module that one of ours names in an import."""
    path = MODULES.parent.joinpath(*module.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module
            package = node.module in ("partls", "formulations", "relaxations")
            yield from (f"{node.module}.{alias.name}" for alias in node.names) if package else (node.module,)


def test_the_verifier_imports_no_solver() -> None:
    """Only the standard library, NumPy and the readers of data and groups, which are followed to their own imports."""
    names = ("verifier", "document", "fields", "problem", "data", "exact_bounds", "exact_integers", "exact_penalties")
    checking = {"partls.runtime.atomic_files", *(f"partls.verification.{name}" for name in names)}
    named = (
        "data", "errors", "kinds", "whole_numbers", "partition", "partition.given_signs", "partition.partition",
        "partition.files", "partition.forms", "partition.placement",
    )
    reading = {f"formulations.{name}" for name in named}
    seen, pending = set(), ["partls.verification.verifier"]
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
def test_the_size_of_a_target_is_what_the_best_column_leaves(fit_intercept: bool, weighted: bool) -> None:
    """It scales the smallest tolerance that is accepted: too large a size would accept too much."""
    case = correlated(3)
    weights = np.arange(1.0, len(case.y) + 1.0) if weighted else None
    for X, y in ((case.X, case.y), (case.X, case.y + 5.0), (case.X + 1e3, 2e3 * case.X[:, 1] + case.y + 2e6)):
        instance = partls.Instance(X, y, case.labels, fit_intercept=fit_intercept, sample_weight=weights)
        data, problem = data_of(instance), problem_of(instance, SignPattern.free(instance.n_groups))
        w = np.ones(len(y)) if weights is None else weights
        columns = [*X.T, np.ones(len(y))] if fit_intercept else list(X.T)
        left = [w @ (y - x * (w @ (x * y)) / (w @ x**2)) ** 2 for x in columns]
        for exact in (False, True):
            size = Checker(data, problem, exact=exact).size
            assert float(size) == pytest.approx(min(left) + 1e-14 * (w @ y**2), rel=1e-6)


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


@pytest.mark.parametrize("field", ["ridge", "eta", "objective", "tolerance"])
def test_numbers_below_zero_are_refused(field: str, tmp_path: Path) -> None:
    case = correlated(3)
    partls.solve(case.X, case.y, case.labels, certificate=tmp_path / "c.json")
    document = json.loads((tmp_path / "c.json").read_text())
    part = document["problem"] if field in ("ridge", "eta") else document
    part[field] = [-0.5] * len(part["eta"]) if field == "eta" else -0.5
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


def test_covers_of_many_boxes_and_groups_take_no_time() -> None:
    caterpillar = ["-" * k + "+" + "0" * (1999 - k) for k in range(2000)]
    check_cover("0" * 2000, [*caterpillar, "-" * 2000])
    with pytest.raises(VerificationError, match="cover"):
        check_cover("0" * 2000, caterpillar)
    unsplit = ["".join(parts) for parts in product(("0+-", "-0+", "+-0", "+++", "---"), repeat=6)]
    with pytest.raises(VerificationError, match="15625 boxes that no group tells apart"):
        check_cover("0" * 18, unsplit)


def test_long_numbers_are_taken_fewer_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One long number makes those beside it long; the bounds are the same however many boxes are taken at once."""
    case = correlated(3)
    instance = partls.Instance(case.X, case.y, case.labels)
    checker = Checker(data_of(instance), problem_of(instance, SignPattern.free(instance.n_groups)), exact=False)
    rng, width = np.random.default_rng(0), len(checker.Q)
    boxes = [
        Box("0" * instance.n_groups, 0.0, 2**30, [int(n) for n in rng.integers(-(2**30), 2**30, width)])
        for _ in range(20)
    ]
    boxes.append(Box("0" * instance.n_groups, 0.0, 2**13_000, [2**13_000] * width))
    reach = checker.reach(float(instance.y @ instance.y), 30, None)
    bounds = list(checker.bounds(boxes, reach))
    products: list[int] = []
    multiply = exact_bounds.digit_product
    monkeypatch.setattr(exact_bounds, "digit_product", lambda n, Q: (products.append(len(n)), multiply(n, Q))[1])
    monkeypatch.setattr(exact_bounds, "_BITS_AT_ONCE", 40_000 * width)
    assert list(checker.bounds(boxes, reach)) == bounds
    assert products == [3] * 7
    assert next(checker.bounds(boxes[:1], reach)) == bounds[0] and products[-1] == 1


def test_elimination_of_many_columns_is_not_tried_in_passing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An eigenvalue that Cholesky does not prove could keep the verifier busy for hours."""
    rng = np.random.default_rng(0)
    for n, tried in ((10, True), (60, False)):
        X = rng.normal(size=(80, n))
        X[:, -1] = X[:, 0]
        instance = partls.Instance(X, rng.normal(size=80), [0] * n, fit_intercept=False)
        checker = Checker(data_of(instance), problem_of(instance, SignPattern.free(1)), exact=False)
        calls: list[int] = []
        monkeypatch.setattr(exact_bounds, "proved_exactly", lambda block, k, calls=calls: calls.append(k))
        assert not checker.definite(512)
        assert bool(calls) == tried


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


def test_the_command_tells_what_a_certificate_lacks(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    X = rng.normal(size=(20, 4)) * 1e6
    X[:, 3] = X[:, 0] + X[:, 1]
    table = np.column_stack([X, rng.normal(size=20)])
    np.savetxt(tmp_path / "d.csv", table, fmt="%.17g", delimiter=",", header="a,b,c,d,y", comments="")
    (tmp_path / "g.csv").write_text("feature,group\na,p\nb,p\nc,q\nd,q\n")
    fit = ["fit", str(tmp_path / "d.csv"), "--force"]
    places = ["--groups", str(tmp_path / "g.csv"), "--certificate", str(tmp_path / "c.json"), "--target", "y"]
    told = [
        CliRunner().invoke(app, [*fit, *places, "--penalty", "l1", "--eta", eta]).stderr
        for eta in ("1e-8", "1e-2")
    ]
    assert "c.json proves only that no solution is better by more than" in told[0]
    assert told[1] == ""


@pytest.mark.parametrize("content", [b"", b"a,price\n", b"a,price\n1,x\n", b"a,price\n1\n", b"\xff\xff"])
def test_the_command_refuses_broken_tables(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(content)
    (tmp_path / "groups.csv").write_text("feature,group\na,one\n")
    (tmp_path / "c.json").write_text("{}")
    asked = ["verify", str(tmp_path / "c.json"), str(tmp_path / "data.csv"), "--groups", str(tmp_path / "groups.csv")]
    answer = CliRunner().invoke(app, [*asked, "--target", "price"])
    assert answer.exit_code == 2, answer.output
    assert "error:" in answer.output
