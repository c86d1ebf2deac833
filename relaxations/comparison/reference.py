"""The upper end of the gap: the optimum of a node where it is known, else the best solution known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

from formulations.errors import InvalidInput

Given = Any  # a number, an object with an objective (a result of the search), or a function that returns either


@dataclass(frozen=True)
class Reference:
    """What shares of the gap are measured against.

    Attributes
    ----------
    value
        The objective of a solution, in original units.
    is_optimum
        Whether nothing is below it. If not, shares of the gap are too small, if anything.
    source
        Where it comes from.
    """

    value: float
    is_optimum: bool
    source: str

    @property
    def kind(self) -> str:
        """What it is, in two words."""
        return "optimum" if self.is_optimum else "best known solution"

    @property
    def words(self) -> str:
        """What it is and where it comes from."""
        return f"{self.kind}, {self.source}"


def given_reference(optimum: Given, incumbent: Given, at: Any) -> Reference | None:
    """Return what the user gave for a node or an instance ``at``, or None; an unproven result is an incumbent."""
    for option, given in (("optimum", optimum), ("incumbent", incumbent)):
        if given is None:
            continue
        found = given(at) if callable(given) else given
        if found is None:
            continue
        searched = hasattr(found, "objective") and hasattr(found, "is_optimal")
        proven = option == "optimum" and (not searched or found.is_optimal())
        value = _number(option, found.objective if searched else found)
        return Reference(value, proven, "from the search" if searched else "given")
    return None


def _number(option: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not isfinite(number):
        raise InvalidInput(f"{option}={value!r}: give a number, a result of partls.solve, or a function of either")
    return number


def proved_by(reference: Reference, bounds: dict[str, float], ties: Callable[[float, float], bool]) -> Reference:
    """Return the reference as an optimum where a certified bound meets it."""
    if reference.is_optimum or not bounds:
        return reference
    label = max(bounds, key=lambda name: bounds[name])
    return Reference(reference.value, True, f"proved by {label}") if ties(bounds[label], reference.value) else reference

