"""Results that rounding leaves in doubt, because columns nearly depend on each other, and their last resort.

Folding the data, and every factorisation after it, moves a column by a few parts in 2^53 of its length. Columns at a
distance d from each other may need coefficients as large as 1 / d, and bounds are then off by as much of the target.
Where that could show beside the tolerances, or the search could not close its gap, a small problem is solved again in
exact arithmetic. The bound of a large one is lowered by what rounding may have done to it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from formulations.data import Floats
from formulations.instance import Instance
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from formulations.tolerances import ABSOLUTE_TOLERANCE, OPTIMAL_GAP
from partls.result import Solution, target_size

_ROUNDED = 2 * np.finfo(np.float64).eps  # of a column's norm, or of the target's
_SHARE = 0.1  # of the tolerances: the effect of rounding on a bound that is accepted
_NEAR = 1e-6  # of a column's norm: columns nearer to each other have bounds that rounding can spoil
_MAX_COLUMNS, _MAX_ENTRIES = 40, 100_000  # of data that exact arithmetic takes on
_GRACE = 0.1  # seconds for the first bound, where a limit has ended the search


@dataclass(frozen=True, eq=False)
class Answer:
    """A model, its lower bound, the solutions kept beside it and the nodes that exact arithmetic has explored.

    ``in_doubt`` says that rounding leaves it open, and that exact arithmetic has not been asked.
    """

    coef: Floats
    intercept: float
    objective: float
    lower_bound: float
    solutions: tuple[Solution, ...] = ()
    n_exact: int = 0
    in_doubt: bool = False


@dataclass(frozen=True)
class Search:
    """What a search leaves behind: whether it was cut short, the gap asked for, and who may end the work.

    ``distance`` is that of the nearest column to the others, as a share of its norm, the free columns set aside.
    ``whole`` says that no column was left out: in exact arithmetic, no others make up for one but for rounding.
    """

    distance: float
    whole: bool
    cut_short: bool
    gap_tol: float
    is_over: Callable[[], bool]


def settled(instance: Instance, root: SignPattern, answer: Answer, search: Search) -> Answer:
    """Return the answer of a search, confirmed or improved in exact arithmetic where rounding leaves it in doubt."""
    rounding = rounding_of(instance.reduction, search.distance, answer.objective)
    negligible = max(OPTIMAL_GAP * answer.objective, ABSOLUTE_TOLERANCE * target_size(instance))
    open_gap = answer.objective - answer.lower_bound > max(negligible, search.gap_tol * answer.objective)
    if rounding <= _SHARE * negligible and (search.cut_short or not open_gap):
        return answer
    lowered = answer
    if search.distance * instance.reduction.independence < _NEAR:
        lowered = replace(answer, lower_bound=max(answer.lower_bound - rounding, 0.0))
    if not search.whole:
        return replace(lowered, in_doubt=True)
    if instance.n_columns > _MAX_COLUMNS or instance.X.size > _MAX_ENTRIES:
        return lowered
    return _exactly(instance, root, lowered, search)


def rounding_of(reduction: Reduction, distance: float, objective: float) -> float:
    """Return how far rounding may have moved the bounds near an objective; free columns are rounded as well."""
    size = float(reduction.z @ reduction.z + reduction.rest) * reduction.scale
    moved = _ROUNDED * reach_of(reduction, distance) * math.sqrt(size)
    return moved * (2 * math.sqrt(objective) + moved)


def reach_of(reduction: Reduction, distance: float) -> float:
    """Return how large coefficients can get (of columns of norm one), as a multiple of the target's norm."""
    return math.sqrt(reduction.problem.n_columns) / max(distance * reduction.independence, np.finfo(np.float64).eps)


def _exactly(instance: Instance, root: SignPattern, answer: Answer, search: Search) -> Answer:
    """Return the answer of exact arithmetic, or what it adds to the given one in time."""
    from partls.exact.search import ExactSearch  # only results in doubt load it

    until = time.perf_counter() + _GRACE
    exact = ExactSearch(instance, root, (lambda: time.perf_counter() > until) if search.cut_short else search.is_over)
    found = exact.run(root, answer.coef, answer.intercept, max_nodes=1 if search.cut_short else math.inf)
    lower = found.bound_below if found.closed else max(found.bound_below, answer.lower_bound)
    solutions = sorted((exact.improved(solution) for solution in answer.solutions), key=_by_objective)
    own = Solution(root, instance.objective(found.coef, found.intercept), found.coef, found.intercept)
    best = min([own, *solutions[:1]], key=_by_objective)
    lower = min(lower, best.objective)
    return Answer(best.coef, best.intercept, best.objective, lower, tuple(solutions), found.n_nodes)


def _by_objective(solution: Solution) -> float:
    return solution.objective
