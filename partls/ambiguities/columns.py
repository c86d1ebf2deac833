"""Columns that say nothing of their own: those that the intercept holds, and those that repeat another."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.instance import Instance
from formulations.rows.reduction import Reduction
from formulations.tolerances import REPEATED


def constant_columns(reduction: Reduction) -> tuple[str, ...]:
    """Return the columns of which the intercept and the free columns leave nothing, or that are zero."""
    nothing = ~reduction.R.any(axis=0) & (reduction.l1 == 0) if len(reduction.R) else reduction.l1 == 0
    return tuple(name for name, empty in zip(reduction.column_names, nothing, strict=True) if empty)


def repeated_columns(reduction: Reduction) -> tuple[tuple[str, ...], ...]:
    """Return lists of columns that are the same up to a factor and what the intercept and the free columns hold."""
    kinds, _ = column_kinds(reduction)
    names = reduction.column_names
    lists = (np.flatnonzero(kinds == kind) for kind in dict.fromkeys(kinds[kinds >= 0].tolist()))
    return tuple(tuple(names[j] for j in members) for members in lists if len(members) > 1)


def column_kinds(reduction: Reduction) -> tuple[NDArray[np.intp], Floats]:
    """Return a number for each column, the same for columns that repeat each other, and the factor of each.

    A column is its factor times what all of its kind have in common, which has norm one; -1 marks those without effect.
    """
    R = reduction.R
    norms = np.linalg.norm(R, axis=0) if len(R) else np.zeros(R.shape[1])
    some = np.flatnonzero(norms > 0)
    kinds, factors = np.full(R.shape[1], -1), np.zeros(R.shape[1])
    if not len(some):
        return kinds, factors
    turn = np.where(R[np.abs(R[:, some]).argmax(axis=0), some] < 0, -1.0, 1.0)
    factors[some] = turn * norms[some]
    unit = R[:, some] / factors[some]
    # Columns that are the same have the same part in any direction: neighbours in that order are compared.
    order = np.argsort(np.random.default_rng(0).normal(size=len(unit)) @ unit, kind="stable")
    kinds[some[order[0]]] = 0
    for kind, (one, following) in enumerate(pairwise(order.tolist()), 1):
        same = np.linalg.norm(unit[:, one] - unit[:, following]) <= REPEATED * len(unit)
        kinds[some[following]] = kinds[some[one]] if same else kind
    return kinds, factors


def is_constant_target(instance: Instance) -> bool:
    """Return whether the target has one value in every row that counts."""
    counted = instance.y[instance.weights > 0]
    return bool((counted == counted[0]).all())
