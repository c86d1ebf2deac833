"""Problems at the edge of what can be proved: what strong bounds close at the root, and what they cost."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.runner import Case, Run
from benchmarks.studies._frontier_page import page

__all__ = ["NATIVE", "SIZES", "cases", "page"]

SIZES = {80: 8, 160: 16, 300: 30}  # columns: groups, at the root
NATIVE = ("active-set", "shor")
BY_CVXPY = {80: ("shor by SCS",), 160: ("shor by SCS",), 300: ()}  # beyond, one bound takes minutes
SQUARE = (80, 160)  # columns of the roots with as many rows
REFERENCE = 30.0  # seconds of branch and bound for the best solution that the gap is measured with


def cases(quick: bool = False) -> list[Case]:
    """Return the cases of the study; the quick ones are few and small."""
    roots = [
        _root(M, rows, rho, target) for M in SIZES for rows in ("2M", "M")
        if rows == "2M" or M in SQUARE
        for rho in (0.5, 0.9) for target in ("noise", "dense")
    ]
    if not quick:
        return roots
    return [replace(roots[0], settings={"N": 40, "M": 20, "K": 4, "rho": 0.5, "target": "noise"}, seeds=1)]


def _root(M: int, rows: str, rho: float, target: str) -> Case:
    settings = {"N": 2 * M if rows == "2M" else M, "M": M, "K": SIZES[M], "rho": rho, "target": target}
    bounds = [Run("root_bound", {"relaxation": name}) for name in (*NATIVE, *BY_CVXPY[M])]
    key = f"root-m{M}-n{rows.lower()}-rho{rho:g}-{target}"
    return Case(key, "toeplitz", settings, (*bounds, Run("bnb", time_limit=REFERENCE)), seeds=3, time_limit=300)
