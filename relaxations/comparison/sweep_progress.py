"""How far a sweep is: a line on standard error, or a function of the user's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from relaxations.comparison.sweep_rows import SweepRow
from relaxations.comparison.sweep_unit import Unit

Observer = Callable[[int, int | None, Sequence[SweepRow]], None]
Tell = Callable[[Unit, Sequence[SweepRow]], None]


@contextmanager
def observed(progress: bool | Observer, total: int | None) -> Iterator[Tell]:
    """Yield the progress report of each completed instance."""
    if callable(progress):
        observer, done = progress, 0

        def count(unit: Unit, rows: Sequence[SweepRow]) -> None:
            nonlocal done
            done += 1
            observer(done, total, rows)

        yield count
    elif not progress:
        yield lambda unit, rows: None
    else:
        with _line(total) as tell:
            yield tell


@contextmanager
def _line(total: int | None) -> Iterator[Tell]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    told = TextColumn("{task.description}")
    columns = TextColumn("sweep"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), told
    with Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task("", total=total)
        yield lambda unit, rows: shown.update(task, advance=1, description=unit.told)
