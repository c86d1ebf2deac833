"""Every form against brute force under every penalty: bounds stay below the optimum, exact forms reach it."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import formulations
import formulations.builders
import partls
from formulations import Instance, Model, partls_b, perspective, quadratic, shor, shor_dual, split_dnn
from formulations.builders.forms import FORMS, forms_table, strategies_table
from tests.oracles import brute_force

LABELS = (0, 1, 0, 2, 1)
RNG = np.random.default_rng(20)
BASE = RNG.normal(size=(12, 5))
X = (BASE + 0.35 * BASE.sum(axis=1, keepdims=True) + 0.5) * np.array([1.0, 30.0, 0.2, 1.0, 5.0])
Y = RNG.normal(size=12) * 3 + 1
SDP = 2e-5

STRENGTHS: dict[str, tuple[Any, float]] = {
    "none": (0.0, 0.0), "eta": (2.0, 0.0), "by group": ([3.0, 0.0, 0.2], 0.0), "ridge": (0.0, 0.7),
    "all": ([3.0, 0.0, 0.2], 0.7),
}
OTHERS: dict[str, dict[str, Any]] = {
    "plain": {}, "no intercept": {"fit_intercept": False}, "penalised intercept": {"penalize_intercept": True},
    "free column": {"labels": (0, 1, 0, -1, 1)}, "weights": {"sample_weight": np.arange(12) % 4},
}
CASES = [
    pytest.param(penalty, strength, other, n_rows, id=f"{penalty}-{strength}-{other}-{n_rows}")
    for penalty, strength, other, n_rows in product(("l2", "l1"), STRENGTHS, OTHERS, (12, 4))
]


@cache
def made(penalty: str, strength: str, other: str, n_rows: int) -> tuple[Instance, float]:
    """Return an instance and its optimum by brute force."""
    (eta, ridge), options = STRENGTHS[strength], dict(OTHERS[other])
    labels = options.pop("labels", LABELS)
    if "sample_weight" in options:
        options["sample_weight"] = options["sample_weight"][:n_rows]
    eta = eta[: max(labels) + 1] if isinstance(eta, list) else eta
    options |= {"penalty": penalty, "ridge": ridge}
    stated = {"eta": eta, "eta_intercept": 1.5} if isinstance(eta, list) else {"eta": eta}
    best = brute_force(X[:n_rows], Y[:n_rows], labels, **stated, **options).objective
    if isinstance(eta, list) and options.get("penalize_intercept"):
        eta = dict(enumerate(eta)) | {"(intercept)": 1.5}
    return Instance(X[:n_rows], Y[:n_rows], labels, eta=eta, ungrouped="free", **options), best


def flat(instance: Instance, signs: Any = None) -> Model:
    """Return the perspective form with the smallest eigenvalue of Q as its curvature."""
    R = instance.reduction.R
    return perspective(instance, max(float(np.linalg.eigvalsh(R.T @ R)[0]), 0.0) * 0.99 * np.eye(R.shape[1]), signs)


BOUNDS: dict[str, Callable[..., Model]] = {
    "quadratic": quadratic, "strengthened": lambda *args: quadratic(*args, strengthen=True), "perspective": flat,
    "shor": shor, "shor dual": shor_dual, "split DNN": split_dnn,
}


def value(model: Model) -> float:
    found = model.solve("CLARABEL")
    assert model.problem.status in ("optimal", "optimal_inaccurate"), model
    return found


sampled = pytest.mark.parametrize(
    ("penalty", "strength", "other", "n_rows"),
    [pytest.param(*case.values, id=case.id, marks=[pytest.mark.slow] * (i % 9 > 0)) for i, case in enumerate(CASES)],
)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@sampled
def test_bounds_are_ordered_below_the_optimum(penalty: str, strength: str, other: str, n_rows: int) -> None:
    instance, best = made(penalty, strength, other, n_rows)
    tolerance = SDP * (best + float(Y @ Y) * (n_rows == 4))
    found = {name: value(build(instance)) for name, build in BOUNDS.items()}
    for lower, higher in (("quadratic", "strengthened"), ("quadratic", "perspective"), ("perspective", "shor"),
                          ("strengthened", "shor"), ("shor", "split DNN")):
        assert found[lower] <= found[higher] + tolerance, (lower, higher, found)
    assert found["split DNN"] <= best + tolerance
    assert found["shor dual"] == pytest.approx(found["shor"], abs=2 * tolerance)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@sampled
def test_every_form_is_exact_once_all_signs_are_decided(penalty: str, strength: str, other: str, n_rows: int) -> None:
    instance, best = made(penalty, strength, other, n_rows)
    tolerance = SDP * (best + float(Y @ Y) * (n_rows == 4))
    # The L1 intercept keeps both signs where it counts as a group of its own.
    patterns = list(product((1, -1), repeat=instance.reduction.n_groups))
    assert min(value(partls_b(instance, b)) for b in patterns) == pytest.approx(best, abs=tolerance)
    for build in BOUNDS.values():
        model = build(instance, patterns[0])
        values = [value(model.fix(signs)) for signs in patterns]
        assert min(values) == pytest.approx(best, abs=2 * tolerance)


def builders() -> set[str]:
    """Return the functions of the package that return a model of an instance."""
    found = set()
    for info in pkgutil.iter_modules(formulations.builders.__path__):
        module = import_module(f"formulations.builders.{info.name}")
        for name, member in inspect.getmembers(module, inspect.isfunction):
            if member.__module__ == module.__name__ and not name.startswith("_"):
                signature = inspect.signature(member)
                if "Model" in str(signature.return_annotation) and "instance" in signature.parameters:
                    found.add(name)
    return found


def test_every_builder_is_in_the_table_and_exported() -> None:
    without = {"best_curvature", "shor_block_only_as_printed"}  # a choice of D, and a form that proves nothing
    assert {form.builder for form in FORMS} == builders() - without
    assert builders() <= set(formulations.__all__)


def test_models_carry_the_form_of_the_table() -> None:
    instance, _ = made("l2", "eta", "plain", 12)
    listed = {form.name: form for form in FORMS}
    for build in BOUNDS.values():
        model = build(instance)
        assert listed[model.name] is model.form
        assert model.form.formula in model._repr_latex_()


def test_the_guide_has_the_table_of_today() -> None:
    page = (Path(__file__).resolve().parents[1] / "docs" / "theory" / "forms.md").read_text(encoding="utf-8")
    assert forms_table() in page
    assert strategies_table() in page


def test_the_strategies_named_beside_the_forms_can_be_made() -> None:
    """Every expression of the table runs, and each strategy is named."""
    names = {name: getattr(partls, name) for name in ("Alternating", "BranchAndBound", "Enumeration")}
    calls = [call for form in FORMS for call in re.findall(r"`((?:Alternating|BranchAndBound|Enumeration)\(.*?\))`",
                                                           form.strategy)]
    assert {type(eval(call, dict(names))).__name__ for call in calls} == set(names)
    assert {form.builder for form in FORMS if form.strategy.startswith("none")} == {"bilinear", "miqp"}
