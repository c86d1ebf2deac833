"""The safe value of a plugged-in problem: what its dual vector proves of all solutions that could still be wanted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.builders.coefficient_bounds import proved_bounds, value_to_beat
from formulations.builders.model import Model
from formulations.builders.setting import Setting
from formulations.data import Floats
from formulations.errors import InvalidInput, listing
from formulations.signs import SignPattern
from formulations.tolerances import ROUNDING
from relaxations.conic.cone_solve import ConeSolved
from relaxations.plugged.built import Built
from relaxations.safe.cone_box import Known, box_of
from relaxations.safe.cone_program import ConeProgram

LIFT = "lift"  # the name of a variable that stands for [1 x'; x xx']
_ABOVE = 1e-9  # of a value to beat: solutions up to here are counted, so that rounding leaves none out

Bounds = Mapping[str, Any]


class SafeValue(NamedTuple):
    """A lower bound in the units of the problem, and why there is none."""

    value: float
    reason: str = ""


@dataclass(frozen=True, eq=False)
class DualValue:
    """Safe values of the problems of one builder at one node.

    No solution under ``signs`` is below :meth:`of`, given that every solution has a point in the problem with its
    coefficients, its value at most, and, where they are named, lifted variables that are the products they stand for.
    """

    built: Built
    signs: SignPattern
    cutoff: float
    bounds: Bounds

    def of(self, solved: ConeSolved) -> SafeValue:
        """Return the safe value that a solver's answer proves; -inf if some variable has no bound."""
        program = solved.program
        if program is None or solved.x is None or solved.y is None:
            return SafeValue(-inf, "the solver left no dual vector")
        reduction = self.built.instance.reduction
        at = Setting.of(reduction, self.signs)
        least = min(value_to_beat(at), self.cutoff / reduction.scale)
        lower, upper = box_of(program, self._known(program, solved, at, least))
        found = program.dual_bound(solved.y, solved.x, lower, upper)
        if len(found.unbounded):
            return SafeValue(-inf, self._names(found.unbounded, solved))
        units = reduction.scale / self.built.scale
        size = float(reduction.z @ reduction.z) + reduction.rest
        value = max(found.value - ROUNDING * size * units, 0.0)  # a sum of squares and a penalty
        if value < least * units:
            return SafeValue(value)
        return SafeValue(self.cutoff / self.built.scale if least < value_to_beat(at) else least * units)

    def _known(self, program: ConeProgram, solved: ConeSolved, at: Setting, least: float) -> Known:
        """Return what holds for the points of the problem that belong to solutions of at most this value."""
        n = len(program.c)
        lower, upper = np.full(n, -inf), np.full(n, inf)
        for variable in self.built.problem.variables():
            if variable.name() in self.bounds:
                _put(solved.places[variable.id], _interval(self.bounds[variable.name()], variable), lower, upper)
        rows, least_rows, most_rows = sparse.csr_array((0, n)), np.zeros(0), np.zeros(0)
        found = self.built.matrix(solved.places, n)
        if found is not None:
            sizes, signs = self._coefficients(at, least * (1 + _ABOVE))
            rows = sparse.csr_array(found[0])
            least_rows = np.where(signs > 0, 0.0, -sizes) - found[1]
            most_rows = np.where(signs < 0, 0.0, sizes) - found[1]
        units = self.built.instance.reduction.scale / self.built.scale
        value = least * units * (1 + _ABOVE)
        return Known(lower, upper, rows, least_rows, most_rows, self._lifts(solved), value)

    def _coefficients(self, at: Setting, least: float) -> tuple[Floats, NDArray[np.int8]]:
        """Return a bound on the size and the sign of each coefficient of the problem."""
        sizes, signs = proved_bounds(at, least), at.column_signs
        if isinstance(self.built.made, Model):
            return sizes, signs
        instance = self.built.instance
        own = SignPattern(self.signs.values[: instance.n_groups])
        return instance.reduction.sizes(sizes), own.per_column(instance.partition.labels)

    def _lifts(self, solved: ConeSolved) -> tuple[NDArray[np.intp], ...]:
        """Return the places of the matrices that lift a vector."""
        named = [variable for variable in self.built.problem.variables() if variable.name() == LIFT]
        places = [solved.places[variable.id][0] for variable in named if len(variable.shape) == 2]
        return tuple(place for place in places if (place >= 0).all() and place.shape[0] == place.shape[1])

    def _names(self, unbounded: NDArray[np.intp], solved: ConeSolved) -> str:
        """Return which variables have no bound, and what to do."""
        names = [
            variable.name() for variable in self.built.problem.variables()
            if np.isin(solved.places[variable.id][0], unbounded).any()
        ]
        if not names:
            return "no bound on an auxiliary variable of CVXPY's: give bounds for the variables of its expression"
        return f"no bound on {listing(names)}: pass bounds={{name: largest size}} to from_builder"


def _interval(given: Any, variable: Any) -> tuple[Floats, Floats]:
    """Return (lower, upper) of each entry of a variable: a pair, or the largest size."""
    pair = given if isinstance(given, tuple) and len(given) == 2 else (-np.asarray(given), given)
    try:
        lower, upper = (np.broadcast_to(np.asarray(side, dtype=np.float64), variable.shape) for side in pair)
    except ValueError as error:
        raise InvalidInput(
            f'bounds of "{variable.name()}" do not have its shape {variable.shape}: give one number, or as many'
        ) from error
    if np.isnan(lower).any() or np.isnan(upper).any() or (lower > upper).any():
        raise InvalidInput(f'bounds of "{variable.name()}": each lower bound must be at most the upper one')
    return lower, upper


def _put(place: tuple[NDArray[np.intp], Floats], sides: tuple[Floats, Floats], lower: Floats, upper: Floats) -> None:
    """Enter bounds of a variable's entries where these are in the cone program."""
    places, signs = place
    there = places >= 0
    low, high = (np.where(signs[there] < 0, -other[there], one[there]) for one, other in (sides, sides[::-1]))
    np.maximum.at(lower, places[there], low)
    np.minimum.at(upper, places[there], high)
