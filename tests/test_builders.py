"""Every builder against a brute force over sign patterns that uses SciPy and the original data only."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise, product

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import block_diag, eigvalsh
from scipy.optimize import lsq_linear, minimize

import formulations
from formulations import (
    Instance,
    InvalidInput,
    Model,
    Partition,
    SignPattern,
    alpha_fixed,
    balanced_value,
    best_curvature,
    beta_fixed,
    from_coef,
    partls_b,
    perspective,
    quadratic,
    shor,
    shor_block_only_as_printed,
    split_dnn,
    subset_sum,
    to_coef,
    to_partls,
    to_partls_b,
)

QP = 1e-7  # relative error allowed to a quadratic program solved by Clarabel
SDP = 1e-5  # the same for a semidefinite program

LABELS = [0, 1, 0, 2, 1]
CASES = {
    "plain": {},
    "l2": {"eta": 2.0},
    "l1": {"eta": 1.5, "penalty": "l1"},
    "weighted l2": {"eta": 1.0, "weighted": True},
    "no intercept": {"fit_intercept": False},
    "l2 intercept": {"eta": 2.0, "penalize_intercept": True},
    "l1 intercept": {"eta": 1.5, "penalty": "l1", "penalize_intercept": True},
    "free column": {"eta": 0.5, "labels": [0, 1, 0, -1, 1]},
}
ROUGH_SCALES = np.array([1.0, 30.0, 0.2, 1.0, 5.0])


@cache
def make(case: str) -> Instance:
    """Return a tiny instance whose best signs are not obvious: correlated columns of unlike sizes, a noise target."""
    options = dict(CASES[case])
    labels = options.pop("labels", LABELS)
    rng = np.random.default_rng(20)
    base = rng.normal(size=(12, 5))
    X = (base + 0.7 * base.sum(axis=1, keepdims=True) / 2 + 0.5) * ROUGH_SCALES
    y = rng.normal(size=12) * 3 + 1
    if options.pop("weighted", False):
        options["sample_weight"] = rng.integers(0, 4, size=12)
    return Instance(X, y, labels, ungrouped="free", **options)


def brute(instance: Instance, signs: Iterable[int]) -> tuple[float, np.ndarray, float]:
    """Return ``(value, coef, intercept)`` of the quadratic form under signs (0: no constraint on the group)."""
    M, labels = instance.n_columns, instance.partition.labels
    group_sign = [*signs, 0]
    column_signs = [group_sign[k] for k in labels] + [0]
    kinked = labels >= 0 if instance.penalty == "l1" and instance.eta > 0 else np.zeros(M, dtype=bool)
    kinked = np.append(kinked, instance.penalty == "l1" and instance.fit_intercept and instance.penalize_intercept)
    # |w_m| is linear on each side of zero, so an undecided column with an L1 penalty is tried on both.
    choices = [(1, -1) if kink and s == 0 else (s,) for s, kink in zip(column_signs, kinked, strict=True)]
    results = [_bounded(instance, np.array(choice), kinked) for choice in product(*choices)]
    return min(results, key=lambda result: result[0])


def _bounded(instance: Instance, signs: np.ndarray, kinked: np.ndarray) -> tuple[float, np.ndarray, float]:
    weights = np.ones(instance.n_rows) if instance.sample_weight is None else instance.sample_weight
    A = np.column_stack([instance.X, np.full(instance.n_rows, float(instance.fit_intercept))])
    A = A * np.sqrt(weights)[:, None]
    y = instance.y * np.sqrt(weights)
    if instance.penalty == "l2" and instance.eta > 0:
        own = [instance.fit_intercept and instance.penalize_intercept]
        rows = np.sqrt(instance.eta) * block_diag(instance.partition.indicator().T, np.array([own], dtype=float))
        A, y = np.vstack([A, rows]), np.append(y, np.zeros(len(rows)))
    linear = instance.eta * kinked * signs
    # ||A x - y||^2 + c'x is ||A x - y + h||^2 up to a constant when A'h = c / 2.
    shift = np.linalg.lstsq(A.T, linear / 2, rcond=None)[0]
    bounds = np.where(signs > 0, 0.0, -np.inf), np.where(signs < 0, 0.0, np.inf)
    x = lsq_linear(A, y - shift, bounds, method="bvls", tol=1e-15).x
    if not np.allclose(A.T @ shift, linear / 2, atol=1e-12):  # dependent columns: no such h
        x = _descend(A, y, linear, bounds)
    return float(np.square(A @ x - y).sum() + linear @ x), x[:-1], float(x[-1])


def _descend(A: np.ndarray, y: np.ndarray, linear: np.ndarray, bounds: tuple[np.ndarray, ...]) -> np.ndarray:
    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        residual = A @ x - y
        return float(residual @ residual + linear @ x), 2 * A.T @ residual + linear

    box, options = list(zip(*bounds, strict=True)), {"ftol": 1e-16, "gtol": 1e-12, "maxiter": 10**4}
    return np.asarray(minimize(objective, np.zeros(A.shape[1]), jac=True, bounds=box, options=options).x)


@cache
def leaves(case: str) -> dict[SignPattern, float]:
    """Return the optimum of every fully decided pattern."""
    instance = make(case)
    return {signs: brute(instance, signs)[0] for signs in SignPattern.all(instance.n_groups)}


@cache
def optimum(case: str, signs: SignPattern | None = None) -> float:
    """Return the optimum of PartLS under signs."""
    return min(value for leaf, value in leaves(case).items() if signs is None or signs.contains(leaf))


def solved(model: Model) -> float:
    """Return the value of a model after checking that the solver is content."""
    value = model.solve("CLARABEL")
    assert model.problem.status == cp.OPTIMAL, model
    return value


def smallest_eigenvalue_matrix(R: np.ndarray) -> np.ndarray:
    """Return the simplest D: the smallest eigenvalue of Q times the identity."""
    Q = R.T @ R
    return eigvalsh(Q)[0] * np.eye(len(Q))


def scaled_blocks(instance: Instance) -> list[np.ndarray]:
    """Return the diagonal blocks of Q times the largest factor that keeps Q - D psd."""
    R, labels = instance.reduction.R, instance.reduction.labels
    blocks = [R[:, labels == k].T @ R[:, labels == k] for k in range(instance.reduction.n_groups)]
    order = np.argsort(labels, kind="stable")
    factor = eigvalsh((R.T @ R)[np.ix_(order, order)], block_diag(*blocks))[0]
    return [factor * block for block in blocks]


def node(instance: Instance) -> SignPattern:
    """Return a pattern with some groups decided and one undecided."""
    return SignPattern((-1, 0, 1)[: instance.n_groups])


def check_order(values: list[float], tolerance: float) -> None:
    """Fail unless the values do not decrease, up to a tolerance relative to the last."""
    assert all(a <= b + tolerance * abs(values[-1]) for a, b in pairwise(values)), values


every_case = pytest.mark.parametrize("case", CASES)


@every_case
def test_partls_b_solves_the_subproblem_of_each_sign_vector(case: str) -> None:
    instance = make(case)
    values = {b: solved(partls_b(instance, b)) for b in leaves(case)}
    assert values == pytest.approx(leaves(case), rel=QP)
    assert min(values.values()) == pytest.approx(optimum(case), rel=QP)


@every_case
def test_exact_models_restore_a_point_with_their_value(case: str) -> None:
    instance = make(case)
    leaf = min(leaves(case), key=leaves(case).__getitem__)
    for model in (partls_b(instance, leaf), quadratic(instance, leaf), split_dnn(instance, leaf)):
        value = solved(model)
        coef, intercept = model.solution()
        assert instance.objective(coef, intercept) == pytest.approx(value, rel=SDP)
        assert (leaf.per_column(instance.partition.labels) * coef >= -1e-4 * np.abs(coef).max()).all()


@every_case
@pytest.mark.parametrize("strengthen", [False, True])
def test_one_quadratic_model_moves_from_node_to_node(case: str, strengthen: bool) -> None:
    instance = make(case)
    model = quadratic(instance, strengthen=strengthen)
    assert model.problem.is_dcp(dpp=True)
    root = solved(model)
    middle = solved(model.fix(node(instance)))
    check_order([root, middle, optimum(case, node(instance))], QP)
    assert not strengthen or root >= brute(instance, [0] * instance.n_groups)[0] * (1 - QP)
    if not strengthen:
        assert root == pytest.approx(brute(instance, [0] * instance.n_groups)[0], rel=QP)
        assert middle == pytest.approx(brute(instance, node(instance))[0], rel=QP)
    for leaf, value in leaves(case).items():
        assert solved(model.fix(leaf)) == pytest.approx(value, rel=QP)
    assert solved(model.fix(None)) == pytest.approx(root, rel=QP)


@pytest.mark.parametrize("case", ["l2", "l2 intercept", "free column"])
def test_the_strong_penalty_is_strictly_stronger_at_the_root_and_within_the_sdp(case: str) -> None:
    instance = make(case)
    plain, strong = solved(quadratic(instance)), solved(quadratic(instance, strengthen=True))
    assert plain * (1 + 1e-4) < strong
    check_order([strong, solved(shor(instance)), optimum(case)], SDP)


@every_case
@pytest.mark.parametrize("at_node", [False, True])
def test_relaxations_are_ordered(case: str, at_node: bool) -> None:
    instance = make(case)
    signs = node(instance) if at_node else None
    reduction = instance.reduction
    models = [
        quadratic(instance, signs),
        perspective(instance, smallest_eigenvalue_matrix(reduction.R), signs),
        shor(instance, signs, cuts=False),
        shor(instance, signs),
        split_dnn(instance, signs),
    ]
    check_order([*map(solved, models), optimum(case, signs)], SDP)


def test_every_step_of_the_order_can_be_strict() -> None:
    instance = subset_sum([5, 5, 5], 0.3)
    signs = SignPattern((1, -1, 0))
    models = [
        quadratic(instance, signs),
        perspective(instance, smallest_eigenvalue_matrix(instance.reduction.R), signs),
        shor(instance, signs, cuts=False),
        shor(instance, signs),
        split_dnn(instance, signs),
    ]
    values = list(map(solved, models))
    assert (np.diff(values) > 0.01 * values[-1]).all(), values
    assert values[-1] == pytest.approx(min(brute(instance, (1, -1, s))[0] for s in (1, -1)), rel=SDP)


@every_case
@pytest.mark.parametrize("strengthen", [False, True])
def test_perspective_bounds_grow_to_the_optimum(case: str, strengthen: bool) -> None:
    instance = make(case)
    part = instance.reduction.data_part if strengthen else instance.reduction
    D = smallest_eigenvalue_matrix(part.R)
    leaf = next(iter(leaves(case)))
    path = [None, SignPattern((leaf[0],) + (0,) * (len(leaf) - 1)), leaf]
    values = [solved(perspective(instance, D, signs, strengthen=strengthen)) for signs in path]
    check_order([solved(quadratic(instance, strengthen=strengthen)), *values], QP)
    assert values[-1] == pytest.approx(leaves(case)[leaf], rel=QP)
    assert values[0] <= optimum(case) * (1 + QP)


@every_case
def test_perspective_takes_blocks(case: str) -> None:
    instance = make(case)
    blocks = scaled_blocks(instance)
    value = solved(perspective(instance, blocks))
    order = np.argsort(instance.reduction.labels, kind="stable")
    matrix = np.zeros((len(order), len(order)))
    matrix[np.ix_(order, order)] = block_diag(*blocks)
    assert solved(perspective(instance, matrix)) == pytest.approx(value, rel=QP)
    check_order([solved(quadratic(instance)), value, optimum(case)], SDP)


@every_case
@pytest.mark.parametrize("strengthen", [False, True])
def test_the_best_curvature_is_better_than_another(case: str, strengthen: bool) -> None:
    instance = make(case)
    part = instance.reduction.data_part if strengthen else instance.reduction
    low = solved(perspective(instance, smallest_eigenvalue_matrix(part.R)))
    best = [solved(best_curvature(instance, diagonal=diagonal, strengthen=strengthen)) for diagonal in (True, False)]
    check_order([low, *best, optimum(case)], SDP)
    flat = solved(best_curvature(instance, strengthen=strengthen, groups=[]))
    assert flat == pytest.approx(solved(quadratic(instance, strengthen=strengthen)), rel=SDP)


def test_perspective_without_curvature_is_the_quadratic_form() -> None:
    instance = make("l2")
    assert solved(perspective(instance, np.zeros((5, 5)))) == pytest.approx(solved(quadratic(instance)), rel=QP)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda D: D[:3, :3], "shape"),
        (lambda D: [D[:2, :2], D[:2, :2]], "blocks"),
        (lambda D: D + 1e-3 * np.eye(5)[[4, 1, 2, 3, 0]], "between two groups"),
        (lambda D: D + np.triu(np.full((5, 5), 1e-3), 1), "symmetric"),
        (lambda D: -D, "D has the negative"),
        (lambda D: 1.01 * D, "Q - D has the negative"),
        (lambda D: D * np.nan, "finite"),
    ],
)
def test_perspective_refuses_a_wrong_matrix(change: Callable[[np.ndarray], object], message: str) -> None:
    instance = make("plain")
    D = smallest_eigenvalue_matrix(instance.reduction.R)
    with pytest.raises(InvalidInput, match=message):
        perspective(instance, change(D))


@every_case
def test_the_lifted_bounds_are_exact_at_leaves(case: str) -> None:
    instance = make(case)
    leaf = list(leaves(case))[1]
    for model in (shor(instance, leaf), shor(instance, leaf, cuts=False), split_dnn(instance, leaf)):
        assert solved(model) == pytest.approx(leaves(case)[leaf], rel=SDP)


def test_the_block_only_sdp_is_unbounded() -> None:
    rng = np.random.default_rng(3)
    instance = Instance(rng.normal(size=(10, 4)), rng.normal(size=10), [0, 0, 1, 1])
    model = shor_block_only_as_printed(instance)
    assert model.solve("CLARABEL") == -np.inf
    assert model.problem.status in {cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE}
    one_group = Instance(instance.X, instance.y)
    value = solved(shor_block_only_as_printed(one_group))  # one block is the full lift
    assert value == pytest.approx(solved(shor(one_group)), rel=SDP)


def random_point(instance: Instance, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return ``(alpha, beta, coef, intercept)`` of a random feasible point of PartLS."""
    rng = np.random.default_rng(seed)
    partition = instance.partition
    alpha, beta = to_partls(rng.uniform(size=5), rng.choice([-1, 1], size=partition.n_groups), partition)
    beta = beta / rng.uniform(5, 50, size=len(beta))
    coef = to_coef(alpha, beta, partition, free=rng.normal(size=len(partition.free)))
    return alpha, beta, coef, float(rng.normal()) if instance.fit_intercept else 0.0


@every_case
def test_the_halves_never_rise_above_the_point_they_start_from(case: str) -> None:
    instance = make(case)
    alpha, beta, coef, intercept = random_point(instance, 5)
    start = instance.objective(coef, intercept)
    for model in (alpha_fixed(instance, alpha), beta_fixed(instance, beta)):
        value = solved(model)
        assert optimum(case) * (1 - QP) <= value <= start
        assert instance.objective(*model.solution()) == pytest.approx(value, rel=QP)
    found, _ = model.solution()
    assert instance.group_sums(found) == pytest.approx(beta, rel=1e-6)
    moved = beta_fixed(instance, beta)
    solved(moved)
    weights = moved.variables["alpha"].value
    assert weights.min() >= -1e-7
    assert weights.sum() == pytest.approx(instance.n_groups, rel=1e-7)


@every_case
def test_alpha_fixed_is_least_squares_on_one_column_per_group(case: str) -> None:
    instance = make(case)
    alpha, *_ = random_point(instance, 6)
    labels = instance.partition.labels
    mixed = np.column_stack([instance.X * alpha @ instance.partition.indicator(), instance.X[:, labels < 0]])
    groups = [*range(instance.n_groups), *[-1] * int((labels < 0).sum())]
    options = {name: getattr(instance, name) for name in ("eta", "penalty", "fit_intercept", "penalize_intercept")}
    small = Instance(mixed, instance.y, groups, ungrouped="free", sample_weight=instance.sample_weight, **options)
    expected = brute(small, [0] * small.n_groups)[0]  # singletons: no sign matters
    assert solved(alpha_fixed(instance, alpha)) == pytest.approx(expected, rel=QP)


@every_case
def test_an_optimal_point_is_a_fixed_point_of_both_halves(case: str) -> None:
    instance = make(case)
    leaf = min(leaves(case), key=leaves(case).__getitem__)
    coef = brute(instance, leaf)[1]
    alpha, beta = from_coef(coef, instance.partition)
    assert solved(alpha_fixed(instance, alpha)) == pytest.approx(optimum(case), rel=QP)
    assert solved(beta_fixed(instance, beta)) == pytest.approx(optimum(case), rel=QP)


@pytest.mark.parametrize("eta", [1e-6, 1.0, 1e12])
@pytest.mark.parametrize("penalize_intercept", [False, True])
def test_data_part_and_penalty_rows_add_up(eta: float, penalize_intercept: bool) -> None:
    base = make("free column")
    instance = Instance(
        base.X, base.y, base.partition, eta=eta, penalize_intercept=penalize_intercept, ungrouped="free"
    )
    reduction, rng = instance.reduction, np.random.default_rng(1)
    v = rng.normal(size=reduction.n_columns)
    sums = reduction.penalty_rows @ v
    total = reduction.data_part.objective(v) + reduction.scale * (sums @ sums)
    assert total == pytest.approx(reduction.objective(v), rel=1e-12)
    coef, intercept = reduction.data_part.restore(v)
    assert np.append(coef, intercept) == pytest.approx(np.append(*reduction.restore(v)), rel=1e-9)
    beta = instance.group_sums(coef)
    assert reduction.scale * (sums @ sums) == pytest.approx(eta * (beta @ beta), rel=1e-12)


@pytest.mark.parametrize(("x_scale", "y_scale"), [(1e-100, 1.0), (1e100, 1e20), (1.0, 1e-30)])
def test_units_do_not_matter(x_scale: float, y_scale: float) -> None:
    base = make("plain")
    instance = Instance(base.X * x_scale, base.y * y_scale, base.partition)
    leaf = SignPattern((1, -1, 1))
    alpha, beta, *_ = random_point(base, 7)
    pairs = [
        (partls_b(instance, leaf), partls_b(base, leaf)),
        (alpha_fixed(instance, alpha), alpha_fixed(base, alpha)),
        (beta_fixed(instance, beta * (y_scale / x_scale)), beta_fixed(base, beta)),
        (shor(instance), shor(base)),
    ]
    for scaled, plain in pairs:
        assert solved(scaled) == pytest.approx(solved(plain) * y_scale**2, rel=SDP)


DEGENERATE = {
    "y = 0": (np.eye(4), np.zeros(4), [0, 0, 1, 1]),
    "X = 0": (np.zeros((3, 2)), np.array([1.0, 2.0, 4.0]), [0, 0]),
    "all zero": (np.zeros((3, 2)), np.zeros(3), [0, 1]),
    "wide": (np.arange(8.0).reshape(2, 4) ** 2, np.array([1.0, -1.0]), [0, 0, 1, 1]),
    "twins": (np.ones((4, 3)) * np.arange(4.0)[:, None], np.array([1.0, 0.0, 2.0, 1.0]), [0, 0, 1]),
    "one column": (np.arange(3.0)[:, None], np.array([1.0, 0.0, 1.0]), [0]),
}


@pytest.mark.parametrize("data", DEGENERATE.values(), ids=DEGENERATE)
@pytest.mark.parametrize("options", [{}, {"eta": 0.5}, {"eta": 0.5, "penalty": "l1"}], ids=str)
def test_degenerate_data_build_and_solve(data: tuple[np.ndarray, ...], options: dict[str, object]) -> None:
    X, y, labels = data
    instance = Instance(X, y, labels, ungrouped="free", **options)
    size = float(y @ y) + 1.0
    values = [solved(partls_b(instance, b)) for b in SignPattern.all(instance.n_groups)]
    root = solved(quadratic(instance))
    assert root == pytest.approx(brute(instance, [0] * instance.n_groups)[0], abs=1e-6 * size)
    assert values == pytest.approx([brute(instance, b)[0] for b in SignPattern.all(instance.n_groups)], abs=1e-6 * size)
    strong = solved(quadratic(instance, strengthen=True))
    flat = solved(perspective(instance, np.zeros((instance.reduction.n_columns,) * 2), strengthen=True))
    assert flat == pytest.approx(strong, abs=1e-6 * size)
    assert root - 1e-6 * size <= strong <= min(values) + 1e-6 * size


def test_a_pattern_may_decide_the_sign_of_a_penalised_intercept() -> None:
    instance = make("l1 intercept")
    free, up, down = (solved(partls_b(instance, (1, 1, 1, *own))) for own in ((), (1,), (-1,)))
    assert free == pytest.approx(min(up, down), rel=QP)
    assert max(up, down) > free * (1 + 1e-4)


def test_wrong_signs_are_refused() -> None:
    instance = make("plain")
    with pytest.raises(InvalidInput, match="leaves a sign open"):
        partls_b(instance, (1, 0, 1))
    with pytest.raises(InvalidInput, match="2 value"):
        shor(instance, (1, -1))
    with pytest.raises(InvalidInput, match="build it again"):
        shor(instance, parametric=False).fix((1, 1, 1))


def test_a_model_describes_itself() -> None:
    instance = make("plain")
    model = split_dnn(instance)
    assert model.size["psd"] == 2 * 5 + 1
    assert quadratic(instance).size == {"variables": 5, "constraints": 5, "psd": 0}
    assert "not solved" in repr(model)
    assert np.isnan(model.value)
    with pytest.raises(InvalidInput, match="not solved"):
        model.solution()
    solved(model)
    assert "optimal" in repr(model)
    assert "PSD block of 11" in repr(model)
    assert shor(instance, node(instance)).constraints.keys() == {"corner", "psd", "pairs", "signs"}


BALANCED, UNBALANCED = [3, 1, 1, 2, 2, 1], [3, 5, 1, 2, 2, 10]


@pytest.mark.parametrize("rho", [0.3, 1.0])
@pytest.mark.parametrize(
    ("numbers", "balanced"), [(BALANCED, True), (UNBALANCED, False), ([1, 2], False), ([4, 4], True)]
)
def test_subset_sum_is_told_by_the_optimum(numbers: list[int], rho: float, balanced: bool) -> None:
    instance = subset_sum(numbers, rho)
    K = len(numbers)
    assert instance.X.shape == (3 * K + 1, 2 * K)
    best = min(brute(instance, signs)[0] for signs in SignPattern.all(K))
    known = balanced_value(numbers, rho)
    assert (abs(best - known) < 1e-9 * known) == balanced
    assert best >= known * (1 - 1e-9)


def test_subset_sum_states_the_problem_of_the_theorem() -> None:
    numbers, rho, rng = [3, 1, 2], 0.7, np.random.default_rng(8)
    w = rng.normal(size=6)
    u, v, s = w[::2], w[1::2], np.array(numbers)
    stated = np.square(u - v - s).sum() + rho * (w @ w) + w.sum() ** 2
    assert subset_sum(numbers, rho).objective(w) == pytest.approx(stated, rel=1e-13)
    for wrong in ([], [1, 0], [1.5]):
        with pytest.raises(InvalidInput):
            subset_sum(wrong)
    with pytest.raises(InvalidInput, match="rho"):
        balanced_value(numbers, 0.0)


PARTITION = Partition.of([0, 1, 0, -1, 2, 1], n_columns=6, ungrouped="free")


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300, 5e-324])
def test_partls_b_solutions_become_partls_solutions(scale: float) -> None:
    alpha, b = np.array([1.0, 0.0, 3.0, 9.0, 2.0, 0.0]) * scale, [-1, -1, 1]
    alpha_hat, beta_hat = to_partls(alpha, b, PARTITION)
    assert PARTITION.indicator().T @ alpha_hat == pytest.approx([1, 1, 1], abs=1e-12)
    assert alpha_hat[[1, 5]].tolist() == [0.5, 0.5]
    assert alpha_hat[3] == 0
    assert np.sign(beta_hat).tolist() == [-1, 0, 1]
    assert not np.signbit(beta_hat[1])
    grouped = PARTITION.labels >= 0
    assert to_coef(alpha_hat, beta_hat, PARTITION)[grouped] == pytest.approx(to_coef(alpha, b, PARTITION)[grouped])


def test_partls_solutions_become_partls_b_solutions() -> None:
    alpha_hat, beta_hat = np.array([0.25, 1.0, 0.75, 0.0, 1.0, 0.0]), np.array([-4.0, 0.0, 2.0])
    alpha, b = to_partls_b(alpha_hat, beta_hat, PARTITION)
    assert b.tolist() == [-1, 1, 1]
    assert alpha.tolist() == [1.0, 0.0, 3.0, 0.0, 2.0, 0.0]
    assert to_coef(alpha, b, PARTITION).tolist() == to_coef(alpha_hat, beta_hat, PARTITION).tolist()


def test_coefficients_go_round() -> None:
    coef = np.array([-1.0, 0.0, -2.0, 7.0, 3.0, 0.0])
    alpha, beta = from_coef(coef, PARTITION)
    assert beta.tolist() == [-3.0, 0.0, 3.0]
    assert to_coef(alpha, beta, PARTITION, free=coef[PARTITION.free]) == pytest.approx(coef, rel=1e-15)
    with pytest.raises(InvalidInput, match="both signs"):
        from_coef([1, 0, -1, 0, 0, 0], PARTITION)


def test_points_that_are_not_feasible_are_refused() -> None:
    with pytest.raises(InvalidInput, match="sums to"):
        to_partls_b(np.ones(6), np.ones(3), PARTITION)
    with pytest.raises(InvalidInput, match="must be >= 0"):
        to_partls(-np.ones(6), np.ones(3), PARTITION)
    with pytest.raises(InvalidInput, match=r"-1 or \+1"):
        to_partls(np.ones(6), [1, 0, 1], PARTITION)
    with pytest.raises(InvalidInput, match="one value for each group"):
        to_coef(np.ones(6), np.ones(2), PARTITION)
    with pytest.raises(InvalidInput, match="one value for each column"):
        alpha_fixed(make("plain"), np.ones(3))


def run(code: str) -> str:
    """Return what a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_importing_the_package_does_not_import_cvxpy() -> None:
    assert run("import formulations, sys; formulations.subset_sum([1, 2]); print('cvxpy' in sys.modules)") == "False"


@pytest.mark.parametrize("first", ["import formulations.builders.shor", "import formulations"])
def test_a_builder_name_is_the_builder_whatever_was_imported_before(first: str) -> None:
    names = ", ".join(f"callable(formulations.{name})" for name in formulations.__all__)
    code = f"{first}; import formulations; from formulations import shor; print(callable(shor), all([{names}]))"
    assert run(code) == "True True"


def test_unknown_names_are_refused_and_known_ones_listed() -> None:
    assert set(formulations.__all__) <= set(dir(formulations))
    with pytest.raises(AttributeError, match="no attribute 'simplex'"):
        _ = formulations.simplex  # type: ignore[attr-defined]
