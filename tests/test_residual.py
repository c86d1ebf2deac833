"""The objective of a model is right however large the contributions are that cancel in it, and no bound hides it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import partls
from formulations import Instance
from formulations.rows.residual import residual
from partls import Status


def exactly(X: np.ndarray, y: np.ndarray, coef: np.ndarray, intercept: float) -> list[Fraction]:
    """Return the residuals in rational arithmetic."""
    model = [Fraction(value) for value in coef]
    return [
        Fraction(target) - Fraction(intercept) - sum(Fraction(x) * w for x, w in zip(row, model, strict=True))
        for row, target in zip(X.tolist(), y.tolist(), strict=True)
    ]


def large_and_small(scale: float, n_rows: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return a model whose residuals are about one although offsets and opposed coefficients are about 1e8."""
    rng = np.random.default_rng(3)
    X = (rng.normal(size=(n_rows, 5)) + 1e8) * scale
    X[:, 4] = -X[:, 3] * (1 + 1e-9 * rng.normal(size=n_rows))
    coef = np.array([1.5, -0.5, 2.0, 7e7, 7e7]) / scale
    fitted = [-float(value) for value in exactly(X, np.zeros(n_rows), coef, -3e8)]
    return X, np.array(fitted) + rng.normal(size=n_rows), coef, -3e8


@pytest.mark.parametrize("unit", [1.0, 2.0**-60, 2.0**60])
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_residuals_keep_their_digits_where_contributions_cancel(scale: float, unit: float) -> None:
    """Whatever the units of the features and of the target."""
    X, y, coef, intercept = large_and_small(scale)
    y, coef, intercept = y * unit, coef * unit, intercept * unit
    true = np.array([float(value) for value in exactly(X, y, coef, intercept)])
    assert np.abs(y - X @ coef - intercept - true).max() > 1e-10 * np.abs(true).max()  # plain arithmetic is not enough
    assert residual(X, y, coef, intercept) == pytest.approx(true, rel=1e-14, abs=1e-14 * float(np.abs(true).max()))


def test_one_large_row_among_small_ones_is_enough() -> None:
    X, y = np.zeros((9, 2)), np.full(9, 0.125)
    X[5] = 1e8 + 1 / 3, 1e8 + 1 / 7
    y[5] = float(exactly(-X[5:6], np.zeros(1), np.array([1e6, -1e6]), 0.0)[0]) + 0.3
    true = [float(value) for value in exactly(X, y, np.array([1e6, -1e6]), 0.0)]
    assert residual(X, y, np.array([1e6, -1e6]), 0.0) == pytest.approx(true, rel=1e-14)


def test_blocks_and_samples_of_rows_change_nothing() -> None:
    X, y, coef, intercept = large_and_small(1.0, n_rows=20_011)
    parts = [residual(X[i : i + 1000], y[i : i + 1000], coef, intercept) for i in range(0, len(X), 1000)]
    assert residual(X, y, coef, intercept).tolist() == np.concatenate(parts).tolist()


@pytest.mark.parametrize("n_columns", [0, 1, 2])
def test_few_columns_are_enough(n_columns: int) -> None:
    X, y = np.ones((3, n_columns)), np.array([1e9, 1e9 + 1e-6, 1e9 - 1e-6])
    true = [float(value) for value in exactly(X, y, np.ones(n_columns), 1e9)]
    assert residual(X, y, np.ones(n_columns), 1e9) == pytest.approx(true, rel=1e-14, abs=1e-22)


def test_an_intercept_makes_offsets_harmless() -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(30, 6)) + 1e8
    y = X @ [1.0, -2.0, 1.5, 0.5, 1.0, -1.0] + rng.normal(size=30)
    result = partls.solve(X, y, [0, 0, 1, 1, 2, 2])
    true = sum(value**2 for value in exactly(X, y, result.coef, result.intercept))
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(float(true), rel=1e-13)


def test_coefficients_that_rounding_has_spoilt_are_not_called_optimal() -> None:
    """Two columns that differ in the twelfth digit alone: the optimum is known to six digits, and not to nine."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=9)
    X, y = np.column_stack([x, 1e-12 * rng.normal(size=9) - x]), rng.normal(size=9)
    instance = Instance(X, y, [0, 1])
    result = partls.solve(X, y, [0, 1])
    difference = [Fraction(a) + Fraction(b) for a, b in X.tolist()]  # what the two span: x, and this
    scaled = np.column_stack([x, [float(value * 2**40) for value in difference], np.ones(9)])
    optimum = float(np.square(y - scaled @ np.linalg.lstsq(scaled, y, rcond=None)[0]).sum())
    assert instance.objective(result.coef, result.intercept) == result.objective >= optimum * (1 - 1e-12)
    assert result.lower_bound <= optimum * (1 + 1e-12)
    assert result.status is Status.PRECISION_LIMIT or result.objective <= optimum * (1 + 1e-9)
