"""The oracle is right: its answers meet the optimality conditions, and an exact method finds no better ones."""

from __future__ import annotations

import ast
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partls.testing import oracle as oracles
from tests.oracles import brute_force, by_supports, candidates, kkt_residual, minimise, program, sign_constrained
from tests.strategies import Tiny, instances
from tests.tolerances import KKT, WEIGHT, same_optimum

RNG = np.random.default_rng(11)
DUPLICATES = RNG.normal(size=(6, 2))[:, [0, 1, 0, 1]]
DEGENERATE = {
    "duplicates": (DUPLICATES, RNG.normal(size=6), (0, 0, 1, 1)),
    "duplicates in one group": (DUPLICATES, RNG.normal(size=6), (0, 1, 0, 1)),
    "opposites": (DUPLICATES * [1, 1, -1, -2], RNG.normal(size=6), (0, 0, 1, 1)),
    "zero column": (RNG.normal(size=(5, 3)) * [1, 0, 1], RNG.normal(size=5), (0, 0, 1)),
    "constant column": (np.column_stack([np.ones(5), RNG.normal(size=5)]), RNG.normal(size=5), (0, 0)),
    "more columns than rows": (RNG.normal(size=(3, 6)), RNG.normal(size=3), (0, 0, 0, 1, 1, 1)),
    "one row": (np.array([[1.0, -2.0, 3.0]]), np.array([2.0]), (0, 1, 1)),
    "y = 0": (RNG.normal(size=(4, 3)), np.zeros(4), (0, 1, 1)),
    "X = 0": (np.zeros((4, 2)), RNG.normal(size=4), (0, 1)),
    "one-hot that sums to one": (np.eye(3)[[0, 1, 2, 0, 1, 2, 2]], RNG.normal(size=7), (0, 0, 0)),
    "no group": (RNG.normal(size=(5, 2)), RNG.normal(size=5), (-1, -1)),
}
OPTIONS = [
    {},
    {"fit_intercept": False},
    {"eta": 0.5},
    {"eta": 0.5, "penalty": "l1"},
    {"eta": 0.3, "penalty": "l1", "penalize_intercept": True},
    {"eta": 2.0, "penalize_intercept": True},
]


def by_enumeration(case: Tiny, signs: tuple[int, ...]) -> float:
    """Return the optimum under column signs by trying every support of every column, free ones split in two."""
    stated = program(case.X, case.y, signs, labels=case.labels, **case.options)
    free = np.flatnonzero(~stated.bounded)
    B = np.hstack([stated.A, -stated.A[:, free]])
    norms = np.linalg.norm(B, axis=0)
    norms[norms == 0] = 1.0
    cost = np.append(stated.cost, stated.cost[free])
    z = by_supports(B / norms, stated.b, cost / norms) / norms
    return float(np.square(B @ z - stated.b).sum() + cost @ z)


def test_the_oracle_imports_none_of_the_toolkit() -> None:
    tree = ast.parse(Path(oracles.__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    roots = {module.split(".")[0] for module in modules}
    standard = {"__future__", "collections", "dataclasses", "fractions", "itertools", "typing"}
    assert roots <= standard | {"numpy", "scipy", "partls"}
    assert {module for module in modules if module.startswith("partls")} == {"partls.testing.tolerances"}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("data", DEGENERATE.values(), ids=DEGENERATE)
def test_degenerate_data_get_the_exact_optimum(data: tuple, options: dict) -> None:
    case = Tiny(*data, options)
    oracle = brute_force(case.X, case.y, case.labels, **options)
    exact = {
        signs: by_enumeration(case, np.append(signs, 0)[np.array(case.labels)])
        for signs in product((1, -1), repeat=case.n_groups)
    }
    assert oracle.objectives.keys() == exact.keys()
    for signs, value in exact.items():
        assert oracle.objectives[signs] == same_optimum(value, case.y)
    assert oracle.objective == min(oracle.objectives.values()) == oracle.objectives[oracle.signs]
    assert np.isfinite([*oracle.coef, oracle.intercept]).all()


@given(instances(), st.data())
def test_every_node_gets_the_exact_optimum(case: Tiny, data: st.DataObject) -> None:
    group_signs = data.draw(st.tuples(*[st.sampled_from([-1, 0, 1])] * case.n_groups))
    signs = np.append(group_signs, 0)[np.array(case.labels)].astype(int)
    solution = sign_constrained(case.X, case.y, signs, labels=case.labels, **case.options)
    assert solution.objective == same_optimum(by_enumeration(case, signs), case.weighted_y)
    assert solution.kkt.holds
    measured = kkt_residual(
        case.X, case.y, signs, coef=solution.coef, intercept=solution.intercept, labels=case.labels, **case.options
    )
    assert measured.worst <= KKT
    assert (signs * solution.coef >= 0).all()


@given(instances())
def test_solvers_that_pass_the_check_agree(case: Tiny) -> None:
    signs = np.where(np.array(case.labels) % 2, -1, 1)
    stated = program(case.X, case.y, signs, labels=case.labels, **case.options)
    passed = [stated.objective(x) for _, x in candidates(stated) if stated.kkt(x).holds]
    assert len(passed) >= 2
    for value in passed:
        assert value == same_optimum(passed[0], case.weighted_y)


@given(instances())
def test_the_objective_is_that_of_the_coefficients(case: Tiny) -> None:
    oracle = brute_force(case.X, case.y, case.labels, **case.options)
    weights = case.options.get("sample_weight")
    error = np.square(case.y - case.X @ oracle.coef - oracle.intercept)
    beta = [oracle.coef[np.array(case.labels) == k].sum() for k in range(case.n_groups)]
    beta += [oracle.intercept] if case.options["penalize_intercept"] else []
    penalty = np.abs(beta).sum() if case.options.get("penalty") == "l1" else np.square(beta).sum()
    stated = np.sum(error if weights is None else weights * error) + case.options["eta"] * penalty
    assert oracle.objective == same_optimum(float(stated), case.weighted_y)
    if not case.options["fit_intercept"]:
        assert oracle.intercept == 0


def test_the_check_rejects_what_is_not_optimal() -> None:
    X, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    signs, off = [1, 1], {"fit_intercept": False}
    assert kkt_residual(X, y, signs, coef=[1.0, 0.0], **off).worst == 0
    assert kkt_residual(X, y, signs, coef=[1.0, -1.0], **off).primal > 0.1
    assert kkt_residual(X, y, signs, coef=[0.0, 0.0], **off).dual > 0.1
    assert kkt_residual(X, y, signs, coef=[1.0, 0.5], **off).complementarity > 0.01
    twins = np.array([[1.0, -1.0], [1.0, -1.0 + 1e-16]])
    assert not kkt_residual(twins, y, signs, coef=[1e16, 1e16], **off).holds
    assert kkt_residual(twins, y, signs, coef=[1e16, 1e16], **off).weight > WEIGHT


def test_an_oracle_without_an_answer_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracles, "SOLVERS", {"zero": lambda B, b, cost: np.zeros(B.shape[1])})
    with pytest.raises(AssertionError, match="no solver satisfies"):
        minimise(program(np.eye(3), np.ones(3), [1, 1, 1], fit_intercept=False))


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e100])
def test_units_do_not_matter(scale: float) -> None:
    X, y, labels = RNG.normal(size=(8, 4)), RNG.normal(size=8), (0, 1, 0, 1)
    plain = brute_force(X, y, labels)
    columns = np.array([1.0, scale, 1 / scale, scale])
    scaled = brute_force(X * columns, y, labels)
    assert scaled.objective == same_optimum(plain.objective, y)
    assert scaled.coef * columns == pytest.approx(plain.coef, rel=1e-9)
