"""The open subtrees of a search: the deepest first, or the one with the lowest bound first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from math import inf, isnan

from partls.search.subtree import Subtree

_Entry = tuple[float, int, Subtree]


class Frontier:
    """A stack, or with ``best_first`` a heap by bound, whose order depends on nothing but what was pushed."""

    def __init__(self, subtrees: Iterable[Subtree], *, best_first: bool = False) -> None:
        self._best_first = best_first
        self._pushed = 0
        self._entries: list[_Entry] = []
        self.push(subtrees)

    def push(self, subtrees: Iterable[Subtree]) -> None:
        """Add subtrees; of equal ones, the last comes first."""
        for subtree in subtrees:
            self._pushed += 1
            entry = (at_least(subtree.bound), -self._pushed, subtree)
            if self._best_first:
                heappush(self._entries, entry)
            else:
                self._entries.append(entry)

    def next(self) -> Subtree:
        """Return the subtree to explore next, which stays where it is: an interrupt must not lose it."""
        return self._entries[0 if self._best_first else -1][2]

    def drop(self) -> None:
        """Remove the subtree that ``next`` returns."""
        if self._best_first:
            heappop(self._entries)
        else:
            self._entries.pop()

    def lowest(self) -> float:
        """Return the lowest bound of all (inf if there is none)."""
        if self._best_first:
            return self._entries[0][0] if self._entries else inf
        return min((entry[0] for entry in self._entries), default=inf)

    def __iter__(self) -> Iterator[Subtree]:
        return (entry[2] for entry in self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def at_least(bound: float) -> float:
    """Return a bound as a number to compare; that of a doubtful subtree (NaN) promises nothing."""
    return -inf if isnan(bound) else bound
