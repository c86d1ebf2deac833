"""Load the compiled modules: quickly from numba's cache, or by compiling them once, with a word to the user."""

from __future__ import annotations

import importlib
import logging
from functools import cache
from typing import Any

logger = logging.getLogger("partls")


def load(module: str) -> Any:
    """Return a compiled module; importing it compiles what the cache does not have."""
    return importlib.import_module(module)


@cache
def announce_compilation() -> None:
    """Say, once, that the kernel is being compiled."""
    logger.warning("compiling the search kernel: about 10 seconds, once per installation")
