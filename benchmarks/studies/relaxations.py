"""What each relaxation proves and costs: at the root, at depth, and as the bound of branch and bound."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.runner import Case, Run
from benchmarks.studies._relaxations_page import figures, page

__all__ = ["GOALS", "cases", "figures", "page"]

MEMBERS = ("unconstrained", "perspective lambda-min", "perspective bj", "perspective diagonal", "perspective block",
           "shor", "split-dnn")
# case -> relaxation -> share of the root gap that must be closed, from certified values
GOALS = {
    "root-m20-corr0": {"shor": 0.99},
    "root-m40-corr9": {"shor": 0.90, "perspective block": 0.90},
    "root-m40-corr5": {"split-dnn": 0.99},
}
SWITCHING = ("active-set", "active-set, generic", "perspective", "cheap then perspective", "to depth 4 perspective",
             "adaptive perspective")
WIDE = ("unconstrained", "perspective diagonal", "perspective block", "shor", "split-dnn")
FEW_ROWS = {"N": 19, "M": 20, "K": 4}
RIDGES = (0.1, 1.0)  # beside columns of squared length 19
PENALISED = ("active-set", "strengthened", "cheap then strengthened", "to depth 4 strengthened",
             "adaptive strengthened")


def cases(quick: bool = False) -> list[Case]:
    """Return the cases of the study; the quick ones are few and small."""
    full = [*_root_cases(), *_ridge_cases(), *_depth_cases(), *_tree_cases(), *_order_cases()]
    if not quick:
        return full
    kept = {case.key: replace(case, seeds=1, time_limit=10) for case in full}
    return [
        replace(kept["root-m20-corr0"], settings={"N": 40, "M": 10, "K": 3}),
        replace(kept["order-correlated"], settings={"N": 60, "M": 40, "K": 8, "corr": 0.9}),
        replace(kept["tree-penalised"], settings={"N": 30, "M": 45, "K": 15, "eta": 30.0}),
        replace(kept["tree-subset-sum"], settings={"K": 5}),
    ]


def _bounds(names: tuple[str, ...], **settings) -> tuple[Run, ...]:
    return (*(Run("node_bound", {"relaxation": name, **settings}) for name in names), Run("bnb"))


def _root_cases() -> list[Case]:
    shapes = {
        "root-m20-corr0": {"N": 80, "M": 20, "K": 4},
        "root-m40-corr5": {"N": 160, "M": 40, "K": 8, "corr": 0.5},
        "root-m40-corr9": {"N": 160, "M": 40, "K": 8, "corr": 0.9},
        "root-wide": FEW_ROWS,
    }
    return [Case(key, "synthetic", shape, _bounds(MEMBERS)) for key, shape in shapes.items()]


def _ridge_cases() -> list[Case]:
    """The curvature of ridge, beside the root with fewer rows than columns and without it."""
    return [
        Case(f"ridge-{ridge:g}", "synthetic", {**FEW_ROWS, "ridge": ridge}, _bounds(WIDE), seeds=3) for ridge in RIDGES
    ]


def _depth_cases() -> list[Case]:
    shape = {"N": 80, "M": 20, "K": 8, "corr": 0.5}
    return [Case(f"depth-{depth}", "synthetic", shape, _bounds(MEMBERS, depth=depth, n_nodes=5)) for depth in (2, 4)]


def _tree_cases() -> list[Case]:
    def searches(names: tuple[str, ...]) -> tuple[Run, ...]:
        return tuple(Run("bnb_with", {"relaxation": name}) for name in names)

    small = (*SWITCHING, "shor", "split-dnn")
    return [
        Case("tree-small", "synthetic", {"N": 40, "M": 16, "K": 6, "corr": 0.9}, searches(small), time_limit=30),
        Case("tree-correlated", "synthetic", {"N": 60, "M": 40, "K": 13, "corr": 0.9}, searches(SWITCHING),
             time_limit=30),
        Case("tree-subset-sum", "subset_sums", {"K": 10}, searches(SWITCHING), time_limit=30),
        Case("tree-penalised", "synthetic", {"N": 60, "M": 90, "K": 30, "eta": 30.0}, searches(PENALISED), seeds=2,
             time_limit=20),
        Case("tree-penalised-more", "synthetic", {"N": 60, "M": 100, "K": 33, "eta": 100.0}, searches(PENALISED),
             seeds=2, time_limit=20),
        Case("tree-strong-penalty", "synthetic", {"N": 200, "M": 60, "K": 20, "eta": 1e4}, searches(PENALISED[:2]),
             seeds=3, time_limit=20),
    ]


def _order_cases() -> list[Case]:
    """Every order of the open subtrees with every branching rule, on the cheap bound."""
    runs = tuple(
        Run("bnb", {"search": search, "branching": branching})
        for search in ("depth-first", "best-first")
        for branching in ("strong", "bound-score", "max-violation")
    )
    shapes = {
        "order-uncorrelated": {"N": 300, "M": 150, "K": 20},
        "order-correlated": {"N": 200, "M": 120, "K": 20, "corr": 0.9},
    }
    return [Case(key, "synthetic", shape, runs, seeds=3, time_limit=20) for key, shape in shapes.items()]
