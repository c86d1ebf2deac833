"""The answer of a search: solved again by orthogonal factorisation, and settled in exact arithmetic if in doubt."""

from __future__ import annotations

from dataclasses import dataclass

from formulations.data import Floats
from formulations.instance import Instance
from formulations.signs import SignPattern
from formulations.tolerances import ABSOLUTE_TOLERANCE
from partls.exact.doubt import Answer, Search, settled
from partls.explore.incumbents import solve_pattern
from partls.explore.subtree import Incumbent, round_to_signs
from partls.result import Status
from partls.search.task import Outcome, SearchTask
from relaxations.clock import FINISHING, OutOfTime, until


def answered(task: SearchTask, found: Outcome, *, proves: bool, whole: bool) -> tuple[Answer, Status | None]:
    """Return the answer of a search, solved again and scored on the original data, and which limit ended the work.

    Where nearly dependent columns leave it in doubt, exact arithmetic settles it if the problem is ``whole``, with no
    column left out. A large problem whose time is up keeps the answer as it is.
    """
    instance, reduction, limit = task.instance, task.instance.reduction, found.limit
    v = _polish(instance, task.root, found.incumbent, task.deadline)
    coef, intercept = reduction.restore(v)
    objective = instance.objective(coef, intercept)
    # The two objectives differ by the rounding in the reduced problem, which affects its bounds too.
    doubt = abs(reduction.objective(v) - objective)
    lower_bound = max(min(found.lower_bound * reduction.scale, objective) - doubt, 0.0)
    clock = _Clock(task)
    answer = settled(
        instance, task.root, Answer(coef, intercept, objective, lower_bound, found.solutions),
        Search(found.distance, whole, limit is not None or not proves, task.gap_tol, clock.is_over),
    )
    if answer.n_exact:
        found.counts["exact nodes"] = answer.n_exact
    return answer, limit or (clock.ended_by if proves else None)


@dataclass
class _Clock:
    """Whether the task is over, and which limit ended it when it was first asked."""

    task: SearchTask
    ended_by: Status | None = None

    def is_over(self) -> bool:
        """Return whether to end, and remember why."""
        self.ended_by = self.ended_by or self.task.ended_by()
        return self.ended_by is not None


def _polish(instance: Instance, root: SignPattern, incumbent: Incumbent, deadline: float) -> Floats:
    reduction = instance.reduction
    if incumbent.value <= ABSOLUTE_TOLERANCE**2 * float(reduction.z @ reduction.z):
        return incumbent.v  # the residual is rounding alone already
    try:
        with until(deadline + FINISHING):
            again = solve_pattern(reduction, round_to_signs(incumbent.v, reduction.labels, root), incumbent)
    except OutOfTime:
        return incumbent.v
    return again.v if again.value <= incumbent.value * (1 + 1e-12) else incumbent.v
