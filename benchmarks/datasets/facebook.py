"""UCI Facebook Comment Volume: comments on a post in the next hours, from 52 features in five groups as they come.

Variant 1 and the test set in one, without column 38 (paid posts), which is all zero.
"""

from __future__ import annotations

import numpy as np

from benchmarks.contract import Problem
from benchmarks.original_files import OriginalFile, Source, numbers, split

SOURCE = Source(
    "facebook", "https://archive.ics.uci.edu/dataset/363/facebook+comment+volume+dataset",
    (
        OriginalFile("Features_Variant_1.csv", 40949, 54, member="Dataset/Training/Features_Variant_1.csv"),
        OriginalFile("Features_TestSet.csv", 10043, 54, exact=False, member="Dataset/Testing/Features_TestSet.csv"),
    ),
    "https://archive.ics.uci.edu/ml/machine-learning-databases/00363/Dataset.zip",
)
GROUPS = (10, 10, 10, 10, 12)
DROPPED = 38 - 1
TRAIN, TEST = slice(0, 15_000), slice(40_949, 50_992)  # rows 1-15000 and 40950-50992


def make(seed: int, *, shuffled: bool = False) -> Problem:
    """Return the article's split, or one of rows shuffled by the seed; the last column is the target."""
    rows = np.vstack([numbers(SOURCE, file, header=False)[1] for file in SOURCE.files])
    values = np.delete(rows, DROPPED, axis=1)
    return split(values[:, :-1], values[:, -1], GROUPS, train=TRAIN, test=TEST, shuffle=seed if shuffled else None)
