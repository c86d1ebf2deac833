"""The best solutions of an enumeration: so many of them, in memory for no more."""

from __future__ import annotations

import heapq
from math import inf

import numpy as np

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.explore.subtree import Incumbent
from partls.result import Solution
from partls.strategies.pattern_blocks import Block

_Kept = tuple[float, int, tuple[int, ...], "Floats | None"]  # minus the value, minus its place in time, signs, v


def checked_keep(keep: str | int, n_patterns: int = 0) -> int:
    """Return how many solutions to keep, of so many."""
    if isinstance(keep, str) and keep in ("best", "all"):
        return n_patterns if keep == "all" else 0
    if isinstance(keep, bool) or not isinstance(keep, (int, np.integer)) or keep < 1:
        raise InvalidInput(f'keep={keep!r} must be "best", "all" or a number of solutions >= 1')
    return int(keep)


class KeptSolutions:
    """The ``count`` best patterns so far, in a heap whose first element is the worst kept."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._heap: list[_Kept] = []

    def cutoff(self, best: Incumbent, block: Block) -> float:
        """Return what a pattern must be below to be wanted: the best value or, with the block's, the n-th best."""
        if not self.count:
            return best.value
        values = np.concatenate([[-entry[0] for entry in self._heap], block.values])
        return inf if len(values) <= self.count else float(np.partition(values, self.count - 1)[self.count - 1])

    def add(self, block: Block) -> None:
        """Keep those of the block that are among the best."""
        if not self.count:
            return
        heap = self._heap
        for i in np.argsort(block.values, kind="stable")[: self.count]:
            if len(heap) == self.count and block.values[i] >= -heap[0][0]:
                break
            v = None if block.coefs is None else block.coefs[i].copy()
            entry = (-float(block.values[i]), -len(heap), tuple(block.patterns[i].tolist()), v)
            heapq.heappush(heap, entry) if len(heap) < self.count else heapq.heapreplace(heap, entry)

    def solutions(self, instance: Instance) -> tuple[Solution, ...]:
        """Return the solutions kept, best first."""
        ordered = sorted(self._heap, key=lambda entry: (-entry[0], tuple(-s for s in entry[2])))
        return tuple(as_solution(instance, pattern, v) for _, _, pattern, v in ordered if v is not None)


def as_solution(instance: Instance, pattern: tuple[int, ...], v: Floats) -> Solution:
    """Return a pattern's reduced coefficients as a solution in original units."""
    coef, intercept = instance.reduction.restore(v)
    return Solution(SignPattern(pattern[: instance.n_groups]), instance.objective(coef, intercept), coef, intercept)
