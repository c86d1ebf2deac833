"""How much of a tree to have in hand at once: a rule that knows what has been explored, and not who explores it."""

from __future__ import annotations

from math import isqrt

_IN_HAND = 8  # what is in hand is this part of the tasks done: a new incumbent comes late to no more than that
_LARGEST_WINDOW, _LARGEST_BUDGET = 4096, 32_768


def window_and_budget(nodes: int, tasks: int, window: int, budget: int) -> tuple[int, int]:
    """Return how many subtrees to have in hand after so many nodes and tasks, and the nodes of each.

    Both are at least those given. The nodes of a task grow with the root of all: a larger tree has larger tasks, so
    that handing them out does not become the bottleneck, and more of them, so that more workers find work.
    """
    width, size = tasks // _IN_HAND, isqrt(nodes // 2)
    return max(window, min(width, _LARGEST_WINDOW)), max(budget, min(size, _LARGEST_BUDGET))
