"""The page of the study ``frontier``, made from its tidy table."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence

from benchmarks.render import duration, head, markdown_table, section, select, verdicts
from benchmarks.table import Row

WHOLE = "python -m benchmarks --study frontier"
MUST = {80: ("8 times faster than SCS", "50 ms"), 160: ("8 times faster than SCS", "0.2 s"), 300: ("3 s", "1 s")}


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    text = (
        "Columns i and j correlate by rho to the power of their distance; ten neighbours form a group. The target is "
        "noise, or depends on all columns (dense). One thread, medians of three seeds."
    )
    return "\n\n".join([head("The frontier", text, rows), _roots(rows), verdicts(rows, WHOLE)]) + "\n"


def _roots(rows: list[Row]) -> str:
    keys = [key for key in dict.fromkeys(row["case"] for row in rows) if key.startswith("root")]
    lines = [line for key in keys for line in _root(select(rows, case=key))]
    headers = ("N x M, K", "rho", "target", "bound", "time", "gap closed", "least", "SCS / native")
    text = (
        "Time from the reduced data to a certified bound, preparation included. *Gap closed* is the certified share of "
        "the way from least squares (undecided groups unconstrained) to the best solution known: that of branch and "
        "bound, which proves it only where it ends in its time limit. *SCS / native* compares the same Shor bound "
        "through CVXPY, in the same run. Asked for: " + "; ".join(
            f"M = {M} must be {must}, aimed at {goal}" for M, (must, goal) in MUST.items()) + "."
    )
    return section("Bounds at the root", text, markdown_table(headers, lines), command=WHOLE)


def _root(rows: list[Row]) -> list[list[str]]:
    bounds = select(rows, method="root_bound")
    settings = json.loads(rows[0]["settings"])
    place = [f"{rows[0]['N']:,} x {rows[0]['M']}, {rows[0]['K']}", f"{settings['rho']:g}", settings["target"]]
    names = dict.fromkeys(_name(row) for row in bounds)
    own = {name: [row for row in bounds if _name(row) == name and row["seconds"] is not None] for name in names}
    times = {name: statistics.median(row["seconds"] for row in found) for name, found in own.items() if found}
    lines = []
    for name, found in own.items():
        closed = _closed(rows, found)
        ratio = times["shor by SCS"] / times["shor"] if name == "shor" and "shor by SCS" in times else None
        lines.append([
            *place, name, duration(times[name]) if name in times else "-",
            f"{statistics.median(closed):.3f}" if closed else "-", f"{min(closed):.3f}" if closed else "-",
            "" if ratio is None else f"{ratio:.0f}",
        ])
    return lines


def _closed(rows: list[Row], found: Sequence[Row]) -> list[float]:
    """Return the share of the gap that each of these bounds closes, one per seed."""
    shares = []
    for row in found:
        floor = next((r["lower_bound"] for r in select(rows, seed=row["seed"]) if _name(r) == "active-set"), None)
        best = next((r["objective"] for r in select(rows, seed=row["seed"], method="bnb")), None)
        if floor is not None and best is not None and row["lower_bound"] is not None and best > floor:
            shares.append((row["lower_bound"] - floor) / (best - floor))
    return shares


def _name(row: Row) -> str:
    return str(json.loads(row["method_settings"]).get("relaxation", ""))
