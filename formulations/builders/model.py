"""Model: one built CVXPY problem, its named parts, and the way from its variables back to the data's units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import cvxpy as cp
import numpy as np

from formulations.builders.form import Form
from formulations.builders.setting import SHARED, Setting, Value
from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.rows.reduction import Reduction


class HasValue(Protocol):
    """An expression, or anything else that has a value once the problem is solved."""

    @property
    def value(self) -> Any:
        """The value, None before."""


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """Minimise a convex function of ``v``: a formulation of one instance, stated on its reduced coefficients.

    Building a model solves nothing. ``value`` and ``solution`` are what the solver returned: the value may lie above
    the true minimum, and a sign may be violated, both by the solver's tolerance.

    Parameters
    ----------
    name : str
        The formulation.
    problem : cp.Problem
        The problem, for any CVXPY solver; its value times ``reduction.scale`` is in original units.
    coefficients : expression
        The reduced coefficients v as a function of the variables.
    reduction : Reduction
        The reduced problem the formulation is stated on.
    variables, parameters, constraints : mappings
        The parts of the problem by name; the values of variables are in reduced units. Parameters hold one number
        per column: "signs", "slack" (1 where undecided), "positive" and "negative" (1 where that side is allowed),
        "eta" and "ridge" (square roots of the group's eta and of ridge), "l1" (the cost of its size). The builders
        describe further parameters of their own.
    form : Form, optional
        Formula and facts of the formulation.
    setting : Setting, optional
        The current signs and penalties of the parameters.
    own_values : mapping
        The values of a formulation's own parameters at a setting.
    changes : set of {"signs", "penalties"}
        What :meth:`fix` and :meth:`set` may change.

    Examples
    --------
    >>> from formulations import Instance, quadratic
    >>> instance = Instance([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, -1.0, 0.5], ["a", "a"], fit_intercept=False)
    >>> model = quadratic(instance)
    >>> round(model.solve("CLARABEL"), 4), round(model.fix({"a": "+"}).solve("CLARABEL"), 4)
    (0.4444, 1.0)
    """

    name: str
    problem: cp.Problem
    coefficients: HasValue
    reduction: Reduction
    variables: Mapping[str, cp.Variable]
    parameters: Mapping[str, cp.Parameter] = field(default_factory=dict)
    constraints: Mapping[str, cp.Constraint] = field(default_factory=dict)
    form: Form | None = None
    setting: Setting | None = None
    own_values: Mapping[str, Value] = field(default_factory=dict)
    changes: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Give every parameter its value."""
        self._move(self.setting)

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
        left = self.setting.left if self.setting is not None and "penalties" in self.changes else None
        return self.reduction.restore(np.asarray(v, dtype=np.float64), left)

    def solve(self, solver: str | None = None, **options: Any) -> float:
        """Return the value after one plain ``problem.solve``: no retries, no certificate."""
        run: Any = self.problem.solve
        run(solver=solver, **options)
        return self.value

    def fix(self, signs: Any) -> Self:
        """Return this model with the signs of the groups set, without compiling it again.

        One sign per group (0: undecided) or ``{group: "+" or "-"}``; None, or a group left out, is undecided.
        """
        if self.setting is None or "signs" not in self.changes:
            raise InvalidInput(f"the signs of {self.name} are fixed when it is built: build it again")
        return self._move(self.setting.at(signs))

    def set(self, *, eta: Any = None, ridge: Any = None) -> Self:
        """Return this model with other penalties, without compiling it again; an argument left out keeps its penalty.

        Parameters
        ----------
        eta
            A number, one per group, or ``{group: number}``, as in :class:`Instance`.
        ridge
            A number.
        """
        if self.setting is None or "penalties" not in self.changes:
            raise InvalidInput(f"the penalties of {self.name} are fixed when it is built: build it again")
        return self._move(self.setting.penalised(eta, ridge, self.name))

    def _move(self, setting: Setting | None) -> Self:
        """Give the parameters their values at a setting; none of them changes if one has no value there."""
        if setting is not None:
            known = {**SHARED, **self.own_values}
            values = {name: np.asarray(known[name](setting), dtype=np.float64) for name in self.parameters}
            for name, parameter in self.parameters.items():
                if parameter.value is None or not np.array_equal(parameter.value, values[name]):
                    parameter.value = values[name]  # CVXPY takes longer to check a value than this to compare it
            object.__setattr__(self, "setting", setting)
        return self

    @property
    def duals(self) -> dict[str, Any]:
        """The dual value of each constraint by its name, in reduced units; None before the problem is solved."""
        return {name: constraint.dual_value for name, constraint in self.constraints.items()}

    @property
    def size(self) -> dict[str, int]:
        """Numbers of scalar variables and constraints, and the order of the largest semidefinite block."""
        blocks = [c.shape[0] for c in self.problem.constraints if isinstance(c, cp.constraints.PSD)]
        return {
            "variables": sum(int(variable.size) for variable in self.problem.variables()),
            "constraints": sum(int(constraint.size) for constraint in self.problem.constraints),
            "psd": max(blocks, default=0),
        }

    def _repr_latex_(self) -> str | None:
        """Show the problem in a notebook."""
        return None if self.form is None else f"$$\\displaystyle {self.form.formula}$$"

    def __repr__(self) -> str:
        """Show the formulation, its size and its state."""
        counts = self.size
        block = f", PSD block of {counts['psd']}" if counts["psd"] else ""
        status = self.problem.status
        state = f"{status}, value {self.value:.6g}" if status else "not solved"
        size = f"{counts['variables']} variables, {counts['constraints']} constraints{block}"
        return f"Model({self.name}: {size}; {state})"
