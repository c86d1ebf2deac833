"""The cheap bound with the L2 penalty made convex and strong: an undecided group pays for the sum of its sizes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf

import numpy as np

from formulations.instance import Instance
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from relaxations.active_set import OrthogonalBounder
from relaxations.protocol import Bound, Bounder, BoundStatus
from relaxations.safe.perspective import PerspectiveSafeBound
from relaxations.sign_constrained import signed_least_squares


@dataclass(frozen=True)
class StrengthenedRelaxation:
    """Minimise ``||X w - y||^2 + eta sum_k (sum_{m in k} |w_m|)^2``  s.t.  ``s_k w_m >= 0`` for decided groups.

    Models with one sign per group pay the same penalty ``eta (sum_m w_m)^2``; mixed signs cannot cancel in it. Use it
    where the penalty is strong, or where it alone bounds the coefficients (fewer rows than columns): trees shrink from
    hundreds of thousands of nodes to a few. Without an L2 penalty it is the "active-set" bound.

    Parameters
    ----------
    name : str
        The name in tables and counts.

    Examples
    --------
    >>> from formulations import SignPattern, random_instance
    >>> from relaxations import ActiveSetRelaxation, StrengthenedRelaxation
    >>> instance, root = random_instance(M=12, group_size=3, eta=20.0), SignPattern.free(4)
    >>> cheap, strong = (kind().prepare(instance).bound(root) for kind in (ActiveSetRelaxation, StrengthenedRelaxation))
    >>> strong.value > cheap.value
    True
    """

    name: str = "strengthened"

    def prepare(self, instance: Instance) -> Bounder:
        """Return the bounder of this instance."""
        reduction = instance.reduction
        apart = reduction.data_part is not reduction
        return StrengthenedBounder(reduction) if apart else OrthogonalBounder(reduction)


class StrengthenedBounder:
    """The bound as nonnegative least squares: a column of an undecided group appears once for each sign."""

    def __init__(self, reduction: Reduction) -> None:
        self._reduction = reduction
        n = reduction.n_columns
        self._safe = PerspectiveSafeBound(reduction, np.zeros((n, n)), strengthen=True)
        penalty = reduction.penalty_rows
        self._target = np.append(reduction.data_part.z, np.zeros(len(penalty)))
        self._penalty = penalty

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        """Return the bound of one node, solved in full whatever the cutoff."""
        began = time.perf_counter()
        reduction, data = self._reduction, self._reduction.data_part
        column_signs = reduction.column_signs(signs)
        twice = np.flatnonzero(column_signs == 0)
        source = np.append(np.arange(len(column_signs)), twice)
        side = np.append(np.where(column_signs < 0, -1.0, 1.0), -np.ones(len(twice)))
        A = np.vstack([data.R[:, source] * side, self._penalty[:, source]])
        everywhere = np.ones(len(source), np.int8)
        x = signed_least_squares(A, self._target, np.zeros(len(source)), everywhere)
        v = np.zeros(len(column_signs))
        np.add.at(v, source, side * x)
        residual = A @ x - self._target
        value = self._safe.value(v, column_signs) * reduction.scale
        estimate = float(residual @ residual + data.rest) * reduction.scale
        return Bound(value, estimate, v, BoundStatus.OPTIMAL, time.perf_counter() - began)
