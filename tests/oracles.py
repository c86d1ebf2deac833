"""The oracle of ``partls.testing``, by the name under which the tests know it."""

from partls.testing.oracle import (
    MAX_ENUMERATED,
    Kkt,
    Oracle,
    Solution,
    brute_force,
    by_supports,
    candidates,
    kkt_residual,
    minimise,
    program,
    sign_constrained,
    unique_optimum,
)

__all__ = [
    "MAX_ENUMERATED",
    "Kkt",
    "Oracle",
    "Solution",
    "brute_force",
    "by_supports",
    "candidates",
    "kkt_residual",
    "minimise",
    "program",
    "sign_constrained",
    "unique_optimum",
]
