"""The cheap bound of Esposito, Cerrato and Locatelli (2024), section 3.4, through CVXPY: undecided groups are free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from formulations.builders.model import Model
from formulations.builders.quadratic import quadratic
from formulations.instance import Instance
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from relaxations.conic.backend import Backend
from relaxations.conic.relaxation import ConicBounder, SafeBoundOf
from relaxations.safe.least_squares import SafeBound
from relaxations.safe.perspective import PerspectiveSafeBound


@dataclass(frozen=True)
class UnconstrainedRelaxation:
    """Minimise ``||R v - z||^2 + penalty``  s.t.  ``s_k v_m >= 0`` for decided groups; undecided ones are free.

    A quadratic program in M variables, solved through CVXPY: unconstrained least squares at the root, exact at leaves.
    The tests compare the compiled "active-set" bound with it; use it to try another QP solver. With
    ``strengthen`` and an L2 penalty, undecided groups pay ``eta (sum_m |w_m|)^2``, which is more than
    ``eta (sum_m w_m)^2`` unless they share one sign: the one bound that gains at the root when N < M.

    Parameters
    ----------
    strengthen : bool
        Whether undecided groups pay the penalty of their absolute values.
    solvers : tuple of str
        CVXPY solvers in order of preference.
    options : mapping
        Options for each solver, by its name.
    name : str
        The name in tables and counts.

    Examples
    --------
    >>> from formulations import SignPattern, random_instance
    >>> from relaxations import UnconstrainedRelaxation
    >>> bound = UnconstrainedRelaxation().prepare(random_instance(M=6, group_size=3)).bound(SignPattern.free(2))
    >>> bound.status, round(bound.value, 2)
    (<BoundStatus.OPTIMAL: 'optimal'>, 2.29)
    """

    strengthen: bool = False
    solvers: tuple[str, ...] = ("CLARABEL", "SCS")
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    name: str = "unconstrained"

    def prepare(self, instance: Instance) -> ConicBounder:
        """Compile the QP once, its signs as parameters."""
        reduction = instance.reduction
        apart = self.strengthen and reduction.data_part is not reduction
        safe_bound = _strengthened(reduction) if apart else _plain(reduction)

        def build(signs: SignPattern | None) -> Model:
            return quadratic(instance, signs, strengthen=apart, parametric=False)

        return ConicBounder(reduction, Backend(build, self.solvers, self.options), safe_bound)


def _plain(reduction: Reduction) -> SafeBoundOf:
    """Return the safe bound of the sign-constrained least squares."""
    safe = SafeBound(reduction)
    size = float(reduction.z @ reduction.z) + reduction.rest
    return lambda model, signs: safe.around(np.asarray(model.coefficients.value, dtype=np.float64), signs, size)


def _strengthened(reduction: Reduction) -> SafeBoundOf:
    """Return the safe bound with the penalty apart: the perspective relaxation's, without any curvature."""
    safe = PerspectiveSafeBound(reduction, np.zeros((reduction.n_columns, reduction.n_columns)), strengthen=True)
    return lambda model, signs: safe.value(np.array(model.coefficients.value, dtype=np.float64), signs)
