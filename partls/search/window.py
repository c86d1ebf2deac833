"""How many subtrees to dispatch at once: a rule that depends on what has been explored, not on who explores it."""

from __future__ import annotations

from math import isqrt

_TASKS_PER_PLACE = 8  # one place in the window for so many tasks done: few subtrees miss a new incumbent
_LARGEST_WINDOW, _LARGEST_BUDGET = 4096, 32_768


def window_and_budget(nodes: int, tasks: int, window: int, budget: int) -> tuple[int, int]:
    """Return how many subtrees are dispatched at once after so many nodes and tasks, and the nodes of each.

    Both are at least those given. The nodes of a task grow with the root of all: a larger tree has larger tasks, so
    that dispatching them does not become the bottleneck, and more of them, so that more workers find work.
    """
    width, size = tasks // _TASKS_PER_PLACE, isqrt(nodes // 2)
    return max(window, min(width, _LARGEST_WINDOW)), max(budget, min(size, _LARGEST_BUDGET))
