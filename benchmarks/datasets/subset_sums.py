"""PARTITION as partitioned least squares: Theorem 4 of Esposito, Cerrato and Locatelli (2024), run forwards."""

from __future__ import annotations

import numpy as np

import formulations
from benchmarks.contract import Problem


def make(seed: int, *, K: int, largest: int = 50) -> Problem:
    """Return the problem of K random whole numbers up to ``largest``, which may or may not split evenly."""
    numbers = np.random.default_rng(seed).integers(1, largest + 1, K)
    instance = formulations.subset_sum(numbers)
    return Problem(np.array(instance.X), np.array(instance.y), np.array(instance.partition.labels))
