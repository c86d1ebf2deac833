"""The gap that bounds are to close: from least squares without sign constraints up to the reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite, nan

from formulations.instance import Instance
from formulations.rounding import Rounded, rounded
from relaxations.comparison.reference import Reference
from relaxations.protocol import Bound
from relaxations.sign_constrained import solve_signed

_NOTHING = 1e-9  # shares below this are rounding


def share_of(value: float, floor: float, reference: float) -> float:
    """Return ``(value - floor) / (reference - floor)``, and 0 for what is rounding alone."""
    share = (value - floor) / (reference - floor)
    return share if abs(share) > _NOTHING else 0.0


def floor_of(instance: Instance) -> Rounded:
    """Return the unconstrained optimum, with its rounding."""
    reduction = instance.reduction
    v = solve_signed(reduction, reduction.column_signs(None))
    return rounded(instance, *reduction.restore(v), reduction.objective(v))


@dataclass(frozen=True)
class Gap:
    """One gap, and which share of it a number closes."""

    floor: Rounded
    reference: Reference

    @property
    def width(self) -> float:
        """How far the reference is above the floor; 0 where they tie up to rounding."""
        return self._at(self.reference.value).above(self.floor)

    def closed(self, value: float) -> float:
        """Return the share that a bound closes; NaN where there is no gap, 0 for a bound that is none."""
        if not self.width > 0:
            return nan
        return share_of(value, self.floor.value, self.reference.value) if isfinite(value) else 0.0

    def estimated(self, bound: Bound) -> float:
        """Return the share that the solver's value would close; NaN if it has none."""
        return self.closed(bound.estimate) if isfinite(bound.estimate) else nan

    def refutes(self, value: float) -> bool:
        """Return whether a claimed bound lies above the reference by more than rounding: no lower bound does."""
        return isfinite(value) and self._at(value).above(self._at(self.reference.value)) > 0

    def ties(self, bound: float, value: float) -> bool:
        """Return whether the two differ by no more than rounding."""
        return self._at(bound).above(self._at(value)) == 0

    def _at(self, value: float) -> Rounded:
        return replace(self.floor, value=value)
