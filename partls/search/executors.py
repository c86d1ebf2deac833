"""Explore on other processes and machines: executors of ``concurrent.futures``, joblib's backends, a Dask client.

Each gets bundles of tasks. The problem, a few hundred rows, goes to each process once. Bundles are sized by the clock,
so that an exchange of messages costs little beside the work; results do not depend on how tasks are bundled.
"""

from __future__ import annotations

import pickle
import time
import uuid
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from partls.exceptions import InvalidInput, WorkersLost
from partls.search.crew import Crew, Task, Threads
from partls.search.explorers import SearchProblem
from partls.search.subtree import Exploration
from partls.search.worker import Order, Report, carry_out, versions

_BUNDLE_SECONDS = 0.5  # of work per bundle: a hundred times what it costs to send one
BUNDLES_EACH = 3  # in hand per worker: one at work, the others on their way
_LAST_MOMENT = 0.25  # seconds that a search at its end waits for what is nearly done

BACKENDS = ("loky", "multiprocessing", "threading", "dask")  # joblib's, by name; others as a joblib.Parallel


@dataclass(eq=False)
class Bundle:
    """Tasks that travel together, and what came of them."""

    tasks: list[Task] = field(default_factory=list)
    future: Any = None
    report: Report | None = None
    attempts: int = 0


Ticket = tuple[Bundle, int]


class RemoteCrew:
    """Workers that share no memory with the search; subclasses know how to reach them."""

    def __init__(self, problem: SearchProblem, deadline: float) -> None:
        self._key, self._versions = uuid.uuid4().hex, versions()
        self._deadline = deadline
        self._packed = problem.packed()
        self._filling = Bundle()
        self._sent: list[Bundle] = []
        self._n_waiting = 0
        self._seconds_per_task = _BUNDLE_SECONDS

    def submit(self, task: Task) -> Ticket:
        """Put the task into a bundle, which is sent when it is full or waited for."""
        bundle = self._filling
        bundle.tasks.append(task)
        self._n_waiting += 1
        if len(bundle.tasks) >= self._bundle_size():
            self._send_filled()
        return bundle, len(bundle.tasks) - 1

    def wait(self, ticket: Ticket, seconds: float) -> Exploration | None:
        """Return one exploration of a bundle that has come back."""
        bundle, place = ticket
        if bundle is self._filling:
            self._send_filled()
        if bundle.report is None:
            report = None if bundle not in self._sent else self.receive(bundle, seconds)
            if report is None:
                return None
            if not report.explorations:  # the process had not seen the problem yet
                self.send(bundle, self._order(bundle), with_problem=True)
                return None
            bundle.report = report
            self._sent.remove(bundle)
            mean = sum(report.seconds) / len(report.seconds)
            self._seconds_per_task += 0.2 * (max(mean, 1e-4) - self._seconds_per_task)
        self._n_waiting -= 1
        return bundle.report.explorations[place]

    def close(self) -> None:
        """Wait a moment for what is nearly done, and cancel the rest; the executor itself is the user's."""
        self._filling = Bundle()
        self._sent = [bundle for bundle in self._sent if bundle.future is not None]
        end = time.perf_counter() + _LAST_MOMENT
        for bundle in self._sent:
            self.give_up(bundle, max(end - time.perf_counter(), 0.0))

    def _bundle_size(self) -> int:
        """Return as many tasks as keep a worker busy for a while and leave some for every other worker."""
        enough = int(_BUNDLE_SECONDS / self._seconds_per_task)
        return max(1, min(enough, self._n_waiting // (BUNDLES_EACH * self.n_workers())))

    def _send_filled(self) -> None:
        bundle, self._filling = self._filling, Bundle()
        if bundle.tasks:
            self._sent.append(bundle)
            self.send(bundle, self._order(bundle), with_problem=False)

    def _order(self, bundle: Bundle) -> Order:
        return Order(self._key, bundle.tasks, self._deadline - time.perf_counter(), self._versions)

    # What subclasses know

    def n_workers(self) -> int:
        """Return how many can work at the same time."""
        raise NotImplementedError

    def send(self, bundle: Bundle, order: Order, *, with_problem: bool) -> None:
        """Let a worker carry out an order."""
        raise NotImplementedError

    def receive(self, bundle: Bundle, seconds: float) -> Report | None:
        """Return the report on a bundle, or None if there is none after so many seconds."""
        raise NotImplementedError

    def give_up(self, bundle: Bundle, seconds: float) -> None:
        """Cancel a bundle that is not back after so many seconds."""
        raise NotImplementedError


class PoolCrew(RemoteCrew):
    """Processes of a ``concurrent.futures`` executor, also loky's or mpi4py's."""

    def __init__(self, executor: Executor, problem: SearchProblem, deadline: float) -> None:
        super().__init__(problem, deadline)
        self._executor = executor
        self._n_workers = max(1, int(getattr(executor, "_max_workers", 1)))
        self._pickled = pickled(self._packed)
        self._n_copies = 0

    def n_workers(self) -> int:
        """Return how many processes there are."""
        return self._n_workers

    def send(self, bundle: Bundle, order: Order, *, with_problem: bool) -> None:
        """Submit an order; the first ones, and those that come back for it, carry the problem."""
        with_problem = with_problem or self._n_copies < self._n_workers
        self._n_copies += with_problem
        with lost_workers():
            bundle.future = self._executor.submit(carry_out, order, self._pickled if with_problem else None)

    def receive(self, bundle: Bundle, seconds: float) -> Report | None:
        """Return the report, if the process has sent it."""
        future: Future[Report] = bundle.future
        if not wait([future], seconds).done or future.cancelled():
            return None
        with lost_workers():
            return future.result()

    def give_up(self, bundle: Bundle, seconds: float) -> None:
        """Cancel what no process has begun; what one works on ends by itself within a second or so."""
        if not bundle.future.cancel():
            wait([bundle.future], seconds)


class JoblibCrew(RemoteCrew):
    """Any backend of joblib, through ``joblib.Parallel`` itself: all bundles at hand are done in one call of it."""

    def __init__(self, parallel: Any, problem: SearchProblem, deadline: float) -> None:
        super().__init__(problem, deadline)
        from joblib import effective_n_jobs

        self._parallel = parallel
        self._pool = ExitStack()  # one pool for all calls, the user's if one is open
        if not getattr(parallel, "_managed_backend", False):
            self._pool.enter_context(parallel)
        self._n_workers = max(1, int(parallel.n_jobs if parallel.n_jobs > 0 else effective_n_jobs(parallel.n_jobs)))
        self._pickled = pickled(self._packed)
        self._n_copies = 0
        self._orders: list[tuple[Bundle, Order, bool]] = []

    def n_workers(self) -> int:
        """Return how many jobs run at the same time."""
        return self._n_workers

    def send(self, bundle: Bundle, order: Order, *, with_problem: bool) -> None:
        """Keep the order until one of those kept is waited for."""
        with_problem = with_problem or self._n_copies < self._n_workers
        self._n_copies += with_problem
        self._orders.append((bundle, order, with_problem))

    def receive(self, bundle: Bundle, seconds: float) -> Report | None:
        """Return the report, after a call of joblib that carries out all orders kept if it is one of them."""
        from joblib import delayed

        if any(bundle is kept for kept, _, _ in self._orders):
            orders, self._orders = self._orders, []
            job = delayed(carry_out)
            with lost_workers():
                reports = self._parallel(job(order, self._pickled if whole else None) for _, order, whole in orders)
            for (done, _, _), report in zip(orders, reports, strict=True):
                done.future = report
        report = bundle.future
        return report if isinstance(report, Report) else None

    def give_up(self, bundle: Bundle, seconds: float) -> None:
        """Forget all orders kept: between calls of joblib nothing is on its way."""
        self._orders = []

    def close(self) -> None:
        """Close the pool too, if it was opened here."""
        super().close()
        self._pool.close()


def hire(executor: Any, problem: SearchProblem, explore: Callable[[Task], Exploration], n_jobs: int,
         deadline: float) -> Crew:
    """Return the crew of an executor; one with a method ``hire`` of its own is asked."""
    if hasattr(executor, "hire"):
        crew: Crew = executor.hire(problem, explore, deadline)
        return crew
    if isinstance(executor, ThreadPoolExecutor):
        return Threads(explore, executor)
    if isinstance(executor, Executor):
        return PoolCrew(executor, problem, deadline)
    if is_dask_client(executor):
        from partls.search.dask_crew import DaskCrew

        return DaskCrew(executor, problem, deadline)
    import joblib

    parallel = joblib.Parallel(n_jobs=n_jobs, backend=executor) if isinstance(executor, str) else executor
    return JoblibCrew(parallel, problem, deadline)


def checked_executor(executor: Any) -> Any:
    """Return an executor that ``hire`` knows; refuse anything else before the work begins."""
    if executor is None or isinstance(executor, Executor) or is_dask_client(executor) or hasattr(executor, "hire"):
        return executor
    if isinstance(executor, str) and executor in BACKENDS:
        return executor
    if type(executor).__name__ == "Parallel" and type(executor).__module__.startswith("joblib"):
        return executor
    raise InvalidInput(
        f"executor={executor!r} is none of these: a dask.distributed.Client, an executor of concurrent.futures, a "
        f"joblib.Parallel, or the name of a joblib backend {list(BACKENDS)}"
    )


def is_dask_client(executor: Any) -> bool:
    """Return whether this is a ``dask.distributed.Client``, without loading Dask to know."""
    return any((base.__name__, base.__module__) == ("Client", "distributed.client") for base in type(executor).__mro__)


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
                f"the executor failed ({told}); with checkpoint=... the search goes on from where it was"
            ) from error
