"""Run studies: ``python -m benchmarks --help``."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from pathlib import Path

from benchmarks.machine import one_thread

RESULTS = Path(__file__).resolve().parent / "results"


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen cases, write table and page, and return 1 if a trusted method was wrong."""
    os.environ.update(one_thread())  # before NumPy is loaded
    from benchmarks import table
    from benchmarks.figures import save
    from benchmarks.registry import studies

    options = _parser(sorted(studies())).parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    began, wrong = time.perf_counter(), 0
    for name in options.study or sorted(studies()):
        study, target = studies()[name], _target(options, name)
        if options.render:
            rows = table.read(target)
        else:
            rows, faulty = _run(study, options, target)
            wrong += faulty
        text = study.page(rows)
        print(text)
        if target is not None:
            target.with_suffix(".md").write_text(text, encoding="utf-8")
            save(getattr(study, "figures", lambda rows: {})(rows), target.parent, name)
    logging.info("%.0f s, %d wrong answer(s)", time.perf_counter() - began, wrong)
    return 1 if wrong else 0


def _run(study, options: argparse.Namespace, target: Path | None) -> tuple[list[dict], int]:
    """Run the cases of a study; each finished case replaces its rows in the table."""
    from benchmarks import table
    from benchmarks.runner import is_wrong, run_case

    rows, wrong = table.read(target) if target is not None else [], 0
    cases = study.cases(options.quick)
    place = {case.key: i for i, case in enumerate(cases)}
    for case in _chosen(cases, options):
        fresh = [row for seed_rows in run_case(case) for row in seed_rows]
        wrong += sum(is_wrong(row) for row in fresh)
        rows = [row for row in rows if row["case"] != case.key] + fresh
        rows.sort(key=lambda row: place.get(row["case"], len(place)))  # stable: seeds and methods stay in order
        if target is not None:
            table.write(target, rows)
    return rows, wrong


def _chosen(cases: list, options: argparse.Namespace) -> list:
    from dataclasses import replace

    keys = options.cases.split(",") if options.cases else [case.key for case in cases]
    unknown = set(keys) - {case.key for case in cases}
    if unknown:
        raise SystemExit(f"no case {sorted(unknown)}: there are {[case.key for case in cases]}")
    chosen = [case for case in cases if case.key in keys]
    return chosen if options.seeds is None else [replace(case, seeds=options.seeds) for case in chosen]


def _target(options: argparse.Namespace, study: str) -> Path | None:
    """The table's file; a quick run leaves the committed results alone."""
    if options.out is None and options.quick:
        return None
    return (options.out or RESULTS) / f"{study}.csv"


def _parser(studies: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time and check exact methods and peers.")
    parser.add_argument("--quick", action="store_true", help="small sizes, about three minutes, writes only to --out")
    parser.add_argument("--study", action="append", choices=studies, help="a study (default: all)")
    parser.add_argument("--cases", help="some cases only, separated by commas; the others' rows are kept")
    parser.add_argument("--seeds", type=int, help="number of seeds for each case")
    parser.add_argument("--out", type=Path, help="folder for table and page (default: benchmarks/results)")
    parser.add_argument("--render", action="store_true", help="write the page again from the table; run nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
