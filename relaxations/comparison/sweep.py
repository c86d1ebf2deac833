"""sweep(): every relaxation on many instances, with their factors, within limits, and resumed from a file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from math import inf
from typing import Any

from formulations.errors import InvalidInput
from formulations.instance import Instance
from relaxations.comparison.members import Relaxations, labelled
from relaxations.comparison.reference import Given
from relaxations.comparison.sweep_file import SweepFile
from relaxations.comparison.sweep_progress import Observer, observed
from relaxations.comparison.sweep_result import Sweep
from relaxations.comparison.sweep_rows import Factors, SweepRow, factors_of
from relaxations.comparison.sweep_run import results
from relaxations.comparison.sweep_unit import Unit, definition_of

Make = Instance | Callable[[], Instance]
Instances = Mapping[Any, Make] | Iterable[tuple[Any, Make]] | Callable[..., Instance]


def sweep(
    instances: Instances, relaxations: Relaxations = None, *, grid: Mapping[str, Sequence[Any]] | None = None,
    factors: Sequence[str] | None = None, optimum: Given = None, incumbent: Given = None,
    bound_time_limit: float | None = None, time_limit: float | None = None, n_jobs: int = 1,
    resume: str | os.PathLike[str] | None = None, progress: bool | Observer = False,
) -> Sweep:
    """Return what each relaxation proves at the root of many instances, and how long it takes.

    Ctrl-C and the time limit end the sweep; the rows so far are returned, and ``ended`` says so.

    Parameters
    ----------
    instances
        ``{key: instance}``, pairs of key and instance (from a generator, too), or a function that makes an instance
        from the values of ``grid``. An instance may also be a function without arguments that builds it, so that no
        more than one for each process is in memory.
    relaxations
        As in ``compare``.
    grid
        For a function, the values of each of its arguments: one instance for every combination.
    factors
        Names of the entries of keys that are tuples. Keys that are mappings or named tuples name theirs, and other keys
        are listed under "instance". Factors become columns of the results.
    optimum, incumbent
        As in ``compare``: a mapping from keys, or a function of the instance such as ``partls.solve_instance``. Without
        them the gap is measured against a solution of rounding and descent, as the results say.
    bound_time_limit, time_limit
        Seconds for each relaxation on each instance, its preparation included, and for the whole sweep.
    n_jobs
        Processes. Times are longer where processes share memory and cores.
    resume
        File that keeps the rows, one line each; a sweep that was ended continues from it. It is checked first.
    progress
        Show a line on standard error, or call this with (instances done, all or None, rows of the last one).

    Returns
    -------
    Sweep
        One row for each instance and relaxation.

    Raises
    ------
    InvalidInput
        If an option cannot be used, or the file to resume from belongs to another sweep.

    Examples
    --------
    >>> from formulations import random_instance
    >>> from relaxations import sweep
    >>> grid = {"M": [6, 12], "correlation": [0.0, 0.9]}
    >>> [row.status for row in sweep(random_instance, ["active-set"], grid=grid).rows]
    ['optimal', 'optimal', 'optimal', 'optimal']
    """
    members, file = labelled(relaxations), SweepFile(resume)
    _check_limits(bound_time_limit=bound_time_limit, time_limit=time_limit)
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise InvalidInput(f"n_jobs={n_jobs!r} must be a whole number other than 0 (-1: one process per core)")
    jobs = n_jobs if n_jobs > 0 else max((os.cpu_count() or 1) + 1 + n_jobs, 1)
    ends = inf if time_limit is None else time.time() + time_limit
    definitions = {label: definition_of(member) for label, member in members.items()}
    order: list[Factors] = []

    def units() -> Iterator[Unit]:
        for key, make in _pairs(instances, grid):
            one = _checked(factors_of(key, None if factors is None else tuple(factors)), order)
            known = {label: row for label in members if (row := file.known(one, label, definitions[label])) is not None}
            yield Unit(one, make, members, known, _at(optimum, key), _at(incumbent, key),
                       inf if bound_time_limit is None else bound_time_limit, ends)

    fresh: dict[tuple[Factors, str], SweepRow] = {}
    total = _number(instances, grid)
    ended = ""
    with observed(progress, total) as tell:
        try:
            for unit, rows in results(units(), jobs):
                file.add(row for row in rows if row.digest)
                fresh |= {(row.factors, row.relaxation): row for row in rows}
                tell(unit, rows)
        except KeyboardInterrupt:
            ended = "interrupted"
    every = fresh | file.rows
    kept = [every[one, label] for one in order for label in members if (one, label) in every]
    if not ended and any(not row.was_run for row in kept):
        ended = "time limit"
    return Sweep.of(kept, ended)


def _pairs(instances: Instances, grid: Mapping[str, Sequence[Any]] | None) -> Iterator[tuple[Any, Make]]:
    """Yield keys and instances, one after another."""
    if callable(instances):
        if not grid:
            raise InvalidInput('grid: give the values of each argument of the function, such as {"M": [10, 20]}')
        for values in product(*grid.values()):
            one = dict(zip(grid, values, strict=True))
            yield one, partial(instances, **one)
        return
    if grid is not None:
        raise InvalidInput("grid is for a function that makes the instances: these are given already")
    for pair in instances.items() if isinstance(instances, Mapping) else instances:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InvalidInput(f"instances: {type(pair).__name__} is not a pair of a key and an instance")
        yield pair


def _number(instances: Instances, grid: Mapping[str, Sequence[Any]] | None) -> int | None:
    """Return how many instances there are; None of a generator."""
    if grid:
        return len(list(product(*grid.values())))
    return len(instances) if isinstance(instances, Mapping | Sequence) else None


def _checked(one: Factors, order: list[Factors]) -> Factors:
    """Return the factors of an instance, new and with the same names as those before; remember them in ``order``."""
    if one in order:
        raise InvalidInput(f"instances: {dict(one)} is given twice: every instance needs a key of its own")
    if order and [name for name, _ in one] != [name for name, _ in order[0]]:
        raise InvalidInput(f"instances: {dict(one)} has other factors than {dict(order[0])}")
    order.append(one)
    return one


def _at(given: Given, key: Any) -> Given:
    """Return what is given for one instance; a function is called with it later."""
    if isinstance(given, Mapping):
        return given.get(key)
    if given is not None and not callable(given):
        raise InvalidInput(f"optimum and incumbent: {given!r} is neither a mapping from keys nor a function")
    return given


def _check_limits(**limits: float | None) -> None:
    for name, value in limits.items():
        if value is not None and not (isinstance(value, int | float) and value > 0):
            raise InvalidInput(f"{name}={value!r} must be None or a number of seconds above 0")
