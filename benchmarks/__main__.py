"""Run studies: ``python -m benchmarks --help``."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.machine import one_thread

RESULTS = Path(__file__).resolve().parent / "results"
BY_NAME_ONLY = ("out_of_core",)  # needs 25 GB of temporary space: no part of --full unless it is named


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen cases, write tables, pages and pictures, and return 1 if this toolkit was wrong."""
    os.environ.update(one_thread())  # before NumPy is loaded
    from benchmarks.figures import save
    from benchmarks.index import write_index
    from benchmarks.original_files import DOWNLOAD
    from benchmarks.registry import studies
    from benchmarks.runner import is_wrong

    parser = _parser(sorted(studies()))
    options = parser.parse_args(arguments)
    if options.full and options.cases:
        parser.error("--full makes a whole table: leave it out to replace the rows of some cases")
    if options.download:
        os.environ[DOWNLOAD] = "1"
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    began, wrong = time.perf_counter(), 0
    for name in options.study or _unnamed(sorted(studies()), options):
        study, target = studies()[name], _target(options, name)
        rows, fresh = _rows(study, options, target)
        wrong += sum(is_wrong(row) for row in fresh)
        text = study.page(rows)
        print(text)
        if target is not None:
            target.with_suffix(".md").write_text(text, encoding="utf-8")
            save(getattr(study, "figures", lambda rows: {})(rows), target.parent, name)
            write_index(target.parent)
    logging.info("%.0f s, %d wrong answer(s)", time.perf_counter() - began, wrong)
    return 1 if wrong else 0


def _rows(study, options: argparse.Namespace, target: Path | None) -> tuple[list[dict], list[dict]]:
    """Return all rows of a study's table, and those among them that were made now."""
    from benchmarks import table
    from benchmarks.full_run import resume

    if options.render:
        return table.read(target), []
    cases = _chosen(study.cases(options.quick), options)
    if options.full:
        rows = resume(cases, target)
        return rows, rows
    return _replaced(study, cases, options, target)


def _replaced(study, cases: list, options: argparse.Namespace, target: Path | None) -> tuple[list[dict], list[dict]]:
    """Run the cases; each finished case replaces its rows in the table."""
    from benchmarks import table
    from benchmarks.runner import run_case

    rows, made = table.read(target) if target is not None else [], []
    place = {case.key: i for i, case in enumerate(study.cases(options.quick))}
    for case in cases:
        fresh = [row for seed_rows in run_case(case) for row in seed_rows]
        made += fresh
        rows = [row for row in rows if row["case"] != case.key] + fresh
        rows.sort(key=lambda row: place.get(row["case"], len(place)))  # stable: seeds and methods stay in order
        if target is not None:
            table.write(target, rows)
    return rows, made


def _chosen(cases: list, options: argparse.Namespace) -> list:
    keys = options.cases.split(",") if options.cases else [case.key for case in cases]
    unknown = set(keys) - {case.key for case in cases}
    if unknown:
        raise SystemExit(f"no case {sorted(unknown)}: there are {[case.key for case in cases]}")
    chosen = [case for case in cases if case.key in keys]
    return chosen if options.seeds is None else [replace(case, seeds=options.seeds) for case in chosen]


def _unnamed(names: list[str], options: argparse.Namespace) -> list[str]:
    return names if options.quick else [name for name in names if name not in BY_NAME_ONLY]


def _target(options: argparse.Namespace, study: str) -> Path | None:
    """The table's file; a quick run leaves the committed results alone."""
    if options.out is None and options.quick:
        return None
    return (options.out or RESULTS) / f"{study}.csv"


def _parser(studies: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time and check exact methods and peers.",
                                     epilog="Original data files are looked for in $PARTLS_DATA.")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small sizes, under two minutes, writes only to --out")
    size.add_argument("--full", action="store_true", help="full sizes; a run that was killed resumes")
    size.add_argument("--render", action="store_true", help="pages and pictures again from the tables; runs nothing")
    parser.add_argument("--study", action="append", choices=studies, help="a study (default: all that need no room)")
    parser.add_argument("--cases", help="some cases only, separated by commas; the others' rows are kept")
    parser.add_argument("--seeds", type=int, help="number of seeds for each case")
    parser.add_argument("--out", type=Path, help="folder for tables and pages (default: benchmarks/results)")
    parser.add_argument("--download", action="store_true", help="fetch missing data files into $PARTLS_DATA")
    return parser


if __name__ == "__main__":
    sys.exit(main())
