"""How time and memory grow with rows, columns, groups and threads, and when branch and bound overtakes enumeration.

Runs whose memory is measured have a process of their own.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.runner import Case, Run
from benchmarks.studies._scaling_page import figures, losses, page

__all__ = ["cases", "figures", "losses", "page"]

BNB, ENUMERATE = Run("bnb"), Run("enumerate")
BOTH = (BNB, ENUMERATE, Run("reference_bnb"), Run("reference_enumeration"))
ROWS = (1_000, 10_000, 100_000, 500_000)
COLUMNS = (40, 80, 160, 320)
GROUPS = (5, 10, 15, 20, 25, 30)
LISTED = 15  # groups of the largest enumeration whose memory is measured
CROSSED = range(2, 21)  # groups where branch and bound and enumeration run on the same instances
BUDGET = 300  # seconds a run there
THREADS = (1, 2, 4)


def cases(quick: bool = False) -> list[Case]:
    """Return the cases of the study; the quick ones are the smallest."""
    rows = [_case(f"n-{N}", N, 60, 8, BNB, Run("lstsq"), seeds=2) for N in ROWS]
    columns = [_case(f"m-{M}", 3 * M, M, 10, BNB) for M in COLUMNS]
    groups = [_case(f"k-{K}", 360, 120, K, BNB, *([ENUMERATE] if K <= LISTED else [])) for K in GROUPS]
    crossed = [Case(f"cross-{K}", "synthetic", {"N": 200, "M": 60, "K": K}, BOTH, seeds=3, time_limit=BUDGET)
               for K in CROSSED]
    threads = [_case("threads", 480, 240, 30, *(Run("bnb", {"threads": n}) for n in THREADS), seeds=2)]
    full = [*rows, *columns, *groups, *crossed, *threads]
    if not quick:
        return full
    few = [replace(case, runs=case.runs[:1]) for case in (rows[0], rows[1])]
    return [replace(case, seeds=1) for case in (*few, crossed[0], crossed[6])]


def _case(key: str, N: int, M: int, K: int, *runs: Run, seeds: int = 3) -> Case:
    return Case(key, "synthetic", {"N": N, "M": M, "K": K}, runs, seeds=seeds, time_limit=60, isolated=True)
