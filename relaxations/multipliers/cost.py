"""What a step of the interior-point method costs, as measured on problems of 20 to 300 columns."""

from __future__ import annotations

import numpy as np

from formulations.rows.reduction import Reduction


def step_seconds(reduction: Reduction) -> float:
    """Return the seconds of one step at the root: overhead, m pairs with their system, and M columns."""
    M, sizes = float(reduction.n_columns), np.bincount(reduction.labels).astype(np.float64)
    m = float(sizes @ (sizes - 1.0)) / 2.0
    return 3.3e-4 + 4.3e-6 * m + 5e-9 * m**2 + 1e-11 * m**3 + 5e-8 * M**2 + 2.5e-10 * M**3
