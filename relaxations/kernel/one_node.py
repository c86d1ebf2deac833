"""One node of the tree bounded from Python: for relaxations and policies, not for the compiled search."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compilation import compiled, integer, real, signs_t, tuple_of
from .node import N_COUNTS, Workspace, begin, drop_all_pairs, workspace_t
from .pivoting import SOLVED, solve_node
from .safe_bound import safe_bound
from .tableau import KernelProblem, problem_t


@compiled(tuple_of((integer, real, real)), problem_t, workspace_t, signs_t, real, entry=True)
def bound_node(problem: KernelProblem, ws: Workspace, signs: Any, cutoff: float) -> tuple[int, float, float]:
    """Return (status, value, safe bound) of the node of ``signs``, its state on level 0."""
    begin(ws, signs, np.zeros(N_COUNTS, np.int64))
    status, value, safe = solve_node(
        problem, signs, cutoff, ws.T[0], ws.T_passive[0], ws.U[0], ws.C[0], ws.S[0], ws.scratch
    )
    if problem.pairs.used and status == SOLVED:
        status, value = drop_all_pairs(problem, ws, 0, cutoff, value)
        sharpened = value
        if status == SOLVED:
            sharpened = safe_bound(problem, ws.T[0], ws.T_passive[0], ws.U[0], ws.C[0], 0, ws.S[0], ws.scratch)
        safe = max(safe, sharpened)
    return status, value, safe
