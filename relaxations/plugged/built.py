"""What a builder returned for one node: checked, and read alike whether it is a Model or a plain CVXPY problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.builders.model import Model
from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.instance import Instance


@dataclass(frozen=True, eq=False)
class Built:
    """One problem of a builder, and what its variables stand for.

    Attributes
    ----------
    made
        What the builder returned.
    problem
        The CVXPY problem in it.
    instance
        The instance it was built for.
    coefficients
        The coefficients as a function of the variables: reduced ones of a Model, those of the data otherwise; None if
        no variable bears their name.
    intercept
        The variable "t" of a plain problem, if there is one.
    """

    made: Model | cp.Problem
    problem: cp.Problem
    instance: Instance
    coefficients: Any
    intercept: Any

    @classmethod
    def of(cls, made: Any, instance: Instance, coefficients: str, *, minimised: bool) -> Built:
        """Return what a builder made, or refuse it in one line; ``minimised``: its value is to be a lower bound."""
        if isinstance(made, Model):
            built = cls(made, made.problem, instance, made.coefficients, None)
        elif isinstance(made, cp.Problem):
            named = {variable.name(): variable for variable in made.variables()}
            w = named.get(coefficients)
            if w is not None and w.shape != (instance.n_columns,):
                raise InvalidInput(
                    f'variable "{coefficients}" has shape {w.shape}, but stands for the coefficients, one per column '
                    f"of X: give it the shape ({instance.n_columns},), or another name if it stands for something else"
                )
            built = cls(made, made, instance, w, named.get("t"))
        else:
            raise InvalidInput(
                f"build returned {type(made).__name__}: it should return a formulations.Model or a cvxpy.Problem"
            )
        built._refuse_unusable(minimised)
        return built

    def _refuse_unusable(self, minimised: bool) -> None:
        if minimised and isinstance(self.problem.objective, cp.Maximize):
            raise InvalidInput(
                "the problem is a maximisation, and its value no lower bound before it is solved exactly: return the "
                "minimisation it is the dual of, or pass a function as safe that computes a bound from its solution"
            )
        if self.problem.is_mixed_integer():
            raise InvalidInput("the problem has integer variables: a relaxation replaces them by continuous ones")
        if not self.problem.is_dcp():
            raise InvalidInput(
                "the problem is not convex by CVXPY's rules (DCP): problem.is_dcp() is False; see "
                "problem.objective.is_dcp() and constraint.is_dcp() for the part"
            )

    @property
    def scale(self) -> float:
        """What the problem's value is multiplied by to be in the units of the objective."""
        return self.instance.reduction.scale if isinstance(self.made, Model) else 1.0

    def point(self) -> Floats | None:
        """Return the reduced coefficients at the solver's point, or None if there are none."""
        value = None if self.coefficients is None else self.coefficients.value
        if value is None:
            return None
        v = np.asarray(value, dtype=np.float64)
        if isinstance(self.made, Model):
            return v
        t = None if self.intercept is None else self.intercept.value
        return self.instance.reduction.project(v, 0.0 if t is None else float(np.ravel(t)[0]))

    def matrix(self, places: dict[int, tuple[Any, Floats]], n: int) -> tuple[Any, Floats] | None:
        """Return (E, e) with ``E x + e`` the coefficients as a function of the n variables of the cone program.

        None if there are none, or if CVXPY has moved their variables to where they are not found.
        """
        gradients = None if self.coefficients is None else _gradients(self.coefficients)
        if gradients is None:
            return None
        value = np.ravel(np.asarray(self.coefficients.value, dtype=np.float64), order="F")
        E, constant = np.zeros((len(value), n)), value.copy()
        for variable, gradient in gradients.items():
            place, sign = (np.ravel(part, order="F") for part in places[variable.id])
            used = gradient.any(axis=1)
            if (place[used] < 0).any():
                return None
            constant -= gradient.T @ np.ravel(np.asarray(_dense(variable.value)), order="F")
            np.add.at(E.T, place[used], sign[used, None] * gradient[used])
        return E, constant


def _gradients(expression: Any) -> dict[Any, Floats] | None:
    """Return the derivative of an affine expression by each of its variables."""
    if not isinstance(expression, cp.Expression) or not expression.is_affine():
        return None
    gradients = expression.grad
    if any(gradient is None for gradient in gradients.values()):
        return None
    return {
        variable: np.reshape(np.asarray(_dense(gradient), dtype=np.float64), (variable.size, expression.size))
        for variable, gradient in gradients.items()
    }


def _dense(value: Any) -> Any:
    return value.toarray() if hasattr(value, "toarray") else value
