"""One node of the tree bounded from Python: for relaxations and policies, not for the compiled search."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from relaxations.kernel.compilation import compiled, matrix, real, signs_t
from relaxations.kernel.pivoting import solve_node
from relaxations.kernel.safe_bound import SCRATCH_ROWS
from relaxations.kernel.tableau import PENDING_ROWS, KernelProblem, problem_t


@compiled(numba.types.Tuple((numba.int64, real, real)), problem_t, signs_t, real, matrix, entry=True)
def bound_node(problem: KernelProblem, signs: Any, cutoff: float, S: Any) -> tuple[int, float, float]:
    """Return (status, value, safe bound) of the node of ``signs``, its state in S."""
    M = S.shape[1]
    T, T_passive, scratch = np.empty((M, M)), np.empty(M), np.empty((SCRATCH_ROWS, M))
    U, C = np.empty((PENDING_ROWS, M)), np.empty(PENDING_ROWS)
    outcome: tuple[int, float, float] = solve_node(problem, signs, cutoff, T, T_passive, U, C, S, scratch)
    return outcome
