"""compare(): every relaxation on one instance, what each proves and what it costs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf, nan

import numpy as np
from threadpoolctl import threadpool_limits

from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.rounding import Rounded, rounded
from formulations.signs import SignPattern
from relaxations.clock import OutOfTime, in_time, until
from relaxations.comparison.compared import Compared
from relaxations.comparison.node_optimum import node_optimum
from relaxations.comparison.result import Comparison
from relaxations.protocol import Bound, Bounder, BoundStatus, Relaxation, ask
from relaxations.registry import MEMBERS, as_relaxation
from relaxations.sign_constrained import solve_signed

_RUNS, _SHORT = 3, 0.2  # a bound of fewer seconds is timed up to three times: the first compiles


def compare(
    instance: Instance, signs: SignPattern | Iterable[int] | None = None,
    relaxations: Iterable[Relaxation | str] | Mapping[str, Relaxation | str] | None = None, *,
    optimum: float | Callable[[SignPattern], float] | None = None, depths: Sequence[int] = (), n_patterns: int = 10,
    seed: int = 0, time_limit: float | None = None,
) -> Comparison:
    """Return what each relaxation proves at a node, how much of the gap that closes, and how long it takes.

    Parameters
    ----------
    instance
        The problem.
    signs
        The node, one of -1, 0, +1 per group; default: the root, where nothing is decided.
    relaxations
        Names, ``Relaxation`` objects, policies, or ``{label: relaxation}``; default: every member of the toolkit.
    optimum
        The exact optimum of the node, or a function from a ``SignPattern`` to its optimum. By default it is computed
        by a search for small trees; for larger ones pass ``partls.solve_instance(instance).objective``.
    depths
        Also compare at these numbers of decided groups, each the mean over ``n_patterns`` nodes below ``signs`` whose
        groups and signs are drawn by ``seed``.
    time_limit
        Seconds for all relaxations together, the optimum aside; one that takes longer is a row that says so.

    A relaxation that fails is a row that says so.

    Examples
    --------
    >>> import numpy as np
    >>> from formulations import Instance
    >>> rng = np.random.default_rng(0)
    >>> instance = Instance(rng.normal(size=(30, 6)), rng.normal(size=30), [0, 0, 0, 1, 1, 1])
    >>> compare(instance, relaxations=["active-set"]).rows[0].status
    'optimal'
    """
    node = instance.reduction.pattern(signs)
    nodes = {len(node) - len(node.undecided): [node]} | _below(node, depths, n_patterns, seed)
    members = labelled(relaxations)
    with threadpool_limits(1, user_api="blas"):
        floor = _floor(instance)
        optima = {each: _optimum(instance, each, node, optimum) for level in nodes.values() for each in level}
        with until(inf if time_limit is None else time.perf_counter() + time_limit, alarm=False):
            rows = [row for label in members for row in _rows(instance, label, members[label], nodes, floor, optima)]
    rows.sort(key=lambda row: row.depth)
    return Comparison(tuple(rows), floor.value, optima[node], _gap(optima[node], floor) <= 0)


def _floor(instance: Instance) -> Rounded:
    """Return the unconstrained optimum."""
    reduction = instance.reduction
    v = solve_signed(reduction, reduction.column_signs(None))
    return rounded(instance, *reduction.restore(v), reduction.objective(v))


def _below(node: SignPattern, depths: Sequence[int], n_patterns: int, seed: int) -> dict[int, list[SignPattern]]:
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


def labelled(
    relaxations: Iterable[Relaxation | str] | Mapping[str, Relaxation | str] | None,
) -> dict[str, Relaxation]:
    """Return relaxations by label: their names, numbered where one comes twice; None is every member."""
    if isinstance(relaxations, Mapping):
        return {label: as_relaxation(relaxation) for label, relaxation in relaxations.items()}
    chosen = list(MEMBERS) if relaxations is None else [relaxations] if isinstance(relaxations, str) else relaxations
    members = [as_relaxation(relaxation) for relaxation in chosen]
    totals, seen, named = Counter(member.name for member in members), Counter[str](), {}
    for member in members:
        seen[member.name] += 1
        named[member.name + (f" #{seen[member.name]}" if totals[member.name] > 1 else "")] = member
    return named


def _optimum(instance: Instance, each: SignPattern, node: SignPattern,
             given: float | Callable[[SignPattern], float] | None) -> float:
    if callable(given):
        return float(given(each))
    return float(given) if given is not None and each == node else node_optimum(instance, each)


def _rows(instance: Instance, label: str, relaxation: Relaxation, nodes: Mapping[int, list[SignPattern]],
          floor: Rounded, optima: Mapping[SignPattern, float]) -> list[Compared]:
    """Return one row per depth for one relaxation."""
    began = time.perf_counter()
    try:
        bounder = in_time(lambda: relaxation.prepare(instance))
    except Exception as error:  # also a refusal, such as a solver that is not installed: the others still count
        note = str(error) if isinstance(error, OutOfTime) else f"{type(error).__name__}: {error}"
        prepared = time.perf_counter() - began
        failed = BoundStatus.FAILED.value
        return [Compared(label, d, len(n), -inf, nan, 0.0, nan, prepared, failed, note) for d, n in nodes.items()]
    prepared = time.perf_counter() - began
    rows = []
    for depth, level in nodes.items():
        timed = [_timed(bounder, node) for node in level]
        bounds = [bound for bound, _ in timed]
        closed = [_closed(bound.value, floor, optima[node]) for bound, node in zip(bounds, level, strict=True)]
        rows.append(Compared(
            label, depth, len(level), _mean([b.value for b in bounds]), _mean([b.estimate for b in bounds]),
            _mean([share for share in closed if not np.isnan(share)]), _mean([seconds for _, seconds in timed]),
            prepared, _statuses(bounds), next((bound.error for bound in bounds if bound.error), ""),
        ))
    return rows


def _timed(bounder: Bounder, node: SignPattern) -> tuple[Bound, float]:
    """Return a bound and its time: the shortest of a few runs if it is short, so that compiling does not count."""
    shortest, spent = inf, 0.0
    for _ in range(_RUNS):
        began = time.perf_counter()
        try:
            bound = in_time(lambda: ask(bounder, node))
        except (InvalidInput, OutOfTime) as error:
            if shortest < inf:  # it was answered before
                break
            bound = Bound(-inf, nan, None, BoundStatus.FAILED, 0.0, error=str(error))
        seconds = time.perf_counter() - began
        shortest, spent = min(shortest, seconds), spent + seconds
        if spent > _SHORT * _RUNS:
            break
    return bound, shortest


def _closed(value: float, floor: Rounded, optimum: float) -> float:
    gap = _gap(optimum, floor)
    if not gap > 0:
        return nan
    return (value - floor.value) / gap if np.isfinite(value) else 0.0


def _gap(optimum: float, floor: Rounded) -> float:
    """Return how far the optimum is above the unconstrained one; 0 where they tie up to rounding."""
    return replace(floor, value=optimum).above(floor)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else nan


def _statuses(bounds: Sequence[Bound]) -> str:
    counted = Counter(bound.status.value for bound in bounds)
    if len(counted) == 1:
        return next(iter(counted))
    return ", ".join(f"{count} {status}" for status, count in counted.most_common())
