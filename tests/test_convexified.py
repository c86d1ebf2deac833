"""The convexified bound: below exact optima at every node, never falling, strong; the search keeps its answers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.linalg import toeplitz

import partls
from formulations import Instance, SignPattern
from partls.explore.branching import branching_rule
from partls.explore.compiled import CompiledExplorer
from partls.explore.subtree import Incumbent, Subtree, Tolerances
from relaxations import kernel, named
from relaxations.active_set import group_columns
from relaxations.clock import until
from relaxations.convexified import ConvexifiedRelaxation, applies, convexified
from tests.families import FAMILIES, conditioned, correlated
from tests.oracles import brute_force
from tests.rational_optimum import every_candidate, optimum
from tests.strategies import Tiny
from tests.tolerances import VANISHING, same_optimum

SERVED = ("overdetermined", "correlated", "subset sum", "l2", "weights", "no intercept", "free columns", "singletons",
          "underdetermined", "duplicates")
PRICED = 1e-11  # of ||y||^2: what the prices of residuals may take from a bound
UNSERVED = ("l1",)  # "active-set" by another name


def instance_of(case: Tiny) -> Instance:
    return Instance(case.X, case.y, case.labels, ungrouped="free", **case.options)


def random_nodes(case: Tiny, seed: int, n: int) -> list[SignPattern]:
    rng = np.random.default_rng([31, seed])
    return [SignPattern(tuple(rng.integers(-1, 2, case.n_groups).tolist())) for _ in range(n)]


def optimum_within(leaves: dict[tuple[int, ...], float], signs: SignPattern) -> float:
    return min(value for leaf, value in leaves.items() if signs.contains(SignPattern(leaf)))


def check_bounds(case: Tiny, seed: int, theta: float = 0.9) -> int:
    """Check bounds at random nodes; return how many raw values a test of this kind would have caught."""
    leaves = brute_force(case.X, case.y, case.labels, **case.options).objectives
    bounder = ConvexifiedRelaxation(theta).prepare(instance_of(case))
    size, caught = float(np.square(case.weighted_y).sum()), 0
    for signs in random_nodes(case, seed, 6):
        found, optimum = bounder.bound(signs), optimum_within(leaves, signs)
        assert found.value <= optimum + VANISHING * size, (seed, signs)
        caught += found.estimate > optimum
        for k in signs.undecided:
            assert bounder.bound(signs.fix(k, 1)).value >= found.value - PRICED * size, (seed, signs, k)
    complete = SignPattern(min(leaves, key=leaves.__getitem__))
    assert bounder.bound(complete).value == pytest.approx(leaves[complete.values], rel=1e-8, abs=PRICED * size)
    return caught


@pytest.mark.parametrize("kind", [*SERVED, *UNSERVED])
def test_bounds_never_exceed_the_optimum_nor_fall_and_are_exact_at_leaves(kind: str) -> None:
    for seed in range(5):
        check_bounds(FAMILIES[kind](seed), seed)


@pytest.mark.parametrize("seed", range(4))
def test_as_many_rows_as_columns_need_multipliers_to_be_convex_at_all(seed: int) -> None:
    """Centring leaves one direction flat. Leaves are then bounded without multipliers."""
    case = correlated(seed, n_columns=12, n_groups=4, n_rows=12)
    grouped = group_columns(instance_of(case).reduction)
    assert not grouped.passive.all()
    assert ConvexifiedRelaxation().multipliers(grouped, SignPattern.free(4)) is not None
    check_bounds(case, seed)


def test_multipliers_that_dependent_columns_need_do_not_lower_a_bound() -> None:
    check_bounds(FAMILIES["underdetermined"](216), 216, theta=0.99)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SERVED)
def test_three_hundred_bounds_and_raw_values_fail_the_same_test(kind: str) -> None:
    assert sum(check_bounds(FAMILIES[kind](seed), seed, theta=0.99) for seed in range(300)) > 0


@pytest.mark.parametrize("power", range(1, 13))
def test_no_bound_exceeds_the_exact_optimum_at_any_condition(power: int) -> None:
    """Beyond a condition of 1e6 the kernel is not asked; what rounding does to the data is settled by the search."""
    case = conditioned(power, condition=10.0**power, n_columns=6)
    bounder = ConvexifiedRelaxation().prepare(instance_of(case))
    exact, size = every_candidate(case.X, case.y, case.labels), float(np.square(case.y).sum())
    for signs in random_nodes(case, power, 8) if power <= 6 else []:
        assert bounder.bound(signs).value <= float(optimum(exact, signs.values)) + VANISHING * size, signs
    result = partls.solve(case.X, case.y, case.labels, relaxation="convexified")
    assert result.lower_bound <= float(optimum(exact, (0, 0, 0))) * (1.0 + 1e-15)


def large(seed: int, *, n_columns: int, n_groups: int, n_rows: int = 0) -> tuple[Instance, np.ndarray]:
    """Return a problem with neighbouring columns correlated and a target of noise alone: its tree is large."""
    rng = np.random.default_rng([32, seed])
    L = np.linalg.cholesky(toeplitz(0.5 ** np.arange(n_columns)))
    n_rows = n_rows or 2 * n_columns
    X, y = rng.standard_normal((n_rows, n_columns)) @ L.T, rng.standard_normal(n_rows)
    return Instance(X, y, np.repeat(np.arange(n_groups), n_columns // n_groups).tolist()), y


@pytest.mark.parametrize("seed", range(3))
def test_the_root_keeps_its_share_of_the_shor_bound(seed: int) -> None:
    """The minimum of ``w'(Q - t N) w - 2 c'w`` is concave in t: theta N is worth theta of what N is."""
    instance, _ = large(seed, n_columns=24, n_groups=6)
    root = SignPattern.free(6)
    names = ("active-set", "shor", "convexified")
    plain, shor, own = (named(name).prepare(instance).bound(root).value for name in names)
    assert plain + 0.85 * (shor - plain) < own < shor * (1.0 + 1e-9)


def two_groups() -> tuple[Instance, np.ndarray]:
    """Multipliers of the second group that only those of the first make bearable.

    Along v = (1, -1, e, e) the first group's multipliers add curvature, and the second one's take it away.
    """
    rng = np.random.default_rng(33)
    X = np.linalg.qr(rng.standard_normal((30, 5)) - 0.0)[0]
    X -= X.mean(axis=0)
    X[:, 1] = X[:, 0] + 0.3 * X[:, 4]
    X[:, 3] = 0.45 * (X[:, 1] - X[:, 0]) / np.linalg.norm(X[:, 1] - X[:, 0]) - X[:, 2]
    instance = Instance(X[:, :4], rng.standard_normal(30), [0, 0, 1, 1])
    return instance, np.array([[0.0, 0.35], [0.35, 0.0], [0.0, 0.1], [0.1, 0.0]])


def state_after(instance: Instance, N: np.ndarray, signs: tuple[int, ...]) -> tuple[np.ndarray, float]:
    """Return which columns keep multipliers at a node, and its safe bound."""
    grouped = group_columns(instance.reduction)
    problem = convexified(grouped, grouped.kernel_problem(grouped.size), N)
    assert problem is not None
    workspace = kernel.node.make_workspace(problem, levels=1)
    safe = kernel.one_node.bound_node(problem, workspace, np.array(signs, np.int8), np.inf)[2]
    return workspace.S[0, kernel.tableau.PAIRED] > 0, safe


def curvature(instance: Instance, N: np.ndarray, kept: tuple[int, ...]) -> float:
    grouped = group_columns(instance.reduction)
    F = grouped.R.T @ grouped.R
    for k in kept:
        first, last = grouped.start[k], grouped.start[k + 1]
        F[first:last, first:last] -= N[first:last, : last - first]
    return float(np.linalg.eigvalsh(F)[0])


def largest_pair(instance: Instance, N: np.ndarray) -> np.ndarray:
    """Return N with the second group's multipliers as large as the first group's allow."""
    low, high = 0.0, 5.0
    for _ in range(60):
        middle = (low + high) / 2
        scaled = N * np.array([[1.0], [1.0], [middle], [middle]])
        low, high = (middle, high) if curvature(instance, scaled, (0, 1)) > 1e-3 else (low, middle)
    return N * np.array([[1.0], [1.0], [low], [low]])


def test_multipliers_stay_where_dropping_them_would_cost_convexity() -> None:
    instance, N = two_groups()
    N = largest_pair(instance, N)
    assert curvature(instance, N, (0, 1)) > 0 > curvature(instance, N, (1,))
    leaves = brute_force(instance.X, instance.y, [0, 0, 1, 1]).objectives
    for sign in (1, -1):
        kept, safe = state_after(instance, N, (sign, 0))
        assert kept.tolist() == [True, True, True, True]  # the first group's, though it is decided
        assert safe * instance.reduction.scale <= optimum_within(leaves, SignPattern((sign, 0))) * (1 + 1e-12)
        kept, _ = state_after(instance, N, (0, sign))
        assert kept.tolist() == [True, True, False, False]


@pytest.mark.parametrize("seed", range(20))
def test_what_is_dropped_leaves_a_convex_matrix(seed: int) -> None:
    """Random multipliers at the edge: the kernel's proof of convexity is held to the eigenvalues."""
    rng = np.random.default_rng([34, seed])
    case = correlated(seed, n_columns=12, n_groups=4, n_rows=30)
    instance = instance_of(case)
    grouped = group_columns(instance.reduction)
    N = np.zeros((12, int(np.diff(grouped.start).max())))
    for first, last in zip(grouped.start[:-1], grouped.start[1:], strict=True):
        block = rng.uniform(0.0, 1.0, (last - first, last - first)) * rng.uniform(0.2, 2.0)
        N[first:last, : last - first] = np.triu(block, 1) + np.triu(block, 1).T
    low, high = 0.0, 10.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if curvature(instance, middle * N, (0, 1, 2, 3)) > 1e-4 else (low, middle)
    N, size = low * N, float(np.square(case.y).sum())
    leaves = brute_force(case.X, case.y, case.labels).objectives
    for signs in random_nodes(case, seed, 10):
        kept, safe = state_after(instance, N, signs.values)
        groups = tuple(k for k in range(4) if kept[grouped.start[k]])
        assert set(signs.undecided) <= {k for k in range(4) if kept[grouped.start[k]] or not N[grouped.start[k]].any()}
        assert curvature(instance, N, groups) > 0.0
        assert safe * instance.reduction.scale <= optimum_within(leaves, signs) + VANISHING * size


@pytest.mark.parametrize("kind", [*SERVED, *UNSERVED])
def test_the_search_finds_the_same_optimum(kind: str) -> None:
    for seed in range(6):
        case = FAMILIES[kind](seed)
        results = [
            partls.solve(case.X, case.y, case.labels, ungrouped="free", relaxation=name, **case.options)
            for name in ("active-set", "convexified")
        ]
        assert results[1].status.name == "OPTIMAL"
        assert results[1].objective == same_optimum(results[0].objective, case.weighted_y)


@pytest.mark.parametrize("seed", range(3))
def test_a_large_tree_is_smaller_and_has_the_same_answer(seed: int) -> None:
    instance, y = large(seed, n_columns=80, n_groups=20)
    plain = partls.solve_instance(instance, relaxation="active-set")
    strong = partls.solve_instance(instance, relaxation="convexified")
    assert strong.objective == same_optimum(plain.objective, y)
    assert strong.n_nodes < plain.n_nodes / 3
    assert strong.counts["closed by convexified"] > 0 and "closed by convexified" not in plain.counts
    again = partls.solve_instance(instance, relaxation="convexified", n_jobs=2)
    assert (again.n_nodes, again.objective) == (strong.n_nodes, strong.objective)


def test_a_tree_with_as_many_rows_as_columns_is_smaller_too() -> None:
    instance, y = large(0, n_columns=80, n_groups=20, n_rows=80)
    plain = partls.solve_instance(instance, relaxation="active-set")
    strong = partls.solve_instance(instance, relaxation="convexified")
    assert strong.objective == same_optimum(plain.objective, y)
    assert strong.n_nodes < plain.n_nodes / 2
    assert strong.counts["closed by convexified"] > 0


def test_what_keeps_its_multipliers_at_a_leaf_is_settled_without_them() -> None:
    instance, N = two_groups()
    grouped = group_columns(instance.reduction)
    tolerances = Tolerances(1e-10, grouped.size)
    explorer = CompiledExplorer(grouped, branching_rule("strong"), tolerances, grouped.size)
    assert explorer.convexify(largest_pair(instance, N))
    start = Incumbent(grouped.size, np.zeros(4))
    found = explorer.explore(Subtree(SignPattern.free(2)), start, 100, np.zeros(1, np.uint8))
    assert not found.open
    expected = partls.solve_instance(instance, relaxation="active-set").objective
    assert found.best.value * instance.reduction.scale == same_optimum(expected, instance.y)


def test_auto_switches_to_it_for_a_large_tree_and_goes_on_from_a_checkpoint(tmp_path) -> None:
    instance, y = large(1, n_columns=120, n_groups=40)
    plain = partls.solve_instance(instance, relaxation="active-set")
    whole = partls.solve_instance(instance)
    assert whole.counts["switched to convexified"] == 1
    assert whole.objective == same_optimum(plain.objective, y)
    assert whole.n_nodes < plain.n_nodes
    path = tmp_path / "search.json"
    cut = partls.solve_instance(instance, checkpoint=path, node_limit=whole.n_nodes - 50)
    assert cut.status.name == "NODE_LIMIT" and cut.lower_bound <= plain.objective
    assert json.loads(path.read_text())["counts"]["switched to convexified"] == 1
    resumed = partls.solve_instance(instance, checkpoint=path)
    assert resumed.counts["switched to convexified"] == 1
    assert resumed.objective == same_optimum(plain.objective, y)
    assert resumed.n_nodes < whole.n_nodes + 500  # it does not start again


def test_without_time_the_bound_of_the_whole_tree_is_the_convexified_one() -> None:
    instance, _ = large(0, n_columns=24, n_groups=6)
    grouped = group_columns(instance.reduction)
    explorer = CompiledExplorer(grouped, branching_rule("strong"), Tolerances(1e-10, grouped.size), grouped.size)
    root, relaxation = SignPattern.free(6), ConvexifiedRelaxation()
    with until(0.0):  # over at once
        plain = explorer.safe_bound(Subtree(root), grouped.size)
    assert explorer.convexify(relaxation.multipliers(grouped, root))
    with until(0.0):
        strong = explorer.safe_bound(Subtree(root), grouped.size)
    assert plain < strong == pytest.approx(relaxation.prepare(instance).bound(root).value / instance.reduction.scale)


def test_a_certificate_of_a_fit_by_it_is_that_of_the_plain_search(tmp_path) -> None:
    """The proof pass finds its boxes anew from the answer: no multipliers need to be checked, none can be forged."""
    instance, _ = large(0, n_columns=24, n_groups=8)
    boxes = {}
    for name in ("active-set", "convexified"):
        path = tmp_path / f"{name}.json"
        partls.solve_instance(instance, relaxation=name, certificate=path)
        assert partls.verify(path, instance.X, instance.y, instance.partition).lower_bound > 0
        boxes[name] = [box["signs"] for box in json.loads(path.read_text())["boxes"]]
    assert boxes["convexified"] == boxes["active-set"]


@pytest.mark.parametrize("kind", UNSERVED)
def test_where_it_does_not_apply_it_is_the_default_bound(kind: str) -> None:
    instance = instance_of(FAMILIES[kind](0))
    assert not applies(group_columns(instance.reduction))
    free = SignPattern.free(instance.reduction.n_groups)
    own, plain = (named(name).prepare(instance).bound(free).value for name in ("convexified", "active-set"))
    assert own == plain


@pytest.mark.parametrize("options", [{"theta": 1.0}, {"theta": -0.1}, {"accuracy": 0.0}, {"accuracy": 1.0}])
def test_shares_that_are_none_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        ConvexifiedRelaxation(**options)
