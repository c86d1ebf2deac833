"""The page of the study ``alternating``, made from its tidy table."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.figures import drawing, picture
from benchmarks.referee import AGREEMENT
from benchmarks.render import head, markdown_table, number, paired_ratios, section, select, spread, timing, verdicts
from benchmarks.table import Row, notes

WHOLE = "python -m benchmarks --study alternating"
COMMAND = WHOLE + " --cases "


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    drawn = [picture("alternating", "success", "Optima found against starts")] if _success(rows) else []
    parts = [_head(rows), *drawn, _speed(rows), _quality(rows), _bilinear(rows), _strategies(rows), _budgets(rows)]
    return "\n\n".join([*parts, verdicts(rows, WHOLE)]) + "\n"


def _head(rows: list[Row]) -> str:
    text = (
        "One thread. Each figure is a median over seeds; methods alternate seed by seed in one process. Times are "
        "whole calls on raw data: validation, compression and the root's bound included. *Found* is the share of the "
        "problems whose proven optimum (branch and bound) was reached to 1e-9; *excess* is relative to it."
    )
    return head("Alternating least squares", text, rows)


def _speed(rows: list[Row]) -> str:
    from benchmarks.studies.alternating import AIM, MUST

    own = select(rows, case="restarts")
    if not own:
        return section("Restarts against one least squares", "Not run.")
    peer, lines = select(own, method="lstsq"), []
    for chosen in _by_settings(own):
        if chosen[0]["method"] == "lstsq" or not timing(chosen).runs:
            continue
        ratios = paired_ratios(peer, chosen)
        starts = [notes(row).get("starts") for row in chosen if notes(row)]
        per_start = number(statistics.median(ratios) / statistics.median(starts)) if starts else "-"
        lines.append([_describe(chosen[0]), timing(chosen), f"{number(statistics.median(ratios))}x", spread(ratios),
                      per_start])
    headers = ("method", "time", "times one lstsq", "per seed", "of which one start")
    shape = "{N} x {M}, K = {K}".format(**own[0])
    text = f"On {shape}; one `numpy.linalg.lstsq` takes {timing(peer)}. Must: {MUST}x, aim: {AIM}x, for 100 starts."
    table = markdown_table(headers, lines)
    return section("Restarts against one least squares", text, table, command=COMMAND + "restarts")


def _quality(rows: list[Row]) -> str:
    keys = [key for key in dict.fromkeys(row["case"] for row in rows) if key.startswith("small-")]
    return _against_optimum("Quality against starts", "", rows, keys)


def _bilinear(rows: list[Row]) -> str:
    keys = [key for key in dict.fromkeys(row["case"] for row in rows) if key.startswith("bilinear-")]
    text = (
        "`formulations.bilinear`, the definition in alpha and beta, solved by UNO through CVXPY, beside the "
        "alternation, both from random starts. Models are built inside the clock."
    )
    return _against_optimum("The printed problem as a nonlinear program", text, rows, keys)


def _strategies(rows: list[Row]) -> str:
    keys = [key for key in dict.fromkeys(row["case"] for row in rows) if key.startswith("starts-")]
    return _against_optimum("Where to start", "Sixteen starts, no polish, columns correlated by 0.5.", rows, keys)


def _budgets(rows: list[Row]) -> str:
    keys = [key for key in dict.fromkeys(row["case"] for row in rows) if key.startswith("large-")]
    text = "As many starts as the budget allows, with and without flips of single signs after each."
    return _against_optimum("Polished and plain starts at equal time", text, rows, keys)


def _against_optimum(title: str, text: str, rows: list[Row], keys: Sequence[str]) -> str:
    """Return a table of found optima, excess and time for each case and method."""
    lines: list[list[object]] = []
    for key in keys:
        own = select(rows, case=key)
        proven = {row["seed"]: row["objective"] for row in select(own, method="bnb", status="optimal")}
        for chosen in _by_settings(own):
            excess = [row["objective"] / proven[row["seed"]] - 1 for row in chosen if row["seed"] in proven]
            if not excess:
                continue
            made = [notes(row).get("starts") for row in chosen if "starts" in notes(row)]
            lines.append([
                key, _describe(chosen[0]), len(excess), number(statistics.median(made)) if made else "-",
                f"{np.mean(np.array(excess) <= AGREEMENT):.0%}", _percent(statistics.median, excess),
                _percent(max, excess), timing(chosen),
            ])
    if not lines:
        return section(title, "Not run.")
    headers = ("case", "method", "problems", "starts", "found", "median excess", "worst", "time")
    return section(title, text, markdown_table(headers, lines), command=COMMAND + ",".join(keys))


def _success(rows: Sequence[Row]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Return, by case and kind of start, (starts, share of the optima found)."""
    found: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for key in [key for key in dict.fromkeys(row["case"] for row in rows) if key.startswith("small-")]:
        own = select(rows, case=key)
        proven = {row["seed"]: row["objective"] for row in select(own, method="bnb", status="optimal")}
        for chosen in _by_settings([row for row in own if row["method"] == "alternating" and row["seed"] in proven]):
            settings = json.loads(chosen[0]["method_settings"])
            hits = [row["objective"] <= proven[row["seed"]] * (1 + AGREEMENT) for row in chosen]
            polish = "not polished" if settings["polish"] == "none" else f"polished by {settings['polish']}"
            kind = f"{settings['starts']} starts, {polish}"
            found.setdefault(key, {}).setdefault(kind, []).append((settings["n_starts"], float(np.mean(hits))))
    return found


def figures(rows: list[Row]) -> dict[str, Any]:
    """Draw the share of the optima found against the number of starts."""
    found = _success(rows)
    if not found:
        return {}
    with drawing() as plt:
        figure, axes = plt.subplots(1, len(found), figsize=(4.2 * len(found), 3.6), layout="constrained", squeeze=False,
                                    sharey=True)
        for (key, kinds), ax in zip(found.items(), axes[0], strict=True):
            for i, (kind, points) in enumerate(kinds.items()):
                starts, shares = zip(*points, strict=True)
                ax.plot(starts, shares, "os"[i % 2] + "-", color=("#009E73", "#0072B2")[i % 2], label=kind)
            shape = "N = {N}, M = {M}, K = {K}".format(**select(rows, case=key)[0])
            ax.set(xscale="log", xlabel="starts", title=shape, ylim=(0, 1.05))
            places = sorted({starts for points in kinds.values() for starts, _ in points})
            ax.set_xticks(places, [str(starts) for starts in places])
            ax.set_xticks([], minor=True)
        axes[0][0].set_ylabel("share of the optima found")
        axes[0][0].legend()
    return {"success": figure}


def _percent(statistic: Callable[[Sequence[float]], float], excess: Sequence[float]) -> str:
    value = statistic(excess)
    return "0" if value <= AGREEMENT else f"{value:.2%}"


def _by_settings(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows of each method with its settings, in the order of their first."""
    kinds = dict.fromkeys((row["method"], row["method_settings"]) for row in rows)
    return [select(rows, method=method, method_settings=settings) for method, settings in kinds]


def _describe(row: Row) -> str:
    own = json.loads(row["method_settings"])
    if row["method"] != "alternating":
        return f"{row['method']}, {own['n_starts']} starts" if "n_starts" in own else row["method"]
    amount = f"{own['n_starts']} starts" if own["budget"] is None else f"{own['budget']} s"
    return f"{own['starts']}, polish {own['polish']}, {amount}"
