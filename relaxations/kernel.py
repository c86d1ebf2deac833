"""Load the compiled modules: quickly from numba's cache, or by compiling them once, with a word to the user."""

from __future__ import annotations

import importlib
import logging
import sys
import threading
from typing import Any

logger = logging.getLogger("partls")

_PATIENCE = 1.5  # seconds: loading from the cache takes less
_announced = threading.Event()


def load(module: str) -> Any:
    """Return a compiled module, importing it on first use; if that means compiling, say so once."""
    if module in sys.modules:
        return sys.modules[module]
    timer = threading.Timer(_PATIENCE, _announce)
    timer.daemon = True
    timer.start()
    try:
        return importlib.import_module(module)
    finally:
        timer.cancel()


def _announce() -> None:
    if not _announced.is_set():
        _announced.set()
        logger.warning("compiling the search kernel: about 20 seconds, once per installation")
