"""Nothing passes for a certificate but a proof: mutations, other data, files that are none."""

from __future__ import annotations

import copy
import gzip
import json
import math
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

import partls
from partls import InvalidInput, VerificationError
from partls.verification.data import Data
from partls.verification.document import Box, Certificate, read_certificate, sealed
from partls.verification.exact_bounds import Checker
from partls.verification.problem import Problem
from partls.verification.verifier import check_model_signs
from tests.families import FAMILIES, correlated, overdetermined
from tests.proofs import MODES, REFUSALS, certified, check
from tests.strategies import Tiny

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
    match str(rng.choice([name for name in problem if name not in ("n_columns", "n_groups")])):
        case "eta":
            k = int(rng.integers(len(problem["eta"])))
            problem["eta"][k] += 0.5
        case "ridge":
            problem["ridge"] += 0.25
        case "eta_intercept":
            problem["eta_intercept"] += 0.5
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
    K = max(case.labels) + 1
    problem = Problem(*case.X.shape, K, [0.0] * K, 0.0, 0.0, "l2", False, False, "0" * K)
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
    with pytest.raises(InvalidInput, match="duplicate keys"):
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
    genuine = check(case, document)
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
                if place[0] in ("strategy", "preparation"):
                    assert answer == genuine  # what only informs changes nothing
                    continue
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


def test_an_intercept_that_is_not_there_is_not_penalised(tmp_path: Path) -> None:
    """What is told of the claim has to be what is proved."""
    case = replace(overdetermined(0), options={"eta": 0.01, "fit_intercept": False})
    certified(case, tmp_path / "c.json")
    document = json.loads((tmp_path / "c.json").read_text())
    document["problem"]["penalize_intercept"] = True
    data = Data(case.X, case.y, partls.Partition.of(case.labels, n_columns=case.X.shape[1]), None)
    document["data"] = data.digest(Problem(**document["problem"]))
    with pytest.raises(InvalidInput, match="penalize_intercept is malformed"):
        check(case, sealed(document))
    assert "no intercept" in str(check(case, tmp_path / "c.json"))


@pytest.mark.parametrize("part", ["{}", "[]"])
def test_brackets_without_content_are_not_parsed(part: str, tmp_path: Path) -> None:
    """Each takes twenty times its size in memory."""
    (tmp_path / "c.json").write_text('{"boxes":[' + ",".join([part] * 10_000) + "]}")
    with pytest.raises(InvalidInput, match="too many brackets"):
        read_certificate(tmp_path / "c.json")


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partls.verification.document._MAX_BYTES", 1000)
    (tmp_path / "c.json.gz").write_bytes(gzip.compress(b" " * 10**6))
    with pytest.raises(InvalidInput, match="larger than 1000 bytes"):
        read_certificate(tmp_path / "c.json.gz")
