"""How sure the signs are: the exact cost of flipping each, and every pattern that fits almost as well."""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass
from typing import Any

from formulations.signs import SignPattern
from partls.explain.report import SIGN, Report, name, number, percent, table
from partls.result import Result, Status
from partls.runtime.options import a_priori_signs, nonnegative
from partls.solve import solve_instance

_PROVED = (Status.OPTIMAL, Status.PRECISION_LIMIT)


@dataclass(frozen=True)
class FlippedGroup:
    """The best model in which one group has the opposite sign, or is zero.

    ``increase`` is relative to the objective of the fit. ``flipped_beta`` is 0 where the best way to flip a group is
    to drop it. A group that is zero in the fit may take either sign at no cost. ``exact`` is False where a time
    limit left the flipped objective an upper bound.
    """

    group: str
    sign: int
    beta: float
    flipped_objective: float
    increase: float
    flipped_beta: float
    exact: bool


@dataclass(frozen=True)
class NearTie:
    """One sign pattern whose best objective is close to the optimum."""

    signs: SignPattern
    objective: float
    increase: float


@dataclass(frozen=True)
class SignCertainty(Report):
    """The cost of flipping each group, and the near ties, best first (the fit itself is the first).

    ``complete`` says that no other pattern is within the given share of the optimum.
    """

    rows: tuple[FlippedGroup, ...]
    near_ties: tuple[NearTie, ...]
    within: float
    complete: bool

    def __str__(self) -> str:
        """Show both tables."""
        flips = [
            [name(row.group), SIGN[row.sign], number(row.beta),
             ("" if row.exact else "<= ") + number(row.flipped_objective),
             ("" if row.exact else "<= ") + percent(row.increase), number(row.flipped_beta)]
            for row in self.rows
        ]
        headers = ("group", "sign", "beta", "objective if flipped", "increase", "beta if flipped")
        ties = [[str(tie.signs), number(tie.objective), percent(tie.increase)] for tie in self.near_ties]
        head = f"{len(ties)} sign pattern(s) within {percent(self.within)} of the optimum" + (
            "" if self.complete else ", and there may be more:"
        )
        patterns = table(("signs", "objective", "increase"), ties)
        return "\n".join([table(headers, flips, left=(0, 1)), "", head, patterns])


def sign_certainty(result: Result, *, within: float = 0.01, max_patterns: int = 100, signs: Any = None,
                   time_limit: float | None = None, n_jobs: int | None = None) -> SignCertainty:
    """Return what flipping each group costs and which sign patterns come within a share of the optimum.

    Every figure is the optimum of its own branch and bound, so that nothing is missed.

    Parameters
    ----------
    within : float
        Share of the optimum, e.g. 0.01 for one per cent.
    max_patterns : int
        Near ties listed at most; a group that is zero doubles their number, for it fits both signs.
    signs
        The a-priori signs of the fit, which near ties keep.
    time_limit : float, optional
        Seconds in all; what is then not exact is marked.
    """
    within = nonnegative("within", 0.0 if within is None else within)
    max_patterns = nonnegative("max_patterns", 0 if max_patterns is None else max_patterns, integer=True)
    solver = _Solver(result, a_priori_signs(result.instance, signs), time_limit, n_jobs)
    K = result.instance.n_groups
    rows = tuple(_flip(solver, result, k, 1 / (K - k + 1)) for k in range(K))  # the near ties get a part too
    ties, complete = _near_ties(solver, result, (1 + within) * result.objective, max_patterns)
    return SignCertainty(rows, ties, within, complete)


class _Solver:
    """Best models under partial sign patterns of one instance, within one time limit."""

    def __init__(self, result: Result, root: SignPattern, time_limit: float | None, n_jobs: int | None) -> None:
        limit = nonnegative("time_limit", time_limit)
        self.result, self.root, self._n_jobs = result, SignPattern(root.values[: result.instance.n_groups]), n_jobs
        self._deadline = float("inf") if limit is None else time.perf_counter() + limit

    @property
    def seconds_left(self) -> float:
        return max(self._deadline - time.perf_counter(), 0.0)

    def best(self, signs: SignPattern, share: float = 1.0) -> Result:
        """Return the best model found in a share of the time that is left."""
        found = solve_instance(
            self.result.instance, signs=signs.values, warm_start=self.result, time_limit=share * self.seconds_left,
            n_jobs=self._n_jobs,
        )
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return found


def _flip(solver: _Solver, result: Result, k: int, share: float) -> FlippedGroup:
    name, sign, beta = result.groups[k], int(result.signs[k]), float(result.beta[k])
    if sign == 0:
        return FlippedGroup(name, 0, 0.0, result.objective, 0.0, 0.0, True)
    flipped = SignPattern((*solver.root.values[:k], -sign, *solver.root.values[k + 1 :]))
    found = solver.best(flipped, share)
    return FlippedGroup(
        name, sign, beta, found.objective, _increase(found.objective, result.objective), float(found.beta[k]),
        found.status in _PROVED,
    )


def _increase(objective: float, optimum: float) -> float:
    if optimum > 0:
        return objective / optimum - 1.0
    return 0.0 if objective <= 0 else float("inf")


def _near_ties(solver: _Solver, result: Result, threshold: float, most: int) -> tuple[tuple[NearTie, ...], bool]:
    """Return the patterns up to the threshold, best first: after each, the rest of its box is split and solved.

    The boxes left when pattern s leaves a box: groups up to some k as in s, and group k flipped. Their best
    patterns are the only candidates for the next place (Lawler's method for the k best solutions).
    """
    boxes = [_box(solver.root, result)]
    ties: list[NearTie] = []
    complete = result.status in _PROVED
    while boxes and len(ties) < most:
        objective, _, best, box = heapq.heappop(boxes)
        ties.append(NearTie(best, objective, _increase(objective, result.objective)))
        for k in box.undecided:
            if not solver.seconds_left:  # hundreds of searches stopped at once are no use, and take their time
                return tuple(ties), False
            part = box.fix(k, -best[k])
            box = box.fix(k, best[k])
            found = solver.best(part)
            if found.lower_bound <= threshold and found.status not in _PROVED:
                complete = False
            if found.objective <= threshold:
                heapq.heappush(boxes, _box(part, found))
    return tuple(ties), complete and not boxes


def _box(box: SignPattern, found: Result) -> tuple[float, tuple[int, ...], SignPattern, SignPattern]:
    """Return a heap entry: the best pattern of a box, a zero group counted as + unless the box says otherwise."""
    signs = tuple(fixed or int(sign) or 1 for fixed, sign in zip(box, found.signs, strict=True))
    return found.objective, tuple(-sign for sign in signs), SignPattern(signs), box
