"""The native Shor bound against brute force and against CVXPY: as strong, never above an optimum, on every rank."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from formulations import Instance, SignPattern
from relaxations import ActiveSetRelaxation, BoundStatus, ShorRelaxation
from relaxations.multiplier_bounder import lifted_problem
from relaxations.multipliers.flatness import most_curved
from relaxations.safe.interior_search import InteriorSearch
from relaxations.safe.lift import _positive_definite, multiplier_bound
from tests.families import FAMILIES, conditioned, mixed_target, split
from tests.oracles import brute_force
from tests.rational_optimum import every_candidate, optimum
from tests.strategies import Tiny
from tests.test_lift_bounds import instance_of, node_optima
from tests.tolerances import VANISHING

GAP = 1e-3  # of the gap: how close the two must come
SOLVER = 1e-7  # of ||y||^2: the accuracy of CVXPY's solvers
SMALL = 1e-6  # of ||y||^2: a gap below this is none
GROUPS = 5  # of a case whose nodes brute force finds in no time


def cases(seeds: range) -> list[tuple[str, int]]:
    return [(family, seed) for family in FAMILIES for seed in seeds if FAMILIES[family](seed).n_groups <= GROUPS]


def some_nodes(case: Tiny, seed: int, n: int) -> dict[SignPattern, float]:
    """Return random nodes, parents first, and the optima under them."""
    optima = node_optima(case)
    chosen = [list(optima)[i] for i in np.random.default_rng([5, seed]).permutation(len(optima))[:n]]
    return {signs: optima[signs] for signs in sorted(chosen, key=lambda signs: -len(signs.undecided))}


def check_nodes(family: str, seed: int) -> bool:
    """Check that no value exceeds an optimum, or falls from parent to child; return whether a raw estimate does."""
    case = FAMILIES[family](seed)
    size = float(np.square(case.weighted_y).sum())
    bounder, found, exceeded = ShorRelaxation().prepare(instance_of(case)), {}, False
    for signs, best in some_nodes(case, seed, 6).items():
        bound = bounder.bound(signs)
        assert bound.status is BoundStatus.OPTIMAL
        assert bound.value <= best + VANISHING * size, (family, seed, signs)
        exceeded |= bound.estimate > best + VANISHING * size
        assert all(bound.value >= found[parent] for parent in signs.parents if parent in found)
        found[signs] = bound.value
    return exceeded


def test_no_value_exceeds_the_optimum_of_its_node_and_raw_values_do() -> None:
    assert sum([check_nodes(family, seed) for family, seed in cases(range(60, 62))]) > 5


@pytest.mark.slow
def test_no_value_of_three_hundred_instances_exceeds_an_optimum() -> None:
    sample = cases(range(62, 80))
    assert len(sample) >= 300
    assert sum([check_nodes(family, seed) for family, seed in sample]) > 100


def check_as_strong_as_cvxpy(family: str, seed: int) -> int:
    """Check that the two agree to a thousandth of the gap; return how many nodes have one."""
    case = FAMILIES[family](seed)
    instance, size, gaps = instance_of(case), float(np.square(case.weighted_y).sum()), 0
    cheap, native = ActiveSetRelaxation().prepare(instance), ShorRelaxation().prepare(instance)
    solver = ShorRelaxation(solver="cvxpy").prepare(instance)
    for signs, best in some_nodes(case, seed, 4).items():
        gap = best - cheap.bound(signs).value
        if gap > SMALL * size:
            own, other = native.bound(signs), solver.bound(signs)
            assert own.value >= other.value - GAP * gap, (family, seed, signs)
            assert own.value <= other.estimate + GAP * gap + SOLVER * size, (family, seed, signs)
            gaps += 1
    return gaps


@pytest.mark.parametrize("family", ["correlated", "underdetermined", "l2", "l1", "free columns", "weights"])
def test_the_native_bound_is_as_strong_as_that_of_cvxpy(family: str) -> None:
    assert sum(check_as_strong_as_cvxpy(family, seed) for seed in range(60, 63)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_native_bound_is_as_strong_as_that_of_cvxpy_in_every_family(family: str) -> None:
    for seed in range(63, 73):
        if FAMILIES[family](seed).n_groups <= GROUPS:
            check_as_strong_as_cvxpy(family, seed)


@pytest.mark.parametrize(("n_rows", "n_columns"), [(12, 12), (14, 18)])
def test_as_many_columns_as_rows_or_more_are_bounded_by_the_groups(n_rows: int, n_columns: int) -> None:
    """The Gram matrix is singular and the cheap bound zero: curvature comes from the multipliers alone."""
    rng = np.random.default_rng(n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    case = Tiny(X, mixed_target(rng, X), split(rng, n_columns, 2))
    instance, root = instance_of(case), SignPattern.free(2)
    best = brute_force(case.X, case.y, case.labels).objective
    native, other = (ShorRelaxation(solver=s).prepare(instance).bound(root).value for s in ("native", "cvxpy"))
    assert ActiveSetRelaxation().prepare(instance).bound(root).value < 1e-9 * best
    assert 0.2 * best < native <= best * (1 + 1e-12)
    assert native >= other - GAP * best


@pytest.mark.parametrize("seed", [3, 4, 5])
@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6, 1e8, 1e10, 1e12])
def test_no_value_exceeds_the_exact_optimum_however_nearly_dependent_the_columns(condition: float, seed: int) -> None:
    """In rational arithmetic, on the reduced data: what reduction rounds away is no matter of a bound."""
    case = conditioned(seed, condition=condition, n_columns=6, n_groups=2)
    instance, root = instance_of(case), SignPattern.free(case.n_groups)
    reduction = instance.reduction
    R, z, labels = reduction.R, reduction.z, reduction.labels.tolist()
    least = float(optimum(every_candidate(R, z, labels, fit_intercept=False), [0, 0]))
    exact = (least + reduction.rest) * reduction.scale
    value, cheap = (m.prepare(instance).bound(root).value for m in (ShorRelaxation(), ActiveSetRelaxation()))
    rounding = VANISHING * float(case.y @ case.y)
    assert cheap - rounding <= value <= exact + rounding


def test_it_stops_at_the_cutoff() -> None:
    case = FAMILIES["correlated"](60)
    bounder = ShorRelaxation().prepare(instance_of(case))
    root = SignPattern.free(case.n_groups)
    full = bounder.bound(root)
    cheap = ActiveSetRelaxation().prepare(instance_of(case)).bound(root).value
    cutoff = (cheap + full.value) / 2
    stopped = ShorRelaxation().prepare(instance_of(case)).bound(root, cutoff=cutoff)
    assert stopped.status is BoundStatus.CUTOFF
    assert cutoff <= stopped.value <= full.value
    assert bounder.bound(root, cutoff=inf).status is BoundStatus.OPTIMAL


def test_multipliers_that_leave_no_curvature_prove_nothing() -> None:
    """The one factorisation refuses them: believed, they would be worth more than the optimum."""
    case = FAMILIES["correlated"](60)
    instance = instance_of(case)
    reduction = instance.reduction
    M = reduction.n_columns
    problem = lifted_problem(reduction, np.zeros(M, np.int8), cuts=True)
    inner = InteriorSearch(lambda part, gram: most_curved(gram, part.products))(problem, np.zeros((M, M)))
    assert inner is not None
    N = problem.admissible(np.full((M, M), 5.0), inner.flat)
    assert multiplier_bound(problem, N, np.zeros(M), inner).value == -inf
    assert multiplier_bound(problem, np.full((M, M), np.nan), np.zeros(M), inner).value == -inf
    assert np.isfinite(multiplier_bound(problem, np.zeros((M, M)), np.zeros(M), inner).value)


def test_slopes_of_the_wrong_sign_are_priced() -> None:
    """A slope that no sign allows would prove too much, if what it breaks cost nothing."""
    case = FAMILIES["correlated"](60)
    reduction = instance_of(case).reduction
    M = reduction.n_columns
    problem = lifted_problem(reduction, np.zeros(M, np.int8), cuts=True)
    inner = InteriorSearch(lambda part, gram: most_curved(gram, part.products))(problem, np.zeros((M, M)))
    assert inner is not None
    honest = multiplier_bound(problem, np.zeros((M, M)), np.zeros(M), inner).value
    forged = multiplier_bound(problem, np.zeros((M, M)), -problem.A.T @ problem.z, inner).value
    assert forged <= honest + VANISHING * problem.size < problem.size


def test_curvature_is_found_where_groups_give_it_and_nowhere_else() -> None:
    gram = np.array([[1.0, 1.0], [1.0, 1.0]])
    same, apart = np.ones((2, 2), np.int8), np.eye(2, dtype=np.int8)
    N, _ = most_curved(gram, same)  # equal columns of one group: w'w is at most (w1 + w2)^2
    assert np.linalg.eigvalsh(gram - N)[0] == pytest.approx(1.0, rel=0.25)
    N, moved = most_curved(gram, apart)
    assert not _positive_definite(gram - N, 1e-6)
    assert moved == pytest.approx([0.5, 0.5], abs=1e-3)
    N, _ = most_curved(np.array([[1.0, -1.0], [-1.0, 1.0]]), -same)  # of opposite signs: negative multipliers
    assert N[0, 1] < 0


def test_bounds_do_not_depend_on_what_was_asked_before() -> None:
    case = FAMILIES["correlated"](61)
    instance = Instance(case.X, case.y, case.labels)
    root = SignPattern.free(case.n_groups)
    node = root.fix(0, 1)
    after_others = ShorRelaxation().prepare(instance)
    after_others.bound(root.fix(1, -1))
    assert after_others.bound(node).value == ShorRelaxation().prepare(instance).bound(node).value
