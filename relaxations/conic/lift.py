"""What the two lifted relaxations share: which solver comes first, where a lift is flat, and its safe bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.builders.flat_directions import flat_directions
from formulations.builders.model import Model
from formulations.data import Floats
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from relaxations.conic.backend import Backend, Solved
from relaxations.protocol import BoundStatus
from relaxations.safe.least_squares import SafeBound
from relaxations.safe.lift import Interior, LiftedProblem, interior, lift_bound, projected_gram
from relaxations.sign_constrained import solve_signed

_CLARABEL_ORDER, _CLARABEL_DEPENDENT = 20, 60  # of the lift: above it SCS is faster; it suffers from unbounded optima
_DEEP = 1e-4  # least eigenvalue of A'A - N0 that needs no better N0: rounding costs a part of 1e-9
_COUNTS = 1e-4  # of the largest: a diagonal entry of a direction that counts
_SECOND_LOOK = 1e-6  # of the target's square: a solver's value this far above a safe one asks for a second look
_EXPLAINED_SQUARE = 1e-18  # squared norm of a column (norm about 1) that the flat ones explain


def solvers_for(reduction: Reduction, order: int) -> tuple[str, ...]:
    """Return the solvers to try for a semidefinite lift of this order, the faster one first."""
    dependent = SafeBound(reduction).rank < reduction.n_columns
    limit = _CLARABEL_DEPENDENT if dependent else _CLARABEL_ORDER
    return ("CLARABEL", "SCS") if order <= limit else ("SCS", "CLARABEL")


@dataclass(frozen=True, eq=False)
class InteriorSearch:
    """Finds interior multipliers of a lift by the relaxation's own solvers."""

    reduction: Reduction
    solvers: Sequence[str]
    options: Mapping[str, Mapping[str, Any]]

    def __call__(self, problem: LiftedProblem, guess: Floats) -> Interior | None:
        """Return the guess if it is well inside, else what a few semidefinite programs find.

        Entries that can grow for nothing are set aside as flat, one round after another, until the others cannot.
        None if none is left: then the lift proves nothing beyond the cheap bound.
        """
        flat = np.zeros(problem.A.shape[1], bool)
        found = interior(problem, guess, flat)
        if found is not None and found.least >= _DEEP:
            return found
        while True:
            _set_aside_explained(problem, flat)
            kept = np.flatnonzero(~flat)
            if not len(kept):
                return found
            part = _restricted(problem, kept)
            solved = self._directions(part, projected_gram(problem, flat))
            if solved.status not in (BoundStatus.OPTIMAL, BoundStatus.INACCURATE):
                return found
            N = np.zeros((len(flat), len(flat)))
            N[np.ix_(kept, kept)] = part.multipliers(*_dual_values(solved.model))
            better = interior(problem, N, flat)
            if found is not None or better is not None:
                return max((found, better), key=lambda inner: 0.0 if inner is None else inner.least)
            moved = np.asarray(solved.model.coefficients.value)
            flat[kept[moved >= _COUNTS * moved.max()]] = True

    def _directions(self, part: LiftedProblem, gram: Floats) -> Solved:
        def build(_: SignPattern | None) -> Model:
            return flat_directions(self.reduction, gram, part.products, part.opposed)

        return Backend(build, self.solvers, self.options).solve()


def _set_aside_explained(problem: LiftedProblem, flat: NDArray[np.bool_]) -> None:
    """Mark as flat, in place, the columns that those marked before explain, and zero columns."""
    explained = np.diag(projected_gram(problem, flat)) <= _EXPLAINED_SQUARE
    flat[np.flatnonzero(~flat)[explained]] = True


class LiftSafeBound:
    """Safe values of one lift of one instance, never below the cheap bound's.

    ``problem`` states the lift under given column signs, ``guess`` interior multipliers of its root.
    """

    def __init__(
        self, search: InteriorSearch, problem: Callable[[NDArray[np.int8]], LiftedProblem], guess: Floats
    ) -> None:
        self._reduction, self._search, self._problem, self._guess = search.reduction, search, problem, guess
        self._safe = SafeBound(search.reduction)
        self._root = search(problem(np.zeros(search.reduction.n_columns, np.int8)), guess)

    def __call__(self, model: Model, column_signs: NDArray[np.int8]) -> float:
        """Return a lower bound (reduced units) from the dual values in the model."""
        problem = self._problem(column_signs)
        columns = problem.columns
        value = self._safe.value(solve_signed(self._reduction, column_signs), column_signs, problem.size)
        N, x = problem.multipliers(*_dual_values(model)), np.asarray(model.variables["lift"].value)[0, 1:]
        if self._root is not None:
            value = max(value, lift_bound(problem, N, self._root.restricted(columns), x))
        bounded = self._root is not None and not self._root.flat.any()
        if not bounded and model.value / self._reduction.scale - value > _SECOND_LOOK * problem.size:
            # Decided signs leave fewer directions flat: look again at this node.
            inner = self._search(problem, self._guess[np.ix_(columns, columns)])
            value = max(value, lift_bound(problem, N, inner, x)) if inner is not None else value
        return value


def _dual_values(model: Model) -> tuple[Any, Any]:
    """Return the dual values of the pairs with a sign and of the opposed ones; None for constraints not there."""
    pairs, opposed = (getattr(model.constraints.get(name), "dual_value", None) for name in ("pairs", "opposed"))
    return pairs, opposed


def _restricted(problem: LiftedProblem, kept: NDArray[np.intp]) -> LiftedProblem:
    block = np.ix_(kept, kept)
    return replace(
        problem, A=problem.A[:, kept], cost=problem.cost[kept], signs=problem.signs[kept],
        products=problem.products[block], opposed=problem.opposed[block], columns=problem.columns[kept],
    )
