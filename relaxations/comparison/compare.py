"""compare(): every relaxation on one instance, what each proves and what it costs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import inf, isnan, nan

import numpy as np
from threadpoolctl import threadpool_limits

from formulations.instance import Instance
from formulations.signs import SignPattern
from relaxations.comparison.compared import Compared
from relaxations.comparison.gap import Gap, floor_of
from relaxations.comparison.known_solution import known_solution
from relaxations.comparison.measured import Measured, measured
from relaxations.comparison.members import Relaxations, labelled
from relaxations.comparison.nodes import nodes_below
from relaxations.comparison.reference import Given, Reference, given_reference, proved_by
from relaxations.comparison.result import Comparison
from relaxations.interpreter import kernel
from relaxations.protocol import Bound


def compare(
    instance: Instance, signs: SignPattern | Iterable[int] | None = None, relaxations: Relaxations = None, *,
    optimum: Given = None, incumbent: Given = None, depths: Sequence[int] = (), n_patterns: int = 10, seed: int = 0,
    time_limit: float | None = None,
) -> Comparison:
    """Return what each relaxation proves at a node, how much of the gap that closes, and how long it takes.

    A relaxation that fails is a row that says so. One whose bound has an estimate and no proven value is marked
    "unproven". If neither optimum nor incumbent is given, the gap is measured against a solution found here in a few
    seconds: the optimum if at most eight groups are undecided or a bound meets the solution, else the best solution of
    rounding and descent. The table says which.

    Parameters
    ----------
    instance
        The problem.
    signs
        The node, one of -1, 0, +1 per group; default: the root, where nothing is decided.
    relaxations
        Names, ``Relaxation`` objects, policies, or ``{label: relaxation}``; default: every member of the toolkit.
    optimum
        The exact optimum of the node: a number, a result of ``partls.solve`` (an incumbent, if it is not proven), or a
        function from a ``SignPattern`` to one of these.
    incumbent
        In the same forms, the objective of a known solution: shares of the gap are then too small, if anything.
    depths
        Also compare at these numbers of decided groups, each the mean over ``n_patterns`` nodes below ``signs`` whose
        groups and signs are drawn by ``seed``. ``optimum`` and ``incumbent`` count there if they are functions.
    n_patterns
        The number of nodes at each depth.
    seed
        Seed of these nodes.
    time_limit
        Seconds for all relaxations together; one that takes longer is a row that says so.

    Returns
    -------
    Comparison
        One row for each relaxation and depth.

    Raises
    ------
    InvalidInput
        If a name, a sign pattern or a reference cannot be used.

    Examples
    --------
    >>> from formulations import random_instance
    >>> from relaxations import compare
    >>> compare(random_instance(M=6, group_size=3), relaxations=["active-set"]).rows[0].status
    'optimal'
    """
    node = instance.reduction.pattern(signs)
    nodes = {len(node) - len(node.undecided): [node]} | nodes_below(node, depths, n_patterns, seed)
    every = [each for level in nodes.values() for each in level]
    members = labelled(relaxations)
    given = {each: _given(each, node, optimum, incumbent) for each in every}
    _ = kernel.one_node  # compiled now, so that no relaxation's time is the compiler's
    with threadpool_limits(1, user_api="blas"):
        deadline = inf if time_limit is None else time.perf_counter() + time_limit
        answers = [measured(instance, label, member, every, deadline) for label, member in members.items()]
        floor = floor_of(instance)
        gaps = {each: Gap(floor, given[each] or found(instance, each, answers)) for each in every}
    gaps = {each: with_proof(gap, {answer.label: answer.bounds[each][0] for answer in answers})
            for each, gap in gaps.items()}
    rows = [compared(answer, depth, level, gaps) for depth, level in nodes.items() for answer in answers]
    rows.sort(key=lambda row: row.depth)
    return Comparison(tuple(rows), floor.value, gaps[node].reference, gaps[node].width <= 0)


def _given(each: SignPattern, node: SignPattern, optimum: Given, incumbent: Given) -> Reference | None:
    """Return what the user gave for a node: a number is that of the first node, a function tells of all."""
    if each == node:
        return given_reference(optimum, incumbent, each)
    of_all = [given if callable(given) else None for given in (optimum, incumbent)]
    return given_reference(of_all[0], of_all[1], each)


def found(instance: Instance, node: SignPattern, answers: Sequence[Measured]) -> Reference:
    """Return the best solution that a few seconds find, starting from the points of the relaxations as well."""
    return known_solution(instance.reduction, node, [answer.bounds[node][0].coef for answer in answers])


def with_proof(gap: Gap, bounds: Mapping[str, Bound]) -> Gap:
    """Return the gap with its reference as the optimum, if a trusted bound meets it."""
    trusted = {label: bound.value for label, bound in bounds.items() if bound.status.trusted and bound.value > -inf}
    return Gap(gap.floor, proved_by(gap.reference, trusted, gap.ties))


def compared(answer: Measured, depth: int, level: Sequence[SignPattern], gaps: Mapping[SignPattern, Gap]) -> Compared:
    """Return one relaxation's row: the means over the nodes of one depth."""
    bounds, here = [answer.bounds[node][0] for node in level], [gaps[node] for node in level]
    closed = [gap.closed(bound.value) for gap, bound in zip(here, bounds, strict=True)]
    estimated = [gap.estimated(bound) for gap, bound in zip(here, bounds, strict=True)]
    return Compared(
        answer.label, depth, len(level), _mean([b.value for b in bounds]), _mean([b.estimate for b in bounds]),
        _mean([share for share in closed if not isnan(share)]), _mean([answer.bounds[node][1] for node in level]),
        answer.prepare_seconds, _counted([bound.status.value for bound in bounds]), _note(bounds, here),
        _mean([share for share in estimated if not isnan(share)]), _counted([gap.reference.words for gap in here]),
    )


def _note(bounds: Sequence[Bound], gaps: Sequence[Gap]) -> str:
    """Return the first error, or that a known solution refutes a bound."""
    if error := next((bound.error for bound in bounds if bound.error), ""):
        return error
    for bound, gap in zip(bounds, gaps, strict=True):
        if bound.status.trusted and gap.refutes(bound.value):
            return f"above the {gap.reference.kind}: no lower bound"
    return ""


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else nan


def _counted(words: Sequence[str]) -> str:
    counted = Counter(words)
    if len(counted) == 1:
        return next(iter(counted))
    return ", ".join(f"{count} {word}" for word, count in counted.most_common())
