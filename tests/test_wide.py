"""More columns than rows: most sign patterns fit exactly, the tableau is degenerate, and nothing may break."""

from __future__ import annotations

import numpy as np
import pytest

import partls
from partls.explore.incumbents import _nearest_exact, exact_fit_nearby, plain_incumbent, solve_pattern

SHAPES = [(10, 40, 160), (10, 100, 400), (15, 150, 400), (20, 200, 400), (8, 60, 75), (6, 44, 83)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n_groups", "n_rows", "n_columns"), SHAPES)
def test_wide_data_are_fitted_with_a_sound_model(n_groups: int, n_rows: int, n_columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-10, 10, (n_rows, n_columns))
    y = rng.uniform(-10, 10, n_rows)
    result = partls.solve(X, y, np.arange(n_columns) % n_groups, fit_intercept=False)
    audit = result.audit()
    assert result.status is partls.Status.OPTIMAL
    assert audit.sign_violations == 0
    assert audit.kkt_residual <= 1e-9
    assert np.abs(result.coef).max() <= 1e3
    if n_columns > 3 * n_rows:  # nearly every pattern reaches zero there (Wendel)
        assert result.objective <= 1e-20 * (y @ y)
        assert result.n_nodes == 0  # found by a few factorisations, before any search


def test_the_nearest_exact_fit_is_exact_and_nearest() -> None:
    rng = np.random.default_rng(0)
    A, point, metric = rng.normal(size=(5, 12)), rng.normal(size=12), rng.uniform(0.5, 2.0, 12)
    z = rng.normal(size=5)
    x = _nearest_exact(A, z, point, metric)
    assert x is not None
    np.testing.assert_allclose(A @ x, z, rtol=0, atol=1e-14)
    away = (x - point) / metric**2  # stationary: a combination of the rows of A
    np.testing.assert_allclose(away, A.T @ np.linalg.lstsq(A.T, away, rcond=None)[0], atol=1e-13)
    assert _nearest_exact(np.vstack([A, np.zeros(12)]), np.append(z, 1.0), point, metric) is None


def test_patterns_next_to_the_incumbent_keep_the_signs_known_beforehand() -> None:
    """Fewer rows than columns, and the wrong sign known for one group: flipping it would fit better."""
    found = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30, 40))
        reduction = partls.Instance(X, X @ rng.uniform(0, 1, 40), np.arange(40) % 8, fit_intercept=False).reduction
        root = partls.SignPattern((-1, 0, 0, 0, 0, 0, 0, 0))
        start = solve_pattern(reduction, partls.SignPattern((-1, 1, 1, 1, -1, 1, 1, 1)))
        best = exact_fit_nearby(reduction, root, start, 1e-14)
        assert best.value <= start.value
        assert (best.v[reduction.labels == 0] <= 0).all()
        found += best.value < 0.9 * start.value
    assert found > 6  # turning the fifth group back pays


def test_the_descent_of_l1_data_flips_what_it_may_until_nothing_is_better() -> None:
    better = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30, 20)) + rng.normal(size=(30, 1))
        options = {"eta": 1e-3, "penalty": "l1", "fit_intercept": False}
        reduction = partls.Instance(X, rng.normal(size=30), np.arange(20) % 10, **options).reduction
        start = partls.SignPattern((-1, 1) * 5)
        root = partls.SignPattern((-1, *[0] * 9))
        found = plain_incumbent(reduction, root, [start], np.zeros(20))
        assert (found.v[reduction.labels == 0] <= 0).all()
        sums = np.bincount(reduction.labels, found.v)
        signs = partls.SignPattern(tuple(int(sign) for sign in np.where(sums == 0, start.values, np.sign(sums))))
        assert plain_incumbent(reduction, root, [signs], np.zeros(20)).value == pytest.approx(found.value)
        stopped = plain_incumbent(reduction, root, [start], np.zeros(20), stop=lambda: True)
        assert found.value <= stopped.value == solve_pattern(reduction, start).value
        better += found.value < 0.9 * stopped.value
    assert better > 3
