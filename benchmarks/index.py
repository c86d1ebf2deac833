"""The overview of all results, made from the tables alone: pictures, commands, machines, and where a peer wins."""

from __future__ import annotations

from pathlib import Path

from benchmarks import table
from benchmarks.machine import ELSEWHERE
from benchmarks.registry import methods, studies
from benchmarks.render import markdown_table, section

TITLES = {  # in the order of the page; other studies follow
    "exact": "Exact methods: the article's table of computing times, hard families, peers",
    "time_vs_objective": "Time versus objective: the article's figure",
    "model_quality": "Model quality: the article's table of errors",
    "scaling": "Scaling with rows, columns, groups and threads",
    "robustness": "Robustness against ill-conditioned columns",
    "alternating": "Alternating least squares: success against starts",
    "relaxations": "Relaxations: gap closed, time and trees",
    "frontier": "The frontier: strong bounds at the root",
    "presolve": "Presolve: tables with text columns, and what it costs elsewhere",
    "eta_path": "Choosing eta by cross-validation",
    "certificates": "Certificates: what a proof costs",
    "limits": "Time limits: how late calls return",
    "distributed": "Beyond one process: Dask for large trees and tall data",
    "out_of_core": "Files larger than memory",
    "policies": "Policies that switch between bounds",
}


def write_index(folder: Path) -> None:
    """Write ``README.md`` in the folder of the results."""
    tables = {name: table.read(folder / f"{name}.csv") for name in _order()}
    tables = {name: rows for name, rows in tables.items() if rows}
    parts = [_head(tables), _losses(tables), *(_study(name, folder) for name in tables)]
    (folder / "README.md").write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")


def _order() -> list[str]:
    known = studies()
    return [*(name for name in TITLES if name in known), *sorted(known.keys() - TITLES.keys())]


def _head(tables: dict[str, list]) -> str:
    lines = []
    for name, rows in tables.items():
        done = [row for row in rows if row["seconds"] is not None and row["machine"] != ELSEWHERE]
        faulty = [methods()[row["method"]].trusted for row in rows if row["faults"]]
        own, others = sum(faulty), len(faulty) - sum(faulty)
        cut = sum(row["status"] == "time limit" for row in rows)
        skipped = sum(row["status"] == "skipped" for row in rows)
        lines.append([f"[{TITLES.get(name, name)}]({name}.md)", len(done), cut, skipped, own, others])
    machines = sorted({row["machine"] for rows in tables.values() for row in rows} - {ELSEWHERE})
    text = (
        "Every figure comes from the tables in this folder, and every table from the command under it. The referee "
        "recomputes each objective from the raw data. `python -m benchmarks --full` makes everything again and resumes "
        f"if it was killed; `--render` makes pages and pictures from the tables. Machine: {'; '.join(machines)}."
    )
    headers = ("study", "runs", "cut by the time limit", "skipped, with a reason", "faults, PartLS", "faults, others")
    return f"# Results\n\n{text}\n\n" + markdown_table(headers, lines)


def _losses(tables: dict[str, list]) -> str:
    """Return what each study says about peers that do better."""
    found = studies()
    told = {name: getattr(found[name], "losses", lambda rows: [])(rows) for name, rows in tables.items()}
    lines = [f"- {loss} ([{name}]({name}.md))" for name, losses in told.items() for loss in losses]
    return section("Where a peer wins", "\n".join(lines)) if lines else ""


def _study(name: str, folder: Path) -> str:
    drawn = [f"![{TITLES.get(name, name)}]({path.name})" for path in sorted(folder.glob(f"{name}-*.svg"))]
    title = TITLES.get(name, name)
    return section(title, *drawn, f"Tables: [{name}.md]({name}.md), rows: `{name}.csv`.",
                   command=f"python -m benchmarks --study {name}")
