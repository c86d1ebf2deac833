"""Incumbents before the search: round the relaxed solution, then flip groups while it pays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from formulations.data import Floats
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from formulations.tolerances import PROVED
from partls.explore.subtree import Incumbent, round_to_signs
from relaxations.active_set import GroupedProblem
from relaxations.clock import OutOfTime, check, factorisation
from relaxations.interpreter import kernel
from relaxations.sign_constrained import solve_signed

_ROUNDS, _PAIRED, _NEARBY = 20, 3, 8
_PLENTY = 1.7  # columns per row from which a fair share of the patterns fits exactly
_PATTERNS, _STEPS = 8, 5  # tried for an exact fit, and factorisations for each
_HASTY = 3  # steps of the first solution where there is no time for any other
_INSIDE, _WALL = 10.0, 0.1  # distance of the first point from the walls of its orthant; share kept on the way to one


def solve_pattern(reduction: Reduction, signs: SignPattern, start: Incumbent | None = None) -> Incumbent:
    """Return the optimal solution of one complete pattern, by orthogonal factorisation."""
    v = solve_signed(reduction, reduction.column_signs(signs), None if start is None else start.v)
    return Incumbent(reduction.objective(v) / reduction.scale, v)


def hasty_incumbent(reduction: Reduction, root: SignPattern) -> Incumbent:
    """Return a feasible point without any factorisation: a few steps down the slope, inside one orthant of ``root``."""
    R, z, half = reduction.R, reduction.z, reduction.l1 / 2
    v, slope = np.zeros(R.shape[1]), R.T @ z
    signs = reduction.column_signs(round_to_signs(slope, reduction.labels, root))
    best = Incumbent(reduction.objective(v) / reduction.scale, v)
    for _ in range(_HASTY):
        downhill = np.where((v != 0) | (signs * slope > half), slope - signs * half, 0.0)
        image = R @ downhill
        if not image.any():
            break
        v = v + (downhill @ downhill) / (image @ image) * downhill
        v = np.where(v * signs > 0, v, 0.0)
        best = min(best, Incumbent(reduction.objective(v) / reduction.scale, v), key=lambda found: found.value)
        slope = R.T @ (z - R @ v)
    return best


def find_exact_fit(reduction: Reduction, root: SignPattern, tolerance: float, is_over: Callable[[], bool]
                  ) -> Incumbent | None:
    """Return a solution of zero error, if a few sign patterns around that of the shortest solution hold one.

    With more columns than rows and no L1 penalty many sign patterns reach zero, and nothing can beat it: one
    such solution ends the search before it starts. A pattern that resists has its most opposed group turned.
    """
    R, z, labels = reduction.R, reduction.z, reduction.labels
    if R.shape[0] >= R.shape[1] or reduction.l1.any() or reduction.rest > tolerance:
        return None
    shortest = _nearest_exact(R, z, np.zeros(R.shape[1]), np.ones(R.shape[1]))
    if shortest is None:
        return None
    group_signs = np.array(round_to_signs(shortest, labels, root).values)
    tried: set[tuple[int, ...]] = set()
    for _ in range(_PATTERNS if R.shape[1] > _PLENTY * R.shape[0] else 1):
        if tried and is_over():
            break
        tried.add(tuple(group_signs))
        v, opposed = _exact_within(reduction, group_signs[labels], shortest)
        if v is not None:
            value = reduction.objective(v) / reduction.scale
            return Incumbent(value, v) if value <= tolerance else None
        for k in sorted(root.undecided, key=lambda k: -opposed[k]):
            group_signs[k] *= -1
            if tuple(group_signs) not in tried:
                break
            group_signs[k] *= -1
    return None


def _exact_within(reduction: Reduction, signs: NDArray[np.int_], shortest: Floats) -> tuple[Floats | None, Floats]:
    """Return (solution of zero error with these column signs or None, share of each group against its sign).

    From a point well inside the orthant, steps to the nearest solution in the metric of the point itself; what
    leaves the orthant is held back near its wall.
    """
    A, labels = reduction.R * signs, reduction.labels
    inside = np.maximum(shortest * signs, _INSIDE * np.abs(shortest).mean())
    outside = np.zeros(reduction.n_columns, bool)
    for _ in range(_STEPS):
        x = _nearest_exact(A, reduction.z, inside, inside)
        if x is None:
            break
        outside = x < 0
        if not outside.any():
            return x * signs, np.zeros(reduction.n_groups)
        inside = np.maximum(x, _WALL * inside)
    n = reduction.n_groups
    return None, np.bincount(labels, outside, n) / np.maximum(np.bincount(labels, minlength=n), 1)


def _nearest_exact(A: Floats, z: Floats, point: Floats, metric: Floats) -> Floats | None:
    """Return the x with ``A x = z`` nearest to ``point`` in the norm of ``x / metric``; None for dependent rows."""
    check(factorisation(*A.shape))
    B = A * metric
    factor, failed = lapack.dpotrf((B @ B.T).T, overwrite_a=True)
    if failed:
        return None
    x = point
    for _ in range(2):  # the second step takes away what the first one has rounded
        x = x + metric * (B.T @ lapack.dpotrs(factor, z - A @ x)[0])
    return x


def compiled_incumbent(grouped: GroupedProblem, root: SignPattern, candidates: list[SignPattern]) -> Incumbent:
    """Return the best solution found by compiled local search from each candidate pattern within ``root``.

    With decided groups in ``root`` only the candidates are solved: flips could leave the box.
    """
    flips, nodes = kernel.flips, kernel.node
    problem = grouped.kernel_problem(grouped.size)
    workspace = nodes.make_workspace(problem, levels=1)
    best, bounds = np.zeros(grouped.reduction.n_columns), np.array([np.inf, np.inf])
    free = len(root.undecided) == len(root)
    for pattern in candidates:
        signs = np.array(pattern.values, np.int8)
        flips.improve(problem, workspace, signs, best, bounds, _ROUNDS if free else 0, _PAIRED)
    return Incumbent(float(bounds[0]), best)


def exact_fit_nearby(reduction: Reduction, root: SignPattern, incumbent: Incumbent, tolerance: float,
                     is_over: Callable[[], bool] = lambda: False) -> Incumbent:
    """Return a better solution from the patterns next to the incumbent's, stopping at the first of zero error.

    For data with more columns than rows, where about half of all patterns may fit exactly.
    """
    best = incumbent
    signs = round_to_signs(incumbent.v, reduction.labels, root)
    sums = np.abs(np.bincount(reduction.labels, incumbent.v, reduction.n_groups))
    least = [k for k in np.argsort(sums) if root[k] == 0][:_NEARBY]
    for k in [None, *least]:
        if k is not None and is_over():
            break
        pattern = signs if k is None else SignPattern((*signs.values[:k], -signs[k], *signs.values[k + 1 :]))
        try:
            best = min(best, solve_pattern(reduction, pattern), key=lambda found: found.value)
        except OutOfTime:
            break
        if best.value <= tolerance:
            break
    return best


def plain_incumbent(reduction: Reduction, root: SignPattern, candidates: list[SignPattern], relaxed: Floats,
                    stop: Callable[[], bool] = lambda: False) -> Incumbent:
    """Return the best solution found by one-flip descent with orthogonal factorisation (L1, ill-conditioned data).

    The first solutions start from the support of the ``relaxed`` point; ``stop`` ends the descent early.
    """
    near = Incumbent(0.0, relaxed)
    solutions = [(solve_pattern(reduction, pattern, near), pattern) for pattern in candidates]
    best, best_signs = min(solutions, key=lambda solution: solution[0].value)
    improved = True
    while improved:
        improved = False
        for k in root.undecided:
            if stop():
                return best
            flipped = SignPattern((*best_signs.values[:k], -best_signs[k], *best_signs.values[k + 1 :]))
            trial = solve_pattern(reduction, flipped, best)
            if trial.value < best.value * (1 - PROVED):
                best, best_signs, improved = trial, flipped, True
    return best
