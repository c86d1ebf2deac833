"""Which objective is reached when: the paper's figure. Alternating from 100 starts, enumeration, branch and bound.

The original files are used where they are; synthetic data of the same shapes stand in for those that are not.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.runner import Case, Run
from benchmarks.studies._time_vs_objective_page import figures, losses, page

__all__ = ["cases", "figures", "losses", "page"]

ALTERNATIONS = tuple(
    Run(method, {"n_starts": 100, "max_iter": T})
    for method in ("reference_alternating", "alternating")
    for T in (20, 100)
)
POLISHED = Run("alternating", {"n_starts": 100, "max_iter": 100, "starts": "mixed", "polish": "flips"})
EXACT = (Run("reference_enumeration"), Run("reference_bnb"), Run("enumerate"), Run("bnb"))
RUNS = (*ALTERNATIONS, POLISHED, *EXACT)
LIMIT = 30.0
SHAPES = {  # of the paper's data sets: N, M, K
    "like-limpet": {"N": 30, "M": 82, "K": 6},
    "like-superconductivity": {"N": 10_000, "M": 81, "K": 8, "corr": 0.5},
    "many-groups": {"N": 400, "M": 120, "K": 20, "corr": 0.5},
}
ORIGINAL = ("ames", "limpet", "facebook", "superconductivity", "year_prediction")


def cases(quick: bool = False) -> list[Case]:
    """Return a case per data set; those whose files are not here become rows that say so."""
    full = [Case("artificial", "artificial", {}, RUNS, seeds=1, time_limit=LIMIT)]
    full += [Case(key, "synthetic", shape, RUNS, seeds=1, time_limit=LIMIT) for key, shape in SHAPES.items()]
    full += [Case(name, name, {}, RUNS, seeds=1, time_limit=LIMIT) for name in ORIGINAL]
    if not quick:
        return full
    small = replace(full[2], settings={"N": 500, "M": 40, "K": 8, "corr": 0.5})
    return [replace(case, time_limit=1.0) for case in (full[0], small)]
