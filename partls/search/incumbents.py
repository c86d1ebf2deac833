"""Incumbents before the search: round the relaxed solution, then flip groups while it pays."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from formulations.reduction import Reduction
from formulations.signs import SignPattern
from partls.search.subtree import Incumbent, round_to_signs
from relaxations.active_set import GroupedProblem
from relaxations.kernel import load
from relaxations.sign_constrained import quick_support, solve_signed

_ROUNDS, _PAIRED, _NEARBY = 20, 6, 8


def leaf(reduction: Reduction, signs: SignPattern, start: Incumbent | None = None) -> Incumbent:
    """Return the optimal solution of one complete pattern, by orthogonal factorisation."""
    v = solve_signed(reduction, reduction.column_signs(signs), None if start is None else start.v)
    return Incumbent(reduction.objective(v) / reduction.scale, v)


def interpolating(reduction: Reduction, root: SignPattern, tolerance: float) -> Incumbent | None:
    """Return a solution of zero error, if dropping wrong-signed columns from the shortest solution leaves one.

    With more columns than rows and no L1 penalty most sign patterns reach zero, and nothing can beat it: one
    such solution ends the search before it starts.
    """
    R, z = reduction.R, reduction.z
    if R.shape[0] >= R.shape[1] or reduction.l1.any() or reduction.rest > tolerance:
        return None
    kept, signs, v = np.ones(R.shape[1], bool), None, np.zeros(R.shape[1])
    while kept.sum() >= R.shape[0]:
        A = R[:, kept]
        try:
            factor = cho_factor(A @ A.T, check_finite=False)
        except LinAlgError:
            return None
        shortest = A.T @ cho_solve(factor, z, check_finite=False)
        shortest += A.T @ cho_solve(factor, z - A @ shortest, check_finite=False)
        v[:] = 0.0
        v[kept] = shortest
        if signs is None:
            signs = reduction.column_signs(round_to_signs(v, reduction.labels, root))
        wrong = v * signs < 0
        if not wrong.any():
            break
        kept &= ~wrong
    else:  # too few columns left: ask for the best fit of that pattern instead
        assert signs is not None  # the first round, with all columns, has set them
        v = np.where(quick_support(R * signs, z), 1.0, 0.0)
        v = solve_signed(reduction, signs, v * signs)
    value = reduction.objective(v) / reduction.scale
    return Incumbent(value, v) if value <= tolerance else None


def compiled_incumbent(grouped: GroupedProblem, root: SignPattern, candidates: list[SignPattern]) -> Incumbent:
    """Return the best solution found by compiled local search from each candidate pattern within ``root``.

    With decided groups in ``root`` only the candidates are solved: flips could leave the box.
    """
    flips, nodes = load("partls.search._flips"), load("partls.search._node")
    problem = grouped.kernel_problem(grouped.size)
    workspace = nodes.make_workspace(problem, levels=1)
    best, bounds = np.zeros(len(grouped.order)), np.array([np.inf, np.inf])
    free = len(root.undecided) == len(root)
    for pattern in candidates:
        signs = np.array(pattern.values, np.int8)
        flips.improve(problem, workspace, signs, best, bounds, _ROUNDS if free else 0, _PAIRED)
    return Incumbent(float(bounds[0]), grouped.to_reduced(best))


def exact_fit_nearby(reduction: Reduction, root: SignPattern, incumbent: Incumbent, tolerance: float) -> Incumbent:
    """Return a better solution from the patterns next to the incumbent's, stopping at the first of zero error.

    For data with more columns than rows, where about half of all patterns may fit exactly.
    """
    best = incumbent
    signs = round_to_signs(incumbent.v, reduction.labels, root)
    sums = np.abs(np.bincount(reduction.labels, incumbent.v, reduction.n_groups))
    least = [k for k in np.argsort(sums) if root[k] == 0][:_NEARBY]
    for k in [None, *least]:
        pattern = signs if k is None else SignPattern((*signs.values[:k], -signs[k], *signs.values[k + 1 :]))
        best = min(best, leaf(reduction, pattern), key=lambda found: found.value)
        if best.value <= tolerance:
            break
    return best


def plain_incumbent(reduction: Reduction, root: SignPattern, candidates: list[SignPattern]) -> Incumbent:
    """Return the best solution found by one-flip descent with orthogonal factorisation (L1, ill-conditioned data)."""
    best_signs = min(candidates, key=lambda pattern: leaf(reduction, pattern).value)
    best = leaf(reduction, best_signs)
    improved = True
    while improved:
        improved = False
        for k in root.undecided:
            flipped = SignPattern((*best_signs.values[:k], -best_signs[k], *best_signs.values[k + 1 :]))
            trial = leaf(reduction, flipped, best)
            if trial.value < best.value * (1 - 1e-10):
                best, best_signs, improved = trial, flipped, True
    return best
