"""The page of the study ``robustness``, made from its tidy table."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.figures import COLOURS, NAMES, OURS, drawing, picture, plain_ticks
from benchmarks.render import head, markdown_table, section, select, verdicts
from benchmarks.table import Row, notes

WHOLE = "python -m benchmarks --study robustness"
ORACLE = "rational_enumeration"
NOTABLE = 1e-9  # an excess that is more than rounding
FLOOR = 1e-17  # of the optimum: what the picture calls zero


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    drawn = picture("robustness", "errors", "Error against condition number") if rows else ""
    parts = [_head(rows), drawn, _excess(rows), _bounds(rows), _statuses(rows), verdicts(rows, WHOLE)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(rows: list[Row]) -> str:
    shape = "N = {N}, M = {M}, K = {K}".format(**rows[0]) if rows else ""
    text = (
        f"Columns with a prescribed condition number ({shape}), five problems for each. The optimum is known exactly: "
        "all sign patterns in rational arithmetic, on the very doubles that the methods get. *Excess* is that of the "
        "answer over it, also in rational arithmetic, so that no rounding hides in it. Beyond 1e10 a fault is reported "
        "and fails no run: there the best coefficients are so large that rounding a prediction moves the residual."
    )
    return head("Robustness", text, rows)


def optima(rows: Sequence[Row]) -> dict[tuple[str, int], float]:
    """Return the exact optimum of each problem."""
    found = [(row, notes(row).get("optimum")) for row in select(rows, method=ORACLE)]
    return {(row["case"], row["seed"]): value for row, value in found if value is not None}


def excesses(rows: Sequence[Row], method: str, column: str = "objective") -> dict[float, list[float]]:
    """Return, by condition, how far a figure of a method is above the exact optimum, relative to it."""
    exact = optima(rows)
    found: dict[float, list[float]] = {}
    for row in select(rows, method=method):
        best = exact.get((row["case"], row["seed"]))
        if best is not None and row[column] is not None:
            found.setdefault(condition(row), []).append((row[column] - best) / best)
    return found


def condition(row: Row) -> float:
    return float(json.loads(row["settings"])["condition"])


def _methods(rows: Sequence[Row]) -> list[str]:
    return [name for name in dict.fromkeys(row["method"] for row in rows) if name != ORACLE]


def _by_condition(rows: Sequence[Row], column: str) -> str:
    conditions = sorted({condition(row) for row in rows})
    lines = []
    for method in _methods(rows):
        found = excesses(rows, method, column)
        cells = [f"{max(found[c]):.0e}" if found.get(c) else "-" for c in conditions]
        lines.append([NAMES[method], *cells])
    return markdown_table(("method", *(f"{c:.0e}" for c in conditions)), lines)


def _excess(rows: Sequence[Row]) -> str:
    text = "The worst of the answers at each condition; a method that gives none to some problem is not charged for it."
    return section("Excess of the objective", text, _by_condition(rows, "objective"), command=WHOLE)


def _bounds(rows: Sequence[Row]) -> str:
    text = (
        "The largest distance of a method's own lower bound *above* the exact optimum, relative to it: a negative "
        "figure is a valid bound, a positive one beyond rounding is not."
    )
    return section("What is claimed as a bound", text, _by_condition(rows, "lower_bound"), command=WHOLE)


def _statuses(rows: Sequence[Row]) -> str:
    conditions = sorted({condition(row) for row in rows})
    lines = []
    for method in _methods(rows):
        own = select(rows, method=method)
        cells = []
        for c in conditions:
            words = [row["status"] for row in own if condition(row) == c]
            cells.append(", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words)))
        lines.append([NAMES[method], *cells])
    reasons = sorted({f"{NAMES.get(row['method'], row['method'])}: {row['reason']}" for row in rows if row["reason"]})
    table = markdown_table(("method", *(f"{c:.0e}" for c in conditions)), lines)
    return section("What the methods said", table, "\n".join(f"- {reason}" for reason in reasons), command=WHOLE)


def figures(rows: list[Row]) -> dict[str, Any]:
    """Draw the median and the worst excess against the condition number."""
    with drawing() as plt:
        figure, ax = plt.subplots(figsize=(9, 5.8), layout="constrained")
        for method in _methods(rows):
            found = excesses(rows, method)
            if not found:
                continue
            conditions = sorted(found)
            middle = [max(statistics.median(found[c]), FLOOR) for c in conditions]
            worst = [max(max(found[c]), FLOOR) for c in conditions]
            look = {"color": COLOURS[method], "zorder": 4 if method == "bnb" else 3 if method in OURS else 2}
            size = 9 if method in OURS and method != "bnb" else 6  # both seen where they agree
            ax.plot(conditions, worst, "o-", label=_with_failures(rows, method), linewidth=1.8, markersize=size, **look)
            ax.plot(conditions, middle, ":", linewidth=1, **look)
        ax.set(xscale="log", yscale="log", xlabel="condition number of the columns; a line ends with the last answer",
               ylabel="excess over the exact optimum, relative", title="Worst of five problems (dotted: median)")
        places = [FLOOR, *(10.0**e for e in range(-14, 1, 2))]
        ax.set_yticks(places, ["0", *(f"1e{round(math.log10(place))}" for place in places[1:])])
        ax.set_yticks([], minor=True)
        plain_ticks(ax.xaxis, lambda condition: f"1e{round(math.log10(condition))}")
        if ax.lines:
            figure.legend(loc="outside lower center", ncols=2)
    return {"errors": figure}


def _with_failures(rows: Sequence[Row], method: str) -> str:
    own = select(rows, method=method)
    silent = sum(row["objective"] is None for row in own)
    return f"{NAMES[method]} (no answer to {silent} of {len(own)})" if silent else NAMES[method]


def losses(rows: Sequence[Row]) -> list[str]:
    """Say which methods are more exact than branch and bound, at which conditions."""
    mine, said = excesses(rows, "bnb"), []
    for method in _methods(rows):
        if method in OURS:
            continue
        theirs = excesses(rows, method)
        better = [c for c in sorted(theirs) if c in mine and max(mine[c]) > NOTABLE and max(theirs[c]) < max(mine[c])]
        if better:
            where = ", ".join(f"{c:.0e} ({max(theirs[c]):.0e} against {max(mine[c]):.0e})" for c in better)
            said.append(f"{NAMES[method]} is more exact at condition {where}, where it gives an answer")
    return said
