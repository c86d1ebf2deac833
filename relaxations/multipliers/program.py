"""Semidefinite programs whose multipliers belong to single entries of the matrix.

    maximise  t   s.t.   Z = C - t diag(b) - sum_k y_k E_k  psd,   -lower_k <= y_k <= upper_k,

where E_k has a one at (i_k, j_k) and (j_k, i_k). The Shor bound is of this form: a product of known sign is one
multiplier, the sign of a coefficient another (its entry stands in the border), and t is the bound. Its dual program
is over psd matrices Y with ``sum_i b_i Y_ii = 1`` and ``2 Y_ij = p - r``, and minimises ``C . Y + lower'p + upper'r``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats


@dataclass(frozen=True, eq=False)
class PairProgram:
    """One such program.

    Attributes
    ----------
    cost
        The symmetric matrix C.
    weights
        The diagonal b that t multiplies.
    rows, columns
        The entry i < j of each multiplier.
    lower, upper
        ``-lower <= y <= upper``; infinite where there is no limit.
    """

    cost: Floats
    weights: Floats
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    lower: Floats
    upper: Floats

    @property
    def degree(self) -> int:
        """Number of complementary pairs that a barrier keeps apart."""
        return len(self.cost) + int(np.isfinite(self.lower).sum() + np.isfinite(self.upper).sum())

    def combined(self, t: float, y: Floats) -> Floats:
        """Return ``t diag(b) + sum_k y_k E_k``."""
        matrix = np.diag(t * self.weights)
        matrix[self.rows, self.columns] = y
        matrix[self.columns, self.rows] = y
        return matrix

    def measured(self, Y: Floats) -> Floats:
        """Return what the constraints see of a matrix: ``sum_i b_i Y_ii`` and, for each multiplier, ``2 Y_ij``."""
        return np.append(self.weights @ np.diag(Y), 2.0 * Y[self.rows, self.columns])
