"""What presolve is worth on tables with text columns, and what it costs where there is nothing to settle."""

from __future__ import annotations

import statistics

from benchmarks.datasets.categorical import TABLES
from benchmarks.render import (
    duration,
    head,
    markdown_table,
    number,
    paired_ratios,
    section,
    select,
    spread,
    timing,
    verdicts,
)
from benchmarks.runner import Case, Run
from benchmarks.table import Row, notes
from formulations.errors import counted

WITH, WITHOUT = Run("bnb"), Run("bnb_without_presolve")
COMMAND_LINE = Run("table_command")
LIMIT = 60.0  # seconds
PENALTIES = {"eta1": {"eta": 1.0}, "ridge1": {"ridge": 1.0}}
SAME = 1e-9  # relative: objectives that agree
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
    penalised = [
        Case(f"penalty-{name}", "categorical", {"table": "ames", **penalty}, (WITH,), seeds=1, time_limit=LIMIT)
        for name, penalty in PENALTIES.items()
    ]
    plain = [
        Case(f"plain-n{N}-m{M}-k{K}", "synthetic", {"N": N, "M": M, "K": K}, (WITH, WITHOUT), seeds=9)
        for N, M, K in ORDINARY
    ]
    command = Case("command-ames", "categorical", {"table": "ames"}, (COMMAND_LINE,), seeds=1)
    return [*tables, command, *penalised, *plain]


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    named = dict.fromkeys(row["case"] for row in rows)
    tables = [_table(rows, case) for case in named if case.startswith("table")]
    penalised = [_penalised(rows, case) for case in named if case.startswith("penalty")]
    plain = [_plain(_in_processor_time(rows), case) for case in named if case.startswith("plain")]
    text = (
        "*With* is `partls.solve` as it is, *without* has `presolve=False`. One thread; times are processor time. A "
        f"fit that takes longer than {LIMIT:g} s by the clock is cut, and its gap shown."
    )
    parts = [section("Tables with text columns", "Each text column is a group of one-hot codes; the other groups are "
                     "drafted by `partls groups init`. *Objective* compares the two fits.\n\n" + markdown_table(
        ("table", "N", "M", "K", "nodes without", "time without", "gap", "nodes with", "time with", "gap", "objective"),
        tables,
    ), command=COMMAND)]
    if penalised:
        told = (
            "With a penalty on every group no sign is arbitrary, and the search has to decide all of them; limit "
            f"{LIMIT:g} s by the clock."
        )
        headers = ("penalty", "N", "M", "K", "status", "nodes", "time", "gap")
        told += "\n\n" + markdown_table(headers, penalised)
        parts.append(section("House prices with a penalty", told, command=COMMAND))
    parts += [_command(row) for row in select(rows, method=COMMAND_LINE.method, status="done")]
    parts.append(section("Nothing to settle", "Processor time with presolve over processor time without, seed by seed "
                         f"(must: at most {MUST:g}).\n\n" + markdown_table(
        ("problem", "N", "M", "K", "with", "without", "median ratio", "per seed"), plain
    ), command=COMMAND))
    return "\n\n".join([head("Presolve", text, rows), *parts, verdicts(rows, COMMAND)]) + "\n"


def _command(row: Row) -> str:
    """Return what the whole command took on the house prices."""
    told = notes(row)
    text = (
        "`partls fit train.csv --target SalePrice --groups groups.toml --missing mean`, groups as `partls groups init` "
        f"drafts them, kernel compiled before: {told['status'].lower()}, {counted(row['nodes'], 'node')}; "
        f"{duration(told['cpu_seconds'])} of processor time and {duration(row['seconds'])} by the clock, from the "
        "start of Python to the last line."
    )
    return section("House prices on the command line", text, command=COMMAND)


def _in_processor_time(rows: list[Row]) -> list[Row]:
    return [row | {"seconds": row["cpu_seconds"]} for row in rows]


def _table(rows: list[Row], case: str) -> list[object]:
    ours, before = (select(rows, case=case, method=run.method) for run in (WITH, WITHOUT))
    name = case.removeprefix("table-")
    if not ours or ours[0]["nodes"] is None:
        return [name, *["-"] * 10]
    return [
        name, *(ours[0][size] for size in "NMK"),
        *(part for kind in (before, ours) for part in (f"{kind[0]['nodes']:,}", _time(kind[0]), _gap(kind[0]))),
        _agreement(ours[0]["objective"], before[0]["objective"]),
    ]


def _penalised(rows: list[Row], case: str) -> list[object]:
    row = select(rows, case=case)[0]
    name = case.removeprefix("penalty-")
    told = ", ".join(f"{option} = {value:g}" for option, value in PENALTIES[name].items())
    if row["nodes"] is None:
        return [told, *["-"] * 7]
    return [told, *(row[size] for size in "NMK"), row["status"], f"{row['nodes']:,}", _time(row), _gap(row)]


def _time(row: Row) -> str:
    return duration(row["cpu_seconds"])


def _agreement(ours: float, before: float) -> str:
    if abs(ours - before) <= SAME * max(abs(ours), abs(before)):
        return "equal"
    return f"{'lower' if ours < before else 'higher'} by {abs(ours - before) / before:.1e}"


def _gap(row: Row) -> str:
    objective, bound = row["objective"], row["lower_bound"]
    gap = (objective - bound) / objective if objective else 0.0
    return "0" if row["status"] == "optimal" else f"{gap:.2g}"


def _plain(rows: list[Row], case: str) -> list[object]:
    ours, before = (select(rows, case=case, method=run.method) for run in (WITH, WITHOUT))
    ratios = paired_ratios(before, ours)
    return [
        case.removeprefix("plain-"), *(ours[0][size] for size in "NMK"), timing(ours), timing(before),
        number(statistics.median(ratios)), spread(ratios),
    ]
