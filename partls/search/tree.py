"""One run of branch and bound, from the first node to the certified bound."""

from __future__ import annotations

import logging

from partls.explore.contradiction import Contradiction
from partls.explore.explorers import Explorers, SearchProblem
from partls.explore.subtree import Incumbent
from partls.result import Status
from partls.runtime.progress import SearchProgress
from partls.search.checkpoint import Snapshot
from partls.search.dispatch import Dispatcher
from partls.search.limits import Limits
from partls.search.node_bound import CONVEXIFIED, STRONG_PENALTY, NodeBound
from partls.search.open_bounds import certified_bound, close_certified
from partls.search.plan import SearchPlan
from partls.search.state import TreeState
from partls.search.task import Outcome
from partls.tree_trace import SearchTrace

logger = logging.getLogger("partls")


class TreeSearch:
    """Search a tree round by round until the gap is closed by certified bounds or a limit is reached."""

    def __init__(self, problem: SearchProblem, explorers: Explorers, plan: SearchPlan, incumbent: Incumbent,
                 distance: float = 1.0) -> None:
        self._tracing = problem.tracing
        self._plan, self._reduction, self._distance = plan, problem.instance.reduction, distance
        self._state = TreeState(plan, problem.tolerances, incumbent)
        self._bound = NodeBound(problem, explorers, best_first=plan.best_first)
        self._limits = Limits(plan)
        self._dispatcher = Dispatcher(
            self._state, self._bound, self._limits, executor=plan.executor, n_jobs=plan.task.n_jobs
        )

    def resume(self, saved: Snapshot, incumbent: Incumbent) -> None:
        """Continue where an earlier run stopped."""
        if saved.strong_penalty and self._bound.can_strengthen_penalty:
            self._bound.strengthen_penalty()
        self._state.resume(saved, incumbent)

    def run(self) -> Outcome:
        """Search until nothing is open or a limit is reached; then certify what was left open."""
        state = self._state
        with SearchProgress(self._plan.task.progress) as progress:
            try:
                try:
                    state.check_proved()
                    self._run_to_a_proof(progress)
                except Contradiction as found:
                    self._start_over(found)
                    self._run_to_a_proof(progress)
            finally:
                self._save(now=True)  # also when the workers are lost
            deadline = self._limits.end_of_certifying()
            state.proved = max(state.proved, certified_bound(state, self._bound.explorers.safe_bound, deadline))
            self._save(now=True)
            progress.finish(state.n_nodes, len(state.open), *self._in_original_units(state.proved))
        trace = SearchTrace.of(state.records, self._reduction.names, self._reduction.scale)
        return Outcome(
            state.incumbent, state.proved, self._limits.reached, state.counts, distance=self._distance,
            trace=trace if self._tracing else (),
        )

    def _start_over(self, contradiction: Contradiction) -> None:
        """Search again from the root by factorisation, after a relaxation has turned out to be unsound."""
        logger.warning("%s", contradiction)
        self._limits.renew()
        self._dispatcher.stay_here()
        self._bound.fall_back()
        self._state.start_over(contradiction)

    def _run_to_a_proof(self, progress: SearchProgress) -> None:
        """Search until the gap is closed by certified bounds, not by the estimates of the subtrees left open."""
        self._run(progress)
        while self._limits.reached is None and close_certified(
            self._state, self._bound.explorers.safe_bound, self._limits
        ):
            self._run(progress)

    def _run(self, progress: SearchProgress) -> None:
        """Search until nothing is open, a limit is reached or the estimated gap is closed."""
        state, limits = self._state, self._limits
        try:
            while not (state.is_explored or limits.look(state.n_nodes) or state.gap_closed(state.estimate())):
                self._run_round()
                self._save()
                progress.update(state.n_nodes, len(state.open), *self._in_original_units(state.estimate()))
        except KeyboardInterrupt:  # an observer's wish
            limits.reached = Status.INTERRUPTED
        except Exception:
            if not limits.keyboard.pressed:  # a terminal sends Ctrl-C to the workers too, which may fail in any way
                raise
            limits.reached = Status.INTERRUPTED
        finally:
            self._dispatcher.end()

    def _run_round(self) -> None:
        """Explore the top of the tree, or a few subtrees."""
        state, bound = self._state, self._bound
        if state.n_nodes == 0 and state.open and bound.explorers.is_compiled(state.open.next()):
            self._dispatcher.explore_first()
            return
        if not state.dispatched and bound.nodes_until_due(state.n_nodes) <= 0:
            self._dispatcher.dismiss()
            if bound.root_is_due:
                state.proved = max(state.proved, bound.prove_root(state.root, self._limits.is_over))
                state.counts["root bounded by shor"] += 1
                return
            switched = bound.strengthen(
                state.root, state.estimate(), state.incumbent.value, self._limits.is_over, nodes_left=state.nodes_left
            )
            resumed = switched == CONVEXIFIED and state.counts[f"switched to {switched}"] > 0
            if switched in (STRONG_PENALTY, CONVEXIFIED) and not resumed:  # the top branched on better bounds
                state.restart()
            if switched == STRONG_PENALTY:
                bound.look_at_root_after(state.n_nodes)
            if switched and not resumed:
                state.counts[f"switched to {switched}"] += 1
        self._dispatcher.work(self._save)

    def _save(self, *, now: bool = False) -> None:
        if self._plan.checkpoint is not None:
            state = self._state.snapshot(self._reduction.labels, strong_penalty=self._bound.has_strong_penalty)
            self._plan.checkpoint.save(state, now=now)

    def _in_original_units(self, lower: float) -> tuple[float, float]:
        return self._state.incumbent.value * self._reduction.scale, lower * self._reduction.scale
