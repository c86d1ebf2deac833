"""When a search ends before its tree is explored: the clock, the keyboard and the number of nodes."""

from __future__ import annotations

import time

import numpy as np

from partls.result import Status
from partls.runtime.daemon_threads import GRACE
from partls.search.plan import SearchPlan
from relaxations.clock import FINISHING

UNLIMITED = 2**62  # nodes
_CERTIFYING = 2.0  # seconds for the bounds of subtrees left open; then the root's bound stands for the rest
_RESERVED = 0.05  # share of a time limit that is kept for them


class Limits:
    """Watch the limits of one search, and tell the threads that explore when to stop.

    Attributes
    ----------
    deadline
        When exploring ends; the rest of the time limit is for the bounds of what is then open.
    stop
        One byte that the threads at work read: they return once it is 1.
    reached
        The limit that ended the search, or None.
    """

    def __init__(self, plan: SearchPlan) -> None:
        task = plan.task
        self._end_of_time, self._node_limit = task.deadline, plan.node_limit
        self.deadline = task.deadline - min(_CERTIFYING, _RESERVED * (task.time_limit or 0.0))
        self.keyboard = task.keyboard
        self.reached: Status | None = None
        self.renew()

    def renew(self) -> None:
        """Let threads work again; those left behind at work keep the old byte, which says stop."""
        self.stop = np.zeros(1, np.uint8)

    def is_over(self) -> bool:
        """Look at the clock and the keyboard, and tell the threads."""
        self.keyboard.listen()
        if self.keyboard.pressed or time.perf_counter() > self.deadline:
            self.stop[0] = 1
        return bool(self.stop[0])

    def look(self, nodes: int) -> bool:
        """Return whether a limit is reached after so many nodes, and remember which."""
        if self.keyboard.pressed:
            self.reached = Status.INTERRUPTED
        elif time.perf_counter() > self.deadline:
            self.reached = Status.TIME_LIMIT
        elif self.nodes_left(nodes) <= 0:
            self.reached = Status.NODE_LIMIT
        return self.reached is not None

    def nodes_left(self, nodes: int) -> int:
        """Return how many nodes may follow after so many."""
        return UNLIMITED if self._node_limit is None else self._node_limit - nodes

    @property
    def is_hurried(self) -> bool:
        """Whether the clock or the keyboard ended the search, so that its answer depends on timing anyway."""
        return self.reached in (Status.TIME_LIMIT, Status.INTERRUPTED)

    def end_of_certifying(self) -> float:
        """Return when the bounds of the open subtrees, begun now, have to be ready."""
        return min(
            time.perf_counter() + _CERTIFYING, self._end_of_time + FINISHING, self.keyboard.pressed_at + GRACE
        )
