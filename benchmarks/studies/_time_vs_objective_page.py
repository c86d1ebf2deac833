"""The page of the study ``time_vs_objective``, made from its tidy table."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.figures import COLOURS, OURS, clock, drawing, picture, plain, plain_ticks
from benchmarks.referee import AGREEMENT
from benchmarks.render import duration, head, markdown_table, number, section, select, verdicts
from benchmarks.studies import _article_figure
from benchmarks.studies._article_figure import label, objective
from benchmarks.table import Row, notes

WHOLE = "python -m benchmarks --study time_vs_objective"
FLOOR = 1e-6  # of the objective: what the picture calls zero
VANISHING = 1e-9  # a fit this good, as a share of the worst one found, is exact


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    keys = dict.fromkeys(row["case"] for row in rows)
    drawn = picture("time_vs_objective", "curves", "Excess over the optimum against time") if _drawable(rows) else ""
    parts = [_head(rows), drawn, _article(rows), *(_table(key, select(rows, case=key)) for key in keys),
             verdicts(rows, WHOLE)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(rows: list[Row]) -> str:
    text = (
        "The best objective after some time, for the alternation from 100 random starts of T iterations, and the exact "
        "methods, which give one answer at their end. One thread; times are whole calls. *Published* methods are the "
        "algorithms of Esposito, Cerrato and Locatelli (2024), run here; *article* is the authors' own run on their "
        "machine. *Objective* is the squared norm that is minimised here; *norm* is its root, which the article "
        "reports. *Excess* is that of the objective over the proven optimum. *Within 1%* is when the best start so far "
        "had come that near. A start of ours ends early when it no longer pays, so T = 100 may cost as much as T = 20. "
        "In the picture a cross is an exact method that the time limit cut."
    )
    return head("Time versus objective", text, rows)


def _article(rows: list[Row]) -> str:
    """Return the part with the article's figure, and how each of its curves ends."""
    keys = _article_figure.panels(rows)
    if not keys:
        return ""
    lines = []
    for key in keys:
        own = select(rows, case=key)
        proof = select(own, method="bnb", status="optimal")[0]
        for row in select(own, method="article_run", status="published"):
            norm = notes(row)["norm"]
            lines.append([f"{_article_figure.TITLES[key]}, {label(row)}", f"{norm:.8g}",
                          _percent(norm**2, own, proof["objective"]), duration(row["seconds"]),
                          _at_a_pattern(row), f"{proof['objective'] ** 0.5:.8g}", duration(proof["seconds"])])
    text = (
        "Figure 1 of Esposito, Cerrato and Locatelli (2024). Grey and black are the authors' runs: 100 starts of "
        "PartLS-alt (Algorithm 1) and one run of PartLS-opt (Algorithm 2), with the times of their machine, which "
        "include compilation by Julia in the first start. Everything else ran on the machine above, on the problem "
        "that the published code solves: it pairs the groups of Limpet with columns by position, and divides columns "
        "by their sums, which turns the signs of two columns of Facebook (docs/theory/corrections.md); both data "
        "sets as the article describes them are cases of their own below. Facebook and Superconductivity are given to "
        "all methods as the triangular factor R of [X 1 y], which has the same objective, the intercept being a group "
        "of one column; our times leave out the folding of the rows. *At a pattern* counts the starts whose published "
        "norm is that of the optimum of a complete sign pattern, to nine digits. On Limpet all methods fit the 30 rows "
        "exactly, and all norms are rounding."
        + ("" if "year_prediction" in keys else " YearPredictionMSD is missing: its rows are not here.")
    )
    headers = ("run of the authors", "norm", "excess", "their time", "at a pattern", "proven norm", "our time")
    drawn = picture("time_vs_objective", "article", "Norm of the residual against time: the authors' runs and ours")
    return section("The article's figure", text, drawn, markdown_table(headers, lines),
                   command=f"{WHOLE} --cases {','.join(keys)}")


def optimum(rows: list[Row]) -> float | None:
    """Return the least objective that was proved."""
    return min((row["objective"] for row in rows if row["status"] == "optimal"), default=None)


def _table(key: str, rows: list[Row]) -> str:
    command = f"{WHOLE} --cases {key}"
    if all(row["status"] == "skipped" for row in rows):
        return section(key, f"Not here: {rows[0]['reason']}.", command=command)
    best, lines = optimum(rows), []
    for row in rows:
        value = objective(row)
        if value is None:
            spent = duration(row["seconds"] or float("nan"))
            lines.append([label(row), row["status"], *["-"] * 5, spent])
            continue
        trace = notes(row).get("trace", [])
        near = next((seconds for seconds, value in trace if best is not None and value <= 1.01 * best), None)
        lines.append([
            label(row), row["status"], notes(row).get("starts", "-"), f"{value:.6g}",
            f"{value**0.5:.7g}", _percent(value, rows, best),
            duration(near) if near is not None else "-", duration(row["seconds"]),
        ])
    headers = ("method", "status", "starts", "objective", "norm", "excess", "within 1%", "time")
    shape = "N = {N}, M = {M}, K = {K}.".format(**rows[0])
    return section(key, shape, markdown_table(headers, lines), command=command)


def _at_a_pattern(row: Row) -> str:
    found = notes(row)
    return "-" if found["at_a_pattern"] is None else f"{found['at_a_pattern']} of {found['starts']}"


def _percent(value: float, rows: list[Row], best: float | None) -> str:
    if best is None:
        return "-"
    if _fits_exactly(rows, best):
        return "0 (exact fit)" if value <= max(best, 1e-12) * 1e6 else "-"
    excess = value / best - 1
    return "0" if excess <= AGREEMENT else f"{number(100 * excess)}%"


def _fits_exactly(rows: list[Row], best: float) -> bool:
    worst = max(max((value for _, value in notes(row).get("trace", [])), default=0.0) for row in rows)
    return best <= VANISHING * worst or best < 1e-12


def _drawable(rows: list[Row]) -> list[str]:
    keys = dict.fromkeys(row["case"] for row in rows)
    owned = {key: select(rows, case=key) for key in keys}
    return [key for key, own in owned.items() if (best := optimum(own)) is not None and not _fits_exactly(own, best)]


def figures(rows: list[Row]) -> dict[str, Any]:
    """Draw the excess over the optimum against time: steps for the alternations, points for the exact methods."""
    keys = _drawable(rows)
    if not keys:
        return {}
    with drawing() as plt:
        height = (len(keys) + 1) // 2
        figure, grid = plt.subplots(height, 2, figsize=(10, 3.6 * height + 1), layout="constrained", squeeze=False)
        for key, ax in zip(keys, grid.flat, strict=False):
            _panel(ax, select(rows, case=key))
        for ax in grid.flat[len(keys) :]:
            ax.set_axis_off()
        if any(row["status"] == "time limit" and not notes(row).get("trace") for row in rows):
            grid[0][0].plot([], [], "x", color="#555555", markersize=9, label="exact method, cut by the time limit")
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
        for ax in grid[:, 0]:
            ax.set_ylabel("excess over the optimum")
    drawn = {"curves": figure}
    return drawn | ({"article": _article_figure.draw(rows)} if _article_figure.panels(rows) else {})


def _panel(ax: Any, rows: list[Row]) -> None:
    best = optimum(rows) or 1.0
    for row in rows:
        if row["objective"] is None:
            continue
        colour, trace = COLOURS[row["method"]], notes(row).get("trace")
        if trace:
            own = json.loads(row["method_settings"])
            style = ":" if own.get("polish", "none") != "none" else "-" if own["max_iter"] > 20 else "--"
            values = [max(100 * (value / best - 1), 0.0) for _, value in trace]
            times = [seconds for seconds, _ in trace]
            ax.step(times, values, where="post", color=colour, linestyle=style, linewidth=1.8, label=label(row))
        else:
            excess = max(100 * (row["objective"] / best - 1), 0.0)
            ax.plot([row["seconds"]], [excess], "o" if row["status"] == "optimal" else "x", color=colour, markersize=9,
                    clip_on=False, label=label(row), zorder=3)
    ax.set_xscale("log")
    ax.set_yscale("symlog", linthresh=0.01)
    ax.set(xlabel="time", title="{case}: {N} x {M}, K = {K}".format(**rows[0]))
    ax.set_ylim(bottom=-0.002)
    ax.yaxis.set_major_formatter(lambda percent, _: f"{plain(percent)}%")
    plain_ticks(ax.xaxis, clock)


def losses(rows: list[Row]) -> list[str]:
    """Say which heuristics are at the optimum before branch and bound has proved it."""
    said = []
    for key in dict.fromkeys(row["case"] for row in rows):
        own = select(rows, case=key)
        proof, best = select(own, method="bnb", status="optimal"), optimum(own)
        if not proof or best is None:
            continue
        for row in select(own, method=lambda name: name not in OURS):
            early = [seconds for seconds, value in notes(row).get("trace", []) if value <= best * (1 + AGREEMENT)]
            if early and early[0] < proof[0]["seconds"]:
                said.append(f"{label(row)} is at the optimum of {key} after {duration(early[0])}, before branch and "
                            f"bound ends ({duration(proof[0]['seconds'])}), and cannot know it")
    return said
