"""The page of the study ``relaxations``, made from its tidy table."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.figures import clock, drawing, picture, plain_ticks
from benchmarks.render import duration, head, markdown_table, number, section, select, timing, verdicts
from benchmarks.table import Row, notes

WHOLE = "python -m benchmarks --study relaxations"
COMMAND = WHOLE + " --cases "
NAMES = {
    "root-m20-corr0": "Root, M = 20, uncorrelated", "root-m40-corr5": "Root, M = 40, correlation 0.5",
    "root-m40-corr9": "Root, M = 40, correlation 0.9", "root-wide": "Root, fewer rows than columns",
    "ridge-0.1": "Root, fewer rows than columns, ridge = 0.1", "ridge-1": "Root, fewer rows than columns, ridge = 1",
    "depth-2": "Two of eight groups decided", "depth-4": "Four of eight groups decided",
    "tree-small": "Trees: M = 16, correlation 0.9", "tree-correlated": "Trees: M = 40, correlation 0.9",
    "tree-subset-sum": "Trees: subset sums",
    "tree-penalised": "Trees: fewer rows than columns, eta = 30",
    "tree-penalised-more": "Trees: fewer rows than columns, eta = 100",
    "tree-strong-penalty": "Trees: N = 200, M = 60, K = 20, eta = 10000",
    "order-uncorrelated": "Order and branching rule, uncorrelated",
    "order-correlated": "Order and branching rule, correlation 0.9",
}


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    keys = dict.fromkeys(row["case"] for row in rows)
    drawn = picture("relaxations", "roots", "Gap closed at the root against time per bound") if _roots(rows) else ""
    trees = [key for key in keys if key.startswith(("tree", "order"))]
    parts = [_head(rows), drawn] if drawn else [_head(rows)]
    parts += [_bounds(key, select(rows, case=key, method="node_bound")) for key in keys if key not in trees]
    parts += [_trees(key, select(rows, case=key)) for key in trees]
    return "\n\n".join([*parts, verdicts(rows, WHOLE)]) + "\n"


def _head(rows: list[Row]) -> str:
    text = (
        "One thread, medians over seeds. *Closed* is the certified share of the way from the cheap bound (undecided "
        "groups unconstrained) to the optimum; *raw above* the largest excess of a solver's own value over the "
        "optimum: where it is positive, the solver's word would have been no bound. Preparing (the search for D, the "
        "first compilation) is done once per problem."
    )
    return head("Relaxations", text, rows)


def _bounds(key: str, rows: list[Row]) -> str:
    from benchmarks.studies.relaxations import GOALS

    lines = []
    for name, own in _by_relaxation(rows).items():
        told = [notes(row) for row in own if row["notes"]]
        closed = [note["closed"] for note in told if "closed" in note]
        goal = GOALS.get(key, {}).get(name)
        median = statistics.median(closed) if closed else float("nan")
        verdict = "" if goal is None else f"{'reached' if median >= goal else 'MISSED'} {goal}"
        lines.append([
            name, f"{median:z.4f}" if closed else "-", f"{min(closed):z.4f}" if closed else "-",
            duration(statistics.median(note["per_bound"] for note in told)) if told else "-",
            duration(statistics.median(note["prepare"] for note in told)) if told else "-",
            f"{max(note['raw above'] for note in told):+.1e}" if told else "-",
            ", ".join(sorted({row["status"] for row in own})), verdict,
        ])
    headers = ("relaxation", "closed", "least", "per bound", "prepare", "raw above", "status", "goal")
    return section(NAMES.get(key, key), _shape(rows), markdown_table(headers, lines), command=COMMAND + key)


def _trees(key: str, rows: list[Row]) -> str:
    lines = []
    for name, own in _by_relaxation(rows).items():
        nodes = [row["nodes"] for row in own if row["nodes"] is not None]
        proved = sum(row["status"] == "optimal" for row in own)
        cpu = [row["cpu_seconds"] for row in own if row["cpu_seconds"] is not None]
        lines.append([name, str(timing(own)), duration(statistics.median(cpu)) if cpu else "-",
                      number(statistics.median(nodes)) if nodes else "-", f"{proved} of {len(own)}"])
    headers = ("bound", "time", "processor time", "nodes", "proved")
    return section(NAMES.get(key, key), _shape(rows), markdown_table(headers, lines), command=COMMAND + key)


def _by_relaxation(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(_describe(row), []).append(row)
    return found


def _describe(row: Row) -> str:
    own = json.loads(row["method_settings"])
    if "relaxation" in own:
        return own["relaxation"]
    return f"{own['search']}, {own['branching']}" if row["case"].startswith("order") else row["method"]


def _roots(rows: Sequence[Row]) -> list[str]:
    return [key for key in dict.fromkeys(row["case"] for row in rows) if key.startswith("root")]


def figures(rows: list[Row]) -> dict[str, Any]:
    """Draw, for each root, the share of the gap that a relaxation closes against the time of one bound."""
    keys = _roots(rows)
    if not keys:
        return {}
    with drawing() as plt:
        figure, axes = plt.subplots(1, len(keys), figsize=(3.9 * len(keys), 4.2), layout="constrained", squeeze=False,
                                    sharey=True)
        for key, ax in zip(keys, axes[0], strict=True):
            for i, (name, own) in enumerate(_by_relaxation(select(rows, case=key, method="node_bound")).items()):
                told = [note for note in map(notes, own) if "closed" in note]
                if told:
                    place = (statistics.median(note[part] for note in told) for part in ("per_bound", "closed"))
                    ax.plot(*place, "o", color=f"C{i}", markersize=9, label=name)
            ax.set(xscale="log", xlabel="time per bound", title=NAMES.get(key, key).replace(", ", "\n", 1))
            plain_ticks(ax.xaxis, clock)
        axes[0][0].set(ylabel="share of the root gap closed", ylim=(-0.05, 1.05))
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return {"roots": figure}


def _shape(rows: Sequence[Row]) -> str:
    row = rows[0]
    seeds = len({row["seed"] for row in rows})
    return f"N = {row['N']}, M = {row['M']}, K = {row['K']}; {seeds} seed{'s' if seeds > 1 else ''}."
