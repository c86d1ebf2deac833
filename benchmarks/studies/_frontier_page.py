"""The page of the study ``frontier``, made from its tidy table."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.figures import clock, drawing, picture, plain_ticks
from benchmarks.render import duration, head, markdown_table, number, power_law, section, select, verdicts
from benchmarks.runner import REPEATS, SHORT
from benchmarks.table import Row, notes

WHOLE = "python -m benchmarks --study frontier"
SEARCHES = {"auto": "default", "auto without multipliers": "before"}
WIDTHS, TARGETS, LARGE = (10, 5), ("noise", "dense"), 20
MUST = {80: ("8 times faster than SCS", "50 ms"), 160: ("8 times faster than SCS", "0.2 s"), 300: ("3 s", "1 s")}


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    text = (
        "Columns i and j correlate by rho to the power of their distance, and groups are random. The target is "
        "noise, or depends on all columns (dense). One thread, medians of three seeds. Times are processor time, below "
        f"{SHORT} s the median of {REPEATS} by the clock."
    )
    parts = [head("The frontier", text, rows), _roots(rows), _trees(rows), _growth(rows), _small(rows)]
    return "\n\n".join(part for part in [*parts, verdicts(rows, WHOLE)] if part) + "\n"


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


def _trees(rows: list[Row]) -> str:
    lines = []
    for key in dict.fromkeys(row["case"] for row in rows if row["case"].startswith("tree")):
        own = select(rows, case=key, seconds=lambda value: value is not None)
        for name in dict.fromkeys(_searched_by(row) for row in own):
            lines.append(_tree([row for row in own if _searched_by(row) == name], name))
    if not lines:
        return ""
    headers = ("N x M, K", "rho", "target", "search", "proved", "time", "slowest", "nodes", "most", "gap", "widest")
    text = (
        "Branch and bound on raw data, the default beside the same search without the multipliers of the Shor bound "
        "(*before*: `Auto(convexify=False)`), and solvers of the big-M program where they end. The limit is a minute "
        "of processor time, for the peers 20 seconds; *gap* is the one proved at the end. *Before* runs on one seed "
        "from 160 columns on, where many take the whole minute, and on none of 500. Required: at 40 groups of 400 "
        "columns a gap of 3 % (noise) and 25 % (dense) after a minute, at 50 of 500 5 % and 30 %; 50 of 250 proved in "
        "a minute, and in half of the time before; 30 of 300 with a third of the nodes and half of the time; 40 of 160 "
        "with as many rows in 2 s."
    )
    return section("Whole searches", text, markdown_table(headers, lines), command=WHOLE)


def _tree(own: list[Row], name: str) -> list[str]:
    settings, seconds = json.loads(own[0]["settings"]), [_time(row) for row in own]
    nodes, gaps = [row["nodes"] for row in own if row["nodes"] is not None], [row["gap"] for row in own if row["gap"]]
    proved = sum(row["status"] == "optimal" for row in own)
    return [
        f"{own[0]['N']:,} x {own[0]['M']}, {own[0]['K']}", f"{settings['rho']:g}", settings["target"], name,
        f"{proved} of {len(own)}", duration(statistics.median(seconds)), duration(max(seconds)),
        number(statistics.median(nodes)) if nodes else "-", number(max(nodes)) if nodes else "-",
        *(("0", "0") if proved == len(own) else _gaps(gaps)),
    ]


def _time(row: Row) -> float:
    return float(row["cpu_seconds"] if row["cpu_seconds"] > SHORT else row["seconds"])


def _nodes(row: Row) -> float:
    return float(row["nodes"])


def _gaps(gaps: list[float]) -> tuple[str, str]:
    return (_percent(statistics.median(gaps)), _percent(max(gaps))) if gaps else ("-", "-")


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %" if share > 1e-8 else "0"


def _searched_by(row: Row) -> str:
    return SEARCHES.get(_name(row), row["method"]) if row["method"] == "bnb_within" else row["method"]


def _small(rows: list[Row]) -> str:
    calls = [notes(row)["per_call"] for row in select(rows, case="small", status="optimal")]
    if not calls:
        return ""
    text = (
        f"60 x 20, 5 groups, 200 calls of `partls.solve` in a row: {duration(min(calls))} to {duration(max(calls))} a "
        "call. Required: 0.5 ms; aimed at: 0.3 ms."
    )
    return section("A small problem", text, command=f"{WHOLE} --cases small")


def growth(rows: list[Row], width: int, search: str, target: str, value: Callable[[Row], float]
           ) -> list[tuple[int, float, bool]]:
    """Return (groups, median of a column over correlations and seeds, whether all were proved) for each size."""
    own = [
        row for row in rows
        if row["case"].startswith("tree") and row["N"] == 2 * row["M"] and row["M"] == width * row["K"]
        and json.loads(row["settings"])["target"] == target and _searched_by(row) == search and row["nodes"]
    ]
    sizes = sorted({row["K"] for row in own})
    groups = [(K, select(own, K=K)) for K in sizes]
    return [
        (K, statistics.median(map(value, found)), all(row["status"] == "optimal" for row in found))
        for K, found in groups
    ]


def _growth(rows: list[Row]) -> str:
    lines = []
    for width in WIDTHS:
        for target in TARGETS:
            for search in SEARCHES.values():
                laws = []
                for value in (_time, _nodes):
                    points = growth(rows, width, search, target, value)
                    ended = [(K, median) for K, median, proved in points if proved and K >= LARGE]
                    laws.append(f"K^{power_law(*zip(*ended, strict=True)):.1f}" if len(ended) > 1 else "-")
                ended_at = max((K for K, _, proved in points if proved), default=0)
                lines.append([f"{width} columns a group", target, search, *laws, ended_at or "-"])
    if not select(rows, method="bnb_within"):
        return ""
    headers = ("width", "target", "search", "time", "nodes", "all proved up to K")
    text = (
        f"Exponents are fitted in logarithms to the medians from K = {LARGE} on, over both correlations and all seeds, "
        "as far as every run was proved. In the picture, hollow marks are medians over runs that were not all proved."
    )
    drawn = picture("frontier", "growth", "Nodes and time against the number of groups, before and after")
    return section("Growth", drawn, text, markdown_table(headers, lines), command=f"{WHOLE} --render")


def figures(rows: list[Row]) -> dict[str, Any]:
    """Draw time and nodes against the number of groups on logarithmic axes, before and after."""
    if not select(rows, method="bnb_within"):
        return {}
    with drawing() as plt:
        figure, axes = plt.subplots(2, len(WIDTHS), figsize=(11, 7.4), layout="constrained", sharex=True, sharey="row")
        for line, (value, label) in zip(axes, ((_time, "seconds"), (_nodes, "nodes")), strict=True):
            for axis, width in zip(line, WIDTHS, strict=True):
                for search, colour in zip(SEARCHES.values(), ("#0072B2", "#D55E00"), strict=True):
                    for target, style in zip(TARGETS, ("-", "--"), strict=True):
                        points = growth(rows, width, search, target, value)
                        axis.plot([K for K, _, _ in points], [y for _, y, _ in points], style, color=colour,
                                  label=f"{search}, {target}")
                        for K, y, proved in points:
                            axis.plot(K, y, "o", color=colour, markerfacecolor=colour if proved else "white")
                axis.set_xscale("log")
                axis.set_yscale("log")
                axis.set_ylabel(label)
                axis.set_title(f"{width} columns a group")
                axis.set_xlabel("groups")
        for axis in axes.flat:
            plain_ticks(axis.xaxis)
            plain_ticks(axis.yaxis, clock if axis in axes[0] else None)
        axes[0, 0].legend()
    return {"growth": figure}


def _root(rows: list[Row]) -> list[list[str]]:
    bounds = select(rows, method="root_bound")
    settings = json.loads(rows[0]["settings"])
    place = [f"{rows[0]['N']:,} x {rows[0]['M']}, {rows[0]['K']}", f"{settings['rho']:g}", settings["target"]]
    names = dict.fromkeys(_name(row) for row in bounds)
    own = {name: [row for row in bounds if _name(row) == name and row["seconds"] is not None] for name in names}
    times = {name: statistics.median(map(_time, found)) for name, found in own.items() if found}
    lines = []
    for name, found in own.items():
        closed = _closed(rows, found)
        ratios = _ratios(found, own.get("shor by SCS", [])) if name == "shor" else []
        lines.append([
            *place, name, duration(times[name]) if name in times else "-",
            f"{statistics.median(closed):.3f}" if closed else "-", f"{min(closed):.3f}" if closed else "-",
            f"{statistics.median(ratios):.0f}" if ratios else "",
        ])
    return lines


def _ratios(ours: Sequence[Row], theirs: Sequence[Row]) -> list[float]:
    """Return their time over ours, seed by seed."""
    mine = {row["seed"]: _time(row) for row in ours}
    return [_time(row) / mine[row["seed"]] for row in theirs]


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
