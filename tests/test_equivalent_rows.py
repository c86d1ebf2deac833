"""A few weighted rows have the objective of many, for every model, penalty and intercept, in constant memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

import partls
from formulations import Instance
from formulations.errors import InvalidInput
from formulations.rows import equivalent_rows
from formulations.rows.equivalent_rows import Chunk
from tests.tolerances import VANISHING

PROBLEMS = (
    {}, {"eta": 2.0}, {"eta": 2.0, "penalty": "l1"}, {"fit_intercept": False}, {"eta": 2.0, "penalize_intercept": True},
    {"eta": 2.0, "penalize_intercept": True, "penalty": "l1"},
)


def chunks(X, y, weights=None, size: int = 64) -> Iterator[Chunk]:
    for start in range(0, len(X), size):
        rows = slice(start, start + size)
        yield X[rows], y[rows], None if weights is None else weights[rows]


def folded(X, y, weights=None, size: int = 64):
    return equivalent_rows.equivalent_rows(chunks(X, y, weights, size), X.shape[1])


def data(kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 7))
    if kind == "dependent":
        X[:, 3] = X[:, 0] - 2 * X[:, 1]
        X[:, 4] = 3 * X[:, 2]
    elif kind == "nearly dependent":
        X[:, 3] = X[:, 0] + 1e-7 * X[:, 3]
    elif kind == "sorted":  # the first chunk says nothing about the others
        X = np.sort(X, axis=0) * 10.0 ** np.arange(-3, 4)
    elif kind == "far from zero":
        X += 1e6
    elif kind == "few rows":
        X = X[:5]
    y = X @ rng.normal(size=7) + rng.normal(size=len(X))
    return X, y


KINDS = ("plain", "dependent", "nearly dependent", "sorted", "far from zero", "few rows")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_model_has_the_same_objective(kind: str, weighted: bool) -> None:
    X, y = data(kind)
    rng = np.random.default_rng(4)
    weights = rng.random(len(X)) * (rng.random(len(X)) < 0.8) if weighted else None
    rows = folded(X, y, weights)
    assert rows.n_rows == len(X)
    for options in PROBLEMS:
        whole = Instance(X, y, [0, 0, 0, 1, 1, 2, 2], sample_weight=weights, **options)
        few = Instance(rows.X, rows.y, [0, 0, 0, 1, 1, 2, 2], sample_weight=rows.sample_weight, **options)
        for coef in (*rng.normal(size=(3, 7)), np.zeros(7)):
            intercept = float(y.mean() - X.mean(axis=0) @ coef) if whole.fit_intercept else 0.0
            assert few.objective(coef, intercept) == pytest.approx(whole.objective(coef, intercept), rel=1e-9)


@pytest.mark.parametrize("options", PROBLEMS, ids=str)
@pytest.mark.parametrize("kind", ["plain", "dependent", "nearly dependent", "sorted", "far from zero"])
def test_the_fit_is_that_of_the_data(kind: str, options: dict) -> None:
    """Equal to 1e-10, the accuracy that the command line promises for data it folds."""
    X, y = data(kind)
    rows = folded(X, y)
    groups = [0, 0, 0, 1, 1, 2, 2]
    whole = partls.solve(X, y, groups, **options)
    few = partls.solve(rows.X, rows.y, groups, sample_weight=rows.sample_weight, **options)
    assert abs(few.objective - whole.objective) <= max(1e-10 * whole.objective, VANISHING * (y @ y))
    np.testing.assert_array_equal(few.signs, whole.signs)


@pytest.mark.parametrize("unit", [2.0**-660, 2.0**-530, 2.0**530, 2.0**660])
def test_columns_whose_squares_are_no_floats_keep_their_digits(unit: float) -> None:
    X, y = data("plain")
    few, far = (partls.solve(rows.X, rows.y, [0, 0, 0, 1, 1, 2, 2], sample_weight=rows.sample_weight)
                for rows in (folded(X, y), folded(unit * X, y)))
    assert far.objective == pytest.approx(few.objective, rel=1e-10)
    np.testing.assert_allclose(unit * far.coef, few.coef, rtol=1e-9)


def test_well_conditioned_chunks_take_the_short_cut_and_others_do_not() -> None:
    easy, hard = data("plain")[0], data("nearly dependent")[0]
    factor = equivalent_rows._cholesky(easy.T @ easy)
    assert factor is not None
    np.testing.assert_allclose(factor.T @ factor, easy.T @ easy, rtol=1e-13)
    np.testing.assert_array_equal(factor, np.triu(factor))
    assert equivalent_rows._cholesky(hard.T @ hard) is None
    assert equivalent_rows._cholesky(np.zeros((2, 2))) is None


def test_long_chunks_are_multiplied_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data("plain")
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    whole = folded(X, y, weights)
    monkeypatch.setattr(equivalent_rows, "_PRODUCT_ROWS", 37)  # the last piece is shorter
    pieces = folded(X, y, weights)
    for name in ("X", "y", "sample_weight"):
        np.testing.assert_allclose(getattr(pieces, name), getattr(whole, name), rtol=1e-11)


def test_the_size_of_chunks_does_not_matter() -> None:
    X, y = data("plain")
    groups = [0, 0, 0, 1, 1, 2, 2]
    found = [folded(X, y, size=size) for size in (1, 3, 500)]
    objectives = [partls.solve(r.X, r.y, groups, sample_weight=r.sample_weight).objective for r in found]
    np.testing.assert_allclose(objectives, objectives[0], rtol=1e-12)


def test_no_rows_and_no_weight_are_refused() -> None:
    with pytest.raises(InvalidInput, match="no rows with a weight above zero"):
        equivalent_rows.equivalent_rows([], 2)
    with pytest.raises(InvalidInput, match="no rows with a weight above zero"):
        folded(np.ones((5, 2)), np.ones(5), np.zeros(5))


def test_memory_does_not_grow_with_the_rows() -> None:
    def stream(n_chunks: int) -> Iterator[Chunk]:
        rng = np.random.default_rng(0)
        for _ in range(n_chunks):
            X = rng.normal(size=(1000, 20))
            yield X, X.sum(axis=1), None

    peaks = []
    for n_chunks in (5, 50):
        tracemalloc.start()
        equivalent_rows.equivalent_rows(stream(n_chunks), 20)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
