"""How much faster eta is chosen along one compressed, warm-started path per fold than by independent fits."""

from __future__ import annotations

import statistics

from benchmarks.render import head, markdown_table, number, paired_ratios, section, select, spread, timing
from benchmarks.runner import Case, Run
from benchmarks.table import Row, notes

PATH, GRID = Run("eta_path_cv"), Run("eta_grid_search")
SIZES = ((1_000, 60, 10), (10_000, 60, 10), (50_000, 60, 10), (1_000, 90, 20), (10_000, 90, 20), (1_000, 120, 40))


def cases(quick: bool = False) -> list[Case]:
    """Return the cases: many rows, where compressing pays, and many groups, where the search takes the time."""
    if quick:
        few = {"n_etas": 4, "n_folds": 3}
        runs = (Run("eta_path_cv", few), Run("eta_grid_search", few))
        return [Case("eta-quick", "synthetic", {"N": 2000, "M": 40, "K": 8}, runs, seeds=1)]
    return [
        Case(f"eta-n{N}-m{M}-k{K}", "synthetic", {"N": N, "M": M, "K": K}, (PATH, GRID), seeds=2) for N, M, K in SIZES
    ]


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    lines = []
    for case in dict.fromkeys(row["case"] for row in rows):
        ours, theirs = (select(rows, case=case, method=run.method) for run in (PATH, GRID))
        mine, other = timing(ours), timing(theirs)
        by_processor = statistics.median(
            their["cpu_seconds"] / our["cpu_seconds"] for our, their in zip(ours, theirs, strict=True)
        )
        same = sum(_agree(our, their) for our, their in zip(ours, theirs, strict=True))
        lines.append([
            case, *(ours[0][name] for name in "NMK"), mine, other, f"{number(other.seconds / mine.seconds)}x",
            spread(paired_ratios(ours, theirs)), f"{number(by_processor)}x", f"{same} of {len(ours)}",
        ])
    headers = ("case", "N", "M", "K", "path", "independent fits", "ratio", "per seed", "in processor time", "same eta")
    text = (
        "Thirteen values of eta, five folds, every fit proven optimal, one thread. *Path* is `PartLSRegressorCV`; "
        "*independent fits* is `GridSearchCV` over `PartLSRegressor`. The gain is that rows are compressed once per "
        "fold; where the search takes the time (many groups), there is less to gain. *Same eta* counts the seeds "
        "on which both choose the same value with the same error."
    )
    times = section("Times", markdown_table(headers, lines), command="python -m benchmarks --study eta_path")
    return head("Choosing eta by cross-validation", text, rows) + "\n\n" + times + "\n"


def _agree(ours: Row, theirs: Row) -> bool:
    mine, other = notes(ours), notes(theirs)
    return mine["eta"] == other["eta"] and abs(mine["error"] - other["error"]) <= 1e-9 * other["error"]
