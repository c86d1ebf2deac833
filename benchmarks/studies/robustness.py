"""How exact the answers are as columns become nearly dependent: conditions 1e2 to 1e14, against exact arithmetic."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.runner import Case, Run
from benchmarks.studies._robustness_page import figures, losses, page

__all__ = ["cases", "figures", "losses", "page"]

EXPONENTS = (2, 4, 6, 8, 10, 12, 14)
SHAPE = {"N": 24, "M": 12, "K": 4}
RUNS = tuple(
    Run(name) for name in ("rational_enumeration", "bnb", "enumerate", "reference_bnb", "reference_enumeration",
                           "gurobi_miqp", "scip_miqp", "cvxpy_scip", "daqp_miqp")
)


def cases(quick: bool = False) -> list[Case]:
    """Return a case per condition number; the quick ones are two that any method should master."""
    full = [
        Case(f"condition-1e{e}", "ill_conditioned", {**SHAPE, "condition": 10.0**e}, RUNS, seeds=5, time_limit=10)
        for e in EXPONENTS
    ]
    if not quick:
        return full
    small = {"N": 12, "M": 6, "K": 3}
    return [replace(case, settings=case.settings | small, seeds=1, runs=RUNS[:4]) for case in full[:3:2]]
