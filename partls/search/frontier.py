"""The open subtrees of a search: the deepest first, or the one with the lowest bound first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import chain
from math import inf, isnan

from partls.explore.subtree import Subtree

_Entry = tuple[float, int, Subtree]


class Frontier:
    """A stack, or with ``best_first`` a heap by bound, whose order depends on nothing but what was pushed.

    A heap stops growing at ``most`` open subtrees. Further subtrees go on a stack, which is emptied first, so the
    search is depth-first until there is room again.
    """

    def __init__(self, subtrees: Iterable[Subtree], *, best_first: bool = False, most: int | None = None) -> None:
        self._most = (inf if most is None else most) if best_first else 0
        self._pushed = 0
        self._heap: list[_Entry] = []
        self._stack: list[Subtree] = []
        self.push(subtrees)

    @property
    def is_depth_first(self) -> bool:
        """Whether the deepest subtree comes next."""
        return bool(self._stack) or len(self) >= self._most

    def push(self, subtrees: Iterable[Subtree]) -> None:
        """Add subtrees; of equal ones, the last comes first."""
        for subtree in subtrees:
            self._pushed += 1
            if len(self) >= self._most:
                self._stack.append(subtree)
            else:
                heappush(self._heap, (at_least(subtree.bound), -self._pushed, subtree))

    def next(self) -> Subtree:
        """Return the subtree to explore next, which stays where it is: an interrupt must not lose it."""
        return self._stack[-1] if self._stack else self._heap[0][2]

    def drop(self) -> None:
        """Remove the subtree that ``next`` returns."""
        if self._stack:
            self._stack.pop()
        else:
            heappop(self._heap)

    def lowest(self) -> float:
        """Return the lowest bound of all (inf if there is none)."""
        on_stack = min((at_least(subtree.bound) for subtree in self._stack), default=inf)
        return min(on_stack, self._heap[0][0] if self._heap else inf)

    def __iter__(self) -> Iterator[Subtree]:
        return chain((entry[2] for entry in self._heap), self._stack)

    def __len__(self) -> int:
        return len(self._heap) + len(self._stack)


def at_least(bound: float) -> float:
    """Return a bound as a number to compare; that of a doubtful subtree (NaN) promises nothing."""
    return -inf if isnan(bound) else bound
