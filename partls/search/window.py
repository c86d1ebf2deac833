"""How much of a tree to have in hand at once: a rule that knows the nodes explored, and not who explores them."""

from __future__ import annotations

from math import isqrt

_IN_HAND = 16  # what is in hand is this part of the nodes explored: a new incumbent comes late to no more than that
_PER_TASK = 8  # nodes per task for each subtree in hand: as many workers as find work can be sent their tasks in time
_LARGEST_WINDOW, _LARGEST_BUDGET = 4096, 32_768


def window_and_budget(nodes: int, window: int, budget: int) -> tuple[int, int]:
    """Return how many subtrees to have in hand after so many nodes, and the nodes of each; at least those given."""
    width = isqrt(nodes // (_IN_HAND * _PER_TASK))
    return max(window, min(width, _LARGEST_WINDOW)), max(budget, min(_PER_TASK * width, _LARGEST_BUDGET))
