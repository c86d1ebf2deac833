"""One start of the alternation on its way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from formulations.data import Floats
from partls.explore.subtree import Incumbent
from partls.result import StartTrace
from partls.strategies.halves import Split


@dataclass
class Attempt:
    """One start on its way: its best point so far, which an interrupt does not lose, and how it came there."""

    number: int
    strategy: str
    best: Incumbent
    objectives: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def improve(self, split: Split, step: Callable[[Floats], Floats]) -> None:
        """Take a step unless it fails to lower the objective: a half repeated at its optimum differs by rounding."""
        v = step(self.best.v)
        value = split.value(v)
        if value < self.best.value:
            self.best = Incumbent(value, v)

    def record(self, seconds: float) -> None:
        """Write the next point of the trace."""
        self.objectives.append(self.best.value)
        self.times.append(seconds)

    def trace(self, scale: float) -> StartTrace:
        """Return the trace in original units."""
        n = len(self.times)  # an interrupt may fall between the two lists
        return StartTrace(self.strategy, scale * np.array(self.objectives[:n]), np.array(self.times))
