"""Data larger than memory: what a fit from a file costs beside reading the file, and how its memory grows with N."""

from __future__ import annotations

import statistics

from benchmarks.render import duration, head, markdown_table, number, section, select
from benchmarks.runner import Case, Run
from benchmarks.table import Row, notes

COMMAND = "python -m benchmarks --study out_of_core"
MEMORY = 16.0  # MiB of rows before folding begins
READ, FOLD, KEEP = Run("read_file"), Run("fit_file", {"memory": MEMORY}), Run("fit_file", {"memory": 1e6})
WHOLE = Run("fit_command", {"memory": MEMORY})
M, K = 60, 8
PARQUET, CSV, KEPT = (250_000, 1_000_000, 4_000_000, 10_000_000), (250_000, 1_000_000, 4_000_000), 1_000_000
RATIO_MUST, SAME_MUST = 2.0, 1e-10


def cases(quick: bool = False) -> list[Case]:
    """Return one case per file; each run is a process of its own, and rows are also kept where memory allows it."""
    if quick:
        return [_case("parquet", 60_000, (READ, FOLD, KEEP), seeds=1)]
    files = [*(("parquet", N) for N in PARQUET), *(("csv", N) for N in CSV)]
    return [
        _case(form, N, (READ, FOLD, WHOLE, *([KEEP] if N <= KEPT else [])), seeds=3 if N <= KEPT else 1)
        for form, N in files
    ]


def _case(form: str, N: int, runs: tuple[Run, ...], seeds: int) -> Case:
    settings = {"N": N, "M": M, "K": K, "form": form}
    return Case(f"{form}-{N}", "data_file", settings, runs, seeds=seeds, time_limit=60, isolated=True)


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    keys = dict.fromkeys(row["case"] for row in rows)
    lines = [_line(select(rows, case=key)) for key in keys]
    headers = ("file", "rows", "columns", "reading alone", "fit", "ratio", "ratio of processor time", "rows/s",
               "memory of the fit", "rows kept: memory", "whole command", "its memory in all",
               "objective, folded vs kept", "vs the raw data")
    text = (
        "A fit from a file: read in batches, folded into a triangular factor, solved to proven optimality. *Reading "
        "alone* is pyarrow's own pass over all columns in its leanest setting, which does nothing with them. *Fit* is "
        "reading, folding and solving in a process that has loaded its libraries and the kernel; *whole command* is "
        "`partls fit` with its start, which costs the same seconds whatever the rows. Decoding and linear algebra have "
        "one thread each; the fit reads a batch while it folds the one before, so *ratio* is of the clock and the next "
        "column of all processors. Each run is a new process, and the file is in the system's cache. *Memory* is the "
        "peak beyond what the process held before the run; *rows kept* is the same fit with all rows in memory. The "
        "objectives are compared relative to each other, and to that of the same coefficients recomputed by the "
        "referee from the raw rows. A new process pays for the memory it touches first, nearly all of it in the "
        "decoder of the first batch: some tenths of a second of the system's time on this virtual machine, whatever "
        "the rows, which tells only beside the shortest read."
    )
    table = section("Files", markdown_table(headers, lines), _verdict(rows), command=COMMAND)
    return "\n\n".join([head("Out of core", text, rows), table]) + "\n"


def _folded(rows: list[Row]) -> list[Row]:
    return [row for row in select(rows, method="fit_file", status="optimal") if notes(row)["folded"]]


def _line(rows: list[Row]) -> list[object]:
    read, fold = select(rows, method="read_file"), _folded(rows)
    kept = [row for row in select(rows, method="fit_file", status="optimal") if not notes(row)["folded"]]
    reading, fitting = _median(read, "seconds"), _median(fold, "seconds")
    whole = select(rows, method="fit_command", status="optimal")
    command_mb = [notes(row)["command_mb"] for row in whole]
    return [
        rows[0]["case"].partition("-")[0], f"{rows[0]['N']:,}", rows[0]["M"], duration(reading), duration(fitting),
        f"{number(fitting / reading)}x", f"{number(_median(fold, 'cpu_seconds') / _median(read, 'cpu_seconds'))}x",
        f"{rows[0]['N'] / fitting:,.0f}", _megabytes(fold), _megabytes(kept),
        duration(_median(whole, "seconds")), f"{statistics.median(command_mb):,.0f} MiB" if command_mb else "-",
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
    said = []
    for form in ("parquet", "csv"):
        own = [row for row in rows if row["case"].startswith(f"{form}-")]
        if folded := _folded(own):
            said.append(_promises(form, own, folded))
    return "\n\n".join(said)


def _promises(form: str, rows: list[Row], folded: list[Row]) -> str:
    used = [row["peak_mb"] - row["resident_mb"] for row in folded]
    sizes = sorted({row["N"] for row in folded})
    times = []
    for N in sizes:
        ratio = _median(select(folded, N=N), "seconds") / _median(select(rows, method="read_file", N=N), "seconds")
        times.append(f"{number(ratio)} at {N:,} rows ({'met' if ratio <= RATIO_MUST else 'missed'})")
    worst = max(_own_error(row) for row in folded)
    return (
        f"{form}, {sizes[0]:,} to {sizes[-1]:,} rows: memory of the fit {min(used):,.0f} to {max(used):,.0f} MiB; "
        f"time in times the reader's (must: {number(RATIO_MUST)}): {', '.join(times)}; objective "
        f"within {worst:.1e} of the raw data's (must: "
        f"{SAME_MUST:.0e}, {'met' if worst <= SAME_MUST else 'missed'})."
    )
