"""The bilinear form is PartLS as printed: a local optimum of it is feasible, and never below the global one."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from formulations import Instance, InvalidInput, bilinear, from_coef
from tests.oracles import brute_force

LABELS = (0, 0, 0, 1, 1, 2, 2, 2)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 8)) * 10.0 ** np.array([0, 1, 0, -2, 0, 3, 0, 0])
Y = X @ (RNG.normal(size=8) / np.linalg.norm(X, axis=0)) + 3.0 + 0.5 * RNG.normal(size=40)
CASES: list[dict[str, Any]] = [
    {}, {"eta": 0.5}, {"eta": 0.5, "penalty": "l1"}, {"ridge": 0.3}, {"eta": [2.0, 0.0, 0.1], "ridge": 0.3},
    {"eta": [2.0, 0.0, 0.1], "ridge": 0.3, "penalty": "l1"}, {"fit_intercept": False},
    {"eta": 0.5, "penalty": "l1", "penalize_intercept": True}, {"eta": 0.5, "penalize_intercept": True},
]
def uno() -> None:
    if find_spec("unopy") is None or not hasattr(cp.Problem, "is_dnlp"):
        pytest.skip("unopy or CVXPY 1.9 not installed: pip install 'partls[nlp]'")


@pytest.mark.peers
@pytest.mark.parametrize("options", CASES, ids=str)
def test_a_local_optimum_is_feasible_and_not_below_the_global_one(options: dict[str, Any]) -> None:
    uno()
    instance, best = Instance(X, Y, LABELS, **options), brute_force(X, Y, LABELS, **options)
    values = []
    for start in (None, 0, 1, best.signs, from_coef(best.coef, instance.partition)):
        model = bilinear(instance, start=start)
        values.append(model.solve())
        assert values[-1] >= best.objective * (1 - 1e-6)
        coef, intercept = model.solution()
        assert instance.objective(coef, intercept) == pytest.approx(values[-1], rel=1e-5)
        alpha = model.variables["alpha"].value
        assert alpha.min() >= -1e-8
        assert alpha.sum() == pytest.approx(3, rel=1e-7)
    assert values[-1] == pytest.approx(best.objective, rel=1e-5)  # from the optimum, there is nothing to gain


@pytest.mark.peers
def test_the_objective_at_the_start_is_that_of_the_instance() -> None:
    uno()
    for options in CASES:
        instance = Instance(X, Y, LABELS, **options)
        model = bilinear(instance, start=3)
        coef, intercept = instance.reduction.restore(model.coefficients.value)
        value = model.problem.objective.value * instance.reduction.scale
        assert value == pytest.approx(instance.objective(coef, intercept), rel=1e-9)


@pytest.mark.peers
def test_signs_and_penalties_move() -> None:
    uno()
    model = bilinear(Instance(X, Y, LABELS), start=0)
    for eta, ridge, signs in ((0.5, 0.0, [1, 1, 1]), (0.0, 0.3, [-1, 0, 1])):
        value = model.set(eta=eta, ridge=ridge).fix(signs).solve()
        moved = Instance(X, Y, LABELS, eta=eta, ridge=ridge)
        assert moved.objective(*model.solution()) == pytest.approx(value, rel=1e-5)
        sums = moved.group_sums(model.solution()[0])
        assert (np.array(signs) * sums >= -1e-6 * np.abs(sums).max()).all()


def test_wrong_starts_are_refused() -> None:
    instance = Instance(X, Y, LABELS)
    for start, told in ((-1, "start=-1 is none of"), ("random", "start='random' is none of"), (True, "none of"),
                        ([1, 1], r"start has 2 values but there are 3"), ([1, 2, 1], r"start\[1\]=2 is not a sign"),
                        ((np.ones(8), np.ones(3)), "should sum to 1")):
        with pytest.raises(InvalidInput, match=told):
            bilinear(instance, start=start)


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    model = bilinear(Instance(X, Y, LABELS))
    monkeypatch.setattr(cp.Problem, "is_dnlp", lambda self: True, raising=False)
    monkeypatch.setattr("formulations.builders.bilinear.find_spec", lambda name: None)
    with pytest.raises(InvalidInput, match=r"needs the solver Uno: pip install 'partls\[nlp\]'"):
        model.solve()
    monkeypatch.delattr(cp.Problem, "is_dnlp")
    with pytest.raises(InvalidInput, match=r"needs CVXPY 1\.9 or newer, this is"):
        model.solve()
