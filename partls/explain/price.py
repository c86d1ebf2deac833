"""What the sign constraint costs: overall, group by group, and which features pull against their group.

Freeing a group drops its sign constraint and keeps everything else: the penalty on its effect, and the signs given
beforehand for other groups. The L2 penalty ``eta * beta_k^2`` is then a row of data like any other,
``sqrt(eta) * sum(w_k) = 0``; the L1 penalty ``eta * |beta_k|``, which on feasible points is ``eta * sum |w_m|``, is
read in this second form.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from math import inf

import numpy as np

from formulations.data import Floats
from formulations.instance import Instance
from formulations.partition import Partition
from formulations.rounding import Rounded
from formulations.strengths import INTERCEPT
from formulations.tolerances import ROUNDING
from partls.explain.report import EXACT_FIT, SIGN, Report, name, number, percent, table
from partls.result import Result, Status
from partls.runtime.options import nonnegative
from partls.runtime.screen import wrapped
from partls.solve import solve_instance

_TOO_LATE = "the price of the constraint takes more than time_limit"


@dataclass(frozen=True)
class FreedGroup:
    """One group without its constraint: how much lower the objective gets, alone and as a share of it.

    ``against`` lists the features that take the sign opposite to the group's once they may, with the coefficients
    they take; of a group that is zero in the fit, all that are not zero then. Where nothing is gained beyond rounding,
    ``gain`` is 0.0 and none is listed.
    """

    group: str
    sign: int
    freed_objective: float
    gain: float
    gain_share: float
    against: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class PriceOfConstraint(Report):
    """The objective with and without the sign constraint, and what freeing each single group would gain.

    ``price`` is the relative increase over unconstrained least squares (with the same penalty): 0.0 where the two tie
    up to rounding, else infinite where the unconstrained fit is exact. ``exact_fit`` says that the model's own is.
    """

    rows: tuple[FreedGroup, ...]
    objective: float
    unconstrained: float
    price: float
    exact_fit: bool = False

    def __str__(self) -> str:
        """Show the overall price and one line per group."""
        if self.exact_fit:
            return f"{EXACT_FIT}, so the signs cost nothing"
        lines = [
            [name(row.group), SIGN[row.sign], number(row.gain), percent(row.gain_share),
             ", ".join(f"{name(column)} ({coef:+.4g})" for column, coef in row.against[:4])
             + (f" and {len(row.against) - 4} more" if len(row.against) > 4 else "")]
            for row in self.rows
        ]
        headers = ("group", "sign", "gain if freed", "share", "pulling against the sign")
        return "\n".join([wrapped(self._head()), "", table(headers, lines, left=(0, 1, 4))])

    def _head(self) -> str:
        if np.isinf(self.price):
            return f"objective {self.objective:.10g}; without constraints the data are fitted exactly (up to rounding)"
        return (
            f"objective {self.objective:.10g}, without constraints {self.unconstrained:.10g}: "
            f"the signs cost {percent(self.price)}"
        )


@dataclass(frozen=True)
class _Search:
    """The optima of a result's problem without some of its constraints, found by a deadline."""

    result: Result
    end: float
    n_jobs: int | None

    def without(self, freed: Collection[int]) -> tuple[Rounded, Floats]:
        """Return the optimal objective and coefficients without the constraints of some groups."""
        instance, left = self.result.instance, self.end - time.perf_counter()
        if left <= 0:
            raise TimeoutError(_TOO_LATE)
        if instance.penalty == "l1" and instance.strengths.any_eta:
            relaxed = _split(instance, freed)
        elif len(freed) == instance.n_groups:
            return _least_squares(self.result)
        else:
            relaxed = _as_rows(instance, freed)
        given = self.result.given_signs or (0,) * instance.n_groups
        kept = {str(k): sign for k, sign in enumerate(given) if k not in freed}
        found = solve_instance(relaxed, signs=kept, time_limit=None if left == inf else left, n_jobs=self.n_jobs)
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if found.status is Status.TIME_LIMIT:
            raise TimeoutError(_TOO_LATE)
        return found.rounded, found.coef[: instance.n_columns]


def price_of_constraint(
    result: Result, *, time_limit: float | None = None, n_jobs: int | None = None
) -> PriceOfConstraint:
    """Return the price of the sign constraint; each figure is the optimum of its own problem.

    Freeing one group keeps the signs given beforehand for the others; the unconstrained fit has none of them. Raises
    ``TimeoutError`` where ``time_limit`` seconds are not enough to prove every figure.
    """
    limit = nonnegative("time_limit", time_limit)
    search = _Search(result, inf if limit is None else time.perf_counter() + limit, n_jobs)
    everything = set(range(result.instance.n_groups))
    free, _ = search.without(everything)
    rows = tuple(_freed(search, k) for k in sorted(everything))
    price = max(result.rounded.share_above(free), 0.0)
    return PriceOfConstraint(rows, result.objective, free.value, price, result.rounded.vanishes)


def _freed(search: _Search, k: int) -> FreedGroup:
    result = search.result
    partition, sign = result.instance.partition, int(result.signs[k])
    objective, coef = search.without({k})
    gain = max(result.rounded.above(objective), 0.0)
    share = gain / result.objective if gain > 0 else 0.0
    against = _against(partition, k, sign, coef) if gain > 0 else ()
    return FreedGroup(partition.names[k], sign, objective.value, gain, share, against)


def _against(partition: Partition, k: int, sign: int, coef: Floats) -> tuple[tuple[str, float], ...]:
    """Return the features of group k whose coefficients oppose its sign, the largest first."""
    members = partition.members(k)
    opposed = members[coef[members] * sign < 0] if sign else members[coef[members] != 0]
    opposed = opposed[np.argsort(-np.abs(coef[opposed]), kind="stable")]
    names = partition.columns or tuple(f"x{j}" for j in range(partition.n_columns))
    return tuple((names[j], float(coef[j])) for j in opposed)


def _split(instance: Instance, freed: Collection[int]) -> Instance:
    """Return the problem with every feature of the freed groups a group of its own."""
    labels = instance.partition.labels
    own = [None if k < 0 else f"{k}/{j}" if k in freed else str(k) for j, k in enumerate(labels)]
    groups, eta = Partition.from_labels(own, ungrouped="free"), instance.eta
    if not isinstance(eta, float):
        eta = {name: instance.strengths.groups[int(name.split("/")[0])] for name in groups.names}
        if instance.fit_intercept and instance.penalize_intercept:
            eta[INTERCEPT] = instance.strengths.intercept
    return instance.replace(groups=groups, eta=eta)


def _as_rows(instance: Instance, freed: Collection[int]) -> Instance:
    """Return the problem with the freed groups' columns free, the intercept a column, the penalty in the rows."""
    A, b = _penalised_rows(instance)
    labels = [None if k < 0 or k in freed else str(k) for k in instance.partition.labels]
    labels += [None] * (A.shape[1] - len(labels))
    return Instance(A, b, Partition.from_labels(labels, ungrouped="free"), fit_intercept=False)


def _least_squares(result: Result) -> tuple[Rounded, Floats]:
    A, b = _penalised_rows(result.instance)
    norms = np.linalg.norm(A, axis=0)
    lengths = np.where(norms > 0, norms, 1.0)
    w = np.linalg.lstsq(A / lengths, b, rcond=None)[0] / lengths
    terms = float(np.linalg.norm(np.abs(A) @ np.abs(w) + np.abs(b)))
    objective = float(np.square(b - A @ w).sum())
    return Rounded(objective, ROUNDING * terms, result.rounded.floor), w[: result.instance.n_columns]


def _penalised_rows(instance: Instance) -> tuple[Floats, Floats]:
    """Return (A, b) with ``||A (w, t) - b||^2`` the objective: weighted data, then one row per penalised effect.

    The data are shifted by their means where the intercept can absorb it, which keeps the digits of the rest.
    """
    free_intercept = instance.fit_intercept and not instance.penalize_intercept
    root = np.sqrt(instance.weights)
    mean = root**2 / (root @ root)
    x_shift, y_shift = (mean @ instance.X, mean @ instance.y) if free_intercept else (0.0, 0.0)
    A, b = (instance.X - x_shift) * root[:, None], (instance.y - y_shift) * root
    penalty = instance.partition.indicator().T
    if instance.fit_intercept:
        A = np.column_stack([A, root])
        penalty = np.column_stack([penalty, np.zeros(len(penalty))])
        if instance.penalize_intercept:
            penalty = np.vstack([penalty, np.eye(1, A.shape[1], A.shape[1] - 1)])
    strengths = instance.strengths
    if strengths.any_eta:
        eta = np.append(strengths.groups, strengths.intercept)[: len(penalty)]
        A, b = np.vstack([A, np.sqrt(eta)[:, None] * penalty]), np.append(b, np.zeros(len(penalty)))
    if strengths.ridge > 0:
        rows = np.sqrt(strengths.ridge) * np.eye(instance.n_columns, A.shape[1])
        A, b = np.vstack([A, rows]), np.append(b, np.zeros(len(rows)))
    return A, b
