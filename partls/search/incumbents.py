"""Incumbents before the search: round the relaxed solution, then flip groups while it pays."""

from __future__ import annotations

import numpy as np

from formulations.reduction import Reduction
from formulations.signs import SignPattern
from partls.search.subtree import Incumbent, round_to_signs
from relaxations.active_set import GroupedProblem
from relaxations.sign_constrained import solve_signed

_ROUNDS, _PAIRED = 20, 12


def leaf(reduction: Reduction, signs: SignPattern, start: Incumbent | None = None) -> Incumbent:
    """Return the optimal solution of one complete pattern, by orthogonal factorisation."""
    v = solve_signed(reduction, reduction.column_signs(signs), None if start is None else start.v)
    return Incumbent(reduction.objective(v) / reduction.scale, v)


def compiled_incumbent(grouped: GroupedProblem, root: SignPattern, candidates: list[SignPattern]) -> Incumbent:
    """Return the best solution found by compiled local search from each candidate pattern within ``root``.

    With decided groups in ``root`` only the candidates are solved: flips could leave the box.
    """
    from partls.search import _flips, _walk  # compiled on first use

    problem = grouped.kernel_problem(grouped.size)
    workspace = _walk.make_workspace(problem, levels=1)
    best, bounds = np.zeros(len(grouped.order)), np.array([np.inf, np.inf])
    free = len(root.undecided) == len(root)
    for pattern in candidates:
        signs = np.array(pattern.values, np.int8)
        _flips.improve(problem, workspace, signs, best, bounds, _ROUNDS if free else 0, _PAIRED)
    return Incumbent(float(bounds[0]), grouped.to_reduced(best))


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


def rounded(reduction: Reduction, root: SignPattern) -> SignPattern:
    """Return the pattern of the relaxed solution, each undecided group taking the sign of its sum."""
    return round_to_signs(solve_signed(reduction, reduction.column_signs(root)), reduction.labels, root)
