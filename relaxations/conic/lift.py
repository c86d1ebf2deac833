"""What the two lifted relaxations share: which solver comes first, where a lift is flat, and its safe bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.builders.flat_directions import flat_directions
from formulations.builders.model import Model
from formulations.data import Floats
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from relaxations.conic.backend import Backend
from relaxations.protocol import BoundStatus
from relaxations.safe.interior_search import InteriorSearch
from relaxations.safe.least_squares import SafeBound
from relaxations.safe.lift import Interior, LiftedProblem, Proof, lift_bound
from relaxations.safe.settling import settled
from relaxations.sign_constrained import solve_signed

_CLARABEL_ORDER, _CLARABEL_DEPENDENT = 20, 60  # of the lift: above it SCS is faster; it suffers from unbounded optima
_SECOND_LOOK = 1e-6  # of the target's square: a solver's value this far above a safe one asks for a second look


def solvers_for(reduction: Reduction, order: int) -> tuple[str, ...]:
    """Return the solvers to try for a semidefinite lift of this order, the faster one first."""
    dependent = SafeBound(reduction).rank < reduction.n_columns
    limit = _CLARABEL_DEPENDENT if dependent else _CLARABEL_ORDER
    return ("CLARABEL", "SCS") if order <= limit else ("SCS", "CLARABEL")


@dataclass(frozen=True, eq=False)
class SolverDirections:
    """The curvature of a lift, and where it is flat, by the relaxation's own solvers."""

    reduction: Reduction
    solvers: Sequence[str]
    options: Mapping[str, Mapping[str, Any]]

    def __call__(self, part: LiftedProblem, gram: Floats) -> tuple[Floats, Floats] | None:
        """Return (multipliers, how far each entry moves in the flattest direction), or None without an answer."""

        def build(_: SignPattern | None) -> Model:
            return flat_directions(self.reduction, gram, part.products, part.opposed)

        solved = Backend(build, self.solvers, self.options).solve()
        if solved.status not in (BoundStatus.OPTIMAL, BoundStatus.INACCURATE):
            return None
        return part.multipliers(*_dual_values(solved.model)), np.asarray(solved.model.coefficients.value)


class LiftSafeBound:
    """Safe values of one lift of one instance, never below the cheap bound's.

    ``problem`` states the lift under given column signs, ``guess`` interior multipliers of its root.
    """

    def __init__(
        self, directions: SolverDirections, problem: Callable[[NDArray[np.int8]], LiftedProblem], guess: Floats
    ) -> None:
        self._reduction, self._problem, self._guess = directions.reduction, problem, guess
        self._safe, self._search = SafeBound(self._reduction), InteriorSearch(directions)
        self._root = self._search(problem(np.zeros(self._reduction.n_columns, np.int8)), guess)
        self._last: tuple[LiftedProblem, Proof, NDArray[np.bool_]] | None = None

    def __call__(self, model: Model, column_signs: NDArray[np.int8]) -> float:
        """Return a lower bound (reduced units) from the dual values in the model."""
        problem = self._problem(column_signs)
        columns = problem.columns
        value = self._safe.value(solve_signed(self._reduction, column_signs), column_signs, problem.size)
        N, x = problem.multipliers(*_dual_values(model)), np.asarray(model.variables["lift"].value)[0, 1:]
        self._last = None
        if self._root is not None:
            value = max(value, self._proved(problem, N, self._root.restricted(columns), x))
        bounded = self._root is not None and not self._root.flat.any()
        if not bounded and model.value / self._reduction.scale - value > _SECOND_LOOK * problem.size:
            # Decided signs leave fewer directions flat: look again at this node.
            inner = self._search(problem, self._guess[np.ix_(columns, columns)])
            value = max(value, self._proved(problem, N, inner, x)) if inner is not None else value
        return value

    def _proved(self, problem: LiftedProblem, N: Floats, inner: Interior, x: Floats) -> float:
        """Return what N proves, and keep the proof if it is better than the last."""
        proof = lift_bound(problem, N, inner, x)
        if self._last is None or proof.value > self._last[1].value:
            self._last = problem, proof, inner.flat
        return proof.value

    def settled(self, signs: SignPattern, cutoff: float) -> SignPattern:
        """Return the signs of the last node with those that every solution below the cutoff has (reduced units)."""
        if self._last is None or not np.isfinite(self._last[1].value):
            return signs
        problem, proof, flat = self._last
        return settled(problem, proof, flat, cutoff, signs, self._reduction.labels)


def _dual_values(model: Model) -> tuple[Any, Any]:
    """Return the dual values of the pairs with a sign and of the opposed ones; None for constraints not there."""
    pairs, opposed = (getattr(model.constraints.get(name), "dual_value", None) for name in ("pairs", "opposed"))
    return pairs, opposed

