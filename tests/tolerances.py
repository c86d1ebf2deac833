"""Every tolerance of the tests, in one place: what is compared, relative to what, and why that much."""

from __future__ import annotations

import numpy as np
import pytest

# The oracle. Residuals of the optimality conditions are relative to the sizes of the terms that cancel in them.
KKT = 1e-11  # a point that misses the optimality conditions by more is not an answer
WEIGHT = 1e10  # ||column|| * |coefficient| / ||target||: beyond this a solver has divided by rounding
DEPENDENT = 1e-11  # of a column's norm: what is left of a column that repeats others
UNIQUE = 1e-4  # smallest singular value, and part of ||y||^2 between optima, from which the best model is one alone

# Two ways to the same optimum. Relative to the optimum, plus a part of ||y||^2 for optima that vanish.
OPTIMUM = 1e-10
VANISHING = 1e-12

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
