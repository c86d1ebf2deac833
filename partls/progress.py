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
    """Shows nodes, open subtrees, incumbent, bound, gap and nodes per second."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
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

    def update(self, nodes: int, n_open: int, upper: float, lower: float) -> None:
        """Show the state of the search (objectives in original units)."""
        if not self._enabled:
            return
        now = time.perf_counter()
        line = self.line(nodes, n_open, upper, lower, now - self._began)
        if self._live is not None:
            self._live.update(line)
        elif now - self._logged >= _LOG_EVERY:
            self._logged = now
            logger.info(line)

    def finish(self, nodes: int, n_open: int, upper: float, lower: float) -> None:
        """Show the final state, in the log too."""
        if self._enabled:
            self._logged = -_LOG_EVERY
            self.update(nodes, n_open, upper, lower)

    @staticmethod
    def line(nodes: int, n_open: int, upper: float, lower: float, seconds: float) -> str:
        """Return the line that is shown."""
        gap = (upper - lower) / upper if upper > 0 else 0.0
        rate = nodes / seconds if seconds > 0 else 0.0
        return (
            f"{nodes:>9,} nodes  {n_open:>5,} open  incumbent {upper:.8g}  bound {lower:.8g}  gap {gap:7.2%}  "
            f"{rate:,.0f} nodes/s  {seconds:.1f} s"
        )
