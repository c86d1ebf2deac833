"""Problems at the edge of what can be proved: bounds at the root, whole searches, and how both grow.

Searches are limited, and measured, in processor time: other programs on the machine do not change what they reach.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.runner import Case, Run
from benchmarks.studies._frontier_page import figures, page

__all__ = ["NATIVE", "SIZES", "TREES", "cases", "figures", "page"]

SIZES = {80: 8, 160: 16, 300: 30}  # columns: groups, at the root
NATIVE = ("active-set", "shor")
BY_CVXPY = {80: 3, 160: 1, 300: 0}  # columns: seeds; one bound takes up to a minute at 160, beyond minutes
SQUARE = (80, 160)  # columns of the roots with as many rows
REFERENCE = 30.0  # seconds of branch and bound for the best solution that the gap is measured with
TREES = (  # columns, groups, rows as a multiple of the columns
    (50, 5, 2), (100, 10, 2), (200, 20, 2), (300, 30, 2), (400, 40, 2), (500, 50, 2),
    (50, 10, 2), (100, 20, 2), (150, 30, 2), (200, 40, 2), (250, 50, 2), (160, 40, 1),
)
BEFORE = {160: 1, 200: 1, 250: 1, 300: 1, 400: 1, 500: 0}  # columns: seeds of the search before, whose trees are large
LIMIT = 60.0  # seconds
PEERS = tuple(Run(name, time_limit=20.0, seeds=1) for name in ("scip_miqp", "gurobi_miqp", "daqp_miqp"))
PEERS_TO = 10  # groups; beyond, none of them ends
TARGETS = tuple((rho, target) for rho in (0.5, 0.9) for target in ("noise", "dense"))


def cases(quick: bool = False) -> list[Case]:
    """Return the cases of the study; the quick ones are few and small."""
    roots = [
        _root(M, rows, rho, target) for M in SIZES for rows in ("2M", "M")
        if rows == "2M" or M in SQUARE
        for rho, target in TARGETS
    ]
    trees = [_tree(*size, rho, target) for size in TREES for rho, target in TARGETS]
    small = Case("small", "synthetic", {"N": 60, "M": 20, "K": 5}, (Run("bnb_again"),), seeds=3)
    if not quick:
        return [*trees, small, *roots]
    few = [replace(roots[0], settings={"N": 40, "M": 20, "K": 4, "rho": 0.5, "target": "noise"}), trees[0]]
    return [replace(case, seeds=1) for case in (*few, small)]


def _tree(M: int, K: int, ratio: int, rho: float, target: str) -> Case:
    settings = {"N": ratio * M, "M": M, "K": K, "rho": rho, "target": target}
    before = Run("bnb_within", {"relaxation": "auto without multipliers"}, seeds=BEFORE.get(M))
    peers = PEERS if K <= PEERS_TO else ()
    key = f"tree-m{M}-k{K}-n{ratio}m-rho{rho:g}-{target}"
    return Case(key, "toeplitz", settings, (Run("bnb_within"), before, *peers), seeds=3, time_limit=LIMIT)


def _root(M: int, rows: str, rho: float, target: str) -> Case:
    settings = {"N": 2 * M if rows == "2M" else M, "M": M, "K": SIZES[M], "rho": rho, "target": target}
    bounds = [Run("root_bound", {"relaxation": name}) for name in NATIVE]
    bounds.append(Run("root_bound", {"relaxation": "shor by SCS"}, seeds=BY_CVXPY[M]))
    key = f"root-m{M}-n{rows.lower()}-rho{rho:g}-{target}"
    return Case(key, "toeplitz", settings, (*bounds, Run("bnb", time_limit=REFERENCE)), seeds=3, time_limit=300)
