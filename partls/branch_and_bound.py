"""PartLS-bnb: the global optimum by branch and bound over the signs of the groups.

Subtrees are handed out in rounds of fixed size, each with the incumbent known when the round began, and the
results are merged in order: the answer does not depend on the number of threads or on their timing.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from concurrent.futures import Executor
from dataclasses import dataclass, field
from math import inf

import numpy as np

from formulations.instance import Instance
from formulations.reduction import Reduction
from formulations.signs import SignPattern
from partls.interrupts import Keyboard
from partls.progress import Observer, SearchProgress
from partls.result import ABSOLUTE_TOLERANCE, Status
from partls.search.branching import BranchingRule, StrongBranching
from partls.search.checkpoint import Checkpoint, SearchState
from partls.search.compiled import CompiledExplorer
from partls.search.contradiction import Contradiction
from partls.search.generic import GenericExplorer
from partls.search.incumbents import compiled_incumbent, exact_fit_nearby, interpolating, leaf, plain_incumbent
from partls.search.subtree import Exploration, Explorer, Incumbent, Subtree, Tolerances, round_to_signs
from partls.search.workers import GRACE, DaemonThreads, wait_for
from relaxations.active_set import ActiveSetRelaxation, GroupedProblem, OrthogonalBounder, group_columns
from relaxations.bound import Relaxation, is_sequential
from relaxations.kernel import load

logger = logging.getLogger("partls")

_NO_LOCAL_SEARCH = 12  # groups: smaller trees need no incumbent to start with
_FIRST_WORK = 1e7  # nodes times M^2 explored in the caller's thread, which cannot be interrupted, before any other
_STRENGTHEN_AFTER = 1000  # nodes: the diagonal then costs about what the search has cost so far
_ROUND = 16  # subtrees per round: more than the cores, so that a round ends evenly
_ROUND_WORK = 4e6  # nodes times M^2 per subtree and round with a checkpoint: a round then takes about a second
_DEPTH_FIRST_BUDGET, _BEST_FIRST_BUDGET = 512, 32  # nodes per subtree and round
_GENERIC_BUDGET = 8
_CERTIFYING = 2.0  # seconds for the bounds of subtrees left open; then the root's bound stands for the rest
_PRUNE_SHARE = 0.1  # of gap_tol: closing boxes this near to the incumbent leaves the rest of the gap to rounding


@dataclass(frozen=True)
class SearchOptions:
    """How to search and when to stop; see ``partls.solve``."""

    relaxation: Relaxation = field(default_factory=ActiveSetRelaxation)
    branching: BranchingRule = field(default_factory=StrongBranching)
    best_first: bool = False
    gap_tol: float = 1e-9
    time_limit: float | None = None
    node_limit: int | None = None
    n_jobs: int = 1
    progress: bool | Observer = False
    root: SignPattern | None = None
    start: SignPattern | None = None
    checkpoint: Checkpoint | None = None
    max_open_nodes: int | None = None
    keyboard: Keyboard = field(default_factory=Keyboard)


@dataclass
class SearchOutcome:
    """The incumbent (reduced units), the certified lower bound and how the search ended."""

    incumbent: Incumbent
    lower_bound: float
    limit: Status | None
    counts: Counter[str]


def branch_and_bound(instance: Instance, options: SearchOptions) -> SearchOutcome:
    """Return the best solution and a certified lower bound on all others."""
    reduction = instance.reduction
    root = options.root or SignPattern.free(reduction.n_groups)
    size = float(reduction.z @ reduction.z) + reduction.rest
    tolerances = Tolerances(_PRUNE_SHARE * options.gap_tol, _PRUNE_SHARE * ABSOLUTE_TOLERANCE * size)
    if not len(reduction.R):  # no column has any effect: zero coefficients are as good as any
        flat = Incumbent(reduction.rest, np.zeros(reduction.n_columns))
        return SearchOutcome(flat, flat.value, None, Counter({"nodes": 0}))
    exact_fit = interpolating(reduction, root, tolerances.absolute)
    if exact_fit is not None:
        return SearchOutcome(exact_fit, 0.0, None, Counter({"nodes": 0}))
    grouped = group_columns(reduction)
    native = isinstance(options.relaxation, ActiveSetRelaxation) and grouped.reliable and not reduction.l1.any()
    if native and options.time_limit is not None:  # what may have to be compiled does not count
        load("partls.search._flips")
        load("partls.search._walk")
    deadline = inf if options.time_limit is None else time.perf_counter() + options.time_limit
    incumbent = _first_incumbent(grouped, root, options, tolerances, native, deadline)
    orthogonal = OrthogonalBounder(reduction)
    fallback = GenericExplorer(reduction, lambda: orthogonal, options.branching, tolerances, "factorisation")
    explorer: Explorer
    if native:
        explorer = CompiledExplorer(grouped, options.branching, tolerances, incumbent.value)
    elif isinstance(options.relaxation, ActiveSetRelaxation):
        explorer = fallback
    else:
        relaxation = options.relaxation
        explorer = GenericExplorer(
            reduction, lambda: relaxation.prepare(instance), options.branching, tolerances, relaxation.name
        )
    search = _Search(explorer, fallback, options, tolerances, incumbent, root, reduction, deadline)
    if options.checkpoint is not None and (state := options.checkpoint.load(root)) is not None:
        search.resume(state, leaf(reduction, state.signs))
    return search.run()


def _first_incumbent(grouped: GroupedProblem, root: SignPattern, options: SearchOptions, tolerances: Tolerances,
                     native: bool, deadline: float) -> Incumbent:
    """Return a feasible solution to start from."""
    reduction = grouped.reduction
    relaxed = grouped.to_reduced(grouped.point)
    candidates = [round_to_signs(relaxed, reduction.labels, root)]
    candidates += [options.start] if options.start is not None else []
    if native and len(root.undecided) <= _NO_LOCAL_SEARCH and options.time_limit is None and options.node_limit is None:
        return Incumbent(grouped.size, np.zeros(len(relaxed)))  # the search itself is over before a better one pays
    if native:
        found = compiled_incumbent(grouped, root, candidates)
        wide = grouped.R.shape[0] < grouped.R.shape[1] and found.value > tolerances.absolute
        return exact_fit_nearby(reduction, root, found, tolerances.absolute) if wide else found
    return plain_incumbent(
        reduction, root, candidates, relaxed, lambda: options.keyboard.pressed or time.perf_counter() > deadline
    )


class _Search:
    """The state of one run: open subtrees, incumbent, certified bound of what is closed."""

    def __init__(self, explorer: Explorer, fallback: GenericExplorer, options: SearchOptions, tolerances: Tolerances,
                 incumbent: Incumbent, root: SignPattern, reduction: Reduction, deadline: float) -> None:
        self._explorer, self._fallback, self._options, self._tolerances = explorer, fallback, options, tolerances
        self._incumbent, self._scale, self._labels = incumbent, reduction.scale, reduction.labels
        self._root = root
        self._open = [Subtree(root)]
        self._in_hand: list[Subtree] = []  # taken and not yet merged: they count as open if the round is cut short
        self._closed = inf
        self._counts: Counter[str] = Counter()
        self._stop = np.zeros(1, np.uint8)
        self._limit: Status | None = None
        self._strengthened = False
        self._proved = 0.0  # a sum of squares and a penalty
        self._deadline = deadline
        self._keyboard = options.keyboard
        self._first_budget = int(np.clip(_FIRST_WORK / len(incumbent.v) ** 2, 64, _STRENGTHEN_AFTER))
        self._workers = 1 if is_sequential(options.relaxation) else options.n_jobs
        self._budget = _GENERIC_BUDGET
        self._is_compiled = isinstance(explorer, CompiledExplorer)
        if self._is_compiled:
            self._budget = _BEST_FIRST_BUDGET if options.best_first else _DEPTH_FIRST_BUDGET
            if options.checkpoint is not None:  # which is written between rounds: they have to be short
                self._budget = min(self._budget, max(int(_ROUND_WORK / len(incumbent.v) ** 2), 1))

    def resume(self, state: SearchState, incumbent: Incumbent) -> None:
        """Go on from where an earlier run has stopped."""
        self._open, self._closed, self._counts = list(state.open), state.closed, Counter(state.counts)
        self._incumbent = min(self._incumbent, incumbent, key=lambda found: found.value)
        self._proved = state.proved

    def _save(self, *, now: bool = False) -> None:
        if self._options.checkpoint is not None:
            signs = round_to_signs(self._incumbent.v, self._labels, self._root)
            state = SearchState(signs, self._closed, self._proved, self._counts, self._open)
            self._options.checkpoint.save(state, now=now)

    def run(self) -> SearchOutcome:
        """Run rounds until nothing is open or a limit is reached; then certify what was left open."""
        with SearchProgress(self._options.progress) as progress:
            try:
                try:
                    self._run_rounds(progress)
                except Contradiction as found:
                    self._start_over(found)
                    self._run_rounds(progress)
            except KeyboardInterrupt:  # an observer's wish
                self._stop[0], self._limit = 1, Status.INTERRUPTED
                self._open.extend(self._in_hand)  # twice in the worst case, which no bound minds
            self._save(now=True)
            self._proved = max(self._proved, self._certified_bound())
            self._save(now=True)
            progress.finish(self._counts["nodes"], len(self._open), *self._in_original_units(self._proved))
        return SearchOutcome(self._incumbent, self._proved, self._limit, self._counts)

    def _start_over(self, contradiction: Contradiction) -> None:
        """Forget what an unsound relaxation has proved, and search by factorisation, which needs no trust."""
        logger.warning("%s", contradiction)
        self._counts[f"contradicted: {contradiction.relaxation}"] += 1
        self._incumbent = min(self._incumbent, contradiction.found, key=lambda found: found.value)
        self._explorer, self._is_compiled = self._fallback, False
        self._open, self._in_hand, self._closed, self._proved = [Subtree(self._root)], [], inf, 0.0

    def _run_rounds(self, progress: SearchProgress) -> None:
        pool: Executor | None = None
        try:
            while self._open and not self._finished():
                self._take()
                if self._counts["nodes"] == 0 and isinstance(self._explorer, CompiledExplorer):
                    budget = min(self._first_budget, self._nodes_left())
                    self._merge([self._explore(subtree, self._incumbent, budget) for subtree in self._in_hand])
                else:
                    pool = pool or DaemonThreads(self._workers)
                    self._strengthen_large_tree(pool)
                    self._run_batch(pool, self._in_hand)
                self._in_hand = []
                self._save()
                progress.update(self._counts["nodes"], len(self._open), *self._in_original_units(self._estimate()))
        finally:
            if pool is not None:
                pool.shutdown(cancel_futures=True)

    def _run_batch(self, pool: Executor, batch: list[Subtree]) -> None:
        """Explore a round in threads; what is not back in time is still open."""
        budget = _DEPTH_FIRST_BUDGET if self._is_crowded() and self._is_compiled else self._budget
        budget = budget if self._strengthened else min(budget, _STRENGTHEN_AFTER // len(batch))
        budget = max(1, min(budget, self._nodes_left() // len(batch)))
        incumbent = self._incumbent
        futures = [pool.submit(self._explore, subtree, incumbent, budget) for subtree in batch]
        wait_for(futures, self._is_over)
        self._merge([
            future.result() if future.done() else Exploration(incumbent, open=[subtree])
            for subtree, future in zip(batch, futures, strict=True)
        ])

    def _is_over(self) -> bool:
        """Look at the clock and the keyboard, and tell the threads."""
        self._keyboard.listen()
        if self._keyboard.pressed or time.perf_counter() > self._deadline:
            self._stop[0] = 1
        return bool(self._stop[0])

    def _strengthen_large_tree(self, pool: Executor) -> None:
        if not self._strengthened and self._counts["nodes"] >= _STRENGTHEN_AFTER:
            self._strengthened = True
            if isinstance(self._explorer, CompiledExplorer):
                wait_for([pool.submit(self._explorer.strengthen)], self._is_over)

    def _explore(self, subtree: Subtree, incumbent: Incumbent, budget: int) -> Exploration:
        if self._stop[0]:
            return Exploration(incumbent, open=[subtree])
        explorer = self._fallback if subtree.doubtful else self._explorer
        return explorer.explore(subtree, incumbent, budget, self._stop)

    def _take(self) -> None:
        """Take the next round in hand: the deepest subtrees, or those with the lowest bounds while there is room."""
        if self._options.best_first and not self._is_crowded():
            self._open.sort(key=lambda subtree: -_finite(subtree.bound))
        self._in_hand = self._open[: -_ROUND - 1 : -1]
        self._open = self._open[:-_ROUND]

    def _is_crowded(self) -> bool:
        """Whether to go depth-first: a subtree then leaves at most one open box per level."""
        most = self._options.max_open_nodes
        return most is not None and len(self._open) + len(self._in_hand) > most

    def _merge(self, results: list[Exploration]) -> None:
        for result in results:
            if result.best.value < self._incumbent.value:
                self._incumbent = result.best
            self._closed = min(self._closed, result.closed)
            self._counts.update(result.counts)
        for result in reversed(results):
            self._open.extend(result.open)

    def _finished(self) -> bool:
        if self._keyboard.pressed:
            self._limit = Status.INTERRUPTED
        elif time.perf_counter() > self._deadline:
            self._limit = Status.TIME_LIMIT
        elif self._nodes_left() <= 0:
            self._limit = Status.NODE_LIMIT
        return self._limit is not None or self._gap_closed(self._estimate())

    def _gap_closed(self, lower: float) -> bool:
        upper = self._incumbent.value
        return upper - lower <= max(self._options.gap_tol * upper, self._tolerances.absolute)

    def _nodes_left(self) -> int:
        return 2**62 if self._options.node_limit is None else self._options.node_limit - self._counts["nodes"]

    def _estimate(self) -> float:
        """Return the bound so far, open subtrees at their own word: for progress and for deciding to stop."""
        bounds = (_finite(subtree.bound) for subtree in self._open)
        return max(min(self._closed, min(bounds, default=inf), self._incumbent.value), self._proved)

    def _certified_bound(self) -> float:
        """Return the lower bound with every open subtree certified, each as far as the others make it matter."""
        bounds = [subtree.bound for subtree in self._open if np.isfinite(subtree.bound)]
        lower = aim = min([self._closed, self._incumbent.value, *bounds])
        deadline = time.perf_counter() + _CERTIFYING
        for subtree in self._open:
            if lower <= 0.0:  # a sum of squares and a penalty
                return 0.0
            # The whole tree's bound holds for every part of it.
            if time.perf_counter() > min(deadline, self._keyboard.pressed_at + GRACE):
                return max(min(lower, self._explorer.certified(Subtree(self._root), aim)), 0.0)
            lower = min(lower, self._explorer.certified(subtree, aim))
        return max(lower, 0.0)

    def _in_original_units(self, lower: float) -> tuple[float, float]:
        return self._incumbent.value * self._scale, lower * self._scale


def _finite(bound: float) -> float:
    return -inf if np.isnan(bound) else bound
