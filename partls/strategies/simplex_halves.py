"""The two halves of PartLS exactly as stated, alpha on the simplex, by CVXPY: a reference, not a fast way."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np

from formulations.builders.model import Model
from formulations.builders.partls import alpha_fixed, beta_fixed
from formulations.data import Floats
from formulations.equivalence import from_coef
from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.strategies.halves import Split
from relaxations.conic.backend import Backend


class SimplexHalves:
    """The pure form: each half as a CVXPY problem, alpha on the simplex of each group, beta fixed meanwhile.

    Slower by orders of magnitude and slower to converge, since neither half may change the scale of a group's
    shares; it ends at the same points. The reference for ``NonnegativeHalves``.
    """

    def __init__(self, instance: Instance, root: SignPattern) -> None:
        self.split = Split(instance.reduction, root)
        self._instance, self._root = instance, root

    def beta(self, v: Floats) -> Floats:
        """Return the best point with the shares of v."""
        instance = self._instance
        coef, _ = instance.reduction.restore(self.split.shares(v))
        coef[instance.partition.free] = 0.0
        model = alpha_fixed(instance, from_coef(coef, instance.partition)[0], parametric=False)
        given = cp.multiply(np.array(self._root.values, dtype=np.float64), model.variables["beta"]) >= 0
        return self._solved(replace(model, problem=cp.Problem(model.problem.objective, [given])), v)

    def alpha(self, v: Floats) -> Floats:
        """Return the best point over the simplices, for the beta of v."""
        coef, _ = self._instance.reduction.restore(v)
        found = self._solved(beta_fixed(self._instance, self._instance.group_sums(coef), parametric=False), v)
        return self.split.clip(found, self.split.signs(v))

    def _solved(self, model: Model, v: Floats) -> Floats:
        """Return the solver's point, or v if there is none."""
        Backend(lambda signs: model, ("CLARABEL", "SCS")).solve()
        point = model.coefficients.value
        return v if point is None else np.asarray(point, dtype=np.float64)
