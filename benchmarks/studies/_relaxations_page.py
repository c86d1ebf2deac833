"""The page of the study ``relaxations``, made from its tidy table."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence

from benchmarks.render import duration, head, markdown_table, number, section, select, timing
from benchmarks.table import Row, notes

COMMAND = "python -m benchmarks --study relaxations --cases "
NAMES = {
    "root-m20-corr0": "Root, M = 20, uncorrelated", "root-m40-corr5": "Root, M = 40, correlation 0.5",
    "root-m40-corr9": "Root, M = 40, correlation 0.9", "root-wide": "Root, fewer rows than columns",
    "depth-2": "Two of eight groups decided", "depth-4": "Four of eight groups decided",
    "tree-small": "Trees: M = 16, correlation 0.9", "tree-correlated": "Trees: M = 40, correlation 0.9",
    "tree-subset-sum": "Trees: subset sums",
    "tree-penalised": "Trees: fewer rows than columns, eta = 30",
    "tree-penalised-more": "Trees: fewer rows than columns, eta = 100",
}


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    keys = dict.fromkeys(row["case"] for row in rows)
    parts = [_head(rows)]
    parts += [_bounds(key, select(rows, case=key, method="node_bound")) for key in keys if not key.startswith("tree")]
    parts += [_trees(key, select(rows, case=key)) for key in keys if key.startswith("tree")]
    return "\n\n".join([*parts, _referee(rows)]) + "\n"


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
            name, f"{median:.4f}" if closed else "-", f"{min(closed):.4f}" if closed else "-",
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
        found.setdefault(json.loads(row["method_settings"]).get("relaxation", row["method"]), []).append(row)
    return found


def _shape(rows: Sequence[Row]) -> str:
    row = rows[0]
    seeds = len({row["seed"] for row in rows})
    return f"N = {row['N']}, M = {row['M']}, K = {row['K']}; {seeds} seed{'s' if seeds > 1 else ''}."


def _referee(rows: list[Row]) -> str:
    faulty = [f"{row['case']}, seed {row['seed']}, {row['method']}: {row['faults']}" for row in rows if row["faults"]]
    clean = "No certified bound was above an optimum, no optimum was missed."
    return section("Referee", "\n".join(f"- {line}" for line in faulty) or clean)
