"""Random nodes below the one that is compared at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from formulations.errors import InvalidInput
from formulations.signs import SignPattern


def nodes_below(node: SignPattern, depths: Sequence[int], n_patterns: int, seed: int) -> dict[int, list[SignPattern]]:
    """Return random nodes below ``node`` for each depth."""
    rng, undecided = np.random.default_rng(seed), list(node.undecided)
    decided = len(node) - len(undecided)
    if wrong := [depth for depth in depths if not decided < depth <= len(node)]:
        raise InvalidInput(f"depths: {wrong[0]} is not between {decided + 1} and {len(node)}, the number of groups")
    if n_patterns < 1:
        raise InvalidInput(f"n_patterns={n_patterns} must be at least 1")
    drawn: dict[int, list[SignPattern]] = {}
    for depth in depths:
        drawn[depth] = []
        for _ in range(n_patterns):
            values = list(node)
            for k in rng.choice(undecided, size=depth - decided, replace=False):
                values[k] = int(rng.choice([-1, 1]))
            drawn[depth].append(SignPattern(tuple(values)))
    return drawn
