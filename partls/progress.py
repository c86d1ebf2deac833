"""What a search tells while it runs: a live line, log lines where there is no terminal, or a call to an observer."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.live import Live

logger = logging.getLogger("partls")
_LOG_EVERY = 5.0
Item = TypeVar("Item")


@dataclass(frozen=True)
class SearchState:
    """A search between two rounds: work done, subtrees open, best objective and lower bound (original units)."""

    nodes: int
    n_open: int
    objective: float
    lower_bound: float
    seconds: float


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

    def __enter__(self) -> SearchProgress:
        """Start the live line when standard error is a terminal."""
        if self._enabled and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=8, transient=False)
            self._live.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Leave the last line standing."""
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    def update(self, n_done: int, n_left: int, upper: float, lower: float) -> None:
        """Show the state of the search (objectives in original units)."""
        if self._observer is not None and self._told(n_done, n_left, upper, lower):
            raise KeyboardInterrupt
        if not self._enabled:
            return
        now = time.perf_counter()
        line = self.line(n_done, n_left, upper, lower, now - self._began)
        if self._live is not None:
            self._live.update(line)
        elif now - self._logged >= _LOG_EVERY:
            self._logged = now
            logger.info(line)

    def finish(self, n_done: int, n_left: int, upper: float, lower: float) -> None:
        """Show the final state, in the log too."""
        if self._observer is not None:
            self._told(n_done, n_left, upper, lower)
        if self._enabled:
            self._logged = -_LOG_EVERY
            self.update(n_done, n_left, upper, lower)

    def _told(self, n_done: int, n_left: int, upper: float, lower: float) -> bool:
        assert self._observer is not None
        return bool(self._observer(SearchState(n_done, n_left, upper, lower, time.perf_counter() - self._began)))

    def line(self, n_done: int, n_left: int, upper: float, lower: float, seconds: float) -> str:
        """Return the line that is shown."""
        gap = (upper - lower) / upper if upper > 0 else 0.0
        rate = n_done / seconds if seconds > 0 else 0.0
        return (
            f"{n_done:>9,} {self._done}  {n_left:>5,} {self._left}  incumbent {upper:.8g}  bound {lower:.8g}  "
            f"gap {gap:7.2%}  {rate:,.0f} {self._done}/s  {seconds:.1f} s"
        )


def counted(items: Iterable[Item], total: int, what: str, enabled: bool) -> Iterator[Item]:
    """Yield the items behind a bar that counts them, on standard error; without one unless asked."""
    if not enabled:
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, total=total, description=what, console=Console(stderr=True))
