"""The perspective relaxation: its bounds never pass the oracle's optimum, whatever D, whatever the solver says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import pytest

import partls
from formulations import Instance, InvalidInput, SignPattern, best_curvature, perspective, shor
from relaxations import ActiveSetRelaxation, BoundStatus, PerspectiveRelaxation, Relaxation, UnconstrainedRelaxation
from relaxations.conic.curvature import CHOICES, chosen, room
from relaxations.safe.perspective import PerspectiveSafeBound
from tests.families import DEPENDENT, FAMILIES, correlated, overdetermined
from tests.oracles import brute_force
from tests.strategies import Tiny
from tests.tolerances import QUADRATIC_PROGRAM, VANISHING

SDP = 1e-5  # relative error allowed to a semidefinite program solved by Clarabel
BOUNDED = (
    "overdetermined", "correlated", "underdetermined", "subset sum", "l2", "l2, dependent", "l1", "l1 intercept",
    "conditioned",
)
MEMBERS: dict[str, Relaxation] = {
    **{D: PerspectiveRelaxation(D) for D in CHOICES},
    "not strengthened": PerspectiveRelaxation("diagonal", strengthen=False),
    "block, strengthened": PerspectiveRelaxation(strengthen=True),
    "rescaled": PerspectiveRelaxation("bj", rescale=True),
    "unconstrained, strengthened": UnconstrainedRelaxation(strengthen=True),
}


@dataclass(frozen=True, eq=False)
class Judged:
    """One problem, and the true optimum of each of its nodes."""

    instance: Instance
    leaves: dict[tuple[int, ...], float]
    size: float

    def optimum(self, signs: SignPattern) -> float:
        return min(value for leaf, value in self.leaves.items() if signs.contains(SignPattern(leaf)))

    @property
    def root(self) -> SignPattern:
        return SignPattern.free(self.instance.n_groups)

    def nodes(self, count: int, seed: int = 0) -> list[SignPattern]:
        """Return the root, a leaf and other nodes: all if there are no more than ``count``."""
        every = [SignPattern(values) for values in product((0, 1, -1), repeat=self.instance.n_groups)]
        if len(every) <= count:
            return every
        inner = np.random.default_rng(seed).choice(np.arange(1, len(every) - 1), count - 2, replace=False)
        return [every[0], *(every[i] for i in inner), every[-1]]


def judged(case: Tiny) -> Judged:
    instance = Instance(case.X, case.y, case.labels, ungrouped="free", **case.options)
    leaves = brute_force(case.X, case.y, case.labels, **case.options).objectives
    return Judged(instance, leaves, float(np.square(case.weighted_y).sum()))


@cache
def member(family: str, seed: int) -> Judged:
    return judged(FAMILIES[family](seed))


def paths(root: SignPattern, rng: np.random.Generator) -> Iterator[tuple[SignPattern, SignPattern]]:
    """Yield (parent, child) from the root down to a random leaf."""
    for group in rng.permutation(len(root)).tolist():
        child = root.fix(group, int(rng.choice([-1, 1])))
        yield root, child
        root = child


@pytest.mark.parametrize("family", BOUNDED)
@pytest.mark.parametrize("name", MEMBERS)
def test_certified_values_never_pass_the_optimum(name: str, family: str) -> None:
    case = member(family, 0)
    bounder = MEMBERS[name].prepare(case.instance)
    for signs in case.nodes(4 if name == "rescaled" else 6):
        bound = bounder.bound(signs)
        assert bound.status is BoundStatus.OPTIMAL
        assert bound.value <= case.optimum(signs) + VANISHING * case.size, signs


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", MEMBERS)
def test_certified_values_never_pass_the_optimum_in_many_problems(name: str, family: str) -> None:
    for seed in range(1, 16):
        case = member(family, seed)
        bounder = MEMBERS[name].prepare(case.instance)
        for signs in case.nodes(4 if name == "rescaled" else 30, seed):
            bound = bounder.bound(signs)
            assert bound.value <= case.optimum(signs) + VANISHING * case.size, (seed, signs)


def test_the_solvers_own_values_do_pass_it() -> None:
    """The tests above bite: the same comparison fails on raw values of either solver."""
    for solver in ("CLARABEL", "SCS"):
        passed = []
        for seed in range(3):
            case = member("correlated", seed)
            bounder = PerspectiveRelaxation("bj", solvers=(solver,)).prepare(case.instance)
            for signs in case.nodes(6):
                bound, optimum = bounder.bound(signs), case.optimum(signs) + VANISHING * case.size
                passed.append(bound.estimate > optimum)
                assert bound.value <= optimum
        assert any(passed), solver


@pytest.mark.parametrize("family", BOUNDED)
@pytest.mark.parametrize("strengthen", [False, True])
def test_any_vector_certifies(family: str, strengthen: bool) -> None:
    rng = np.random.default_rng(5)
    case = member(family, 1)
    reduction = case.instance.reduction
    space = room(reduction.data_part if strengthen else reduction)
    D = chosen(case.instance, "bj", space, strengthen=strengthen)
    for curvature in (D, rng.uniform() * D, np.zeros_like(D)):
        safe = PerspectiveSafeBound(reduction, curvature, strengthen)
        for signs in case.nodes(6):
            exact = ActiveSetRelaxation().prepare(case.instance).bound(signs).coef
            for spread in (0.0, 1e-9, 1e-3, 1.0):
                v = exact + spread * rng.normal(size=len(exact))
                value = safe.value(v, reduction.column_signs(signs)) * reduction.scale
                assert value <= case.optimum(signs) + VANISHING * case.size


@pytest.mark.parametrize("family", ["correlated", "l2", "l1"])
@pytest.mark.parametrize("name", MEMBERS)
def test_bounds_grow_with_the_signs_and_are_exact_at_leaves(name: str, family: str) -> None:
    case = member(family, 2)
    bounder = MEMBERS[name].prepare(case.instance)
    rng = np.random.default_rng(3)
    for parent, child in paths(case.root, rng):
        low, high = bounder.bound(parent).value, bounder.bound(child).value
        assert low <= high + QUADRATIC_PROGRAM * case.size
    assert high == pytest.approx(case.optimum(child), rel=QUADRATIC_PROGRAM)


@pytest.mark.parametrize("family", ["overdetermined", "correlated", "subset sum", "l2", "l1"])
def test_order(family: str) -> None:
    case = member(family, 3)
    signs = case.root.fix(0, 1)
    names = ("lambda-min", "diagonal", "block")
    low = ActiveSetRelaxation().prepare(case.instance).bound(signs).value
    plain = {D: PerspectiveRelaxation(D, strengthen=False).prepare(case.instance) for D in names}
    lifted = shor(case.instance, signs).solve("CLARABEL")
    at_node = {D: bounder.bound(signs).value for D, bounder in plain.items()}
    assert low - QUADRATIC_PROGRAM * case.size <= min(at_node.values())
    assert max(at_node["lambda-min"], at_node["diagonal"]) <= lifted + SDP * case.size
    at_root = [plain[D].bound(case.root).value for D in names]
    assert (np.diff(at_root) >= -2e-3 * case.size).all()  # the share of D that is spread out


@pytest.mark.parametrize("D", ["diagonal", "block"])
@pytest.mark.parametrize("family", ["correlated", "subset sum", "l2", "l1"])
def test_the_chosen_curvature_attains_the_best_value_at_the_root(D: str, family: str) -> None:
    case = member(family, 4)
    best = best_curvature(case.instance, diagonal=D == "diagonal").solve("CLARABEL")
    low = ActiveSetRelaxation().prepare(case.instance).bound(case.root).value
    value = PerspectiveRelaxation(D, strengthen=False).prepare(case.instance).bound(case.root).value
    assert value <= best + SDP * case.size
    assert value - low >= 0.99 * (best - low) - SDP * case.size


def test_medians_of_the_root_gap_closed() -> None:
    closed = {D: [] for D in ("lambda-min", "diagonal", "block")}
    for seed in range(3):
        case = correlated(seed, n_rows=80, n_columns=20, n_groups=4, corr=0.9)
        instance = Instance(case.X, case.y, case.labels)
        root = SignPattern.free(4)
        low = ActiveSetRelaxation().prepare(instance).bound(root).value
        best = partls.solve(case.X, case.y, case.labels).objective
        for D, found in closed.items():
            found.append((PerspectiveRelaxation(D).prepare(instance).bound(root).value - low) / (best - low))
    medians = [float(np.median(found)) for found in closed.values()]
    assert medians == sorted(medians)
    assert medians[-1] > 0.9
    assert medians[0] > 0.2


@pytest.mark.parametrize("D", CHOICES)
@pytest.mark.parametrize("family", ["correlated", "duplicates", "constants", "reachable", "subset sum", "conditioned"])
def test_every_curvature_is_below_the_data(D: str, family: str) -> None:
    instance = member(family, 5).instance
    reduction = instance.reduction
    space = room(reduction)
    matrix = chosen(instance, D, space)
    Q = reduction.R.T @ reduction.R
    outside = np.setdiff1d(np.arange(reduction.n_columns), space.columns)
    assert not matrix[outside].any()
    assert not matrix[reduction.labels[:, None] != reduction.labels].any()
    assert np.linalg.eigvalsh(matrix).min() >= -1e-15
    assert np.linalg.eigvalsh(Q - matrix).min() >= -1e-14
    assert bool(matrix.any()) == bool(len(space.columns))


def test_dependent_columns_have_nothing_to_give_and_the_others_do() -> None:
    case = overdetermined(0, n_columns=6, n_groups=3)
    labels = np.array(case.labels)
    twice = np.flatnonzero(labels == 0)[0]
    instance = Instance(np.column_stack([case.X, case.X[:, twice]]), case.y, [*case.labels, 0])
    space = room(instance.reduction)
    assert set(instance.reduction.labels[space.columns].tolist()) == {1, 2}
    assert instance.reduction.n_columns == 7
    low = UnconstrainedRelaxation().prepare(instance).bound(SignPattern.free(3))
    assert PerspectiveRelaxation("bj").prepare(instance).bound(SignPattern.free(3)).value > low.value * (1 + 1e-6)


@pytest.mark.parametrize("family", DEPENDENT)
def test_without_curvature_it_is_the_unconstrained_bound(family: str) -> None:
    case = member(family, 6)
    flat = np.zeros((case.instance.reduction.n_columns,) * 2)
    for signs in case.nodes(4):
        value = PerspectiveRelaxation(flat).prepare(case.instance).bound(signs).value
        plain = ActiveSetRelaxation().prepare(case.instance).bound(signs).value
        assert value == pytest.approx(plain, abs=QUADRATIC_PROGRAM * case.size)


def test_the_strengthened_penalty_gains_where_there_is_no_curvature() -> None:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(8, 12)), rng.normal(size=8)
    case = judged(Tiny(X, y, tuple(np.arange(12) % 3), {"eta": 1.0}))
    plain = UnconstrainedRelaxation().prepare(case.instance).bound(case.root).value
    strong = UnconstrainedRelaxation(strengthen=True).prepare(case.instance).bound(case.root).value
    assert PerspectiveRelaxation().prepare(case.instance).bound(case.root).value == pytest.approx(strong, rel=1e-6)
    assert strong > plain + 0.1 * (case.optimum(case.root) - plain)


def test_rescaling_gains_at_depth() -> None:
    case = judged(correlated(3, n_rows=40, n_columns=12, n_groups=4, corr=0.9))
    signs = case.root.fix(0, 1).fix(1, -1)
    plain, rescaled = (
        PerspectiveRelaxation("lambda-min", rescale=rescale).prepare(case.instance).bound(signs).value
        for rescale in (False, True)
    )
    assert plain < rescaled <= case.optimum(signs) + VANISHING * case.size
    low = ActiveSetRelaxation().prepare(case.instance).bound(signs).value
    assert rescaled - low > 1.05 * (plain - low)


def test_moving_between_nodes_is_building_anew() -> None:
    case, relaxation = member("l1", 7), PerspectiveRelaxation("bj")
    moving = relaxation.prepare(case.instance)
    for signs in case.nodes(5):
        anew = relaxation.prepare(case.instance).bound(signs).value
        assert moving.bound(signs).value == pytest.approx(anew, rel=QUADRATIC_PROGRAM)
    D = chosen(case.instance, "bj", room(case.instance.reduction))
    assert perspective(case.instance, D).problem.is_dcp(dpp=True)


def test_a_given_curvature_is_shrunk_until_it_is_safe() -> None:
    case = member("correlated", 0)
    reduction = case.instance.reduction
    edge = np.linalg.eigvalsh(reduction.R.T @ reduction.R)[0] * np.eye(reduction.n_columns)
    space = room(reduction)
    safe = chosen(case.instance, edge, space)
    assert 0 < safe[0, 0] < edge[0, 0] <= safe[0, 0] * (1 + 1e-5)
    half = chosen(case.instance, edge / 2, space)
    assert np.array_equal(half, edge / 2)


@pytest.mark.parametrize(
    ("D", "message"),
    [
        ("blok", 'did you mean "block"'),
        (10.0 * np.eye(4), "Q - D has the negative"),
        (-np.eye(4), "D has the negative"),
        (np.eye(3), "shape"),
        ([np.eye(2)], "blocks"),
        (np.full((4, 4), 1e-3), "between two groups"),
    ],
)
def test_a_wrong_curvature_is_refused(D: object, message: str) -> None:
    case = overdetermined(0, n_columns=4, n_groups=2)
    with pytest.raises(InvalidInput, match=message):
        PerspectiveRelaxation(D).prepare(Instance(case.X, case.y, case.labels))


@pytest.mark.parametrize("family", ["correlated", "underdetermined", "l2", "l1"])
def test_branch_and_bound_returns_the_oracles_optimum(family: str) -> None:
    tiny = FAMILIES[family](8)
    result = partls.solve(tiny.X, tiny.y, tiny.labels, method="bnb", relaxation="perspective", **tiny.options)
    expected = member(family, 8)
    assert result.status is partls.Status.OPTIMAL
    assert result.objective == pytest.approx(expected.optimum(expected.root), rel=1e-9, abs=1e-12 * expected.size)


def test_a_group_of_singular_curvature_is_priced_without_the_ridge() -> None:
    """``h'x - x'Ex`` is at most w'Ew where h = 2Ew, and not a ridge's worth more."""
    rng = np.random.default_rng(1)
    reduction = Instance(rng.normal(size=(9, 3)), rng.normal(size=9), [0, 0, 1]).reduction
    D = np.zeros((3, 3))
    D[:2, :2] = np.outer([0.6, 0.3], [0.6, 0.3])
    safe, w = PerspectiveSafeBound(reduction, D), np.array([1.0, 0.5])
    group = safe._groups[0]
    depth = safe._depth(group, (2 * group.E @ w).astype(np.longdouble))
    assert depth == pytest.approx(float(w @ group.E @ w), rel=1e-14)
