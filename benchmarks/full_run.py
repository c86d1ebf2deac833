"""A full run of a study that may be killed at any time: seeds that are done are not done again.

Finished seeds are written at once to ``unfinished/<study>.csv`` beside the table. When all are there, they replace the
table; until then it stays as it was.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

from benchmarks import table
from benchmarks.runner import Case, run_case, runs_of
from benchmarks.table import Row

logger = logging.getLogger(__name__)


def resume(cases: list[Case], target: Path) -> list[Row]:
    """Run what is left of the cases, put the rows in place of the table, and return them."""
    journal = target.parent / "unfinished" / target.name
    kept = table.read(journal)
    rows = [row for case in cases for seed in _done(case, kept) for row in select_seed(kept, case, seed)]
    if rows:
        logger.info("%s: %d rows of an unfinished run are kept", target.stem, len(rows))
    for case in cases:
        for fresh in run_case(case, _done(case, rows)):
            rows += fresh
            table.write(journal, rows)
    place = {case.key: i for i, case in enumerate(cases)}
    rows.sort(key=lambda row: (place[row["case"]], row["seed"]))
    table.write(target, rows)
    journal.unlink(missing_ok=True)
    return rows


def select_seed(rows: list[Row], case: Case, seed: int) -> list[Row]:
    return [row for row in rows if row["case"] == case.key and row["seed"] == seed]


def _done(case: Case, rows: list[Row]) -> list[int]:
    """Return the seeds with a row for every run as it is asked for now; what was not here is asked for again."""
    return [seed for seed in range(case.seeds) if _matches(case, seed, select_seed(rows, case, seed))]


def _matches(case: Case, seed: int, rows: list[Row]) -> bool:
    asked = [(run.method, json.dumps(run.make().settings())) for run in runs_of(case, seed)]
    found = [(row["method"], row["method_settings"]) for row in rows]
    here = all(row["N"] is not None and row["settings"] == json.dumps(case.settings) for row in rows)
    return asked == found and here
