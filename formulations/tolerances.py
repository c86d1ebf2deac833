"""Tolerances that several files share, each with the reason for its size; what one file alone uses stays there.

All are far above the rounding of one operation on doubles, 1e-16, and below what data can tell apart.
The compiled kernel keeps its own in ``relaxations/kernel``: the key of its cache covers that folder alone.
"""

ROUNDING = 1e-14
"""The error of a residual, as a share of the size of its terms: writing coefficients with 16 digits moves it by 1e-16
of that, and solving for them by some tens of that."""

ZERO = 1e-22
"""Of the target's squared norm: the search takes a smaller objective for zero, for it tells no solutions apart whose
residuals are below 1e-11 of the target."""

PROVED = 1e-10
"""Of the objective: the search gives up what is not better by more, for it closes boxes that near."""

TIE = 1e-13
"""Relative: objectives nearer than this differ by rounding, and of solutions that tie the first one found is kept."""

OPTIMAL_GAP = 1e-9
"""The relative gap below which a bound proves optimality: ten times what the search leaves open."""

ABSOLUTE_TOLERANCE = 1e-12
"""Of ``||y||^2``: an error below this is zero to working precision. A sum of ten thousand squares may be wrong by
1e-16 of itself for each of them."""

DEPENDENT = 1e-13
"""Of a column's norm: what rounding leaves of one that depends on others; more than that is data."""

REPEATED = 1e-11
"""Of the norm of the largest column: what is left of one that repeats others. A local method that takes a column for
dependent too early only starts elsewhere, so this is a hundred times DEPENDENT."""

ZERO_COEFFICIENT = 1e-11
"""Of the target's norm: a coefficient (columns have norm about 1) below this is zero. Solving by a factorisation moves
coefficients by less, unless columns are nearly dependent."""

PART_IN_DIRECTION = 1e-6
"""Of a direction of length one: columns with a smaller part in it are not concerned. That is far above the rounding of
singular vectors, and below any part that data give a column."""

SAFETY = 1e-6
"""Share by which a matrix D is kept below Q, against rounding in the largest eigenvalue: 1e-16 times a condition number
of at most 1e8, a hundredfold."""
