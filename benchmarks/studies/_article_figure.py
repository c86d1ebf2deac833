"""Figure 1 of Esposito, Cerrato and Locatelli (2024) again: the norm of the residual against time, theirs and ours.

Drawn for the data sets of which the authors' own runs are in the table. Time is that of their machine for their runs,
and that of this one for all others.
"""

from __future__ import annotations

import json
from typing import Any

from benchmarks.figures import COLOURS, NAMES, clock, drawing, plain, plain_ticks
from benchmarks.machine import ELSEWHERE
from benchmarks.render import select
from benchmarks.table import Row, notes

TITLES = {"limpet-as-published": "Limpet", "superconductivity": "Superconductivity",
          "facebook-as-published": "Facebook Comment Volume", "year_prediction": "YearPredictionMSD"}
GREYS = {20: "#B5B5B5", 100: "#7A7A7A", 0: "#000000"}  # of the authors' runs, by T
EXACT_FIT = 1e-9  # of the largest norm: an axis that starts below this is logarithmic


def panels(rows: list[Row]) -> list[str]:
    """Return the cases with runs of the authors and of ours, in the article's order."""
    keys = {row["case"] for row in select(rows, method="article_run", status="published")}
    return [key for key in TITLES if key in keys and select(rows, case=key, method="bnb", status="optimal")]


def label(row: Row) -> str:
    """Return the name of a run, with T where it has one."""
    own = json.loads(row["method_settings"])
    if row["method"] == "article_run":
        return f"article: PartLS-alt, T = {own['max_iter']}" if own["max_iter"] else "article: PartLS-opt"
    if "n_starts" not in own:
        return NAMES.get(row["method"], row["method"])
    polish = ", polished" if own.get("polish", "none") != "none" else ""
    return f"{NAMES[row['method']]}, T = {own['max_iter']}{polish}"


def objective(row: Row) -> float | None:
    """Return the objective; of a run of the authors, who published no coefficients, what they say it is."""
    own: float | None = row["claimed"] if row["machine"] == ELSEWHERE else row["objective"]
    return own


def draw(rows: list[Row]) -> Any:
    """Return the figure: steps for the alternations, points for the exact methods."""
    keys = panels(rows)
    with drawing() as plt:
        figure, axes = plt.subplots(1, len(keys), figsize=(4.6 * len(keys), 5.4), layout="constrained", squeeze=False)
        named: dict[str, Any] = {}
        for key, ax in zip(keys, axes[0], strict=True):
            _panel(ax, key, select(rows, case=key))
            handles, labels = ax.get_legend_handles_labels()
            named |= dict(zip(labels, handles, strict=True))
        figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=3)
        axes[0][0].set_ylabel("norm of the residual")
    return figure


def _panel(ax: Any, key: str, rows: list[Row]) -> None:
    for row in rows:
        value, trace = objective(row), notes(row).get("trace")
        if value is None:
            continue
        colour, style = _look(row)
        if trace and len(trace) > 1 and _is_alternation(row):
            times, norms = zip(*((seconds, reached**0.5) for seconds, reached in trace), strict=True)
            ax.step(times, norms, where="post", color=colour, linestyle=style, linewidth=2.0, label=label(row))
        else:
            marker = "o" if row["status"] in ("optimal", "published") else "x"
            ax.plot([row["seconds"]], [value**0.5], marker, color=colour, markersize=9, label=label(row),
                    zorder=3)
    ax.set_xscale("log")
    low, high = _range(rows)
    if low < EXACT_FIT:
        ax.set_yscale("log")
        ax.set_ylim(low / 2, high * 4)
        plain_ticks(ax.yaxis, lambda value: f"{value:.0e}".replace("e-", "e\N{MINUS SIGN}"))
    else:
        ax.set_ylim(low - 0.05 * (high - low), high + 0.1 * (high - low))
        ax.yaxis.set_major_formatter(lambda value, _: plain(value))
    shape = select(rows, method="bnb")[0]
    ones = int(shape["dataset"] == "triangle")  # the intercept is a column and a group there
    ax.set(xlabel="time", title=f"{TITLES[key]}\n{shape['M'] - ones} columns, {shape['K'] - ones} groups")
    plain_ticks(ax.xaxis, clock)
    ax.tick_params(axis="x", labelsize=9)


def _range(rows: list[Row]) -> tuple[float, float]:
    """Return the least norm and the worst at the end of a start: random points before the first step are cut off."""
    traces = {True: [0.0], False: [0.0]}
    for row in rows:
        whole_starts = row["method"] in ("article_run", "reference_alternating")
        traces[whole_starts] += [value**0.5 for _, value in notes(row).get("trace", [])]
    norms = [value**0.5 for value in map(objective, rows) if value is not None]
    every = [norm for norm in norms + traces[True] + traces[False] if norm]
    return min(every), max(norms + traces[True])


def _is_alternation(row: Row) -> bool:
    return bool(json.loads(row["method_settings"]).get("max_iter"))


def _look(row: Row) -> tuple[str, str]:
    own = json.loads(row["method_settings"])
    style = ":" if own.get("polish", "none") != "none" else "--" if own.get("max_iter") == 20 else "-"
    if row["machine"] == ELSEWHERE:
        return GREYS[own["max_iter"]], "-"
    return COLOURS[row["method"]], style
