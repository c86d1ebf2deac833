"""One BLAS thread while solving: the matrices are small, and a second thread makes them ten times slower."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> list[Any]:
    import scipy.linalg  # noqa: F401  (its BLAS must be loaded to be found)

    return [library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"]


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Let BLAS use one thread inside; mostly it does so already, which takes less time to see than to set."""
    changed = [(library, library.num_threads) for library in _libraries() if library.num_threads != 1]
    for library, _ in changed:
        library.set_num_threads(1)
    try:
        yield
    finally:
        for library, threads in changed:
            library.set_num_threads(threads)
