"""UCI YearPredictionMSD: the year of a song from 12 averages and 78 covariances of its timbre, in nine groups."""

from __future__ import annotations

from benchmarks.contract import Problem
from benchmarks.original_files import OriginalFile, Source, numbers, split

SOURCE = Source(
    "year_prediction", "https://archive.ics.uci.edu/dataset/203/yearpredictionmsd",
    (OriginalFile("YearPredictionMSD.txt", 515345, 91),),
    "https://archive.ics.uci.edu/static/public/203/yearpredictionmsd.zip",
)
GROUPS = (12, *[10] * 7, 8)
TRAIN, TEST = slice(0, 10_000), slice(463_715, 473_715)  # the first rows of the data set's own training and test parts


def make(seed: int, *, shuffled: bool = False) -> Problem:
    """Return the article's split, or one of rows shuffled by the seed; the first column is the target."""
    _, values = numbers(SOURCE, SOURCE.files[0], header=False)
    return split(values[:, 1:], values[:, 0], GROUPS, train=TRAIN, test=TEST, shuffle=seed if shuffled else None)
