"""Clusters of worker processes on this machine, started once for each number of workers."""

from __future__ import annotations

import atexit
import logging
from functools import cache
from typing import Any

# What Dask does in every process besides the work, looked at less often: on two cores it takes a tenth of one.
QUIET = {
    "distributed.admin.tick.interval": "500ms", "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.profile.enabled": False, "distributed.worker.memory.monitor-interval": "2s",
}


@cache
def client(workers: int) -> Any:
    """Return the client of a new local cluster, its workers warm: packages imported, kernel loaded."""
    import dask
    from distributed import Client, LocalCluster

    dask.config.set(QUIET)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    )
    connected = Client(cluster)
    atexit.register(cluster.close)
    atexit.register(connected.close)  # first
    connected.run(_warm)
    return connected


def _warm() -> None:
    import numpy as np

    import partls

    rng = np.random.default_rng(0)
    partls.solve(rng.normal(size=(30, 13)), rng.normal(size=30), list(range(13)), node_limit=10)
