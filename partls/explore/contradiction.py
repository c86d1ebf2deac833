"""Bounds that a known solution refutes: no bound of their relaxation is used again."""

from __future__ import annotations

from formulations.signs import SignPattern
from partls.explore.subtree import Incumbent

_RELATIVE, _ABSOLUTE = 1e-9, 1e-11  # of the solution's objective and of the target's size: the rest is rounding


class Contradiction(Exception):  # noqa: N818  (what it is, not that it is an error of ours)
    """A relaxation has claimed that no solution of a box is below a value, and one is."""

    def __init__(self, relaxation: str, signs: SignPattern, claimed: float, found: Incumbent) -> None:
        super().__init__(relaxation, signs, claimed, found)
        self.relaxation, self.signs, self.claimed, self.found = relaxation, signs, claimed, found

    def __str__(self) -> str:
        """Name the relaxation, the box and both numbers."""
        return (
            f"relaxation {self.relaxation!r} claims that no solution with the signs {self.signs} is below "
            f"{self.claimed:.12g} (reduced units), but one has {self.found.value:.12g}: its bounds are not used"
        )


def check_claim(relaxation: str, signs: SignPattern, claimed: float, found: Incumbent, size: float) -> None:
    """Raise ``Contradiction`` if a solution in the box of ``signs`` is below what was claimed for it."""
    if claimed > found.value + _RELATIVE * found.value + _ABSOLUTE * size:
        raise Contradiction(relaxation, signs, claimed, found)
