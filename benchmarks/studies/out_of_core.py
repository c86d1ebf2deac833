"""Data larger than memory: what a fit from a file costs beside reading the file, and how its memory grows with N."""

from __future__ import annotations

import statistics

from benchmarks.render import duration, markdown_table, number, section, select
from benchmarks.runner import Case, Run
from benchmarks.table import Row, notes

COMMAND = "python -m benchmarks --study out_of_core"
READ, FOLD, KEEP = Run("read_file"), Run("fit_file", {"memory": 16.0}), Run("fit_file", {"memory": 1e6})
M, K = 60, 8
PARQUET, CSV, KEPT = (250_000, 1_000_000, 4_000_000, 10_000_000), (250_000, 1_000_000), 1_000_000
RATIO_MUST, SAME_MUST = 2.0, 1e-10


def cases(quick: bool = False) -> list[Case]:
    """Return one case per file; each run is a process of its own, and rows are also kept where memory allows it."""
    sizes = [("parquet", 30_000), ("parquet", 120_000)] if quick else [
        *(("parquet", N) for N in PARQUET), *(("csv", N) for N in CSV)
    ]
    return [
        Case(f"{form}-{N}", "data_file", {"N": N, "M": M, "K": K, "form": form},
             (READ, FOLD, *([KEEP] if N <= KEPT else [])), seeds=1 if quick or N > KEPT or form == "csv" else 3,
             time_limit=60, isolated=True)
        for form, N in sizes
    ]


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    keys = dict.fromkeys(row["case"] for row in rows)
    lines = [_line(select(rows, case=key)) for key in keys]
    headers = ("file", "rows", "columns", "reading alone", "fit", "ratio", "ratio of processor time", "rows/s",
               "memory of the fit", "rows kept: memory", "objective, folded vs kept", "vs the raw data")
    text = (
        "A fit as `partls fit` makes it from a file: read in batches, folded into a triangular factor, solved to "
        "proven optimality. *Reading alone* is pyarrow's own pass over all columns, which does nothing with them. The "
        "fit's linear algebra has one thread; pyarrow decodes on as many as it likes. Each run is a new process. "
        "*Memory* is the peak beyond what the process held before the run; *rows kept* is the same fit with all rows "
        "in memory. The objectives are compared relative to each other, and to that of the same coefficients "
        "recomputed by the referee from the raw rows."
    )
    where = "; ".join(sorted({row["machine"] for row in rows}))
    versions = "; ".join(sorted({row["versions"] for row in rows}))
    return "\n\n".join([
        "# Out of core", text, f"Machine: {where}. {versions}. {_quietness(rows)}",
        section("Files", markdown_table(headers, lines), _verdict(rows), command=COMMAND),
    ]) + "\n"


def _folded(rows: list[Row]) -> list[Row]:
    return [row for row in select(rows, method="fit_file", status="optimal") if notes(row)["folded"]]


def _line(rows: list[Row]) -> list[object]:
    read, fold = select(rows, method="read_file"), _folded(rows)
    kept = [row for row in select(rows, method="fit_file", status="optimal") if not notes(row)["folded"]]
    reading, fitting = _median(read, "seconds"), _median(fold, "seconds")
    return [
        rows[0]["case"].partition("-")[0], f"{rows[0]['N']:,}", rows[0]["M"], duration(reading), duration(fitting),
        f"{number(fitting / reading)}x", f"{number(_median(fold, 'cpu_seconds') / _median(read, 'cpu_seconds'))}x",
        f"{rows[0]['N'] / fitting:,.0f}", _megabytes(fold), _megabytes(kept),
        _difference(fold, kept), f"{max((_own_error(row) for row in fold), default=float('nan')):.1e}",
    ]


def _median(rows: list[Row], name: str) -> float:
    return statistics.median([row[name] for row in rows if row[name] is not None] or [float("nan")])


def _megabytes(rows: list[Row]) -> str:
    used = [row["peak_mb"] - row["resident_mb"] for row in rows]
    return f"{statistics.median(used):,.0f} MiB" if used else "-"


def _difference(folded: list[Row], kept: list[Row]) -> str:
    pairs = [(f["claimed"], k["claimed"]) for f in folded for k in kept if f["seed"] == k["seed"]]
    return f"{max(abs(f - k) / k for f, k in pairs):.1e}" if pairs else "-"


def _own_error(row: Row) -> float:
    return abs(row["claimed"] - row["objective"]) / row["objective"]


def _verdict(rows: list[Row]) -> str:
    """Say whether the three promises hold: memory flat in N, time within twice the reader's, the same objective."""
    parquet = [row for row in rows if row["case"].startswith("parquet")]
    folded = _folded(parquet)
    if not folded:
        return ""
    used = [row["peak_mb"] - row["resident_mb"] for row in folded]
    sizes = sorted({row["N"] for row in folded})
    ratios = [
        _median(select(folded, N=N), "seconds") / _median(select(parquet, method="read_file", N=N), "seconds")
        for N in sizes
    ]
    worst = max(_own_error(row) for row in folded)
    return (
        f"Parquet, {sizes[0]:,} to {sizes[-1]:,} rows: memory of the fit {min(used):,.0f} to {max(used):,.0f} MiB; "
        f"time {number(min(ratios))} to {number(max(ratios))} times the reader's (must: {number(RATIO_MUST)}, "
        f"{'met' if max(ratios) <= RATIO_MUST else 'missed'}); objective within {worst:.1e} of the raw data's (must: "
        f"{SAME_MUST:.0e}, {'met' if worst <= SAME_MUST else 'missed'})."
    )


def _quietness(rows: list[Row]) -> str:
    shares = [row["cpu_seconds"] / row["seconds"] for row in rows if row["seconds"] and row["cpu_seconds"]]
    return f"Processor time per second of clock time: median {number(statistics.median(shares))}." if shares else ""
