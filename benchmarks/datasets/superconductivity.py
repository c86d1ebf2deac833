"""UCI Superconductivity: the critical temperature of 21263 materials from 81 features, in eight groups as they come."""

from __future__ import annotations

from benchmarks.contract import Problem
from benchmarks.original_files import OriginalFile, Source, numbers, split

SOURCE = Source(
    "superconductivity", "https://archive.ics.uci.edu/dataset/464/superconductivty+data",
    (OriginalFile("train.csv", 21263, 82),), "https://archive.ics.uci.edu/static/public/464/superconductivty+data.zip",
)
GROUPS = (*[10] * 7, 11)
TRAIN, TEST = slice(0, 10_000), slice(14_176, 21_263)  # rows 1-10000 and 14177-21263


def make(seed: int, *, shuffled: bool = False) -> Problem:
    """Return the article's split, or one of rows shuffled by the seed; the last column is the target."""
    _, values = numbers(SOURCE, SOURCE.files[0], header=True)
    return split(values[:, :-1], values[:, -1], GROUPS, train=TRAIN, test=TEST, shuffle=seed if shuffled else None)
