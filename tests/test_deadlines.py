"""After a deadline no long step begins, and what comes back is feasible and bounded: counted in steps, not timed."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from sklearn.exceptions import ConvergenceWarning

import partls
import relaxations
from formulations.signs import SignPattern
from partls import PartLSRegressorCV, Status, explain
from partls.estimators import regressor_cv as estimator_cv
from partls.explain import stability
from partls.explore.incumbents import hasty_incumbent
from partls.prove.certificate import certify
from partls.strategies import branch_and_bound
from partls.strategies.pattern_solver import PatternSolver
from relaxations import active_set, clock, kernel, sign_constrained
from relaxations.conic import backend
from relaxations.conic.attempt import Attempt
from relaxations.protocol import Bound, BoundStatus
from relaxations.safe import least_squares as safe_bounds
from tests import oracles

SHAPES = {"tall": (300, 190), "square": (190, 190), "wide": (180, 260)}  # each beyond what counts as a short step
METHODS: dict[str, dict[str, Any]] = {
    "bnb": {"method": "bnb"},
    "best-first": {"method": "bnb", "search": "best-first"},
    "generic": {"method": "bnb", "relaxation": "unconstrained"},
    "l1": {"method": "bnb", "penalty": "l1", "eta": 1.0},
    "given signs": {"method": "bnb", "signs": {0: "+", 3: "-"}},
    "enumerate": {"method": "enumerate"},
    "alternating": {"method": "alternating"},
    "two threads": {"method": "alternating", "n_jobs": 2},
}


@cache
def problem(shape: str) -> tuple[np.ndarray, np.ndarray, list[int]]:
    rng = np.random.default_rng(5)
    rows, columns = SHAPES[shape]
    X = rng.normal(size=(rows, columns))
    return X, X @ rng.normal(size=columns) + 5 * rng.normal(size=rows), [j % 12 for j in range(columns)]


def solved(shape: str, **options: Any) -> partls.Result:
    return partls.solve(*problem(shape), **options)


def check_feasible(result: partls.Result) -> None:
    audit = result.audit()
    assert audit.sign_violations == 0
    assert audit.objective_error <= 1e-9
    assert 0 <= result.lower_bound <= result.objective
    assert result.objective < np.square(result.instance.y - result.instance.y.mean()).sum()  # better than nothing


@pytest.fixture
def long_steps(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count what takes long on large data: factorisations and SciPy's nonnegative least squares."""
    counts: Counter[str] = Counter()

    def count(owner: Any, name: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            counts[name] += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, counted)

    count(scipy.optimize, "nnls")
    count(sign_constrained, "qr")
    count(sign_constrained, "_stationary")
    count(active_set, "qr")
    count(active_set, "_tableau")
    count(safe_bounds, "qr")
    return counts


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", METHODS)
def test_without_any_time_no_long_step_begins(method: str, shape: str, long_steps: Counter[str]) -> None:
    result = solved(shape, time_limit=0, **METHODS[method])
    assert result.status is Status.TIME_LIMIT
    check_feasible(result)
    long_steps.pop("_stationary", None)  # it looks at the clock before its factorisation: tested below
    assert not long_steps


def test_a_factorisation_looks_at_the_clock_first() -> None:
    X, y, _ = problem("tall")
    with clock.until(-inf), pytest.raises(clock.OutOfTime):
        sign_constrained._stationary(X, y, np.zeros(X.shape[1]), list(range(X.shape[1])))


def test_scipys_solver_is_not_begun_if_it_would_end_late(long_steps: Counter[str]) -> None:
    """It cannot be interrupted and lets no other thread run."""
    X, y, _ = problem("tall")
    with clock.until(time.perf_counter() + 0.001, alarm=False), pytest.raises(clock.OutOfTime):
        sign_constrained.quick_support(np.tile(X, 4), y)
    assert not long_steps


@pytest.mark.parametrize("shape", SHAPES)
def test_a_deadline_that_passes_on_the_way_ends_what_follows(
    shape: str, long_steps: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock jumps once the tableau is there: its bound is used, and nothing is factored any more."""
    jumped, real = [0.0], time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: real() + jumped[0])
    original = branch_and_bound.group_columns

    def jump(reduction: Any) -> Any:
        grouped = original(reduction)
        jumped[0] = 1e6
        long_steps.clear()
        return grouped

    monkeypatch.setattr(branch_and_bound, "group_columns", jump)
    result = solved(shape, time_limit=1000.0, method="bnb")
    assert result.status is Status.TIME_LIMIT
    check_feasible(result)
    long_steps.pop("_stationary", None)
    assert not long_steps
    assert (result.lower_bound > 0) == (shape == "tall")  # least squares fits the others exactly


def test_short_steps_are_never_refused() -> None:
    with clock.until(-inf):
        clock.check(clock.SHORT)
        clock.check_ahead(clock.SHORT)
        assert clock.stop_flag(clock.SHORT)[0] == 0
        with pytest.raises(clock.OutOfTime):
            clock.check(2 * clock.SHORT)
        with pytest.raises(clock.OutOfTime):
            clock.check_ahead(2 * clock.SHORT)
        assert clock.stop_flag()[0] == 1
    clock.check()
    assert clock.stop_flag()[0] == 0


def test_the_alarm_raises_the_flag_and_not_before() -> None:
    with clock.until(time.perf_counter() + 1000.0) as stop:
        assert stop[0] == 0
    with clock.until(time.perf_counter() + 0.01) as stop:
        while not stop[0]:  # raised by another thread
            time.sleep(0.001)
    assert clock.stop_flag()[0] == 0


@pytest.mark.parametrize("shape", SHAPES)
def test_compiled_search_that_is_stopped_returns_a_feasible_point(shape: str) -> None:
    """Dual steps cut short leave a point that is none of the problem's: it is made feasible and scored."""
    instance = partls.Instance(*problem(shape))
    reduction = instance.reduction
    grouped = active_set.group_columns(reduction)
    stopped = grouped.kernel_problem(grouped.size)._replace(stop=np.ones(1, np.uint8))
    workspace = kernel.node.make_workspace(stopped, levels=1)
    signs, best, bounds = np.ones(12, np.int8), np.zeros(reduction.n_columns), np.array([inf, inf])
    kernel.flips.improve(stopped, workspace, signs, best, bounds, 20, 3)
    assert (best >= 0).all()
    assert reduction.objective(best) / reduction.scale == pytest.approx(bounds[0], rel=1e-9)


def test_patterns_that_were_not_reached_count_for_nothing() -> None:
    instance = partls.Instance(*problem("tall"))
    with clock.until(-inf), pytest.raises(clock.OutOfTime):
        PatternSolver(instance.reduction, SignPattern.free(12))
    solver = PatternSolver(instance.reduction, SignPattern.free(12))
    with clock.until(-inf):
        block = next(solver.blocks())
    assert (block.values == inf).all()
    assert (block.certified == -inf).all()
    assert block.best.value == inf


@pytest.mark.parametrize("seed", range(5))
def test_the_hasty_point_lies_in_the_box_and_above_its_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y, labels = rng.normal(size=(20, 6)), rng.normal(size=20), [0, 0, 1, 1, 2, 2]
    reduction = partls.Instance(X, y, labels, fit_intercept=False).reduction
    root = SignPattern((1, 0, -1))
    found = hasty_incumbent(reduction, root)
    assert (reduction.column_signs(root) * found.v >= 0).all()
    signs = [np.sign(found.v[[j for j in range(6) if labels[j] == k]].sum()) or 1 for k in range(3)]
    coef, _ = reduction.restore(found.v)
    assert np.square(X @ coef - y).sum() == pytest.approx(found.value * reduction.scale)
    exact = oracles.sign_constrained(X, y, np.array(signs)[labels], fit_intercept=False).objective
    assert exact <= found.value * reduction.scale * (1 + 1e-12) < float(y @ y) * (1 + 1e-12)


def test_solvers_are_told_how_long_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, Any]] = []

    def attempt(problem: Any, solver: str, options: dict[str, Any]) -> Attempt:
        told.append(options)
        return Attempt(BoundStatus.FAILED, "made up")

    monkeypatch.setattr(backend, "attempt", attempt)
    solve = backend.Backend(lambda signs: model_of_three(), ("CLARABEL", "SCS")).solve
    solve()
    with clock.until(time.perf_counter() + 50.0, alarm=False):
        solve()
    assert "time_limit" not in told[0]
    assert "time_limit_secs" not in told[1]
    assert 0 < told[2]["time_limit"] <= 50.0
    assert 0 < told[3]["time_limit_secs"] <= 50.0


def model_of_three() -> Any:
    import formulations

    return formulations.shor(partls.Instance(np.eye(3), [1.0, 2.0, 3.0], [0, 0, 1]))


# Explanations


@cache
def fitted() -> partls.Result:
    return solved("tall", node_limit=0)


def test_flips_that_no_time_is_left_for_cost_at_most_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
    def search(*_: Any, **__: Any) -> Any:
        raise AssertionError("a search began after the deadline")

    monkeypatch.setattr(sys.modules["partls.explain.sign_certainty"], "solve_instance", search)
    result = fitted()
    report = explain.sign_certainty(result, time_limit=0.0)
    for k, row in enumerate(report.rows):
        coef = np.where(np.array(problem("tall")[2]) == k, 0.0, result.coef)
        assert row.flipped_objective == pytest.approx(result.instance.objective(coef, result.intercept))
        assert not row.exact
        assert row.flipped_beta == 0.0
    assert not report.complete


def test_resamples_that_the_limit_cuts_short_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    result = partls.solve(rng.normal(size=(30, 4)), rng.normal(size=30), [0, 0, 1, 1])
    original, calls = stability.solve_instance, []

    def solve(*args: Any, time_limit: float, **options: Any) -> partls.Result:
        calls.append(time_limit)
        found = original(*args, **options)
        return replace(found, status=Status.TIME_LIMIT) if len(calls) % 2 == 0 else found

    monkeypatch.setattr(stability, "solve_instance", solve)
    some = explain.bootstrap(result, n_resamples=6, time_limit=1000.0, random_state=0)
    assert len(some.betas) == 3
    assert some.exact
    assert all(0 < limit <= 1000.0 for limit in calls)
    calls[:] = [0.0]  # the next one is cut short
    one = explain.bootstrap(result, n_resamples=1, time_limit=1000.0, random_state=0)
    assert len(one.betas) == 1
    assert not one.exact
    assert "as far as the time limit allowed" in str(one)


def test_cross_validation_begins_no_path_without_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def path(*_: Any) -> Any:
        raise AssertionError("a path began after the deadline")

    monkeypatch.setattr(estimator_cv, "EtaPath", path)
    X, y, labels = problem("tall")
    with pytest.warns(ConvergenceWarning) as caught:
        model = PartLSRegressorCV(labels, etas=3, ridges=[0.0], cv=2, time_limit=0.0).fit(X, y)
    assert any("after 0 of 6 errors" in str(warning.message) for warning in caught)
    assert np.isnan(model.mse_path_).all()
    check_feasible(model.result_)


def test_no_proof_is_begun_that_cannot_be_read_in_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "c.json"
    with pytest.raises(TimeoutError, match=r"more than 0\.05 s"):
        certify(fitted(), SignPattern.free(12), path, 1e-9, 0.05)
    assert not path.exists()
    solved("tall", certificate=path, time_limit=0.0)
    assert "not written" in caplog.text
    assert not path.exists()


class Hanging:
    """A relaxation that answers once it is released."""

    name = "hanging"

    def __init__(self) -> None:
        self.released = threading.Event()

    def prepare(self, instance: Any) -> Hanging:
        return self

    def bound(self, signs: Any, *, cutoff: float = inf) -> Bound:
        self.released.wait()
        raise RuntimeError


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    relaxation = Hanging()
    yield relaxation
    relaxation.released.set()


def test_a_comparison_goes_on_without_what_takes_too_long(hanging: Hanging) -> None:
    rng = np.random.default_rng(0)
    instance = partls.Instance(rng.normal(size=(20, 4)), rng.normal(size=20), [0, 0, 1, 1])
    told = relaxations.compare(instance, relaxations=["active-set", hanging, "unconstrained"], time_limit=0.3)
    first, second, third = told.rows
    assert first.status == "optimal"
    assert [(row.status, row.note) for row in (second, third)] == [("failed", "time limit")] * 2
