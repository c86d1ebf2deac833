"""One problem along a path of penalties: the data are compressed once, and each fit starts at its neighbour's model.

Only the penalties change with eta and ridge. The squared error of many rows is that of 2 M + 3 rows, whatever the
penalties, the intercept and the columns without a group: where rows are many, nearly all the work of a fit is done once
for the whole path. The neighbour's signs give the search its first incumbent.
"""

from __future__ import annotations

import time
from math import inf
from typing import Any

from formulations.instance import Instance
from formulations.rows.equivalent_rows import equivalent_rows
from partls.result import Result
from partls.runtime.options import a_priori_signs
from partls.shortest import shortest
from partls.solve import solve_instance
from relaxations.clock import FINISHING


class EtaPath:
    """The problem of an instance, whose own eta and ridge are ignored, for any eta and ridge."""

    def __init__(self, instance: Instance) -> None:
        self._problem = _on_few_rows(instance)

    def solve(
        self, eta: float, warm_start: Any = None, signs: Any = None, *, ridge: float = 0.0, **options: Any
    ) -> Result:
        """Return the optimum for one eta and ridge, in the units of the data."""
        problem = self._problem.replace(eta=eta, ridge=ridge)
        fixed = a_priori_signs(problem, signs)
        limit = options.get("time_limit")
        end = inf if limit is None else time.perf_counter() + limit + FINISHING
        return shortest(solve_instance(problem, warm_start=warm_start, signs=signs, **options), fixed, end)


def _on_few_rows(instance: Instance) -> Instance:
    """Return an instance with the same squared error for every model, without penalties."""
    if len(instance.y) <= 2 * instance.n_columns + 3:
        return instance.replace(eta=0.0, ridge=0.0)
    rows = equivalent_rows([(instance.X, instance.y, instance.sample_weight)], instance.n_columns)
    return instance.replace(
        X=rows.X, y=rows.y, sample_weight=rows.sample_weight, folded_from=instance.n_rows, eta=0.0, ridge=0.0
    )
