"""What counts as equal in the laws and in the oracle: relative to what, and why that much.

None of these is a tolerance of the toolkit, so that one that is loosened there loosens no test.
"""

from __future__ import annotations

# The oracle. Residuals of the optimality conditions are relative to the sizes of the terms that cancel in them.
KKT = 1e-11  # a point that misses the optimality conditions by more is not an answer
WEIGHT = 1e10  # ||column|| * |coefficient| / ||target||: beyond this a solver has divided by rounding
DEPENDENT = 1e-11  # of a column's norm: what is left of a column that repeats others
UNIQUE = 1e-4  # smallest singular value, and part of ||y||^2 between optima, from which the best model is one alone

# Two ways to the same optimum. Relative to the optimum, plus a part of ||y||^2 for optima that vanish.
OPTIMUM = 1e-10
VANISHING = 1e-12
