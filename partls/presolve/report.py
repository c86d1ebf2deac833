"""What presolve has done, for the result to tell."""

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
    """

    arbitrary: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything was settled."""
        return bool(self.arbitrary)

    def __str__(self) -> str:
        """Count what was done, in one line."""
        if not self.arbitrary:
            return "presolve: nothing to settle"
        n = len(self.arbitrary)
        return f"presolve: {counted(n, 'group')} without a search, {'its' if n == 1 else 'their'} sign is arbitrary"
