"""Every tolerance of the tests: those of ``partls.testing``, and others, each with its reason."""

from __future__ import annotations

import numpy as np
import pytest

from partls.testing.tolerances import DEPENDENT, KKT, OPTIMUM, UNIQUE, VANISHING, WEIGHT

__all__ = ["DEPENDENT", "KKT", "OPTIMUM", "UNIQUE", "VANISHING", "WEIGHT"]

# A first-order solver's word: Clarabel's default accuracy on a quadratic program.
QUADRATIC_PROGRAM = 1e-7
QUADRATIC_GAP = 1e-8  # of ||y||^2: its gap is measured beside the terms of the objective, not their difference

# The same number computed in two orders of summation.
REDUCTION = 1e-12  # objective before and after compression
EQUIVALENCE = 1e-10  # objective of the two sides of the theorem
SIMPLEX = 1e-12  # alpha sums to one in each group
TRIANGLE = 1e-12  # rows of a triangular factor, relative to the column's norm
COEFFICIENTS = 1e-9  # coefficients where they are unique and well conditioned

# Correct digits on the NIST sets: what a centred, scaled orthogonal factorisation reaches, not more.
NIST_DIGITS = {"Longley": 12.0, "Wampler1": 8.5, "Wampler2": 12.0, "Filip": 7.0, "Norris": 11.0}
NIST_RESIDUAL_DIGITS = {"Longley": 11.0, "Filip": 7.0, "Norris": 11.0}  # of the residual sum of squares


def same_optimum(expected: float, y: np.ndarray) -> object:
    """Return what compares equal to an optimum of data with (weighted) target y."""
    size = float(np.square(np.asarray(y, dtype=float)).sum())
    return pytest.approx(expected, rel=OPTIMUM, abs=VANISHING * size)
