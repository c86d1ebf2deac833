"""The report of presolve in a result."""

from __future__ import annotations

from dataclasses import dataclass

from formulations.errors import counted


@dataclass(frozen=True)
class Presolve:
    """What was settled before the search.

    Attributes
    ----------
    arbitrary
        The groups whose sign is arbitrary: the search did without their constraint, at no cost.
    redundant
        The columns that were left out: other columns of their group replace them.
    parts
        The groups of each independent part, which was searched on its own; empty if there is one part only.
    """

    arbitrary: tuple[str, ...] = ()
    redundant: tuple[str, ...] = ()
    parts: tuple[tuple[str, ...], ...] = ()

    def __bool__(self) -> bool:
        """Whether anything was settled."""
        return bool(self.arbitrary or self.redundant or self.parts)

    def __str__(self) -> str:
        """Count what was done, in one line."""
        told = []
        if n := len(self.arbitrary):
            told.append(f"{counted(n, 'group')} without a search, {'its' if n == 1 else 'their'} sign is arbitrary")
        if n := len(self.redundant):
            them = "it" if n == 1 else "them"
            told.append(f"{counted(n, 'column')} left out, other columns of the group replace {them}")
        if self.parts:
            told.append(f"{len(self.parts)} independent parts searched on their own")
        return f"presolve: {'; '.join(told) or 'nothing to settle'}"
