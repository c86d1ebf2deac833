"""The tidy table of a study: one row per run, written as CSV, read back as the same values."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TEXT = ("case", "dataset", "settings", "method", "method_settings", "status", "reason", "faults", "notes", "versions",
        "machine")
WHOLE = ("seed", "N", "M", "K", "trusted", "nodes", "repeats", "sign_violations", "threads", "isolated")
NUMBERS = ("seconds", "cpu_seconds", "time_limit", "objective", "claimed", "lower_bound", "gap", "worst_violation",
           "test_error", "resident_mb", "peak_mb")
COLUMNS = (
    "case", "dataset", "settings", "N", "M", "K", "method", "method_settings", "trusted", "seed", "status", "reason",
    "objective", "claimed", "lower_bound", "gap", "sign_violations", "worst_violation", "test_error", "faults", "nodes",
    "seconds", "cpu_seconds", "repeats", "time_limit", "resident_mb", "peak_mb", "isolated", "threads", "notes",
    "versions", "machine",
)

Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    """Return the rows of a table; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _value(name, text) for name, text in row.items()} for row in csv.DictReader(file)]


def write(path: Path, rows: Iterable[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _text(row.get(name)) for name in COLUMNS} for row in rows)
    part.replace(path)  # whoever is killed here leaves the old table


def tidy(row: Row) -> Row:
    """Return the row as it will be read back: every column, None where there is nothing."""
    return {name: _value(name, _text(row.get(name))) for name in COLUMNS}


def notes(row: Row) -> dict[str, Any]:
    """Return what a method wrote beside its answer."""
    return json.loads(row["notes"]) if row["notes"] else {}


def _text(value: Any) -> str:
    if value is None or value != value:  # nothing to say, or not a number
        return ""
    return repr(float(value)) if isinstance(value, float) else str(int(value) if isinstance(value, bool) else value)


def _value(name: str, text: str) -> Any:
    if name in TEXT:
        return text
    if not text:
        return None
    return int(text) if name in WHOLE else float(text)
