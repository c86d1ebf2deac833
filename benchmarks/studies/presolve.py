"""What presolve is worth on tables with text columns, and what it costs where there is nothing to settle."""

from __future__ import annotations

import statistics

from benchmarks.datasets.categorical import TABLES
from benchmarks.render import head, markdown_table, number, paired_ratios, section, select, spread, timing, verdicts
from benchmarks.runner import Case, Run
from benchmarks.table import Row

WITH, WITHOUT = Run("bnb"), Run("bnb_without_presolve")
LIMIT = 60.0  # seconds
MUST = 1.05  # times the fit without presolve, on ordinary problems
ORDINARY = ((60, 20, 5), (100, 40, 8), (120, 60, 15), (150, 95, 20), (300, 150, 25))
COMMAND = "python -m benchmarks --study presolve"


def cases(quick: bool = False) -> list[Case]:
    """Return the cases: tables that packages bring along, house prices, and problems with nothing to settle."""
    if quick:
        tables = [Case(f"table-{name}", "categorical", {"table": name}, (WITH, WITHOUT), seeds=1) for name in ("mpg",)]
        return [*tables, Case("plain-quick", "synthetic", {"N": 60, "M": 20, "K": 5}, (WITH, WITHOUT), seeds=1)]
    tables = [
        Case(f"table-{name}", "categorical", {"table": name}, (WITH, WITHOUT), seeds=1, time_limit=LIMIT)
        for name in TABLES
    ]
    plain = [
        Case(f"plain-n{N}-m{M}-k{K}", "synthetic", {"N": N, "M": M, "K": K}, (WITH, WITHOUT), seeds=9)
        for N, M, K in ORDINARY
    ]
    return tables + plain


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    named = dict.fromkeys(row["case"] for row in rows)
    tables = [_table(rows, case) for case in named if case.startswith("table")]
    plain = [_plain(rows, case) for case in named if case.startswith("plain")]
    text = (
        "*With* is `partls.solve` as it is, *without* has `presolve=False`. One thread; a fit that takes longer than "
        f"{LIMIT:g} s is cut, and its gap shown."
    )
    first = section("Tables with text columns", markdown_table(
        ("table", "N", "M", "K", "nodes without", "without", "gap", "nodes with", "with", "gap"), tables
    ), command=COMMAND)
    second = section("Nothing to settle", "Time with presolve over time without, seed by seed (must: at most "
                     f"{MUST:g}).\n\n" + markdown_table(
        ("problem", "N", "M", "K", "with", "without", "median ratio", "per seed"), plain
    ), command=COMMAND)
    return "\n\n".join([head("Presolve", text, rows), first, second, verdicts(rows, COMMAND)]) + "\n"


def _table(rows: list[Row], case: str) -> list[object]:
    ours, before = (select(rows, case=case, method=run.method) for run in (WITH, WITHOUT))
    name = case.removeprefix("table-")
    if not ours or ours[0]["nodes"] is None:
        return [name, *["-"] * 9]
    return [
        name, *(ours[0][size] for size in "NMK"),
        *(part for kind in (before, ours) for part in (kind[0]["nodes"], timing(kind), _gap(kind[0]))),
    ]


def _gap(row: Row) -> str:
    objective, bound = row["objective"], row["lower_bound"]
    gap = (objective - bound) / objective if objective else 0.0
    return "0" if row["status"] == "optimal" else f"{gap:.2%}"


def _plain(rows: list[Row], case: str) -> list[object]:
    ours, before = (select(rows, case=case, method=run.method) for run in (WITH, WITHOUT))
    ratios = paired_ratios(before, ours)
    return [
        case.removeprefix("plain-"), *(ours[0][size] for size in "NMK"), timing(ours), timing(before),
        number(statistics.median(ratios)), spread(ratios),
    ]
