"""Beyond one process: a large tree and tall data on worker processes of this machine, and a replay on up to 1000."""

from __future__ import annotations

from benchmarks.runner import Case, Run
from benchmarks.studies._distributed_page import figures, page

__all__ = ["cases", "figures", "page"]

TREES = ((300, 240, 60), (330, 264, 66))  # about 130,000 and 230,000 nodes
ONE, THREADS, RECORDED = Run("bnb"), Run("bnb_threads", {"n_jobs": 2}), Run("bnb_recorded")
DASK = tuple(Run("bnb_dask", {"workers": workers}) for workers in (1, 2))
TALL = {"memory": ("tall_sum", "tall_fold", "tall_tsqr", "tall_fit"), "parquet": ("tall_sum", "tall_fold", "tall_fit")}
ROWS = 2_000_000


def cases(quick: bool = False) -> list[Case]:
    """Return trees that take one thread half a minute and more, and data of a gigabyte."""
    if quick:
        tall = [Run(name, {"source": "memory"}) for name in TALL["memory"]] + [Run("tall_fit", {"source": "parquet"})]
        return [
            Case("tree-quick", "synthetic", {"N": 200, "M": 180, "K": 45}, (ONE, THREADS, DASK[1], RECORDED), seeds=1),
            Case("tall-quick", "data_file", {"N": 50_000, "M": 20, "K": 4}, tuple(tall), seeds=1),
        ]
    tall = [
        Case(f"tall-{source}", "data_file", {"N": ROWS, "M": 60, "K": 8},
             tuple(Run(name, {"source": source}) for name in names), seeds=3)
        for source, names in TALL.items()
    ]
    trees = [
        Case(f"tree-k{K}", "synthetic", {"N": N, "M": M, "K": K}, (ONE, THREADS, *DASK, RECORDED), seeds=1,
             time_limit=900)
        for N, M, K in TREES
    ]
    return [*trees, *tall]
