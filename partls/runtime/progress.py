"""Progress of long work: a bar on a terminal, a line every half minute elsewhere, or a call."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress

EVERY = 30.0  # seconds between two lines where no terminal shows a bar
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
        self._began = time.perf_counter()
        self._shows = ExitStack()
        self._last: SearchState | None = None

    def __enter__(self) -> SearchProgress:
        """Start the bar where standard error is a terminal, the lines where it is not."""
        if self._enabled and in_terminal():
            from rich.console import Console
            from rich.live import Live

            live = Live(console=Console(stderr=True), refresh_per_second=8, get_renderable=self._shown)
            self._shows.enter_context(live)
        elif self._enabled:
            self._shows.enter_context(heartbeat(self._line))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Leave the last state standing."""
        self._shows.__exit__(kind, error, trace)

    def update(self, n_done: int, n_left: int, upper: float, lower: float) -> None:
        """Show the state of the search (objectives in original units)."""
        self._last = SearchState(n_done, n_left, upper, lower, time.perf_counter() - self._began)
        if self._observer is not None and self._observer(self._last):
            raise KeyboardInterrupt

    def finish(self, n_done: int, n_left: int, upper: float, lower: float) -> None:
        """Show the final state."""
        with suppress(KeyboardInterrupt):  # too late for an observer to end the run
            self.update(n_done, n_left, upper, lower)

    def _line(self) -> str:
        """Return the state of the search as one line."""
        told = f"searching: {time.perf_counter() - self._began:.0f} s"
        return told if self._last is None else f"{told}  {self._facts(self._last)}  gap {self._last.gap:.2%}"

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


def in_terminal() -> bool:
    """Return whether standard error, where progress goes, is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def heartbeat(line: Callable[[], str]) -> Iterator[None]:
    """Print ``line()`` on standard error every half minute while the block runs, where no terminal shows a bar."""
    if in_terminal():
        yield
        return
    ended = Event()

    def beat() -> None:
        while not ended.wait(EVERY):
            with suppress(OSError, ValueError, AttributeError):  # closed, or there is none
                print(line(), file=sys.stderr, flush=True)

    thread = Thread(target=beat, name="partls-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something takes its time."""
    began = time.perf_counter()
    with bar(enabled=True) as shown, heartbeat(lambda: f"{what}: {time.perf_counter() - began:.0f} s"):
        shown.add_task(what, total=None, told="")
        yield


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
    with bar(enabled) as shown, ExitStack() as stack:
        task = shown.add_task(what, total=total, told=f"0 of {total:,}")
        if enabled:
            stack.enter_context(heartbeat(lambda: f"{what}: {shown.tasks[0].fields['told']}"))
        for done, item in enumerate(items, start=1):
            shown.update(task, completed=done, told=f"{done:,} of {total:,}")
            yield item
