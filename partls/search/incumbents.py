"""Incumbents before the search: round the relaxed solution, then flip groups while it pays."""

from __future__ import annotations

import numpy as np

from formulations.reduction import Reduction
from formulations.signs import SignPattern
from partls.search.subtree import Incumbent
from relaxations.active_set import GroupedProblem
from relaxations.kernel import load
from relaxations.sign_constrained import solve_signed

_ROUNDS, _PAIRED = 20, 6


def leaf(reduction: Reduction, signs: SignPattern, start: Incumbent | None = None) -> Incumbent:
    """Return the optimal solution of one complete pattern, by orthogonal factorisation."""
    v = solve_signed(reduction, reduction.column_signs(signs), None if start is None else start.v)
    return Incumbent(reduction.objective(v) / reduction.scale, v)


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
