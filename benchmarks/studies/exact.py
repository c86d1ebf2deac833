"""How fast the exact methods are, next to the published algorithms, mixed-integer solvers and plain least squares.

Table 3 of Esposito, Cerrato and Locatelli (2024) stands beside families that are hard: as many columns as rows,
correlated or nearly collinear ones, subset sums, many groups.

Every goal is a ratio measured in one run on one thread, a median over seeds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from benchmarks.runner import Case, Run
from benchmarks.studies._exact_page import figures, losses, page

__all__ = ["GOALS", "HARD", "PAPER_SIZES", "cases", "figures", "losses", "page"]

BNB, ENUMERATE = Run("bnb"), Run("enumerate")
REFERENCE, PUBLISHED = Run("reference_bnb"), Run("reference_bnb_as_published")
PAPER_SIZES = tuple(product((10, 15, 20), (100, 150, 200), (400, 600)))  # K, N, M
LISTED = Run("reference_enumeration", time_limit=5, seeds=1)
ENUMERATE_ONCE = replace(LISTED, method="enumerate")
QUICK_PEERS = tuple(Run(name, time_limit=10) for name in ("reference_bnb", "gurobi_miqp", "daqp_miqp"))
SLOW_PEERS = tuple(
    Run(name, time_limit=10, seeds=1) for name in ("scip_miqp", "cvxpy_scip", "enumerate", "reference_enumeration")
)
MIXED_INTEGER = ("gurobi_miqp", "daqp_miqp", "scip_miqp", "cvxpy_scip")
HARD = {  # case -> dataset and settings: nothing here is fitted exactly
    "hard-square-corr0": ("synthetic", {"N": 100, "M": 90, "K": 15}),
    "hard-square-corr5": ("synthetic", {"N": 100, "M": 90, "K": 15, "corr": 0.5}),
    "hard-square-corr9": ("synthetic", {"N": 100, "M": 90, "K": 15, "corr": 0.9}),
    "hard-wide": ("synthetic", {"N": 100, "M": 150, "K": 12}),
    "hard-subset-sum": ("subset_sums", {"K": 16}),
    "hard-polynomial": ("polynomial", {"N": 200, "K": 12, "degree": 6}),
    "hard-k50": ("synthetic", {"N": 500, "M": 200, "K": 50}),
    "hard-k100": ("synthetic", {"N": 1000, "M": 250, "K": 100}),
}


def synthetic(key: str, N: int, M: int, K: int, *runs: Run, **options) -> Case:
    return Case(key, "synthetic", {"N": N, "M": M, "K": K}, runs, **options)


def cases(quick: bool = False) -> list[Case]:
    """Return the cases of the study; the quick ones are smaller where a peer would take minutes."""
    return [*_quick_cases()] if quick else [*_speed_cases(), *_paper_cases(), *_hard_cases(), *_other_cases()]


def _speed_cases() -> list[Case]:
    return [
        synthetic("bnb-k15", 200, 90, 15, BNB, REFERENCE, PUBLISHED),
        synthetic("bnb-k20", 200, 95, 20, BNB, REFERENCE, PUBLISHED),
        synthetic("enumerate-k12", 200, 60, 12, ENUMERATE, Run("reference_enumeration"), BNB, time_limit=300),
        synthetic("miqp-k10", 200, 80, 10, BNB, Run("gurobi_miqp"), Run("daqp_miqp"), Run("scip_miqp"),
                  Run("cvxpy_scip", time_limit=60, seeds=1), time_limit=120),
        synthetic("miqp-k5", 60, 20, 5, BNB, *(Run(name) for name in MIXED_INTEGER), REFERENCE),
        synthetic("fit-10000", 10_000, 81, 8, BNB, Run("lstsq")),
        synthetic("fit-100000", 100_000, 90, 9, BNB, Run("lstsq")),
        synthetic("bnb-k100", 1000, 250, 100, BNB, time_limit=120),
        synthetic("bnb-k30", 600, 300, 30, BNB, time_limit=180),
    ]


def _paper_cases() -> list[Case]:
    runs = (BNB, REFERENCE, PUBLISHED, LISTED, ENUMERATE_ONCE)
    return [
        Case(f"paper-k{K}-n{N}-m{M}", "paper_table", {"N": N, "M": M, "K": K}, runs, time_limit=60)
        for K, N, M in PAPER_SIZES
    ]


def _hard_cases() -> list[Case]:
    runs = (BNB, *QUICK_PEERS, *SLOW_PEERS)
    return [Case(key, dataset, shape, runs, seeds=3) for key, (dataset, shape) in HARD.items()]


def _other_cases() -> list[Case]:
    starts = (Run("first_call", {"cache": "cold"}), Run("first_call", {"cache": "warm"}))
    imports = tuple(Run("import", {"module": module}) for module in ("partls", "numpy", "scipy.linalg", "sklearn"))
    memory = [
        synthetic("memory-k20", 200, 95, 20, BNB, REFERENCE),
        synthetic("memory-enumerate", 200, 60, 12, ENUMERATE),
        synthetic("memory-fit", 100_000, 90, 9, BNB, Run("lstsq")),
        synthetic("memory-k100", 1000, 250, 100, BNB, time_limit=120),
    ]
    return [
        *(replace(case, isolated=True, seeds=1) for case in memory),
        synthetic("start-up", 200, 90, 15, *starts, time_limit=120, seeds=3),
        synthetic("import", 20, 4, 2, *imports),
    ]


def _quick_cases() -> list[Case]:
    """Smaller and fewer: every method, dataset and kind of measurement once."""
    full = {case.key: replace(case, seeds=1) for case in cases()}
    small = {
        "hard-square-corr9": {"N": 40, "M": 36, "K": 6, "corr": 0.9},
        "hard-wide": {"N": 20, "M": 30, "K": 5},
        "hard-polynomial": {"N": 60, "K": 4, "degree": 4},
        "hard-subset-sum": {"K": 6},
        "bnb-k20": {"N": 120, "M": 60, "K": 12},
        "enumerate-k12": {"N": 120, "M": 40, "K": 8},
        "miqp-k10": {"N": 60, "M": 20, "K": 5},
        "bnb-k30": {"N": 300, "M": 150, "K": 20},
        "bnb-k100": {"N": 300, "M": 100, "K": 40},
    }
    kept = [
        *("bnb-k20", "enumerate-k12", "miqp-k10", "fit-10000", "bnb-k100", "bnb-k30", "paper-k10-n100-m600"),
        *("hard-square-corr9", "hard-wide", "hard-polynomial", "hard-subset-sum", "memory-k20"),
    ]
    chosen = [replace(full[key], settings=small.get(key, full[key].settings)) for key in kept]
    return [replace(case, runs=tuple(replace(run, time_limit=2) for run in case.runs)) for case in chosen]


@dataclass(frozen=True)
class Goal:
    """What a line of the table must reach. ``kind``: times faster, fraction of the peer's time, or seconds."""

    title: str
    case: str
    shape: tuple[int, int, int]  # N, M, K for which the goal is meant
    peer: str
    kind: str
    must: float | None
    aim: float | None
    ours: str = "bnb"


GOALS = (
    *(
        Goal(title, case, shape, peer, "faster", must, aim)
        for case, shape, must, aim in (("bnb-k15", (200, 90, 15), 100, 400), ("bnb-k20", (200, 95, 20), 200, 600))
        for title, peer in (
            ("bnb vs the reference bnb", "reference_bnb"),
            ("bnb vs the same, as published", "reference_bnb_as_published"),
        )
    ),
    Goal("enumeration vs 2^K NNLS, compressed", "enumerate-k12", (200, 60, 12), "reference_enumeration", "faster", 10,
         40, ours="enumerate"),
    Goal("bnb vs Gurobi, big-M MIQP", "miqp-k10", (200, 80, 10), "gurobi_miqp", "faster", 10, 50),
    Goal("bnb vs SCIP, big-M MIQP", "miqp-k10", (200, 80, 10), "scip_miqp", "faster", 500, 5000),
    *(
        Goal(f"bnb vs {title}", case, shape, peer, "faster", None, 1)
        for case, shape in (("miqp-k5", (60, 20, 5)), ("miqp-k10", (200, 80, 10)))
        for title, peer in (("DAQP, big-M MIQP", "daqp_miqp"), ("CVXPY + SCIP, as typed", "cvxpy_scip"))
    ),
    Goal("whole fit vs numpy.linalg.lstsq", "fit-10000", (10_000, 81, 8), "lstsq", "fraction", 1.0, 0.5),
    Goal("whole fit vs numpy.linalg.lstsq", "fit-100000", (100_000, 90, 9), "lstsq", "fraction", 1.0, 0.5),
    Goal("K = 100 to proven optimality", "bnb-k100", (1000, 250, 100), "", "seconds", 60, 1),
    Goal("K = 30, M = 300 to proven optimality", "bnb-k30", (600, 300, 30), "", "seconds", None, 20),
)
