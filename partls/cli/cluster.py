"""``--scheduler``: the Dask cluster that the command line uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from formulations.errors import InvalidInput

_PATIENCE = 10  # seconds until a scheduler must have answered


@contextmanager
def cluster(address: str | None) -> Iterator[Any]:
    """Connect to a Dask scheduler; nothing without an address."""
    if address is None:
        yield None
        return
    try:
        distributed: Any = import_module("distributed")
        config: Any = import_module("dask.config")
    except ImportError:
        raise InvalidInput("--scheduler needs Dask: pip install 'partls[dask]'") from None
    try:  # not the default yet: a client that finds no scheduler would stay it
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInput(f"--scheduler {address}: no Dask scheduler answers there ({error})") from None
    with client, client.as_current(), config.set(scheduler="dask.distributed"):
        yield client
