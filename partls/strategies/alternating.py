"""Alternating least squares from many starts, for a good solution without a proof that it is the best."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from formulations.errors import InvalidInput
from partls.explore.contradiction import Contradiction, check_claim
from partls.explore.incumbents import hasty_incumbent, solve_pattern
from partls.explore.subtree import Incumbent
from partls.result import Status
from partls.runtime.options import at_least_one, chosen, nonnegative
from partls.search.task import Outcome, SearchTask
from partls.strategies.alternation import Alternation, Plan
from partls.strategies.halves import Halves, NonnegativeHalves, Split
from partls.strategies.option import backend_option, checked_backend, documented, option, solver_option
from partls.strategies.root_bound import bounder_and_bound, least_squares_bound
from partls.strategies.starts import Starts, kinds_of_start
from partls.strategies.strategy import Strategy
from relaxations import as_relaxation, through_cvxpy
from relaxations.active_set import ActiveSetRelaxation, group_columns
from relaxations.clock import OutOfTime, until
from relaxations.interpreter import kernel
from relaxations.protocol import Relaxation

logger = logging.getLogger("partls")

HALVES = ("nnls", "simplex")
POLISHES = ("flips", "signs", "none")


@documented
@dataclass(frozen=True)
class Alternating(Strategy):
    """Alternate between alpha and beta from many starts: a good solution, without a proof that it is the best.

    PartLS-alt of Esposito, Cerrato and Locatelli (2024), Algorithm 1. Both halves are convex: compiled, or with
    ``backend="cvxpy"`` the models of ``formulations.alpha_fixed`` and ``beta_fixed`` by a solver of your choice. The
    best start is always solved again for its signs, which can only improve it.

    Examples
    --------
    >>> import numpy as np, partls
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> partls.solve(X, [1.0, 2.0, 3.0], ["size", "size"], method=partls.Alternating(n_starts=5)).status
    <Status.HEURISTIC: 'heuristic'>
    """

    name: ClassVar[str] = "alternating"
    proves: ClassVar[bool] = False

    n_starts: int = option(20, "Number of starts.")
    max_iter: int = option(100, "Most iterations of each start.")
    tol: float = option(1e-9, "Relative decrease of the objective at which a start ends.")
    starts: Any = option(
        "mixed", 'Where to start: "random" (alpha and beta drawn at random), "least-squares" or "relaxation" '
        '(the signs of either, perturbed after the first), a list of these, or "mixed", all of them in turn.',
    )
    halves: str | None = option(
        None, 'How alpha is found: "nnls", nonnegative least squares, its scale moved into beta (``partls_b``), or '
        '"simplex", with beta fixed and shares that sum to one (``beta_fixed``). Default: "nnls" from the kernel, '
        '"simplex" through CVXPY. Beta is always ``alpha_fixed``.',
    )
    polish: str = option(
        "flips", 'How each start is finished: "flips" of single signs while they pay, the exact solution for its '
        '"signs", or "none".',
    )
    trace: bool = option(False, "Keep objective and time of every iteration of every start in ``result.trace``.")
    relaxation: Any = option("active-set", 'Lower bound at the root; "relaxation" starts take their signs from it.')
    backend: str = backend_option()
    solver: str | None = solver_option()

    def __post_init__(self) -> None:
        """Refuse invalid options."""
        at_least_one("n_starts", self.n_starts)
        at_least_one("max_iter", self.max_iter)
        nonnegative("tol", self.tol)
        kinds_of_start(self.starts)
        if isinstance(self.starts, list):  # frozen and hashable, as everything else here
            object.__setattr__(self, "starts", tuple(self.starts))
        chosen("polish", self.polish, POLISHES)
        checked_backend(self.backend, self.solver)
        if self.halves is not None:
            chosen("halves", self.halves, HALVES)
        if self.halves == "simplex" and self.backend == "kernel":
            raise InvalidInput('halves="simplex" needs backend="cvxpy": the kernel solves "nnls"')
        _ = self.bound_by

    @property
    def bound_by(self) -> Relaxation:
        """The relaxation, as its backend has it."""
        relaxation = as_relaxation(self.relaxation)
        return relaxation if self.backend == "kernel" else through_cvxpy(relaxation, self.solver)

    def prepare(self) -> None:
        """Load the compiled halves."""
        if self.backend == "kernel":
            _ = kernel.one_node, kernel.flips

    def run(self, task: SearchTask) -> Outcome:
        """Return the best solution of all starts."""
        reduction = task.instance.reduction
        if not len(reduction.R):  # no column has any effect: zero coefficients are as good as any
            flat = Incumbent(reduction.rest, np.zeros(reduction.n_columns))
            return Outcome(flat, flat.value, None, Counter({"starts": 0}))
        try:
            with until(task.deadline):
                found = self._alternate(task)
        except OutOfTime:  # before the first start
            hasty = hasty_incumbent(reduction, task.start or task.root)
            found = Outcome(hasty, reduction.rest, Status.TIME_LIMIT, Counter({"starts": 0}))
        try:
            with until(task.deadline):
                return replace(found, distance=group_columns(reduction).distance)
        except OutOfTime:  # nothing is known of how far rounding has spoiled the bound
            return replace(found, lower_bound=min(found.lower_bound, reduction.rest))

    def _alternate(self, task: SearchTask) -> Outcome:
        instance, reduction, relaxation = task.instance, task.instance.reduction, self.bound_by

        def is_over() -> bool:
            task.keyboard.listen()
            return task.is_over()

        bounder, lower = bounder_and_bound(instance, relaxation, task.root, is_over)
        starts = Starts(reduction, task.root, kinds_of_start(self.starts), bounder, task.seed, task.start)
        run = Alternation(task, self._plan(task, relaxation), starts, lambda: self._halves(task))
        run.run(lower)
        try:
            check_claim(
                relaxation.name, task.root, lower, run.best(), float(reduction.z @ reduction.z) + reduction.rest
            )
        except Contradiction as found:
            logger.warning("%s", found)
            lower = least_squares_bound(instance, task.root)
        ordered = sorted(run.attempts, key=lambda attempt: attempt.number)
        return Outcome(
            _settled(Split(reduction, task.root), run.best()), lower, run.limit, Counter({"starts": len(run.attempts)}),
            trace=tuple(attempt.trace(reduction.scale) for attempt in ordered) if self.trace else (),
        )

    def _plan(self, task: SearchTask, relaxation: Relaxation) -> Plan:
        """Return the choices that concern the starts; the user's code runs in a thread that the search can abandon."""
        limited = self.backend == "cvxpy" and task.time_limit is not None
        foreign = limited or not isinstance(relaxation, ActiveSetRelaxation)
        return Plan(self.n_starts, self.max_iter, self.tol or 0.0, self.polish, foreign)

    def _halves(self, task: SearchTask) -> Halves:
        """Return the halves of one thread: compiled, or the builders'."""
        if self.backend == "kernel":
            return NonnegativeHalves(task.instance.reduction, task.root)
        from partls.strategies.conic_halves import ConicHalves

        return ConicHalves(task.instance, task.root, simplex=self.halves != "nnls", solver=self.solver)


def _settled(split: Split, best: Incumbent) -> Incumbent:
    """Return a point at least as good in which no group rests at zero that would rather be on either side."""
    while split.asleep(best.v):
        try:
            again = solve_pattern(split.reduction, split.signs(best.v), best)
        except OutOfTime:
            break
        if not again.value < best.value * (1 - 1e-12):
            break
        best = again
    return best
