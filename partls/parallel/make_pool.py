"""From what the user passes as ``executor`` to a pool of explorers; anything else is refused before the work begins."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from formulations.errors import InvalidInput
from partls.explore.explorers import SearchProblem
from partls.explore.subtree import Exploration, Task
from partls.parallel.pool import ExplorerPool, ThreadPool
from partls.parallel.processes import ProcessPool

LOKY = "loky"  # joblib's processes: the one pool that a name stands for


def make_pool(executor: Any, problem: SearchProblem, explore: Callable[[Task], Exploration], n_jobs: int,
              deadline: float) -> ExplorerPool:
    """Return the pool of an executor; an executor with a method ``make_pool`` makes its own."""
    if hasattr(executor, "make_pool"):
        pool: ExplorerPool = executor.make_pool(problem, explore, deadline)
        return pool
    if isinstance(executor, ThreadPoolExecutor):
        return ThreadPool(explore, executor)
    if isinstance(executor, Executor):
        return ProcessPool(executor, problem, deadline)
    if isinstance(executor, str):
        from joblib.externals.loky import get_reusable_executor

        return ProcessPool(get_reusable_executor(max_workers=n_jobs), problem, deadline)
    from partls.parallel.dask_cluster import DaskPool

    return DaskPool(executor, problem, deadline)


def checked_executor(executor: Any) -> Any:
    """Return an executor that ``make_pool`` knows; refuse anything else before the work begins."""
    named = isinstance(executor, str) and executor == LOKY
    if executor is None or named or isinstance(executor, Executor) or hasattr(executor, "make_pool"):
        return executor
    if is_dask_client(executor):
        return executor
    raise InvalidInput(
        f"executor={executor!r} is none of these: a dask.distributed.Client, an executor of concurrent.futures, or "
        f'"{LOKY}" (n_jobs processes of joblib)'
    )


def is_dask_client(executor: Any) -> bool:
    """Return whether this is a ``dask.distributed.Client``, without loading Dask to know."""
    return any((base.__name__, base.__module__) == ("Client", "distributed.client") for base in type(executor).__mro__)
