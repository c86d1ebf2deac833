"""Enumeration: the global optimum by solving every one of the 2^K sign patterns exactly."""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from partls.explore.incumbents import hasty_incumbent, solve_pattern
from partls.explore.subtree import Incumbent, Tolerances
from partls.result import Solution, Status
from partls.runtime.interrupts import Keyboard
from partls.runtime.options import nonnegative
from partls.search.task import Outcome, SearchTask
from partls.strategies.option import documented, option
from partls.strategies.strategy import Strategy
from relaxations import kernel
from relaxations.active_set import GroupedProblem, group_columns, quick_floor
from relaxations.clock import OutOfTime, stop_flag, until
from relaxations.safe.least_squares import SafeBound
from relaxations.sign_constrained import solve_signed

if TYPE_CHECKING:
    from relaxations.kernel.tableau import KernelProblem

MAX_GROUPS = 24
_BLOCK_GROUPS = 10  # patterns are solved 2^10 at a time: enough to amortise, little to hold
_SAMPLE_GROUPS = 7
_BLOCK_WORK = 1e8  # patterns times M^2 in a block: Ctrl-C and the clock wait for it
_GRADIENT = 1e-15  # of the residual's norm: twice the rounding of a gradient
_WIDE = 4  # a pattern costs this many times as much with fewer rows than columns
_ROUNDING = 1e-13  # of the target's norm: a coefficient or gradient (columns have norm about 1) below this is zero

Kept = tuple[float, int, tuple[int, ...], "Floats | None"]  # minus the value, minus its place in time, signs, v


@dataclass(eq=False)
class Block:
    """All completions of one prefix: values, certified bounds (reduced units) and, if kept, coefficients."""

    patterns: NDArray[np.int8]
    values: Floats
    certified: Floats
    coefs: Floats | None
    best: Incumbent


class PatternSolver:
    """Solves blocks of sign patterns of one instance; memory O(K M^2), whatever K."""

    def __init__(self, reduction: Reduction, root: SignPattern, keyboard: Keyboard | None = None,
                 deadline: float = inf) -> None:
        self.reduction = reduction
        self._root = root
        self._keyboard, self._deadline = keyboard or Keyboard(), deadline
        self._grouped: GroupedProblem = group_columns(reduction)
        # A column next to others and yet independent of them may need a coefficient no box of the kernel holds.
        bounded = self._grouped.reliable or bool(self._grouped.passive.all())
        self._native = bounded and not reduction.l1.any()
        self._safe = SafeBound(reduction)
        sizes = np.bincount(reduction.labels, minlength=reduction.n_groups)
        # Small groups last: the deepest level is visited most and small groups need the fewest pivots.
        # An L1-penalised intercept is a group beyond the instance's own: one column, which needs no sign.
        own = (k for k in root.undecided if k < reduction.n_own_groups)
        self._groups = sorted(own, key=lambda k: (-sizes[k], k))

    @property
    def distance(self) -> float:
        """About how far the nearest column is from the others, as a share of its norm."""
        return self._grouped.distance

    @property
    def n_groups(self) -> int:
        """Number of groups whose signs are enumerated."""
        return len(self._groups)

    @property
    def n_patterns(self) -> int:
        """Number of sign patterns to solve."""
        return int(2 ** len(self._groups))

    def blocks(self, *, coefs: bool = False, block_groups: int = _BLOCK_GROUPS) -> Iterator[Block]:
        """Yield blocks until every pattern is solved; ``confirm`` settles what rounding has left open in them."""
        rows, columns = self.reduction.R.shape
        share = (_WIDE if rows < columns else 1) if self._native else columns  # a factorisation for every pattern
        affordable = int(np.log2(max(_BLOCK_WORK / max(share * columns**2, 1), 1.0)))
        split = max(len(self._groups) - min(block_groups, affordable), 0)
        head, tail = self._groups[:split], self._groups[split:]
        for signs in product((1, -1), repeat=split):
            prefix = list(self._root.values)
            for k, sign in zip(head, signs, strict=True):
                prefix[k] = sign
            yield self._solve(np.array(prefix, np.int8), np.array(tail, np.int64), coefs)

    def _solve(self, prefix: NDArray[np.int8], tail: NDArray[np.int64], coefs: bool) -> Block:
        count = 2 ** len(tail)
        patterns = np.tile(prefix, (count, 1))
        bits = (np.arange(count)[:, None] >> np.arange(len(tail))[::-1]) & 1
        patterns[:, tail] = 1 - 2 * bits
        return self._solve_native(prefix, tail, patterns, coefs) if self._native else self._solve_plain(patterns)

    def _solve_native(self, prefix: NDArray[np.int8], tail: NDArray[np.int64], patterns: NDArray[np.int8], coefs: bool
                      ) -> Block:
        nodes = kernel.node
        if not hasattr(self, "_problem"):
            self._problem = _without_columns(self._grouped)
            self._workspace = nodes.make_workspace(self._problem)
        M = self.reduction.n_columns
        values, certified = np.empty(len(patterns)), np.empty(len(patterns))
        kept = np.zeros((len(patterns) if coefs else 0, M))
        best = np.full(1 + M, np.inf)
        kernel.patterns.complete_patterns(
            self._problem._replace(stop=stop_flag(self._grouped.work)), self._workspace, prefix, tail, values,
            certified, best, kept, np.zeros(nodes.N_COUNTS, np.int64),
        )
        if not self._grouped.reliable:  # what is rounded in a gradient is priced by boxes no longer small
            certified -= _GRADIENT * np.sqrt(values) * self._problem.coef_bounds.sum()
        return Block(patterns, values, certified, kept if coefs else None, Incumbent(best[0], best[1:]))

    def _solve_plain(self, patterns: NDArray[np.int8]) -> Block:
        """Solve each pattern by orthogonal factorisation: the L1 penalty and nearly dependent columns."""
        reduction = self.reduction
        coefs = np.zeros((len(patterns), reduction.n_columns))
        values, certified = np.full(len(patterns), inf), np.full(len(patterns), -inf)
        for i, pattern in enumerate(patterns):
            self._keyboard.check()
            signs = reduction.column_signs(SignPattern(tuple(pattern.tolist())))
            try:
                coefs[i] = solve_signed(reduction, signs, coefs[i - 1])
                values[i] = reduction.objective(coefs[i]) / reduction.scale
                certified[i] = self._safe.value(coefs[i], signs, values[i])
            except OutOfTime:
                break
        i = int(np.argmin(values))
        return Block(patterns, values, certified, coefs, Incumbent(float(values[i]), coefs[i]))

    def confirm(self, block: Block, cutoff: float = inf) -> None:
        """Solve again, by orthogonal factorisation, the patterns whose bound and value are not equal to tolerance.

        What is certified to reach the cutoff is left alone: its bound proves already that it is not wanted.
        """
        reduction, points = self.reduction, block.coefs if self._native else None
        near = Tolerances(1e-10, self._grouped.size)
        slack = near.relative * block.values + near.rounding * np.sqrt(np.maximum(block.values, 0.0)) + near.zero
        tight = block.values - block.certified <= slack  # not so if a broken tableau yields NaN
        for turn, i in enumerate(np.flatnonzero(~tight & ~(block.certified >= cutoff))):
            if turn > 0:  # one is no reason to lose a block
                self.check()
            pattern = SignPattern(tuple(block.patterns[i].tolist()))
            solution = solve_pattern(reduction, pattern, None if points is None else Incumbent(inf, points[i]))
            bound = self._safe.value(solution.v, reduction.column_signs(pattern), solution.value)
            block.values[i], block.certified[i] = solution.value, max(bound, reduction.rest)
            if block.coefs is not None:
                block.coefs[i] = solution.v
            block.best = min(block.best, solution, key=_by_value)

    def check(self) -> None:
        """Raise KeyboardInterrupt after Ctrl-C, TimeoutError after the deadline."""
        self._keyboard.check()
        if time.perf_counter() > self._deadline:
            raise TimeoutError


def _by_value(incumbent: Incumbent) -> float:
    return incumbent.value


def _without_columns(grouped: GroupedProblem) -> KernelProblem:
    """Return the kernel's problem with every column held at zero, turned around as the enumeration reads it."""
    tableau = kernel.tableau
    Q = grouped.R.T @ grouped.R
    state = np.zeros((tableau.STATE_ROWS, len(Q)))
    state[tableau.DIAGONAL] = -np.diag(Q)
    state[tableau.POINT] = grouped.R.T @ grouped.z
    state[tableau.PASSIVE] = 1.0
    problem: KernelProblem = grouped.kernel_problem(grouped.size)
    R, z = np.pad(grouped.R, ((0, -len(grouped.R) % 4), (0, 0))), np.pad(grouped.z, (0, -len(grouped.R) % 4))
    return problem._replace(R=R, z=z, T=-Q, state=state, tolerance=_ROUNDING * np.sqrt(grouped.size))


@documented
@dataclass(frozen=True)
class Enumeration(Strategy):
    """Solve every one of the 2^K sign patterns exactly: the optimum, and every solution beside it.

    PartLS-opt of Esposito, Cerrato and Locatelli (2024), Algorithm 2.

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

    def __post_init__(self) -> None:
        """Refuse options that cannot be meant."""
        checked_keep(self.keep)
        nonnegative("max_groups", self.max_groups, integer=True)

    def prepare(self) -> None:
        """Load the compiled enumeration."""
        _ = kernel.one_node, kernel.flips, kernel.patterns

    def run(self, task: SearchTask) -> Outcome:
        """Return the optimum over all sign patterns, and the solutions kept."""
        reduction = task.instance.reduction
        limit = MAX_GROUPS if self.max_groups is None else int(self.max_groups)
        try:
            with until(task.deadline):
                solver = PatternSolver(reduction, task.root, task.keyboard, task.deadline)
                return _enumerate(task.instance, solver, self.keep, limit)
        except OutOfTime:  # before the first pattern
            counts = Counter({"nodes": 0, "leaves": 0})
            return Outcome(hasty_incumbent(reduction, task.root), reduction.rest, Status.TIME_LIMIT, counts)


def _enumerate(instance: Instance, solver: PatternSolver, keep: str | int, max_groups: int) -> Outcome:
    reduction = instance.reduction
    n_kept = checked_keep(keep, solver.n_patterns)
    if solver.n_groups > max_groups:
        raise InvalidInput(_too_many(solver, max_groups))
    best, lower, done, limit = None, inf, 0, None
    kept: list[Kept] = []  # a heap, worst first
    try:
        for block in solver.blocks(coefs=n_kept > 0):
            best = min(best or block.best, block.best, key=_by_value)
            if not np.isfinite(block.values).all():  # cut short
                solver.check()
            solver.confirm(block, _cutoff(best, kept, block, n_kept))
            best = min(best, block.best, key=_by_value)
            lower = min(lower, float(block.certified.min()))
            _keep_best(kept, block, n_kept)
            done += len(block.values)  # last: a block cut short by Ctrl-C or the clock does not count
            if done < solver.n_patterns:
                solver.check()
    except KeyboardInterrupt:
        limit = Status.INTERRUPTED
    except (TimeoutError, OutOfTime):
        limit = Status.TIME_LIMIT
    if best is None or not best.value < inf:
        best = solve_pattern(reduction, SignPattern(tuple(s or 1 for s in solver._root.values)))
    if done < solver.n_patterns:
        lower = min(lower, _root_bound(solver, best.value))
    counts = Counter({"nodes": done, "leaves": done})
    return Outcome(best, max(lower, 0.0), limit, counts, _solutions(instance, kept), distance=solver.distance)


def iterate_solutions(instance: Instance) -> Iterator[Solution]:
    """Yield the best solution of every sign pattern, one by one, in constant memory."""
    reduction = instance.reduction
    solver = PatternSolver(reduction, SignPattern.free(reduction.n_groups))
    for block in solver.blocks(coefs=True):
        solver.confirm(block)
        assert block.coefs is not None
        for pattern, v in zip(block.patterns, block.coefs, strict=True):
            yield _solution(instance, tuple(pattern.tolist()), v)


def checked_keep(keep: str | int, n_patterns: int = 0) -> int:
    """Return how many solutions to keep, of so many."""
    if isinstance(keep, str) and keep in ("best", "all"):
        return n_patterns if keep == "all" else 0
    if isinstance(keep, bool) or not isinstance(keep, (int, np.integer)) or keep < 1:
        raise InvalidInput(f'keep={keep!r} must be "best", "all" or a number of solutions >= 1')
    return int(keep)


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


def _cutoff(best: Incumbent, kept: list[Kept], block: Block, n_kept: int) -> float:
    """Return what a pattern must be below to be wanted: the best value so far or, with the block's, the n-th best."""
    if not n_kept:
        return best.value
    values = np.concatenate([[-entry[0] for entry in kept], block.values])
    return inf if len(values) <= n_kept else float(np.partition(values, n_kept - 1)[n_kept - 1])


def _keep_best(kept: list[Kept], block: Block, n_kept: int) -> None:
    """Keep the n best in a heap whose first element is the worst kept."""
    if not n_kept:
        return
    for i in np.argsort(block.values, kind="stable")[:n_kept]:
        if len(kept) == n_kept and block.values[i] >= -kept[0][0]:
            break
        v = None if block.coefs is None else block.coefs[i].copy()
        entry = (-float(block.values[i]), -len(kept), tuple(block.patterns[i].tolist()), v)
        heapq.heappush(kept, entry) if len(kept) < n_kept else heapq.heapreplace(kept, entry)


def _solutions(instance: Instance, kept: list[Kept]
               ) -> tuple[Solution, ...]:
    ordered = sorted(kept, key=lambda entry: (-entry[0], tuple(-s for s in entry[2])))
    return tuple(_solution(instance, pattern, v) for _, _, pattern, v in ordered if v is not None)


def _solution(instance: Instance, pattern: tuple[int, ...], v: Floats) -> Solution:
    coef, intercept = instance.reduction.restore(v)
    return Solution(SignPattern(pattern[: instance.n_groups]), instance.objective(coef, intercept), coef, intercept)


def _root_bound(solver: PatternSolver, upper: float) -> float:
    signs = solver.reduction.column_signs(solver._root)
    try:
        return solver._safe.value(solve_signed(solver.reduction, signs), signs, upper)
    except OutOfTime:
        return quick_floor(solver._grouped) if solver._grouped.reliable else solver.reduction.rest
