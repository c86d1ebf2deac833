"""Theorems 1 and 2 of Esposito, Cerrato and Locatelli (2024), with NumPy and SciPy alone as judges.

Theorem 1: the objective is not convex in (alpha, beta). Theorem 2: where the alternation ends, neither half improves
with the other fixed. Theorems 3 and 4 are in tests/test_equivalence.py and tests/test_builders.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

import partls
from formulations import Instance
from tests.oracles import brute_force

SOLVED = 1e-6  # of the objective: how far an iterative solver may leave a half from its optimum
EXACT = 1e-9  # the same where the half is solved by factorisations


@dataclass(frozen=True)
class Judge:
    """The regularised objective ``||X w + t - y||^2 + eta ||beta||^2`` with the best t, from the raw rows."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    eta: float

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Centred columns and target: what is left once t is optimal."""
        return self.X - self.X.mean(axis=0), self.y - self.y.mean()

    def objective(self, alpha: np.ndarray, beta: np.ndarray) -> float:
        X, y = self.rows
        return float(np.square(X @ (alpha * beta[self.groups]) - y).sum() + self.eta * beta @ beta)

    def best_beta(self, alpha: np.ndarray) -> float:
        """Return the least objective over beta: least squares with a row for each penalty."""
        (X, y), K = self.rows, self.groups.max() + 1
        combined = X @ (alpha[:, None] * (self.groups[:, None] == np.arange(K)))
        design = np.vstack([combined, np.sqrt(self.eta) * np.eye(K)])
        beta = np.linalg.lstsq(design, np.append(y, np.zeros(K)), rcond=None)[0]
        return self.objective(alpha, beta)

    def possible_gain(self, alpha: np.ndarray, beta: np.ndarray) -> float:
        """Return an upper bound on what other shares could gain (Frank and Wolfe): the half is convex in alpha.

        ``f(a) >= f(alpha) + g'(a - alpha)`` for every a, and on a product of simplices the least of ``g'a`` is the sum
        of the groups' least slopes.
        """
        X, y = self.rows
        slope = 2 * (X * beta[self.groups]).T @ (X @ (alpha * beta[self.groups]) - y)
        least = [slope[self.groups == k].min() for k in range(self.groups.max() + 1)]
        return float(slope @ alpha - sum(least))


def judge(seed: int, *, eta: float = 1.0, corr: float = 0.5, shape: tuple[int, int, int] = (40, 12, 4)) -> Judge:
    N, M, K = shape
    rng = np.random.default_rng(seed)
    X = np.sqrt(1 - corr) * rng.normal(size=(N, M)) + np.sqrt(corr) * rng.normal(size=(N, 1))
    return Judge(X, X @ rng.normal(size=M) + rng.normal(size=N) + 2.0, np.arange(M) % K, eta)


def test_theorem_1_the_midpoint_of_two_optima_is_worse_than_both() -> None:
    instance = Instance([[1.0, -1.0]], [1.0], [0, 0], fit_intercept=False)
    points = [(np.array([1.0, 0.0]), 1.0), (np.array([0.0, 1.0]), -1.0)]
    middle = (sum(alpha for alpha, _ in points) / 2, sum(beta for _, beta in points) / 2)
    assert middle[0].sum() == 1 and (middle[0] >= 0).all()  # the set of feasible points is convex, the objective is not
    assert [instance.objective(alpha * beta) for alpha, beta in points] == [0.0, 0.0]
    assert instance.objective(middle[0] * middle[1]) == 1.0

    def value(point: np.ndarray) -> float:
        share, beta = point
        return instance.objective(np.array([share, 1 - share]) * beta)

    step, at = 1e-3, np.array([0.5, 0.0])
    moves = step * np.eye(2)
    hessian = [[(value(at + a + b) - value(at + a - b) - value(at - a + b) + value(at - a - b)) / (4 * step**2)
                for b in moves] for a in moves]
    assert np.linalg.eigvalsh(hessian) == pytest.approx([-4.0, 4.0], abs=1e-3)


@pytest.mark.parametrize("eta", [0.0, 0.3, 10.0])
@pytest.mark.parametrize("seed", range(6))
def test_theorem_2_the_alternation_ends_where_neither_half_improves(seed: int, eta: float) -> None:
    case = judge(seed, eta=eta)
    for start in range(3):
        method = partls.Alternating(n_starts=1, starts="random", polish="none", trace=True)
        result = partls.solve(case.X, case.y, case.groups, eta=eta, method=method, random_state=start)
        assert case.objective(result.alpha, result.beta) == pytest.approx(result.objective, rel=EXACT)
        assert case.best_beta(result.alpha) >= result.objective * (1 - EXACT)
        assert case.possible_gain(result.alpha, result.beta) <= EXACT * result.objective
        assert (np.diff(result.trace[0].objectives) <= EXACT * result.objective).all()


@pytest.mark.parametrize("seed", range(2))
def test_theorem_2_holds_for_algorithm_1_as_printed(seed: int) -> None:
    """Shares on the simplex, both halves by a convex solver: the same kind of end, to the solver's accuracy."""
    case = judge(seed)
    method = partls.Alternating(n_starts=1, starts="random", polish="none", halves="simplex", backend="cvxpy")
    result = partls.solve(case.X, case.y, case.groups, eta=1.0, method=method, random_state=seed)
    assert case.best_beta(result.alpha) >= result.objective * (1 - SOLVED)
    assert case.possible_gain(result.alpha, result.beta) <= SOLVED * result.objective


def test_the_judges_notice_a_point_that_is_no_partial_optimum() -> None:
    """A random point fails both checks, and what the bound allows a general-purpose solver in fact gains."""
    case, rng = judge(0), np.random.default_rng(0)
    alpha, beta = np.full(12, 1 / 3), rng.normal(size=4)
    value = case.objective(alpha, beta)
    assert case.best_beta(alpha) < 0.9 * value
    sums = [{"type": "eq", "fun": lambda a, k=k: a[case.groups == k].sum() - 1} for k in range(4)]
    found = minimize(case.objective, alpha, args=(beta,), bounds=[(0, 1)] * 12, constraints=sums, method="SLSQP")
    assert found.success and found.fun < 0.95 * value
    assert value - found.fun <= case.possible_gain(alpha, beta)
    assert case.possible_gain(found.x, beta) <= 1e-2 * value


def test_every_sign_pattern_that_leaves_no_group_at_zero_ends_the_alternation() -> None:
    """The weights of one nonnegative least squares problem are a partial optimum, and most are not the optimum."""
    case = judge(1, eta=0.0, corr=0.0, shape=(60, 24, 4))
    X, y = case.rows
    ends = []
    for signs in product((1.0, -1.0), repeat=4):
        weights, norm = nnls(X * np.array(signs)[case.groups], y)
        sums = np.bincount(case.groups, weights)
        if (sums > 0).all():
            alpha, beta = weights / sums[case.groups], np.array(signs) * sums
            assert case.best_beta(alpha) >= norm**2 * (1 - EXACT)
            assert case.possible_gain(alpha, beta) <= EXACT * norm**2
            ends.append(norm**2)
    best = brute_force(case.X, case.y, case.groups).objective
    assert len(ends) >= 8 and min(ends) == pytest.approx(best, rel=EXACT) and max(ends) > 1.2 * best
