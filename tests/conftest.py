"""Settings shared by all tests: property-based tests draw the same examples in every run."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=100, print_blob=False)
settings.load_profile("fixed")


@pytest.fixture
def keyboard() -> Iterator[None]:
    """Let Ctrl-C mean what it means in a terminal, also where the tests run in the background.

    Coverage rests meanwhile: an interrupt inside its tracer would leave its lock held for ever.
    """
    tracer = sys.modules["coverage"].Coverage.current() if "coverage" in sys.modules else None
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    if tracer is not None:
        tracer.stop()
    yield
    if tracer is not None:
        tracer.start()
    signal.signal(signal.SIGINT, before)
