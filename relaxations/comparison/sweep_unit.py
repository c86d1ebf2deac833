"""One instance of a sweep with all its relaxations: the work of one process."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass, replace
from math import inf

import numpy as np
from threadpoolctl import threadpool_limits

from formulations.errors import InvalidInput
from formulations.instance import Instance
from relaxations.comparison.compare import found, with_proof
from relaxations.comparison.gap import Gap, floor_of
from relaxations.comparison.measured import Measured, measured
from relaxations.comparison.reference import Given, given_reference
from relaxations.comparison.sweep_rows import Factors, SweepRow
from relaxations.interpreter import kernel
from relaxations.protocol import Relaxation

_TIME_LIMIT = "time limit"


@dataclass(frozen=True, eq=False)
class Unit:
    """What a process needs to know of one instance.

    ``make`` is the instance or builds it; ``known`` are the rows of earlier runs, which are checked and not measured
    again; ``ends`` is when the whole sweep ends, on the clock that all processes share.
    """

    factors: Factors
    make: Instance | Callable[[], Instance]
    members: Mapping[str, Relaxation]
    known: Mapping[str, SweepRow]
    optimum: Given
    incumbent: Given
    bound_time_limit: float
    ends: float

    @property
    def told(self) -> str:
        """The factors in a line."""
        return ", ".join(f"{name}={value}" for name, value in self.factors)


def solve_unit(unit: Unit) -> list[SweepRow]:
    """Return one row for each relaxation that is not known yet, in their order."""
    rows = [SweepRow(unit.factors, label, definition=definition_of(member), note=_TIME_LIMIT)
            for label, member in unit.members.items() if label not in unit.known]
    if time.time() >= unit.ends:
        return rows
    try:
        instance = unit.make() if callable(unit.make) else unit.make
    except Exception as error:  # an instance that cannot be built must not stop the others
        note = f"instance: {type(error).__name__}: {error}"
        return [replace(row, status="failed", note=note) for row in rows]
    if not isinstance(instance, Instance):
        raise InvalidInput(f"instance {unit.told} is {type(instance).__name__}: give a formulations.Instance")
    digest = digest_of(instance)
    if changed := [label for label, row in unit.known.items() if row.digest != digest]:
        raise InvalidInput(
            f"resume: the instance {unit.told} is not the one that the file has {changed[0]!r} of: give another file"
        )
    return _solved(unit, instance, [replace(row, digest=digest) for row in rows]) if rows else []


def _solved(unit: Unit, instance: Instance, rows: list[SweepRow]) -> list[SweepRow]:
    _ = kernel.one_node  # compiled now, so that no relaxation's time is the compiler's
    root = instance.reduction.pattern(None)
    with threadpool_limits(1, user_api="blas"):
        answers = []
        for row in rows:
            left = min(unit.bound_time_limit, unit.ends - time.time())
            deadline = time.perf_counter() + left if left < inf else inf
            answers.append(measured(instance, row.relaxation, unit.members[row.relaxation], [root], deadline))
            if time.time() >= unit.ends:  # the last answer may be cut short
                break
        given = given_reference(unit.optimum, unit.incumbent, instance)
        gap = Gap(floor_of(instance), given or found(instance, root, answers))
    gap = with_proof(gap, {answer.label: answer.bounds[root][0] for answer in answers})
    if time.time() >= unit.ends and _is_cut(answers[-1]):
        answers.pop()  # the sweep's end cut it short, and not the limit of a bound
    done = [_row(row, answer, gap) for row, answer in zip(rows, answers, strict=False)]
    return done + rows[len(done):]


def _is_cut(answer: Measured) -> bool:
    ((bound, _),) = answer.bounds.values()
    return bound.error == _TIME_LIMIT


def _row(row: SweepRow, answer: Measured, gap: Gap) -> SweepRow:
    ((bound, seconds),) = answer.bounds.values()
    refuted = bound.status.trusted and gap.refutes(bound.value)
    note = bound.error or (f"above the {gap.reference.kind}: no lower bound" if refuted else "")
    return replace(
        row, bound=bound.value, estimate=bound.estimate, floor=gap.floor.value, reference=gap.reference.value,
        is_optimum=gap.reference.is_optimum, measured_against=gap.reference.words, tie=gap.width <= 0, seconds=seconds,
        prepare_seconds=answer.prepare_seconds, status=bound.status.value, note=note,
    )


def digest_of(instance: Instance) -> str:
    """Return a digest of the numbers, groups and penalties of an instance, to recognise it."""
    strengths, digest = instance.strengths, hashlib.sha256()
    weights = np.empty(0) if instance.sample_weight is None else instance.sample_weight
    for part in (instance.X, instance.y, weights, instance.partition.labels, strengths.groups):
        digest.update(repr((part.shape, str(part.dtype))).encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    options = (instance.penalty, strengths.intercept, strengths.ridge, instance.fit_intercept,
               instance.penalize_intercept)
    digest.update(repr(options).encode())
    return digest.hexdigest()[:32]


def definition_of(relaxation: Relaxation) -> str:
    """Return the options of a relaxation as text; the name alone where it has none that can be told."""
    told = repr(relaxation) if is_dataclass(relaxation) else relaxation.name
    return relaxation.name if " at 0x" in told else " ".join(told.split())
