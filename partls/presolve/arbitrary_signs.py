"""Arbitrary signs: groups whose columns, all taken with positive weights, add up to what needs no sign.

Let F be the columns without a sign constraint: those without a group, the intercept, and the groups that this rule has
freed before. Let group k carry no penalty (no eta of its own, no ridge), and let some d with every entry positive have

    X_k d = F c.

Claim: the optimum does not change if the constraint on group k is dropped, whatever sign group k has to have.
Proof: the point with ``w_k + t d`` and free coefficients ``u - t c`` has the same fit for every t, and no penalty
counts either: the free columns that ridge or eta would charge are part of the rows below. For
``t = max_j(-w_j / d_j)`` all ``w_j + t d_j`` are nonnegative, for ``t = min_j(-w_j / d_j)`` none is positive. So every
point without the constraint is as good as one with the constraint, with either sign.

Groups freed join F, so the rule is applied until nothing changes. Codes of a text column beside an intercept
(``d = 1``: they add up to one), codes of a finer text column, and shares that sum to one are the usual cases.

Everything is decided on the reduced triangle R, whose rows hold the data and the L2 penalties and ridge, the free
columns projected out: ``X_k d = F c`` is ``R_k d = 0`` there, and a penalty that would charge the move makes R_k d
differ from zero. An L1 cost is no row and is asked for. Folding n numbers a column moves each by the share
``eps sqrt(N M)`` of its norm, as rounding in the data does (standardised or weighted columns add up to a constant up
to rounding only), so that ``||R_k d||`` counts as zero up to a few times that share of ``sum_j d_j ||R_j||``. The
model's objective is audited with the signs made exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from formulations.data import Floats
from formulations.instance import Instance
from formulations.rows.reduction import Reduction
from partls.presolve.positive_combination import positive_combination

_SUSPECT = 1e-7  # of a column's norm: more is left of every column beside those before it if none depends on others
_ROUNDING = 4  # times what rounding leaves of a combination that vanishes, as a rule
_OWN = 1e-9  # of the norm of a freed column: less is left of one that depends on those freed before


@dataclass(frozen=True, eq=False)
class Direction:
    """A move that changes no fit: ``step`` per reduced column, positive throughout in ``group``, zero but in freed."""

    group: int
    columns: NDArray[np.intp]
    step: Floats


def has_dependent_columns(reduction: Reduction) -> bool:
    """Return whether columns may depend on each other; False is certain, up to combinations that all but vanish."""
    R = reduction.R
    return R.shape[0] < R.shape[1] or bool((np.abs(R.diagonal()) <= _SUSPECT).any())


def arbitrary_signs(instance: Instance) -> tuple[Direction, ...]:
    """Return the directions of the groups whose sign is arbitrary, in the order in which they can be freed."""
    reduction = instance.reduction
    if not has_dependent_columns(reduction):
        return ()
    candidates = [k for k in range(instance.n_groups) if _is_unpenalised(instance, k)]
    return tuple(_Freeing(reduction).directions(candidates))


def _is_unpenalised(instance: Instance, k: int) -> bool:
    return bool(instance.strengths.groups[k] == 0 and instance.strengths.ridge == 0)


class _Freeing:
    """The rule at work: the columns freed so far, with an orthonormal basis of their span."""

    def __init__(self, reduction: Reduction) -> None:
        self._reduction, self._R = reduction, reduction.R
        self._rounding = _ROUNDING * reduction.rounding / reduction.independence
        self._units = np.abs(reduction.project(np.ones(reduction.problem.n_columns)))  # of d = 1: one-hot codes
        self._freed = np.zeros(0, np.intp)
        self._basis = np.zeros((len(self._R), 0))

    def directions(self, candidates: list[int]) -> list[Direction]:
        """Return directions until no candidate is left that has one."""
        found: list[Direction] = []
        while candidates:
            left = [k for k in candidates if not self._free(k, found)]
            if len(left) == len(candidates) or not len(self._basis):
                break
            candidates = left
        return found

    def _free(self, k: int, found: list[Direction]) -> bool:
        """Free group k if it has a direction, and say whether it has."""
        columns = np.flatnonzero(self._reduction.labels == k)
        own = self._R[:, columns]
        rest = own
        for _ in range(2 if self._basis.size else 0):
            rest = rest - self._basis @ (self._basis.T @ rest)
        d = positive_combination(rest, self._rounding, self._units[columns])
        if d is None or not (np.linalg.norm(own, axis=0) > self._rounding).any():
            return False  # in the second case nothing is left of the group, and no search cares about its sign
        step = np.zeros(self._R.shape[1])
        step[columns] = d
        if len(self._freed) and np.linalg.norm(own @ d) > self._rounding * float(d @ np.linalg.norm(own, axis=0)):
            step[self._freed] = -np.linalg.lstsq(self._R[:, self._freed], own @ d, rcond=_OWN)[0]
        found.append(Direction(k, columns, step))
        self._freed = np.append(self._freed, columns)
        Q, T, _ = qr(rest, mode="economic", pivoting=True)
        self._basis = np.hstack([self._basis, Q[:, : int((np.abs(np.diag(T)) > _OWN).sum())]])
        return True
