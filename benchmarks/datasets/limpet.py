"""Limpet: the lipophilicity of 44 drugs from 82 descriptors in six groups that chemists named; fewer rows than columns.

``data.csv`` has a header and the target ``y``; ``blocks.csv`` a line per descriptor: its name, then 0 or 1 for each
group. Descriptors and columns are paired by name. The two files list the descriptors in different orders. The code
behind the published results pairs them by position: ``as_published`` does the same, to compare with those results.
"""

from __future__ import annotations

import numpy as np

import formulations
from benchmarks.contract import MissingDataError, Problem
from benchmarks.original_files import OriginalFile, Source, checked, numbers, split

SOURCE = Source(
    "limpet", "https://github.com/ml-unito/PartitionedLS-experiments-2 (datasets/Limpet)",
    (OriginalFile("data.csv", 44, 83), OriginalFile("blocks.csv", 82, 7)),
)
TARGET = "y"
TRAIN, TEST = slice(0, 30), slice(30, 43)  # rows 1-30 and 31-43


def make(seed: int, *, shuffled: bool = False, as_published: bool = False) -> Problem:
    """Return the split of the published runs, or one of rows shuffled by the seed."""
    data, blocks = SOURCE.files
    names, values = numbers(SOURCE, data, header=True)
    path = SOURCE.path(blocks)
    try:
        groups = formulations.Partition.from_file(path)
        features = [name for name in names if name != TARGET]
        labels = np.array((groups if as_published else groups.align(features)).labels)
    except formulations.InvalidInput as error:
        raise MissingDataError(f"{path.name} does not fit {data.name}: {error}; replace the files") from error
    checked(path, blocks, (len(groups.columns or ()), len(groups.names) + 1))
    X, y = values[:, [names.index(name) for name in features]], values[:, names.index(TARGET)]
    order = np.argsort(labels, kind="stable")  # groups in a row, as in the other data sets
    sizes = np.bincount(labels).tolist()
    return split(X[:, order], y, sizes, train=TRAIN, test=TEST, shuffle=seed if shuffled else None)
