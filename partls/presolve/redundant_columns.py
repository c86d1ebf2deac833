"""Redundant columns: those that other columns of their group replace, for either sign of the group.

Let column j of group k have ``X_j = sum_i c_i X_i + F u`` with columns i of the same group, all c_i >= 0, and columns F
without a sign constraint. Claim: some optimum has ``w_j = 0``, so that the column can be left out of the search.
Proof: put ``w_i + c_i w_j`` for w_i and zero for w_j. The fit is the same, all coefficients of the group have the sign
they had, and no penalty rises: those by squares are rows of R, where the identity is asked for, and an L1 cost l1_j
must be no less than ``sum_i c_i l1_i``.

A column twice, a total beside its parts and a multiple are the usual cases. What is left of the identity, a share e of
``||R_j||``, is rounding. With coefficients up to a multiple of the target's norm, ``DEPENDENT_BOUND``, which is as far
as bounds on dependent columns go, residuals move by no more than ``rho = DEPENDENT_BOUND e ||z||``, and the bound is
lowered by ``2 rho ||z|| + rho^2``. Where columns that are left nearly depend on each other, coefficients may be larger,
and e may matter: the whole problem is then solved instead (``partls/solve.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.rows.reduction import Reduction
from partls.presolve.arbitrary_signs import has_dependent_columns
from relaxations.safe.least_squares import DEPENDENT_BOUND

_ROUNDING = 4  # times what rounding leaves of a combination that vanishes, as a rule
_MOST = 100  # columns of a group that are tried one by one


@dataclass(frozen=True, eq=False)
class Redundant:
    """Reduced columns to leave out, and the sum of the shares of their norms that the others do not make up for.

    ``size`` is the target's squared norm (reduced units).
    """

    columns: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    lost: float = 0.0
    size: float = 0.0

    def __bool__(self) -> bool:
        """Whether any column is left out."""
        return bool(len(self.columns))

    def margin(self, reach: float = 0.0) -> float:
        """Return what to take off the bound of the problem without the columns (reduced units).

        The proof covers coefficients up to ``reach`` times the target's norm, and at least ``DEPENDENT_BOUND`` times.
        """
        rho = max(reach, DEPENDENT_BOUND) * self.lost
        return (2.0 * rho + rho**2) * self.size


def redundant_columns(reduction: Reduction) -> Redundant:
    """Return the columns that others of their group replace; of columns that are the same, all but the first."""
    found: list[int] = []
    lost = 0.0
    tall = reduction.problem.n_rows > reduction.n_columns  # else an exact fit, mostly: there is nothing to search
    if tall and len(reduction.R) and has_dependent_columns(reduction):
        for k in range(reduction.n_groups):
            members = np.flatnonzero(reduction.labels == k)
            for j, share in _redundant(reduction, members) if 1 < len(members) <= _MOST else ():
                found.append(j)
                lost += share
    return Redundant(np.array(sorted(found), np.intp), lost, float(reduction.z @ reduction.z))


def _redundant(reduction: Reduction, members: NDArray[np.intp]) -> list[tuple[int, float]]:
    """Return columns of one group, each with the share of its norm that the others leave."""
    norms = np.linalg.norm(reduction.R[:, members], axis=0)
    some = members[norms > 0]
    unit = reduction.R[:, some] / norms[norms > 0]
    if len(some) < 2 or _is_independent(unit):
        return []
    from scipy.optimize import nnls  # a slow import that most fits do without

    tolerance = _ROUNDING * reduction.rounding / reduction.independence
    costs = reduction.l1[some] / norms[norms > 0]
    kept, found = list(range(len(some))), []
    for j in reversed(range(len(some))):
        others = [i for i in kept if i != j]
        try:
            weights, left = nnls(unit[:, others], unit[:, j]) if others else (np.zeros(0), np.inf)
        except RuntimeError:  # too many iterations
            continue
        if left <= tolerance * (1.0 + weights.sum()) and costs[others] @ weights <= costs[j]:
            kept = others
            found.append((int(some[j]), float(left)))
    return found


def _is_independent(unit: Floats) -> bool:
    if len(unit) < unit.shape[1]:
        return False
    sizes = np.abs(np.diag(np.linalg.qr(unit, mode="r")))
    return bool(sizes.min() > 1e-7)
