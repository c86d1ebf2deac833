"""The bound that knows a strong L2 penalty: certified, exact at leaves, and what makes the search end."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import partls
from formulations import Instance, SignPattern, quadratic
from relaxations import ActiveSetRelaxation, StrengthenedRelaxation, named
from tests.families import FAMILIES
from tests.oracles import brute_force
from tests.tolerances import OPTIMUM, QUADRATIC_GAP, QUADRATIC_PROGRAM, VANISHING, same_optimum


def problem(seed: int, n_rows: int, n_columns: int, n_groups: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    y = X @ rng.normal(size=n_columns) + rng.normal(size=n_rows)
    return {"X": X, "y": y, "groups": np.arange(n_columns) % n_groups}


@pytest.mark.parametrize(("n_rows", "eta"), [(20, 1.0), (20, 50.0), (5, 3.0)])
def test_at_every_node_the_bound_is_the_convex_program_and_no_solution_is_below(n_rows: int, eta: float) -> None:
    data = problem(3, n_rows, 8, 3)
    instance = Instance(**data, eta=eta)
    leaves = brute_force(data["X"], data["y"], tuple(data["groups"]), eta=eta).objectives
    size = float(np.square(data["y"]).sum())
    bounder, cheap = StrengthenedRelaxation().prepare(instance), ActiveSetRelaxation().prepare(instance)
    for signs in map(SignPattern, product((0, 1, -1), repeat=3)):
        bound = bounder.bound(signs)
        optimum = min(value for leaf, value in leaves.items() if signs.contains(SignPattern(leaf)))
        assert bound.value <= optimum + VANISHING * size
        assert bound.value >= cheap.bound(signs).value - VANISHING * size
        program = quadratic(instance, signs, strengthen=True).problem.solve(solver="CLARABEL")
        program *= instance.reduction.scale
        assert bound.estimate == pytest.approx(program, rel=QUADRATIC_PROGRAM, abs=QUADRATIC_GAP * size)
        assert bound.value == pytest.approx(bound.estimate, rel=OPTIMUM, abs=1e-9 * size)
        if signs.is_complete:
            assert bound.value == same_optimum(optimum, data["y"])


def test_without_an_l2_penalty_it_is_the_cheap_bound() -> None:
    for options in ({}, {"eta": 2.0, "penalty": "l1"}):
        instance = Instance(**problem(0, 20, 8, 3), **options)
        for signs in (SignPattern((0, 0, 0)), SignPattern((1, 0, -1))):
            bound = StrengthenedRelaxation().prepare(instance).bound(signs)
            assert bound.value == pytest.approx(ActiveSetRelaxation().prepare(instance).bound(signs).value, rel=OPTIMUM)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("order", ["depth-first", "best-first"])
def test_a_strong_penalty_does_not_grow_the_tree(order: str, n_jobs: int) -> None:
    """Of 2^16 patterns the compiled bound alone would look at most of them; a thousand nodes, and it is changed."""
    data = problem(1, 100, 48, 16)
    result = partls.solve(**data, eta=1e4, search=order, n_jobs=n_jobs)
    assert result.status is partls.Status.OPTIMAL
    assert result.n_nodes < 1200 and result.counts["closed by strengthened"] > 0
    enumerated = partls.solve(**data, eta=1e4, method="enumerate")
    assert result.objective == same_optimum(enumerated.objective, data["y"])
    assert result.lower_bound <= enumerated.objective * (1 + OPTIMUM)


def test_a_tree_that_stays_open_is_bounded_by_shor_at_its_root(monkeypatch: pytest.MonkeyPatch) -> None:
    data = problem(1, 100, 48, 16)
    optimum = partls.solve(**data, eta=30.0).objective
    monkeypatch.setattr("partls.search.node_bound._ROOT_AFTER", 1)
    monkeypatch.setattr("partls.search.node_bound._STRENGTHEN_AFTER", 1)
    cut = partls.solve(**data, eta=30.0, node_limit=30)
    assert cut.counts["root bounded by shor"] == 1
    root = SignPattern.free(16)
    shor = named("shor").prepare(cut.instance).bound(root).value
    assert shor * (1 - OPTIMUM) <= cut.lower_bound <= optimum * (1 + OPTIMUM)
    assert StrengthenedRelaxation().prepare(cut.instance).bound(root).value < shor


def test_a_weak_penalty_leaves_the_compiled_search_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partls.search.node_bound._STRENGTHEN_AFTER", 1)
    result = partls.solve(**problem(1, 60, 48, 12), eta=1e-6, time_limit=600.0)
    assert result.status is partls.Status.OPTIMAL
    assert result.n_nodes > 1 and "closed by strengthened" not in result.counts


@pytest.mark.parametrize("family", FAMILIES)
def test_the_search_by_this_bound_alone_ends_at_the_optimum(family: str) -> None:
    for seed in range(3):
        case = FAMILIES[family](seed)
        oracle = brute_force(case.X, case.y, case.labels, **case.options)
        result = partls.solve(
            case.X, case.y, case.labels, method="bnb", relaxation="strengthened", ungrouped="free", **case.options
        )
        assert result.is_optimal()
        assert result.objective == same_optimum(oracle.objective, case.weighted_y)
