"""Enumeration: the global optimum by solving every one of the 2^K sign patterns exactly."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.explore.incumbents import hasty_incumbent, solve_pattern
from partls.result import Solution, Status
from partls.runtime.options import nonnegative
from partls.search.task import Outcome, SearchTask
from partls.strategies.kept_solutions import KeptSolutions, as_solution, checked_keep
from partls.strategies.option import backend_option, checked_backend, documented, option, solver_option
from partls.strategies.pattern_solver import PatternSolver, by_value
from partls.strategies.strategy import Strategy
from relaxations.clock import OutOfTime, until
from relaxations.interpreter import kernel

MAX_GROUPS = 24
_SAMPLE_GROUPS = 7


@documented
@dataclass(frozen=True)
class Enumeration(Strategy):
    """Solve every one of the 2^K sign patterns exactly: the optimum and all other solutions.

    PartLS-opt of Esposito, Cerrato and Locatelli (2024), Algorithm 2. Each pattern is the convex problem of
    ``formulations.partls_b``: the compiled kernel walks from one to the next, and with ``backend="cvxpy"`` a solver of
    your choice solves one model whose signs are parameters. Its answers are made safe: each bound is recomputed from
    the data, and a pattern that this leaves open is solved again by factorisation.

    Examples
    --------
    >>> import numpy as np, partls
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> len(partls.solve(X, [1.0, 2.0, 3.0], ["a", "b"], method=partls.Enumeration(keep="all")).solutions)
    4
    """

    name: ClassVar[str] = "enumerate"
    proves: ClassVar[bool] = True

    keep: str | int = option(
        "best", 'How many solutions to return in ``result.solutions``, best first: "best", "all" or a number.',
        refusal='keep={value!r}: only enumeration keeps more than the best solution; use method="enumerate"',
    )
    max_groups: int = option(MAX_GROUPS, "Largest number of groups to enumerate.")
    backend: str = backend_option()
    solver: str | None = solver_option()

    def __post_init__(self) -> None:
        """Refuse invalid options."""
        checked_keep(self.keep)
        nonnegative("max_groups", self.max_groups, integer=True)
        checked_backend(self.backend, self.solver)

    @property
    def lists_patterns(self) -> bool:
        """Whether more than the best solution is kept: presolve then leaves every group its sign."""
        return self.keep != "best"

    def prepare(self) -> None:
        """Load the compiled enumeration."""
        if self.backend == "kernel":
            _ = kernel.one_node, kernel.flips, kernel.patterns

    def run(self, task: SearchTask) -> Outcome:
        """Return the optimum over all sign patterns, and the solutions kept."""
        reduction = task.instance.reduction
        limit = MAX_GROUPS if self.max_groups is None else int(self.max_groups)
        try:
            with until(task.deadline):
                solver = PatternSolver(reduction, task.root, task.keyboard, task.deadline)
                if self.backend == "cvxpy":
                    solver = solver.through_cvxpy(task.instance, self.solver)
                return _enumerate(task.instance, solver, self.keep, limit)
        except OutOfTime:  # before the first pattern
            counts = Counter({"nodes": 0, "leaves": 0})
            return Outcome(hasty_incumbent(reduction, task.root), reduction.rest, Status.TIME_LIMIT, counts)


def _enumerate(instance: Instance, solver: PatternSolver, keep: str | int, max_groups: int) -> Outcome:
    kept = KeptSolutions(checked_keep(keep, solver.n_patterns))
    if solver.n_groups > max_groups:
        raise InvalidInput(_too_many(solver, max_groups))
    best, lower, done, limit = None, inf, 0, None
    try:
        for block in solver.blocks(coefs=kept.count > 0):
            best = min(best or block.best, block.best, key=by_value)
            if not np.isfinite(block.values).all():  # cut short
                solver.check()
            solver.confirm(block, kept.cutoff(best, block))
            best = min(best, block.best, key=by_value)
            lower = min(lower, float(block.certified.min()))
            kept.add(block)
            done += len(block.values)  # last: a block cut short by Ctrl-C or the clock does not count
            if done < solver.n_patterns:
                solver.check()
    except KeyboardInterrupt:
        limit = Status.INTERRUPTED
    except (TimeoutError, OutOfTime):
        limit = Status.TIME_LIMIT
    if best is None or not best.value < inf:
        best = solve_pattern(solver.reduction, SignPattern(tuple(s or 1 for s in solver.root.values)))
    if done < solver.n_patterns:
        lower = min(lower, solver.root_bound(best.value))
    counts = Counter({"nodes": done, "leaves": done})
    counts.update(solver.engine.counts)
    return Outcome(best, max(lower, 0.0), limit, counts, kept.solutions(instance), distance=solver.distance)


def iterate_solutions(instance: Instance) -> Iterator[Solution]:
    """Yield the best solution of every sign pattern, one by one, in constant memory.

    Parameters
    ----------
    instance : Instance
        The problem.

    Yields
    ------
    Solution
        The best model of one of the 2^K sign patterns.

    Examples
    --------
    >>> from formulations import random_instance
    >>> from partls import iterate_solutions
    >>> sum(1 for solution in iterate_solutions(random_instance(M=6, group_size=2)))
    8
    """
    reduction = instance.reduction
    solver = PatternSolver(reduction, SignPattern.free(reduction.n_groups))
    for block in solver.blocks(coefs=True):
        solver.confirm(block)
        assert block.coefs is not None
        for pattern, v in zip(block.patterns, block.coefs, strict=True):
            yield as_solution(instance, tuple(pattern.tolist()), v)


def _too_many(solver: PatternSolver, max_groups: int) -> str:
    """Estimate the time of a refused enumeration from a small sample of it."""
    K = solver.n_groups
    sampled = min(_SAMPLE_GROUPS, K)
    next(solver.blocks(block_groups=sampled))  # compiles, and fills caches
    began = time.perf_counter()
    solved = len(next(solver.blocks(block_groups=sampled)).values)  # fewer than 2^sampled of a large problem
    seconds = (time.perf_counter() - began) / solved * 2.0 ** min(K, 1000)
    return (
        f"2^{K} sign patterns are too many to enumerate (limit 2^{max_groups}; about {_duration(seconds)} here): "
        'use the method "bnb", which proves the same optimum, or, in Python, raise max_groups'
    )


def _duration(seconds: float) -> str:
    for unit, length in (("years", 3.15e7), ("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.2g} seconds"
