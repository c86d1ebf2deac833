"""How sure the signs are: the exact cost of flipping each, and every pattern that fits almost as well."""

from __future__ import annotations

import heapq
import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from formulations.errors import counted
from formulations.rounding import Rounded, rounded
from formulations.signs import SignPattern
from partls.explain.report import EXACT_FIT, SIGN, Report, name, number, percent, table
from partls.result import Result, Status
from partls.runtime.options import a_priori_signs, nonnegative
from partls.runtime.screen import wrapped
from partls.solve import solve_instance
from relaxations.clock import OutOfTime, check, until

_PROVED = (Status.OPTIMAL, Status.PRECISION_LIMIT)


@dataclass(frozen=True)
class FlippedGroup:
    """The best model in which one group has the opposite sign, or is zero.

    ``increase`` is relative to the objective of the fit: 0.0 where the two tie up to rounding, else infinite where the
    fit is exact. ``flipped_beta`` is 0 where the best way to flip a group is
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

    ``complete`` says that no other pattern is within the given share of the optimum. ``exact_fit`` says that the
    objective of the fit is zero up to rounding: the near ties are then the patterns that fit exactly, too.
    """

    rows: tuple[FlippedGroup, ...]
    near_ties: tuple[NearTie, ...]
    within: float
    complete: bool
    exact_fit: bool = False

    def __str__(self) -> str:
        """Show both tables."""
        flips = [
            [name(row.group), SIGN[row.sign], number(row.beta), *self._cost(row, "" if row.exact else "<= "),
             "" if self.exact_fit else number(row.flipped_beta)]
            for row in self.rows
        ]
        headers = ("group", "sign", "beta", "objective if flipped", "increase", "beta if flipped")
        free = {k for k, row in enumerate(self.rows) if row.increase == 0 and row.exact}
        ties = [*dict.fromkeys((_spelled(tie.signs, free), *self._cost(tie)) for tie in self.near_ties)]
        more = "" if self.complete else ", and there may be more"
        more += " (* is either sign)" if free and ties else ""
        patterns = table(("signs", "objective", "increase"), ties)
        costs = table(headers, flips, left=(0, 1))
        return "\n".join([*map(wrapped, self._heading()), costs, "", self._count() + more, patterns])

    def _heading(self) -> list[str]:
        return [f"{EXACT_FIT}: relative increases are undefined", ""] if self.exact_fit else []

    def _count(self) -> str:
        patterns = counted(len(self.near_ties), "sign pattern")
        if self.exact_fit:
            return f"{patterns} with an exact fit (up to rounding)"
        return f"{patterns} within {percent(self.within)} of the optimum"

    def _cost(self, row: FlippedGroup | NearTie, most: str = "") -> list[str]:
        """Return the objective and its increase, as a share only of an objective that is more than rounding."""
        objective = row.flipped_objective if isinstance(row, FlippedGroup) else row.objective
        if not self.exact_fit:
            return [most + number(objective), most + percent(row.increase).removeprefix("<" if most else "")]
        return ["0", "none"] if row.increase == 0 else [most + number(objective), "unknown" if most else "not exact"]


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
        Signs to be kept by flips of other groups and by near ties; those given to the fit if there are none here.
    time_limit : float, optional
        Seconds in all; what is then not exact is marked.
    """
    within = nonnegative("within", 0.0 if within is None else within)
    max_patterns = nonnegative("max_patterns", 0 if max_patterns is None else max_patterns, integer=True)
    root = a_priori_signs(result.instance, result.given_signs if signs is None else signs)
    solver = _Solver(result, root, time_limit, n_jobs)
    K = result.instance.n_groups
    rows = tuple(_flip(solver, result, k, 1 / (K - k + 1)) for k in range(K))  # the near ties get a part too
    ties, complete = _near_ties(solver, result, within, max_patterns)
    return SignCertainty(rows, ties, within, complete, result.rounded.vanishes)


def _spelled(signs: SignPattern, free: Collection[int]) -> str:
    """Return a pattern with a star for each group that fits equally well with either sign."""
    return "".join("*" if k in free else sign for k, sign in enumerate(str(signs)))


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
        """Return the best model found in a share of the time that is left; ``OutOfTime`` if none is, for large data."""
        with until(self._deadline, alarm=False):
            check(self.result.instance.reduction.work)
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
    dropped = _without(result, k)
    try:
        found = solver.best(flipped, share)
    except OutOfTime:
        return FlippedGroup(name, sign, beta, dropped.value, dropped.share_above(result.rounded), 0.0, False)
    reached, flipped_beta, exact = found.rounded, float(found.beta[k]), found.status in _PROVED
    exact |= result.status in _PROVED and reached.share_above(result.rounded) == 0  # no sign fits better than the best
    if not exact and dropped.value < reached.value:
        reached, flipped_beta = dropped, 0.0
    return FlippedGroup(name, sign, beta, reached.value, reached.share_above(result.rounded), flipped_beta, exact)


def _without(result: Result, k: int) -> Rounded:
    """Return the objective of the fit with one group dropped and nothing else changed: no flip need cost more."""
    instance, coef = result.instance, np.where(result.instance.partition.labels == k, 0.0, result.coef)
    return rounded(instance, coef, result.intercept, instance.objective(coef, result.intercept))


def _near_ties(solver: _Solver, result: Result, within: float, most: int) -> tuple[tuple[NearTie, ...], bool]:
    """Return the patterns within a share of the fit, best first: after each, the rest of its box is split and solved.

    The boxes left when pattern s leaves a box: groups up to some k as in s, and group k flipped. Their best
    patterns are the only candidates for the next place (Lawler's method for the k best solutions).
    """
    boxes = [_box(solver.root, result, 0.0)]
    ties: list[NearTie] = []
    complete = result.status in _PROVED
    while boxes and len(ties) < most:
        increase, _, objective, best, box = heapq.heappop(boxes)
        ties.append(NearTie(best, objective, increase))
        for k in box.undecided:
            if not solver.seconds_left:  # hundreds of searches stopped at once are no use, and take their time
                return tuple(ties), False
            part = box.fix(k, -best[k])
            box = box.fix(k, best[k])
            try:
                found = solver.best(part)
            except OutOfTime:
                return tuple(ties), False
            increase, at_least = (value.share_above(result.rounded) for value in (found.rounded, _bound(found)))
            if at_least <= within and found.status not in _PROVED:
                complete = False
            if increase <= within:
                heapq.heappush(boxes, _box(part, found, increase))
    return tuple(ties), complete and not boxes


def _bound(found: Result) -> Rounded:
    """Return the lower bound with the error of the objective."""
    return replace(found.rounded, value=found.lower_bound)


def _box(box: SignPattern, found: Result, increase: float
         ) -> tuple[float, tuple[int, ...], float, SignPattern, SignPattern]:
    """Return a heap entry: the best pattern of a box, a zero group counted as + unless the box says otherwise.

    Patterns that tie up to rounding are in the order of their signs.
    """
    signs = tuple(fixed or int(sign) or 1 for fixed, sign in zip(box, found.signs, strict=True))
    return increase, tuple(-sign for sign in signs), found.objective, SignPattern(signs), box
