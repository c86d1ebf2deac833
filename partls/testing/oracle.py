"""The global optimum by brute force over all sign patterns, from the original data with NumPy and SciPy alone.

Nothing that solves problems is imported, so that an error there cannot hide here. Every answer has passed a check of
the optimality conditions: SciPy's ``nnls`` can fail silently on dependent columns (weights of 1e16, a residual below
the true optimum), so every point is checked, and the next solver is tried until one passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import lsq_linear, nnls

from partls.testing.tolerances import DEPENDENT, KKT, UNIQUE, WEIGHT

Floats = NDArray[Any]

MAX_ENUMERATED = 12  # columns up to which trying every support is affordable


class Kkt(NamedTuple):
    """How far a point is from optimal, each part relative to the size of the terms that cancel in it.

    Attributes
    ----------
    primal
        Coefficients of the wrong sign.
    dual
        Directions of descent that are left.
    complementarity
        Coefficients that are not zero although their gradient is not.
    weight
        The largest contribution of one column, relative to the target.

    Examples
    --------
    >>> from partls.testing import Kkt
    >>> Kkt(primal=0.0, dual=1e-16, complementarity=0.0, weight=0.0).dual
    1e-16
    """

    primal: float  # coefficients of the wrong sign
    dual: float  # descent directions left
    complementarity: float  # coefficients that are not zero although their gradient is not
    weight: float  # largest contribution of one column, relative to the target

    @property
    def worst(self) -> float:
        """The largest of the first three."""
        return float(max(self[:3]))

    @property
    def holds(self) -> bool:
        """Whether the point is an answer."""
        return self.worst <= KKT and self.weight <= WEIGHT


@dataclass(frozen=True, eq=False)
class Solution:
    """The optimum under given column signs.

    Attributes
    ----------
    objective
        The optimum.
    coef, intercept
        A model that attains it.
    kkt
        Its residuals of the optimality conditions.

    Examples
    --------
    >>> from partls.testing import sign_constrained
    >>> solution = sign_constrained([[1.0], [2.0]], [1.0, 2.0], [1], fit_intercept=False)
    >>> solution.coef.round(6).tolist()
    [1.0]
    """

    objective: float
    coef: Floats
    intercept: float
    kkt: Kkt


@dataclass(frozen=True, eq=False)
class Oracle:
    """The global optimum, one of its sign patterns, and the optimum of every sign pattern.

    Attributes
    ----------
    objective
        The optimum.
    coef, intercept
        A model that attains it.
    signs
        Its sign pattern.
    objectives
        The optimum of each sign pattern.

    Examples
    --------
    >>> from partls.testing import brute_force
    >>> oracle = brute_force([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, -2.0, 0.0], [0, 1])
    >>> oracle.signs, len(oracle.objectives)
    ((1, -1), 4)
    """

    objective: float
    coef: Floats
    intercept: float
    signs: tuple[int, ...]
    objectives: dict[tuple[int, ...], float]


@dataclass(frozen=True, eq=False)
class Program:
    """minimise ``||A x - b||^2 + cost'x``  s.t. ``x_j >= 0`` where ``bounded``; free columns carry no cost.

    ``x_j`` counts ``orientation_j`` times for column ``source_j`` of [X, 1]. A column with a kink at zero (an L1
    penalty and no sign) stands there twice, once each way.
    """

    A: Floats
    b: Floats
    cost: Floats
    bounded: Floats
    source: Floats
    orientation: Floats

    def objective(self, x: Floats) -> float:
        """In rational arithmetic: where large contributions cancel, floating point has too few digits to judge by."""
        used = [(j, Fraction(value)) for j, value in enumerate(x.tolist()) if value]
        rows = zip(self.A.tolist(), self.b.tolist(), strict=True)
        errors = [sum((Fraction(row[j]) * value for j, value in used), -Fraction(target)) for row, target in rows]
        return float(sum(error**2 for error in errors) + sum(Fraction(self.cost[j]) * value for j, value in used))

    def kkt(self, x: Floats) -> Kkt:
        """Measure x: ``A'(b - A x) - cost / 2`` is zero on free columns, and at most zero where x_j = 0."""
        norms = np.linalg.norm(self.A, axis=0)
        parts = norms * np.abs(x)
        target = float(np.linalg.norm(self.b)) or 1.0
        size = target + parts.sum()
        descent = self.A.T @ (self.b - self.A @ x) - self.cost / 2
        wrong = np.where(self.bounded, np.maximum(descent, 0.0), np.abs(descent))
        lengths = np.where(norms > 0, norms, 1.0)
        return Kkt(
            primal=float(np.max(np.where(self.bounded, -x * norms, 0.0), initial=0.0)) / size,
            dual=float(np.max(wrong / lengths, initial=0.0)) / size,
            complementarity=float(np.max(np.abs(x * descent), initial=0.0)) / size**2,
            weight=float(parts.max(initial=0.0)) / target,
        )


def brute_force(X: Any, y: Any, labels: Any, **options: Any) -> Oracle:
    """Return the best of all 2^K sign patterns; label -1 marks a column without a sign.

    The oracle shares no code with the solvers of the toolkit.

    Parameters
    ----------
    X, y
        The data.
    labels
        The group of each column.
    **options
        ``eta`` (a number, or one per group), ``eta_intercept`` (that of eta if left out), ``penalty``, ``ridge``,
        ``fit_intercept``, ``penalize_intercept``, ``sample_weight``.

    Returns
    -------
    Oracle
        The optimum.

    Examples
    --------
    >>> from partls.testing import brute_force
    >>> brute_force([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, -2.0, 0.0], [0, 1]).signs
    (1, -1)
    """
    labels = np.asarray(labels)
    patterns = product((1, -1), repeat=int(labels.max(initial=-1)) + 1)
    found = {
        signs: sign_constrained(X, y, np.append(signs, 0)[labels], labels=labels, **options) for signs in patterns
    }
    signs = min(found, key=lambda pattern: found[pattern].objective)
    best = found[signs]
    return Oracle(best.objective, best.coef, best.intercept, signs, {s: f.objective for s, f in found.items()})


def unique_optimum(
    X: Any, y: Any, labels: Any, given: Sequence[int], **options: Any
) -> Solution | None:
    """Return the best model whose groups keep the ``given`` signs (0: either), or None if others are about as good.

    Options as in :func:`brute_force`. Independent columns make the optimum of each sign pattern unique, and each other
    sign pattern has to be worse, or to have the same coefficients.
    """
    labels = np.asarray(labels)
    rows = {"penalty": "l2"} | ({"eta": 0.0, "eta_intercept": 0.0} if options.get("penalty") == "l1" else {})
    whole = program(X, y, [0] * len(labels), labels=labels, **options | rows)
    norms = np.linalg.norm(whole.A, axis=0)
    if not norms.all() or np.linalg.svd(whole.A / norms, compute_uv=False).min() < UNIQUE or len(whole.A) < len(norms):
        return None
    patterns = product(*((sign,) if sign else (1, -1) for sign in given))
    found = [sign_constrained(X, y, np.append(p, 0)[labels], labels=labels, **options) for p in patterns]
    best = min(found, key=lambda solution: solution.objective)
    near = [one.coef for one in found if one.objective <= best.objective + UNIQUE * float(whole.b @ whole.b)]
    width = UNIQUE**2 * np.abs(best.coef).max(initial=0.0)
    return best if all(np.abs(coef - best.coef).max() <= width for coef in near) else None


def sign_constrained(X: Any, y: Any, column_signs: Any, **options: Any) -> Solution:
    """Return the optimum under one sign per column; 0 leaves a column unconstrained (a node's relaxation).

    Parameters
    ----------
    X, y
        The data.
    column_signs
        The sign of each column.
    **options
        As in :func:`brute_force`, and ``labels``: the group of each column, needed where ``eta > 0``.

    Returns
    -------
    Solution
        The optimum, with its residuals of the optimality conditions.

    Examples
    --------
    >>> from partls.testing import sign_constrained
    >>> sign_constrained([[1.0], [2.0]], [1.0, 2.0], [-1], fit_intercept=False).coef.tolist()
    [0.0]
    """
    problem = program(X, y, column_signs, **options)
    x = minimise(problem)
    full = np.zeros(np.shape(X)[1] + 1)
    np.add.at(full, problem.source, problem.orientation * x)
    return Solution(problem.objective(x), full[:-1], float(full[-1]), problem.kkt(x))


def kkt_residual(
    X: Any, y: Any, column_signs: Any, *, coef: Any, intercept: float = 0.0, **options: Any
) -> Kkt:
    """Measure given coefficients against the optimality conditions of their sign pattern.

    Parameters
    ----------
    X, y
        The data.
    column_signs
        The sign of each column; 0 leaves a column unconstrained.
    coef, intercept
        The model.
    **options
        As in :func:`sign_constrained`.

    Returns
    -------
    Kkt
        The residuals; zero at the optimum, up to rounding.

    Examples
    --------
    >>> from partls.testing import kkt_residual
    >>> kkt_residual([[1.0], [2.0]], [1.0, 2.0], [1], coef=[1.0], fit_intercept=False).holds
    True
    """
    problem = program(X, y, column_signs, **options)
    full = np.append(coef, intercept)[problem.source] * problem.orientation
    twice = np.bincount(problem.source, minlength=np.shape(X)[1] + 1)[problem.source] > 1
    return problem.kkt(np.where(twice, np.maximum(full, 0.0), full))


def program(
    X: Any, y: Any, column_signs: Any, *, labels: Any = None, eta: Any = 0.0, penalty: str = "l2", ridge: float = 0.0,
    fit_intercept: bool = True, penalize_intercept: bool = False, sample_weight: Any = None, eta_intercept: Any = None,
) -> Program:
    """State the problem of one sign pattern on the original data: weighted rows, penalty rows, linear L1 costs."""
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    n, m = X.shape
    labels = np.full(m, -1) if labels is None else np.asarray(labels)
    root = np.ones(n) if sample_weight is None else np.sqrt(np.asarray(sample_weight, dtype=float))
    own = labels.max(initial=-1) + 1  # the penalised intercept counts as one more group
    groups = np.append(labels, own if fit_intercept and penalize_intercept else -1)
    A, b = np.column_stack([X, np.ones(n)]) * root[:, None], y * root
    strengths = np.append(np.broadcast_to(eta, own), np.max(eta) if eta_intercept is None else eta_intercept)
    if penalty == "l2":
        rows = np.sqrt(strengths)[:, None] * (groups == np.arange(own + 1)[:, None])
        A, b = np.vstack([A, rows]), np.append(b, np.zeros(len(rows)))
    if ridge:
        A, b = np.vstack([A, np.sqrt(ridge) * np.eye(m, m + 1)]), np.append(b, np.zeros(m))
    prices = np.where((groups >= 0) & (penalty == "l1"), strengths[groups], 0.0)
    signs = np.append(np.asarray(column_signs, dtype=int), 0)
    present = np.arange(m + int(fit_intercept))
    twice = present[(signs[present] == 0) & (prices[present] > 0)]
    source = np.append(present, twice)
    orientation = np.append(np.where(signs[present] < 0, -1.0, 1.0), -np.ones(len(twice)))
    bounded = (signs[source] != 0) | (prices[source] > 0)
    return Program(A[:, source] * orientation, b, prices[source], bounded, source, orientation)


def minimise(problem: Program) -> Floats:
    """Return the first candidate that satisfies the optimality conditions; refuse to answer without one."""
    measured = []
    for name, x in candidates(problem):
        kkt = problem.kkt(x)
        if kkt.holds:
            return x
        measured.append((name, kkt))
    raise AssertionError(f"no solver satisfies the optimality conditions: {measured}")


def candidates(problem: Program) -> Iterator[tuple[str, Floats]]:
    """Yield solutions by different solvers, cheap ones first, all on columns of norm one and without free ones."""
    norms = np.linalg.norm(problem.A, axis=0)
    lengths = np.where(norms > 0, norms, 1.0)
    unit = problem.A / lengths
    basis = _orthonormal(unit[:, ~problem.bounded])
    B = unit[:, problem.bounded] - basis @ (basis.T @ unit[:, problem.bounded])
    B -= basis @ (basis.T @ B)
    B[:, np.linalg.norm(B, axis=0) <= DEPENDENT] = 0.0  # the free columns do all that such a column can
    b = problem.b - basis @ (basis.T @ problem.b)
    cost = (problem.cost / lengths)[problem.bounded]
    for name, solver in SOLVERS.items():
        z = solver(B, b, cost)
        if z is not None:
            yield name, _complete(problem, unit, z) / lengths


def _complete(problem: Program, unit: Floats, z: Floats) -> Floats:
    """Add the best free coefficients to the nonnegative ones."""
    x = np.zeros(unit.shape[1])
    x[problem.bounded] = z
    free = ~problem.bounded
    for _ in range(2):  # the second solve removes the rounding of the first
        x[free] += np.linalg.lstsq(unit[:, free], problem.b - unit @ x, rcond=DEPENDENT)[0]
    return x


def _orthonormal(A: Floats) -> Floats:
    if A.shape[1] == 0:
        return A
    q, r, _ = qr(A, mode="economic", pivoting=True)
    return np.asarray(q[:, np.abs(np.diag(r)) > DEPENDENT])


def by_scipy(B: Floats, b: Floats, cost: Floats) -> Floats | None:
    """Nonnegative least squares by SciPy, to be checked; it knows no linear cost."""
    if cost.any() or B.shape[1] == 0:  # without columns it ends the process
        return None
    try:
        return np.asarray(nnls(B, b)[0])
    except RuntimeError:  # it gave up, and said so
        return None


def by_active_set(B: Floats, b: Floats, cost: Floats) -> Floats:
    """Lawson and Hanson's method with a linear cost; a dependent column is exchanged, never divided by."""
    m = B.shape[1]
    x, support = np.zeros(m), list[int]()
    for _ in range(50 * (m + 1)):
        descent = B.T @ (b - B @ x) - cost / 2
        descent[support] = -np.inf
        j = int(np.argmax(descent)) if m else 0
        if m == 0 or descent[j] <= 1e-14 * np.linalg.norm(b):
            break
        direction = np.zeros(m)
        direction[j] = 1.0
        if support:
            direction[support] = -np.linalg.lstsq(B[:, support], B[:, j], rcond=None)[0]
        if np.linalg.norm(B @ direction) <= DEPENDENT:  # the fit stays, the cost falls: until a coefficient is zero
            falling = np.flatnonzero(direction < -DEPENDENT)
            if len(falling) == 0:
                break
            ratios = x[falling] / -direction[falling]
            x = x + ratios.min() * direction
            support = [i for i in [*support, j] if i != falling[np.argmin(ratios)]]
        else:
            support = [*support, j]
        x, support = _to_stationary(B, b, cost, np.maximum(x, 0.0), support)
    return x


def _to_stationary(B: Floats, b: Floats, cost: Floats, x: Floats, support: list[int]) -> tuple[Floats, list[int]]:
    """Walk towards the best point on the support, leaving behind each coefficient that reaches zero."""
    while True:
        target = np.zeros(len(x))
        target[support] = stationary(B[:, support], b, cost[support])
        below = [i for i in support if target[i] <= 0]
        if not below:
            return target, support
        steps = [x[i] / (x[i] - target[i]) for i in below]
        x = x + min(steps) * (target - x)
        support = [i for i in support if i != below[int(np.argmin(steps))]]
        x = np.where(np.isin(np.arange(len(x)), support), np.maximum(x, 0.0), 0.0)


def stationary(B: Floats, b: Floats, cost: Floats) -> Floats:
    """Return the point of zero gradient on independent columns, refined once."""
    q, r = np.linalg.qr(B)
    z = np.linalg.solve(r, q.T @ b - np.linalg.solve(r.T, cost / 2))
    descent = B.T @ (b - B @ z) - cost / 2
    return np.asarray(z + np.linalg.solve(r, np.linalg.solve(r.T, descent)))


def by_bounds(B: Floats, b: Floats, cost: Floats) -> Floats | None:
    """Bounded-variable least squares by SciPy, to be checked; it knows no linear cost."""
    if cost.any() or B.shape[1] == 0:
        return None
    return np.asarray(lsq_linear(B, b, (0.0, np.inf), method="bvls", tol=1e-15).x)


def by_supports(B: Floats, b: Floats, cost: Floats) -> Floats | None:
    """Try every support. Exact: some optimum has independent columns and is stationary on its support."""
    m = B.shape[1]
    if m > MAX_ENUMERATED:
        return None
    best, least = np.zeros(m), float(b @ b)
    for size in range(1, min(len(b), m) + 1):
        for support in map(list, combinations(range(m), size)):
            if np.linalg.svd(B[:, support], compute_uv=False)[-1] <= DEPENDENT:
                continue
            z = stationary(B[:, support], b, cost[support])
            value = np.square(B[:, support] @ z - b).sum() + cost[support] @ z
            if z.min() >= 0 and value < least:
                best, least = np.zeros(m), float(value)
                best[support] = z
    return best


SOLVERS = {"nnls": by_scipy, "active set": by_active_set, "bvls": by_bounds, "supports": by_supports}
