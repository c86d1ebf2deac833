"""What long work tells while it runs: bars on a terminal, log lines where there is none, or a call to an observer."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.progress import Progress

logger = logging.getLogger("partls")
_LOG_EVERY = 5.0
_BAR_WIDTH = 30
Item = TypeVar("Item")


@dataclass(frozen=True)
class SearchState:
    """A search between two rounds: work done, subtrees open, best objective and lower bound (original units)."""

    nodes: int
    n_open: int
    objective: float
    lower_bound: float
    seconds: float

    @property
    def gap(self) -> float:
        """The relative distance between objective and bound."""
        return (self.objective - self.lower_bound) / self.objective if self.objective > 0 else 0.0


Observer = Callable[[SearchState], Any]  # one that returns True ends the search as Ctrl-C does


class SearchProgress(AbstractContextManager["SearchProgress"]):
    """Shows the work done and left (nodes and open subtrees, or starts), incumbent, bound, gap and speed.

    Or tells them to an observer, which may end the run.
    """

    def __init__(self, enabled: bool | Observer, *, done: str = "nodes", left: str = "open") -> None:
        self._observer = enabled if callable(enabled) else None
        self._enabled = self._observer is None and bool(enabled)
        self._done, self._left = done, left
        self._began = self._logged = time.perf_counter()
        self._live: Live | None = None
        self._last: SearchState | None = None

    def __enter__(self) -> SearchProgress:
        """Start the bar when standard error is a terminal."""
        if self._enabled and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=8, get_renderable=self._shown)
            self._live.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Leave the last state standing."""
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    def update(self, n_done: int, n_left: int, upper: float, lower: float) -> None:
        """Show the state of the search (objectives in original units)."""
        now = time.perf_counter()
        state = SearchState(n_done, n_left, upper, lower, now - self._began)
        if self._observer is not None and self._observer(state):
            raise KeyboardInterrupt
        if not self._enabled:
            return
        self._last = state
        if self._live is None and now - self._logged >= _LOG_EVERY:
            self._logged = now
            logger.info("%s  gap %.2f%%  %.1f s", self._facts(state), 100 * state.gap, state.seconds)

    def finish(self, n_done: int, n_left: int, upper: float, lower: float) -> None:
        """Show the final state, in the log too."""
        self._logged = -_LOG_EVERY
        with suppress(KeyboardInterrupt):  # too late for an observer to end the run
            self.update(n_done, n_left, upper, lower)

    def _facts(self, state: SearchState) -> str:
        speed = state.nodes / state.seconds if state.seconds > 0 else 0.0
        return (
            f"{state.nodes:,} {self._done}  {speed:,.0f} {self._done}/s  {state.n_open:,} {self._left}  "
            f"incumbent {state.objective:.7g}  bound {state.lower_bound:.7g}"
        )

    def _share(self, state: SearchState) -> float:
        """Return what the bar shows: the starts made of all, or the bound as a share of the incumbent."""
        return state.nodes / max(state.nodes + state.n_open, 1) if self._done == "starts" else 1.0 - state.gap

    def _shown(self) -> RenderableType:
        """Return two lines that fit a terminal of 80 columns: bar, gap and time; then the facts."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        state, seconds = self._last, time.perf_counter() - self._began
        line = Table.grid(padding=(0, 2, 0, 0))
        line.add_column(no_wrap=True)
        line.add_column(max_width=_BAR_WIDTH)  # the one that gives way on a narrow terminal
        line.add_column(no_wrap=True)
        line.add_column(no_wrap=True)
        if state is None:
            line.add_row("searching", ProgressBar(total=None, pulse=True), f"{seconds:.1f} s")
            return line
        gap = Text(f"gap {state.gap:.2%}", style="bold", no_wrap=True)
        line.add_row("searching", ProgressBar(total=1.0, completed=self._share(state)), gap, f"{seconds:.1f} s")
        return Group(line, Text(self._facts(state), style="dim"))


def bar(enabled: bool) -> Progress:
    """Return a row of progress on a terminal: what is done, a bar, facts and time; it goes when the work ends."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}", markup=False), BarColumn(bar_width=_BAR_WIDTH),
        TextColumn("{task.fields[told]}", markup=False), TimeElapsedColumn(table_column=Column(no_wrap=True)),
        console=console, transient=True, disable=not (enabled and console.is_terminal),
    )


def counted(items: Iterable[Item], total: int, what: str, enabled: bool) -> Iterator[Item]:
    """Yield the items behind a bar that counts them, on standard error; without one unless asked."""
    with bar(enabled) as shown:
        task = shown.add_task(what, total=total, told=f"0 of {total:,}")
        for done, item in enumerate(items, start=1):
            shown.update(task, completed=done, told=f"{done:,} of {total:,}")
            yield item
