"""Sign patterns by orthogonal factorisation, one by one: the L1 penalty and nearly dependent columns."""

from __future__ import annotations

from collections import Counter
from math import inf

import numpy as np
from numpy.typing import NDArray

from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from partls.explore.subtree import Incumbent
from partls.runtime.interrupts import Keyboard
from partls.strategies.pattern_blocks import Block
from relaxations.clock import OutOfTime
from relaxations.safe.least_squares import SafeBound
from relaxations.sign_constrained import solve_signed


class FactoredPatterns:
    """Solves each pattern by orthogonal factorisation, starting from the support of the one before."""

    def __init__(self, reduction: Reduction, safe: SafeBound, keyboard: Keyboard) -> None:
        self._reduction, self._safe, self._keyboard = reduction, safe, keyboard
        self.work = float(reduction.n_columns) ** 3  # a factorisation
        self.counts: Counter[str] = Counter()

    def solve(self, patterns: NDArray[np.int8], tail: NDArray[np.int64], *, coefs: bool) -> Block:
        """Return the block of these patterns, with coefficients; infinite where the time was up."""
        reduction = self._reduction
        found = np.zeros((len(patterns), reduction.n_columns))
        values, certified = np.full(len(patterns), inf), np.full(len(patterns), -inf)
        for i, pattern in enumerate(patterns):
            self._keyboard.check()
            signs = reduction.column_signs(SignPattern(tuple(pattern.tolist())))
            try:
                found[i] = solve_signed(reduction, signs, found[i - 1])
                values[i] = reduction.objective(found[i]) / reduction.scale
                certified[i] = self._safe.value(found[i], signs, values[i])
            except OutOfTime:
                break
        i = int(np.argmin(values))
        return Block(patterns, values, certified, found, Incumbent(float(values[i]), found[i]))
