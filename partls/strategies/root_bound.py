"""A bound on all solutions within the root, for a strategy that proves nothing by itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.runtime.daemon_threads import run_with_deadline
from relaxations.active_set import ActiveSetRelaxation, OrthogonalBounder
from relaxations.clock import OutOfTime
from relaxations.protocol import Bound, Bounder, Relaxation, ask


def bounder_and_bound(instance: Instance, relaxation: Relaxation, root: SignPattern, is_over: Callable[[], bool]
                      ) -> tuple[Bounder, float]:
    """Return a bounder and the certified bound (reduced units) of the root: the relaxation's, else least squares'."""
    def asked() -> tuple[Bounder, Bound]:
        bounder = relaxation.prepare(instance)
        return bounder, ask(bounder, root)

    quick = isinstance(relaxation, ActiveSetRelaxation)
    answer = asked() if quick else run_with_deadline(asked, is_over)
    if answer is None:  # it hangs
        return OrthogonalBounder(instance.reduction), least_squares_bound(instance, root)
    bounder, bound = answer
    if bound.status.trusted and np.isfinite(bound.value):
        return bounder, max(bound.value / instance.reduction.scale, 0.0)
    return bounder, least_squares_bound(instance, root)


def least_squares_bound(instance: Instance, root: SignPattern) -> float:
    """Return a safe bound (reduced units) on all solutions within the root: least squares under the given signs."""
    try:
        return max(OrthogonalBounder(instance.reduction).bound(root).value / instance.reduction.scale, 0.0)
    except OutOfTime:
        return instance.reduction.rest
