"""The diagonal perspective bound without a conic solver: valid, equal to the cone program, exact at leaves."""

from __future__ import annotations

import numpy as np
import pytest

import partls
from formulations import Instance, SignPattern, random_instance
from relaxations import PerspectiveRelaxation, named
from relaxations.active_set import ActiveSetBounder
from relaxations.diagonal_perspective import DiagonalPerspectiveBounder
from tests.families import FAMILIES
from tests.oracles import brute_force
from tests.tolerances import VANISHING, same_optimum

NATIVE = PerspectiveRelaxation(D="native")
SERVED = ("overdetermined", "correlated", "subset sum", "l2", "weights", "no intercept", "free columns", "singletons")
UNSERVED = ("underdetermined", "duplicates", "l1")


def check_bounds(kind: str, seed: int) -> None:
    case = FAMILIES[kind](seed)
    instance = Instance(case.X, case.y, case.labels, ungrouped="free", **case.options)
    leaves = brute_force(case.X, case.y, case.labels, **case.options).objectives
    bounder, cheap = NATIVE.prepare(instance), named("active-set").prepare(instance)
    size, rng = float(np.square(case.weighted_y).sum()), np.random.default_rng([35, seed])
    for _ in range(5):
        signs = SignPattern(tuple(rng.integers(-1, 2, case.n_groups).tolist()))
        found = bounder.bound(signs)
        optimum = min(value for leaf, value in leaves.items() if signs.contains(SignPattern(leaf)))
        assert cheap.bound(signs).value <= found.value <= optimum + VANISHING * size, (kind, seed, signs)
        for k in signs.undecided:
            assert bounder.bound(signs.fix(k, -1)).value >= found.value - 1e-11 * size
    complete = SignPattern(min(leaves, key=leaves.__getitem__))
    assert bounder.bound(complete).value == pytest.approx(leaves[complete.values], rel=1e-8, abs=1e-11 * size)


@pytest.mark.parametrize("kind", [*SERVED, *UNSERVED])
def test_bounds_lie_between_the_cheap_bound_and_the_optimum(kind: str) -> None:
    for seed in range(2):
        check_bounds(kind, seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SERVED)
def test_three_hundred_instances(kind: str) -> None:
    for seed in range(300):
        check_bounds(kind, seed)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_cone_program_of_the_same_diagonal(seed: int) -> None:
    instance = random_instance(M=24, group_size=4, correlation=0.5, seed=seed)
    bounder = NATIVE.prepare(instance)
    assert isinstance(bounder, DiagonalPerspectiveBounder)
    conic = PerspectiveRelaxation(D=np.diag(bounder.D)).prepare(instance)
    for signs in (SignPattern.free(6), SignPattern((1, 0, -1, 0, 0, 0))):
        own, other = bounder.bound(signs), conic.bound(signs)
        assert own.value == pytest.approx(other.value, rel=1e-4)
        assert own.value <= own.estimate


def test_no_diagonal_of_a_semidefinite_program_is_much_better() -> None:
    instance = random_instance(M=24, group_size=4, correlation=0.5, seed=1)
    root = SignPattern.free(6)
    cheap, own, best = (
        relaxation.prepare(instance).bound(root).value
        for relaxation in (named("active-set"), NATIVE, PerspectiveRelaxation(D="diagonal"))
    )
    assert own - cheap > 0.8 * (best - cheap) > 0


@pytest.mark.parametrize("kind", UNSERVED)
def test_without_curvature_it_is_the_cheap_bound(kind: str) -> None:
    case = FAMILIES[kind](0)
    instance = Instance(case.X, case.y, case.labels, ungrouped="free", **case.options)
    assert isinstance(NATIVE.prepare(instance), ActiveSetBounder)


def test_the_search_finds_the_same_optimum() -> None:
    instance = random_instance(M=24, group_size=4, correlation=0.5, seed=2)
    found = partls.solve_instance(instance, relaxation=NATIVE)
    assert found.status.name == "OPTIMAL"
    assert found.objective == same_optimum(partls.solve_instance(instance).objective, instance.y)
