"""What the two lifted relaxations share: which solver first, where the lift is flat, and certificate by dual values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.flat_directions import flat_directions
from formulations.model import Model
from formulations.reduction import Reduction
from relaxations.backend import Backend
from relaxations.bound import BoundStatus
from relaxations.certify import SafeBound
from relaxations.certify_lift import Interior, LiftedProblem, interior, lift_bound, projected_gram
from relaxations.sign_constrained import solve_signed

# Certificates re-solve what the dual values leave open: more accuracy than this buys nothing that can be measured.
ACCURACY: dict[str, dict[str, Any]] = {"SCS": {"eps_abs": 1e-7, "eps_rel": 1e-7, "max_iters": 50_000}}
_CLARABEL_ORDER = 16  # of the lift: above it SCS is faster
_FLAT = 1e-4  # of the largest: a diagonal entry of a direction that counts
_EXPLAINED = 1e-18  # squared norm of a column (norm about 1) that the flat ones explain


def solvers_by_order(order: int) -> tuple[str, ...]:
    """Return the solvers to try for a semidefinite lift of this order, the faster one first."""
    return ("CLARABEL", "SCS") if order <= _CLARABEL_ORDER else ("SCS", "CLARABEL")


def find_interior(
    reduction: Reduction, root: LiftedProblem, guess: Floats, solvers: Sequence[str],
    options: Mapping[str, Mapping[str, Any]],
) -> Interior | None:
    """Return interior multipliers of the root: the guess, or by a few semidefinite programs once per instance.

    Entries that can grow for nothing are set aside as flat, one round after another, until the others cannot; None
    if none is left, and then the lift proves nothing beyond the cheap bound.
    """
    flat = np.zeros(root.A.shape[1], bool)
    found = interior(root, guess, flat)
    while found is None and not flat.all():
        gram = projected_gram(root, flat)
        explained = np.diag(gram) <= _EXPLAINED
        if explained.any():
            flat[np.flatnonzero(~flat)[explained]] = True
            continue
        kept = np.flatnonzero(~flat)
        part = _restricted(root, kept)

        def build(_: Any, gram: Floats = gram, part: LiftedProblem = part) -> Model:
            return flat_directions(reduction, gram, part.products, part.opposed)

        solved = Backend(build, solvers, options).solve()
        if solved.status not in (BoundStatus.OPTIMAL, BoundStatus.INACCURATE):
            return None
        N = np.zeros((len(flat), len(flat)))
        N[np.ix_(kept, kept)] = part.multipliers(*_dual_values(solved.model))
        found = interior(root, N, flat)
        if found is None:
            moved = np.asarray(solved.model.coefficients.value)
            flat[kept[moved >= _FLAT * moved.max()]] = True
    return found


@dataclass(frozen=True, eq=False)
class LiftCertificate:
    """Certified values of one lift of one instance, never below the cheap bound's.

    ``problem`` states the lift under given column signs.
    """

    reduction: Reduction
    problem: Callable[[NDArray[np.int8]], LiftedProblem]
    inner: Interior | None

    def __call__(self, model: Model, column_signs: NDArray[np.int8]) -> float:
        """Return a lower bound (reduced units) from the dual values in the model."""
        problem = self.problem(column_signs)
        cheap = SafeBound(self.reduction).value(
            solve_signed(self.reduction, column_signs), column_signs, problem.size
        )
        if self.inner is None:
            return cheap
        x: Any = model.variables["lift"].value
        N = problem.multipliers(*_dual_values(model))
        return max(cheap, lift_bound(problem, N, self.inner.restricted(problem.columns), np.asarray(x)[0, 1:]))


def _dual_values(model: Model) -> tuple[Any, Any]:
    """Return the dual values of the pairs with a sign and of the opposed ones; None for constraints not there."""
    return tuple(getattr(model.constraints.get(name), "dual_value", None) for name in ("pairs", "opposed"))


def _restricted(problem: LiftedProblem, kept: NDArray[np.intp]) -> LiftedProblem:
    block = np.ix_(kept, kept)
    return replace(
        problem, A=problem.A[:, kept], cost=problem.cost[kept], signs=problem.signs[kept],
        products=problem.products[block], opposed=problem.opposed[block], columns=problem.columns[kept],
    )
