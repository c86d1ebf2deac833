"""A block of solved sign patterns, and what solves one: compiled, by factorisation or through CVXPY."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from partls.explore.subtree import Incumbent


@dataclass(eq=False)
class Block:
    """All completions of one prefix: values, certified bounds (reduced units) and, if kept, coefficients."""

    patterns: NDArray[np.int8]
    values: Floats
    certified: Floats
    coefs: Floats | None
    best: Incumbent


class PatternEngine(Protocol):
    """Solves all completions of a prefix.

    Attributes
    ----------
    work
        Multiplications that one pattern takes, about: Ctrl-C and the clock wait for a block of them.
    counts
        What to add to the counts of the result, such as the solver's failures.
    """

    work: float
    counts: Counter[str]

    def solve(self, patterns: NDArray[np.int8], tail: NDArray[np.int64], *, coefs: bool) -> Block:
        """Return the block of these patterns, which agree outside the groups of ``tail``."""
        ...
