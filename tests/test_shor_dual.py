"""The dual of the Shor SDP: equal to it at the optimum, and a bound at every feasible point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from formulations import Instance, shor, shor_dual
from formulations.builders.shor import gram
from tests.oracles import brute_force

LABELS = (0, 1, 0, 2, 1)
RNG = np.random.default_rng(7)
X = RNG.normal(size=(12, 5)) + 0.8 * RNG.normal(size=(12, 1))
Y = RNG.normal(size=12)
OPTIONS: list[dict[str, Any]] = [
    {}, {"eta": 2.0}, {"eta": 1.5, "penalty": "l1"}, {"ridge": 0.4}, {"eta": [2.0, 0.0, 0.1], "ridge": 0.4},
    {"eta": [2.0, 0.0, 0.1], "ridge": 0.4, "penalty": "l1"},
]
NODES = (None, (1, 0, 0), (1, -1, 0), (1, -1, 1))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("cuts", [True, False])
def test_primal_and_dual_meet(options: dict[str, Any], cuts: bool) -> None:
    instance = Instance(X, Y, LABELS, **options)
    primal, dual = shor(instance, cuts=cuts), shor_dual(instance, cuts=cuts)
    assert dual.problem.is_dcp(dpp=True)
    for signs in NODES:
        above, below = primal.fix(signs).solve("CLARABEL"), dual.fix(signs).solve("CLARABEL")
        assert below == pytest.approx(above, rel=1e-5)
        np.testing.assert_allclose(dual.solution()[0], primal.solution()[0], atol=2e-3)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_moved_dual_has_the_value_of_a_fresh_one(options: dict[str, Any]) -> None:
    penalty = options.get("penalty", "l2")
    moved = shor_dual(Instance(X, Y, LABELS, eta=1.0, penalty=penalty)).fix((1, 0, -1))
    value = moved.set(eta=options.get("eta", 0.0), ridge=options.get("ridge", 0.0)).solve("CLARABEL")
    assert value == pytest.approx(shor_dual(Instance(X, Y, LABELS, **options), (1, 0, -1)).solve("CLARABEL"), rel=1e-5)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("seed", range(10))
def test_any_feasible_multipliers_are_a_bound(options: dict[str, Any], seed: int) -> None:
    """Random multipliers of the right signs, scaled until Q - N is definite, and the largest t that they leave."""
    instance, rng = Instance(X, Y, LABELS, **options), np.random.default_rng(seed)
    model, reduction = shor_dual(instance), instance.reduction
    labels, l1 = reduction.labels, reduction.l1
    N = rng.uniform(size=(5, 5)) * (labels[:, None] == labels) * (1 - np.eye(5))
    H = gram(reduction)
    N = (N + N.T) * 0.45 * np.linalg.eigvalsh(H[1:, 1:])[0] / np.linalg.norm(N + N.T, 2)
    u = l1 * rng.uniform(-1, 1, size=5)
    S = H.copy()
    S[1:, 1:] -= N
    S[0, 1:] += u / 2
    S[1:, 0] += u / 2
    t = S[0, 0] - S[0, 1:] @ np.linalg.solve(S[1:, 1:], S[1:, 0])
    rows, columns = np.triu_indices(5, k=1)
    model.variables["bound"].value = np.array([t - 1e-9])
    model.variables["sign multipliers"].value = np.zeros(5)
    model.variables["product multipliers"].value = 2 * N[rows, columns]
    if options.get("penalty") == "l1":
        model.variables["size multipliers"].value = np.divide(u, l1, out=np.zeros(5), where=l1 > 0)
    assert max(float(np.max(constraint.violation())) for constraint in model.problem.constraints) < 1e-8
    best = brute_force(X, Y, LABELS, **options).objective
    assert model.problem.objective.value * reduction.scale <= best * (1 + 1e-9)
    assert t * reduction.scale <= model.solve("CLARABEL") * (1 + 1e-6)
