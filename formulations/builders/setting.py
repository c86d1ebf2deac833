"""Setting: the current signs and penalties of a model, and the values of its parameters there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.rows.reduction import Reduction
from formulations.strengths import INTERCEPT, Strengths


@dataclass(frozen=True, eq=False)
class Setting:
    """One node and one choice of penalties, in the coordinates of a reduction.

    Attributes
    ----------
    reduction
        The coordinates; its own penalties are those the model was built with.
    strengths
        The penalties now.
    column_signs
        The sign of each column, 0 where undecided.
    """

    reduction: Reduction
    strengths: Strengths
    column_signs: NDArray[np.int8]

    @classmethod
    def of(cls, reduction: Reduction, signs: Any = None) -> Setting:
        """Return the penalties of the reduction's own instance under signs."""
        return cls(reduction, reduction.strengths, reduction.column_signs(signs))

    def at(self, signs: Any) -> Setting:
        """Return the same penalties at another node."""
        return replace(self, column_signs=self.reduction.column_signs(signs))

    def penalised(self, eta: Any, ridge: Any, model: str) -> Setting:
        """Return other penalties at the same node; None keeps one. What is projected out cannot change."""
        built = self.reduction.strengths
        new = self.reduction.changed(self.strengths, eta, ridge)
        if new.ridge != built.ridge and self.reduction.has_free_columns:
            raise InvalidInput(f"ridge counts free columns too, and these are projected out of {model}: build it again")
        if new.intercept != built.intercept and (new.kind == "l2" or built.intercept == 0):
            raise InvalidInput(
                f'the penalised intercept is projected out of {model}: keep eta of "{INTERCEPT}" at '
                f"{built.intercept:g}, or build it again"
            )
        return replace(self, strengths=new)

    @property
    def roots(self) -> Floats:
        """Per column, the square root of its group's eta: the entry of the row whose square is the L2 penalty."""
        if self.strengths.kind == "l1":
            return np.zeros(self.reduction.n_columns)
        return self.reduction.in_units(np.sqrt(self.strengths.groups)[self.reduction.labels])

    @property
    def ridge_roots(self) -> Floats:
        """Per column, the square root of ridge; zero on the intercept, and where ridge is a number among the data."""
        ridge = 0.0 if self.reduction.has_free_columns else self.strengths.ridge
        own = self.reduction.labels < self.reduction.n_own_groups
        return self.reduction.in_units(np.where(own, np.sqrt(ridge), 0.0))

    @property
    def l1(self) -> Floats:
        """Per column, the weight of its absolute value."""
        return self.reduction.l1_weights(self.strengths)

    @property
    def penalty_rows(self) -> Floats:
        """The rows whose squares are the L2 penalty on the group sums and, below them, ridge."""
        groups = np.arange(self.reduction.n_groups)[:, None]
        return np.vstack([np.where(self.reduction.labels == groups, self.roots, 0.0), np.diag(self.ridge_roots)])

    @property
    def left(self) -> NDArray[np.bool_]:
        """Which columns have any say in the objective."""
        weights = self.roots + self.ridge_roots + self.l1
        return np.asarray(self.reduction.bare_part.R.any(axis=0) | (weights > 0))


SIGNS, PENALTIES = frozenset({"signs"}), frozenset({"penalties"})  # what a model's parameters may change

Value = Callable[[Setting], Any]

# What the parameters that several formulations share stand for: one number per column each.
SHARED: Mapping[str, Value] = {
    "signs": lambda at: at.column_signs,
    "slack": lambda at: at.column_signs == 0,
    "positive": lambda at: at.column_signs >= 0,
    "negative": lambda at: at.column_signs <= 0,
    "eta": lambda at: at.roots,
    "ridge": lambda at: at.ridge_roots,
    "l1": lambda at: at.l1,
}
