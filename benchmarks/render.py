"""Pieces of a page, made from rows of the tidy table alone."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.machine import ELSEWHERE
from benchmarks.table import Row

TIMED_OUT = ("time limit",)
IN_ANOTHER_PROCESS = ("first_call", "import", "table_command")  # methods whose work is done elsewhere


@dataclass(frozen=True)
class Timing:
    """Median seconds of some runs; ``censored`` when the median itself is a run that was cut short."""

    seconds: float
    runs: int
    timed_out: int

    @property
    def censored(self) -> bool:
        return self.timed_out > 0 and self.timed_out >= (self.runs + 1) // 2

    def __str__(self) -> str:
        if not self.runs:
            return "-"
        cut = f" ({self.timed_out} of {self.runs} cut)" if self.timed_out else ""
        return ("> " if self.censored else "") + duration(self.seconds) + cut


def timing(rows: Sequence[Row]) -> Timing:
    timed = [row for row in rows if row["seconds"] is not None]
    seconds = statistics.median(row["seconds"] for row in timed) if timed else float("nan")
    return Timing(seconds, len(timed), sum(row["status"] in TIMED_OUT for row in timed))


def select(rows: Iterable[Row], **wanted) -> list[Row]:
    """Return the rows with these values; a callable value is asked."""
    return [
        row for row in rows
        if all(value(row[name]) if callable(value) else row[name] == value for name, value in wanted.items())
    ]


def paired_ratios(ours: Sequence[Row], theirs: Sequence[Row]) -> list[float]:
    """Return their seconds over ours, seed by seed."""
    mine = {row["seed"]: row["seconds"] for row in ours if row["seconds"]}
    return [row["seconds"] / mine[row["seed"]] for row in theirs if row["seconds"] and row["seed"] in mine]


def power_law(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the exponent p of ``seconds ~ size^p`` by least squares in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def duration(seconds: float) -> str:
    if seconds != seconds:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.2g} µs"


def number(value: float | None, digits: int = 3) -> str:
    if value is None or value != value:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def spread(values: Sequence[float]) -> str:
    return f"{number(min(values))} to {number(max(values))}" if values else "-"


def markdown_table(headers: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    text = [[str(cell) for cell in line] for line in lines]
    rule = ["---"] + ["---:"] * (len(headers) - 1)
    return "\n".join("| " + " | ".join(line) + " |" for line in [list(headers), rule, *text])


def section(title: str, *parts: str, command: str = "") -> str:
    """Return a titled part of a page with the command that makes its figures."""
    shown = [part for part in parts if part]
    return "\n\n".join([f"## {title}", *shown, *([f"`{command}`"] if command else [])])


def verdicts(rows: Sequence[Row], command: str) -> str:
    """Return the end of a page: how many runs there were, and every fault the referee found with them."""
    done = [row for row in rows if row["seconds"] is not None and row["machine"] != ELSEWHERE]
    wrong = [row for row in rows if row["faults"] or row["status"] == "failed"]
    lines = [[row["case"], row["seed"], row["method"], row["status"], row["faults"] or row["reason"]] for row in wrong]
    table = markdown_table(("case", "seed", "method", "status", "fault"), lines) if lines else ""
    return section("Referee", f"{len(done)} runs, {len(wrong)} with a fault.", table, command=command)


def head(title: str, text: str, rows: Sequence[Row]) -> str:
    """Return the top of a page: its title, what the figures are, and where and how quietly they were measured."""
    made_here = [row for row in rows if row["machine"] != ELSEWHERE]
    machines, versions = (sorted({row[name] for row in made_here}) for name in ("machine", "versions"))
    where = f"Machine: {'; '.join(machines)}. {'; '.join(versions)}. {_quietness(rows)}"
    return "\n\n".join([f"# {title}", text, where.rstrip()])


def _quietness(rows: Sequence[Row]) -> str:
    """How much of the clock's time the runs had the processor: below 1, other programs were running."""
    here = select(rows, method=lambda name: name not in IN_ANOTHER_PROCESS, cpu_seconds=lambda s: s and s > 0.01)
    shares = [row["cpu_seconds"] / row["seconds"] for row in here]
    return f"Processor time per second of clock time: median {number(statistics.median(shares))}." if shares else ""
