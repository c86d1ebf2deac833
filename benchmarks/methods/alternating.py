"""This toolkit's alternating least squares: the whole call on raw data, compression and the root's bound included."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.contract import Answer, Problem
from benchmarks.methods.ours import Bnb
from benchmarks.methods.reference_alternating import improvements

ENDLESS = 10**6  # starts: more than any budget allows


@dataclass
class Alternating(Bnb):
    """``budget`` in seconds replaces the number of starts: as many as it allows."""

    name = "alternating"
    exact = False

    n_starts: int = 20
    max_iter: int = 20
    starts: str = "random"
    polish: str = "none"
    budget: float | None = None

    def settings(self) -> dict:
        own = ("n_starts", "max_iter", "starts", "polish", "budget")
        return {name: getattr(self, name) for name in own}

    def options(self) -> dict:
        chosen = {name: getattr(self, name) for name in ("max_iter", "starts", "polish")}
        n_starts = self.n_starts if self.budget is None else ENDLESS
        return {"method": "alternating", "random_state": 0, "n_starts": n_starts, "trace": True, **chosen}

    def set_up(self, problem: Problem, time_limit: float) -> None:
        super().set_up(problem, time_limit if self.budget is None else self.budget)

    def answer(self) -> Answer:
        made = super().answer()
        status = "budget spent" if self.budget is not None and made.status == "time limit" else made.status
        points = [point for start in self._result.trace for point in zip(start.seconds, start.objectives, strict=True)]
        trace = improvements(sorted((float(seconds), float(value)) for seconds, value in points))
        if trace:  # the best start is solved again for its signs after the last point
            trace.append((round(self._result.seconds, 6), float(self._result.objective)))
        notes = {"starts": self._result.counts["starts"], "trace": trace}
        return Answer(status, made.coef, made.intercept, made.claimed, made.lower_bound, notes=notes)
