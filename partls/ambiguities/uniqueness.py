"""What every optimal model shares: signs of groups, and columns that are zero.

**Signs.** If even a bound on the models with the other sign of a group exceeds the objective, every model as good as
this one has its sign. Signs found so narrow the bounds of the others, and the rule is applied until nothing changes. If
it holds for all groups that are not zero, every model as good as this one has its signs (a zero group fits both, and
the problem of either sign is convex, with one fit), so that the model is unique if it is the only one of its face.

**Zeros** (the gap-safe rule of Ndiaye, Fercoq, Gramfort and Salmon, 2017). Let r be the residual of the bound L on the
models of a sign s of group k, and w one of them with objective U >= L and residual ``r_w``. By the inequality that
proves L, ``||r - r_w||^2 <= U - L``. If w is optimal, ``s R_j'r_w - l1_j / 2`` is zero where ``w_j`` is not, and never
positive. So a column with ``s R_j'r - l1_j / 2 < -||R_j|| sqrt(U - L)``, for each sign that the group may have, is zero
in every optimal model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.instance import Instance
from formulations.rounding import Rounded
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from formulations.tolerances import PROVED
from partls.ambiguities.face import Face
from relaxations.active_set import ActiveSetBounder
from relaxations.clock import factorisation
from relaxations.safe.least_squares import SafeBound

_WORK = 1e9  # multiplications of a factorisation: bounds of all flips then take seconds
_SLOPE = 1e-9  # of the norms of column and target: slopes are rounded


@dataclass(frozen=True)
class Shared:
    """Groups whose sign every optimal model shares, given ones among them, and reduced columns that are zero in all."""

    signs: tuple[int, ...] = ()
    zeros: tuple[int, ...] = ()


def shared(instance: Instance, face: Face, given: tuple[int, ...] | None, reached: Rounded) -> Shared:
    """Return what is proved of every model as good as this one."""
    reduction = instance.reduction
    fixed = given or (0,) * instance.n_groups
    if not len(reduction.R) or factorisation(*reduction.R.shape) > _WORK:
        return Shared(tuple(k for k in range(instance.n_groups) if fixed[k]))
    enough = (reached.value + reached.error) * (1 + PROVED)
    root = SignPattern((*fixed, *[0] * (reduction.n_groups - instance.n_groups)))
    bounder = ActiveSetBounder(reduction)
    root = _settled(bounder, face, root, enough)
    zeros = _zeros(bounder, reduction, root, enough)
    return Shared(tuple(k for k in range(instance.n_groups) if root[k]), zeros)


def _settled(bounder: ActiveSetBounder, face: Face, root: SignPattern, enough: float) -> SignPattern:
    """Return a pattern with the signs that a bound on their opposite proves."""
    own = np.sign(np.bincount(face.reduction.labels, face.v, len(root))).astype(int)
    before = None
    while root != before:
        before = root
        for k in root.undecided:
            if own[k] and bounder.bound(root.fix(k, -int(own[k]))).value > enough:
                root = root.fix(k, int(own[k]))
    return root


def _zeros(bounder: ActiveSetBounder, reduction: Reduction, root: SignPattern, enough: float) -> tuple[int, ...]:
    """Return the reduced columns that are zero in every model as good, under every sign that their group may have."""
    safe, norms = SafeBound(reduction), np.linalg.norm(reduction.R, axis=0)
    size = float(reduction.z @ reduction.z) + reduction.rest
    upper = enough / reduction.scale

    def costs(signs: SignPattern) -> NDArray[np.bool_]:
        v, column_signs = np.asarray(bounder.bound(signs).coef), reduction.column_signs(signs)
        radius = np.sqrt(max(upper - safe.value(v, column_signs, size), 0.0))
        slopes = column_signs * (reduction.R.T @ (reduction.z - reduction.R @ v)) - reduction.l1 / 2
        return np.asarray(slopes < -norms * (radius + _SLOPE * np.sqrt(size)))

    zero = costs(root)
    for k in root.undecided:
        own = reduction.labels == k
        zero[own] = (costs(root.fix(k, 1)) & costs(root.fix(k, -1)))[own]
    return tuple(np.flatnonzero(zero).tolist())
