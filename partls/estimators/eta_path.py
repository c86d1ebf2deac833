"""One problem along a path of penalties: the data are compressed once, and each fit starts at its neighbour's model.

Only the penalty changes with eta, and it adds K rows to a triangle of M + 1 rows: where rows are many, nearly all the
work of a fit is done once for the whole path. The neighbour's signs give the search its first incumbent.
"""

from __future__ import annotations

import time
from math import inf
from typing import Any

import numpy as np

from formulations.data import Floats
from formulations.instance import Instance
from formulations.partition import Partition
from partls.result import Result
from partls.runtime.options import a_priori_signs
from partls.shortest import shortest
from partls.solve import solve_instance
from relaxations.clock import FINISHING


class EtaPath:
    """The problem of an instance, whose own eta is ignored, for any eta."""

    def __init__(self, instance: Instance) -> None:
        self._penalty, self._n_groups, self._n_rows = instance.penalty, instance.n_groups, instance.n_rows
        self._own_column = instance.fit_intercept and instance.penalize_intercept
        base = (_with_intercept_column(instance) if self._own_column else instance).replace(eta=0.0)
        self._reduction = base.reduction
        self._units = self._reduction.project(np.ones(base.n_columns), 1.0)
        root = np.sqrt(self._reduction.scale)
        self._A = np.vstack([self._reduction.R * self._units, np.zeros((1, self._reduction.n_columns))]) * root
        self._b = np.append(self._reduction.z, np.sqrt(self._reduction.rest)) * root
        self._partition = Partition(self._reduction.names, self._reduction.labels)

    def solve(self, eta: float, warm_start: Any = None, signs: Any = None, **options: Any) -> Result:
        """Return the optimum for one eta, of the compressed problem; ``restore`` turns it into a model."""
        problem = Instance(
            self._A, self._b, self._partition, eta=eta, penalty=self._penalty, fit_intercept=False,
            folded_from=self._n_rows,
        )
        fixed = self._signs(problem, signs)
        limit = options.get("time_limit")
        end = inf if limit is None else time.perf_counter() + limit + FINISHING
        return shortest(solve_instance(problem, warm_start=warm_start, signs=fixed, **options), fixed, end)

    def restore(self, result: Result) -> tuple[Floats, float]:
        """Return the coefficients and the intercept in the units of the original data."""
        coef, intercept = self._reduction.restore(self._units * result.coef)
        return (coef[:-1], float(coef[-1])) if self._own_column else (coef, intercept)

    def _signs(self, problem: Instance, signs: Any) -> Any:
        """Return a-priori signs of the original groups as a pattern of the compressed problem's."""
        if signs is not None and not hasattr(signs, "items"):
            signs = [*signs, *[None] * (problem.n_groups - self._n_groups)]
        return a_priori_signs(problem, signs)


def _with_intercept_column(instance: Instance) -> Instance:
    """Return the problem with the penalised intercept as a column in a group of its own."""
    partition = instance.partition
    name = "(intercept)"
    while name in partition.names:
        name = f"({name})"
    groups = Partition((*partition.names, name), np.append(partition.labels, partition.n_groups))
    X = np.column_stack([instance.X, np.ones(len(instance.y))])
    return instance.replace(X=X, groups=groups, columns=None, fit_intercept=False)
