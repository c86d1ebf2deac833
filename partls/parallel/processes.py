"""Explore in other processes: executors of ``concurrent.futures``, also those of loky and mpi4py."""

from __future__ import annotations

import pickle
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, wait
from typing import Any

from formulations.errors import InvalidInput, WorkersLost
from partls.explore.explorers import SearchProblem
from partls.parallel.remote_pool import Bundle, RemotePool
from partls.parallel.remote_worker import WorkRequest, WorkResult, run_request


class ProcessPool(RemotePool):
    """Processes of a ``concurrent.futures`` executor, also loky's or mpi4py's."""

    def __init__(self, executor: Executor, problem: SearchProblem, deadline: float) -> None:
        super().__init__(problem, deadline)
        self._executor = executor
        self._n_workers = max(1, int(getattr(executor, "_max_workers", 1)))
        self._pickled = pickled(self._packed)
        self._n_copies = 0

    def n_workers(self) -> int:
        """Return the number of processes."""
        return self._n_workers

    def send(self, bundle: Bundle, request: WorkRequest, *, with_problem: bool) -> None:
        """Submit a request; the first ones, and those repeated on demand, carry the problem."""
        with_problem = with_problem or self._n_copies < self._n_workers
        self._n_copies += with_problem
        with lost_workers():
            bundle.future = self._executor.submit(run_request, request, self._pickled if with_problem else None)

    def receive(self, bundle: Bundle, seconds: float) -> WorkResult | None:
        """Return the result if the process has sent it."""
        future: Future[WorkResult] = bundle.future
        if not wait([future], seconds).done or future.cancelled():
            return None
        with lost_workers():
            return future.result()

    def cancel(self, bundle: Bundle, seconds: float) -> None:
        """Cancel what no process has begun; a bundle in progress ends by itself within about a second."""
        if not bundle.future.cancel():
            wait([bundle.future], seconds)


def pickled(problem: SearchProblem) -> bytes:
    """Return the problem as bytes; refuse a relaxation or a rule that cannot leave this process."""
    try:
        return pickle.dumps(problem)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InvalidInput(
            f"relaxation={problem.relaxation!r} or branching={problem.branching!r} cannot be sent to other processes "
            f"({error}): define it at the top of an installed module, or use n_jobs"
        ) from None


class lost_workers:  # noqa: N801 -- reads as what it turns errors into
    """Turn an executor's own failures into ``WorkersLost``."""

    def __enter__(self) -> None:
        """Watch."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Say in one way what every executor says in its own."""
        closed = isinstance(error, RuntimeError) and "shutdown" in str(error)
        if closed or isinstance(error, BrokenExecutor | CancelledError):
            told = str(error).partition("\n")[0] or type(error).__name__
            raise WorkersLost(
                f"the executor failed ({told}); with checkpoint=... the search resumes"
            ) from error
