"""The memory that Arrow reads into."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def small_pages() -> Iterator[None]:
    """Let Arrow take its memory in small pages, where it can and nobody has chosen otherwise.

    Its usual allocator asks for huge ones. A reader needs some 200 MiB whatever the rows, and finding and clearing that
    much in huge pages can take the system longer than a small file takes to be decoded.
    """
    import pyarrow as pa

    before = pa.default_memory_pool()
    try:
        small = before if "ARROW_DEFAULT_MEMORY_POOL" in os.environ else pa.jemalloc_memory_pool()
    except NotImplementedError:  # not on every system
        small = before
    pa.set_memory_pool(small)
    try:
        yield
    finally:
        pa.set_memory_pool(before)
