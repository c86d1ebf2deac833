"""The halves of PartLS as the builders state them, solved by a solver of CVXPY.

Slower than the compiled halves by orders of magnitude, and the same mathematics: a test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import cvxpy as cp
import numpy as np

from formulations.builders.model import Model
from formulations.builders.partls import alpha_fixed, beta_fixed
from formulations.builders.partls_b import partls_b
from formulations.data import Floats
from formulations.equivalence import from_coef
from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.strategies.halves import Split, flipped_while_it_pays
from relaxations.conic.backend import Backend
from relaxations.conic.solvers import SOLVERS


class ConicHalves:
    """Beta by ``alpha_fixed``; alpha by ``beta_fixed`` on the simplex, or without it by ``partls_b``.

    On the simplex neither half may change the scale of a group's shares, so the alternation takes more steps; it ends
    at the same points. Signs are solved for, and flipped, by ``partls_b``, one model with its signs as parameters.
    """

    def __init__(self, instance: Instance, root: SignPattern, *, simplex: bool, solver: str | None) -> None:
        self.split = Split(instance.reduction, root)
        self._instance, self._root, self._simplex = instance, root, simplex
        self._solvers: Sequence[str] = SOLVERS if solver is None else (solver,)
        self._patterns = Backend(lambda signs: partls_b(instance, signs or root), self._solvers)

    def beta(self, v: Floats) -> Floats:
        """Return the best point with the shares of v."""
        instance = self._instance
        coef, _ = instance.reduction.restore(self.split.shares(v))
        coef[instance.partition.free] = 0.0
        model = alpha_fixed(instance, from_coef(coef, instance.partition)[0], parametric=False)
        given = cp.multiply(np.array(self._root.values, dtype=np.float64), model.variables["beta"]) >= 0
        return self._solved(replace(model, problem=cp.Problem(model.problem.objective, [given])), v)

    def alpha(self, v: Floats) -> Floats:
        """Return the best point over the shares, for the beta of v or, without the simplex, for its signs."""
        signs = self.split.signs(v)
        if not self._simplex:
            return self.solve_pattern(signs, v)
        coef, _ = self._instance.reduction.restore(v)
        model = beta_fixed(self._instance, self._instance.group_sums(coef), parametric=False)
        return self.split.clip(self._solved(model, v), signs)

    def solve_pattern(self, signs: SignPattern, start: Floats) -> Floats:
        """Return the best point under complete signs; ``start`` if the solver has none."""
        point = self._patterns.solve(signs).model.coefficients.value
        return start if point is None else self.split.clip(np.asarray(point, dtype=np.float64), signs)

    def descend(self, v: Floats) -> Floats:
        """Return a point that flipping the sign of no single group improves, from the best one for the signs of v."""
        return flipped_while_it_pays(self, self.split, min(v, self.alpha_of_signs(v), key=self.split.value))

    def alpha_of_signs(self, v: Floats) -> Floats:
        """Return the best point under the signs of v."""
        return self.solve_pattern(self.split.signs(v), v)

    def _solved(self, model: Model, v: Floats) -> Floats:
        """Return the solver's point, or v if there is none."""
        Backend(lambda signs: model, self._solvers).solve()
        point = model.coefficients.value
        return v if point is None else np.asarray(point, dtype=np.float64)
