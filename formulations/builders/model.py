"""Model: one built CVXPY problem, its named parts, and the way from its variables back to the data's units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import cvxpy as cp
import numpy as np

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """minimise a convex function of ``v``: a formulation of one instance, stated on its reduced coefficients.

    Nothing is solved until asked. What comes back is what the solver said: ``value`` may lie above the true
    minimum and a sign may be violated, both by the solver's tolerance.

    Parameters
    ----------
    name : str
        The formulation.
    problem : cp.Problem
        The problem to solve, by any CVXPY solver; its value times ``reduction.scale`` is in original units.
    coefficients : cp.Expression
        The reduced coefficients v as a function of the variables.
    reduction : Reduction
        The reduced problem the formulation is stated on.
    variables, parameters, constraints : mappings
        The parts of the problem by name; the values of variables are in reduced units. Parameters hold one number
        per column: "signs", "slack" (1 where undecided), "positive" and "negative" (1 where that side is allowed).
    """

    name: str
    problem: cp.Problem
    coefficients: cp.Expression
    reduction: Reduction
    variables: Mapping[str, cp.Variable]
    parameters: Mapping[str, cp.Parameter] = field(default_factory=dict)
    constraints: Mapping[str, cp.Constraint] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The solver's optimal value in original units; NaN before the problem is solved."""
        value: Any = self.problem.value
        return float("nan") if value is None else float(value) * self.reduction.scale

    def solution(self) -> tuple[Floats, float]:
        """Return ``(coef, intercept)`` in original units, as the solver left them."""
        v = self.coefficients.value
        if v is None:
            raise InvalidInput(f"{self.name} has no solution to show (status: {self.problem.status or 'not solved'})")
        return self.reduction.restore(np.asarray(v, dtype=np.float64))

    def solve(self, solver: str | None = None, **options: Any) -> float:
        """Return the value after one plain ``problem.solve``: no retries, no certificate."""
        run: Any = self.problem.solve
        run(solver=solver, **options)
        return self.value

    def fix(self, signs: SignPattern | Iterable[int] | None) -> Self:
        """Return this model with the signs of the groups set (0: undecided), without compiling it again."""
        if not self.parameters:
            raise InvalidInput(f"the signs of {self.name} are fixed when it is built: build it again")
        columns = self.reduction.column_signs(signs)
        values = {"signs": columns, "slack": columns == 0, "positive": columns >= 0, "negative": columns <= 0}
        for name, parameter in self.parameters.items():
            parameter.value = values[name].astype(np.float64)
        return self

    @property
    def size(self) -> dict[str, int]:
        """Numbers of scalar variables and constraints, and the order of the largest semidefinite block."""
        blocks = [c.shape[0] for c in self.problem.constraints if isinstance(c, cp.constraints.PSD)]
        return {
            "variables": sum(int(variable.size) for variable in self.problem.variables()),
            "constraints": sum(int(constraint.size) for constraint in self.problem.constraints),
            "psd": max(blocks, default=0),
        }

    def __repr__(self) -> str:
        """Show the formulation, its size and its state."""
        counts = self.size
        block = f", PSD block of {counts['psd']}" if counts["psd"] else ""
        status = self.problem.status
        state = f"{status}, value {self.value:.6g}" if status else "not solved"
        size = f"{counts['variables']} variables, {counts['constraints']} constraints{block}"
        return f"Model({self.name}: {size}; {state})"
