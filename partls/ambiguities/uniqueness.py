"""Signs that every optimal model shares: with the other one, even a bound exceeds the objective.

If this holds for all groups that are not zero, every model as good as this one has its signs (a zero group fits both,
and the problem of either sign is convex, with one fit), so that the model is unique if it is the only one of its face.
"""

from __future__ import annotations

import numpy as np

from formulations.instance import Instance
from formulations.rounding import Rounded
from formulations.signs import SignPattern
from formulations.tolerances import PROVED
from partls.ambiguities.face import Face
from relaxations.active_set import ActiveSetBounder
from relaxations.clock import factorisation

_WORK = 1e9  # multiplications of a factorisation: bounds of all flips then take seconds


def proved_signs(instance: Instance, face: Face, given: tuple[int, ...] | None, reached: Rounded) -> tuple[int, ...]:
    """Return the groups that have the sign of this model in every one that is as good; given signs are among them."""
    reduction = instance.reduction
    fixed = given or (0,) * instance.n_groups
    if factorisation(*reduction.R.shape) > _WORK:
        return tuple(k for k in range(instance.n_groups) if fixed[k])
    bounder, root = ActiveSetBounder(reduction), SignPattern((*fixed, *[0] * (reduction.n_groups - instance.n_groups)))
    enough = (reached.value + reached.error) * (1 + PROVED)

    def is_proved(k: int) -> bool:
        members = reduction.labels == k
        if fixed[k] or not face.v[members].any():
            return bool(fixed[k])
        other = SignPattern((*root.values[:k], -int(np.sign(face.v[members].sum())), *root.values[k + 1 :]))
        return bounder.bound(other).value > enough

    return tuple(k for k in range(instance.n_groups) if is_proved(k))
