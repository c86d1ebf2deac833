"""Who does the work of a sweep: this process, or several others that take one instance after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait

from relaxations.comparison.sweep_rows import SweepRow
from relaxations.comparison.sweep_unit import Unit, solve_unit

_AHEAD = 2  # instances for each process that are made ready: one at work, one waiting


def results(units: Iterable[Unit], jobs: int) -> Iterator[tuple[Unit, list[SweepRow]]]:
    """Yield each unit with its rows, as they are done."""
    if jobs == 1:
        for unit in units:
            yield unit, solve_unit(unit)
        return
    from joblib.externals.loky import get_reusable_executor

    executor = get_reusable_executor(max_workers=jobs)
    left: dict[Future[list[SweepRow]], Unit] = {}
    finished = False
    try:
        for unit in units:
            left[executor.submit(solve_unit, unit)] = unit
            while len(left) >= _AHEAD * jobs:
                yield from _done(left)
        while left:
            yield from _done(left)
        finished = True
    finally:
        if not finished:  # an error or Ctrl-C: nobody waits for what is under way
            executor.shutdown(wait=True, kill_workers=True)


def _done(left: dict[Future[list[SweepRow]], Unit]) -> Iterator[tuple[Unit, list[SweepRow]]]:
    for future in wait(left, return_when=FIRST_COMPLETED).done:
        yield left.pop(future), future.result()
