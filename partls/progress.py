"""A live line while a search runs: rich in a terminal, plain log lines elsewhere, nothing unless asked."""

from __future__ import annotations

import logging
import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.live import Live

logger = logging.getLogger("partls")
_LOG_EVERY = 5.0


class SearchProgress(AbstractContextManager["SearchProgress"]):
    """Shows the work done and left (nodes and open subtrees, or starts), incumbent, bound, gap and speed."""

    def __init__(self, enabled: bool, *, done: str = "nodes", left: str = "open") -> None:
        self._enabled = enabled
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
        if self._enabled:
            self._logged = -_LOG_EVERY
            self.update(n_done, n_left, upper, lower)

    def line(self, n_done: int, n_left: int, upper: float, lower: float, seconds: float) -> str:
        """Return the line that is shown."""
        gap = (upper - lower) / upper if upper > 0 else 0.0
        rate = n_done / seconds if seconds > 0 else 0.0
        return (
            f"{n_done:>9,} {self._done}  {n_left:>5,} {self._left}  incumbent {upper:.8g}  bound {lower:.8g}  "
            f"gap {gap:7.2%}  {rate:,.0f} {self._done}/s  {seconds:.1f} s"
        )
