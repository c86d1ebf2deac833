"""Explore on a Dask cluster: bundles as tasks of its scheduler, the problem scattered to all workers once.

A worker that dies costs its bundles, which the scheduler gives to another; a worker that joins gets some of the next.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from math import inf
from typing import Any

import distributed

from formulations.errors import InvalidInput, WorkersLost
from partls.explore.explorers import SearchProblem
from partls.parallel.remote_pool import Bundle, RemotePool
from partls.parallel.remote_worker import WorkRequest, WorkResult, refuse_versions, run_request

logger = logging.getLogger("partls")
_COUNT_EVERY = 5.0  # seconds between counts of the workers
_LOOK_EVERY, _PATIENCE = 1.0, 15.0  # seconds between checks for a worker, and without one before giving up
_FETCH = 3.0  # seconds until a result that is done must have come
_ATTEMPTS = 3  # for a bundle whose workers die, beyond those of Dask itself


class Workers:
    """Whether a cluster has workers: a warning reports at once that it has none; an error follows after a while."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._looked, self._gone_since = -inf, inf

    def are_there(self, *, again: bool = False) -> bool:
        """Return whether there is a worker, by a look not older than a second; raise ``WorkersLost`` after a while."""
        now = time.perf_counter()
        if again or now > self._looked + _LOOK_EVERY:
            self._looked = now
            with suppress(OSError, CancelledError):  # what is wrong with the scheduler shows when work is sent
                self._note(bool(self._client.nthreads()), now)
        return self._gone_since == inf

    def wait(self) -> None:
        """Return when there is a worker."""
        while not self.are_there():
            time.sleep(_LOOK_EVERY / 4)

    def _note(self, found: bool, now: float) -> None:
        where = f"the Dask cluster at {_address(self._client)}"
        if found:
            self._gone_since = inf
        elif self._gone_since == inf:
            self._gone_since = now
            logger.warning(f"{where} has no workers: waiting {_PATIENCE:.0f} s for one to come")
        elif now > self._gone_since + _PATIENCE:
            raise WorkersLost(
                f"{where} has had no workers for {_PATIENCE:.0f} s: start some and run again; with checkpoint=... a "
                "search resumes"
            )


class DaskPool(RemotePool):
    """The workers of a ``dask.distributed.Client``, as many as there are at any time."""

    def __init__(self, client: Any, problem: SearchProblem, deadline: float) -> None:
        super().__init__(problem, deadline)
        if client.asynchronous:
            raise InvalidInput("executor is an asynchronous client: give one made without asynchronous=True")
        self._client = client
        self._n_workers, self._counted = 1, -inf
        self._workers = Workers(client)
        self._workers.wait()
        try:
            refuse_other_versions(client, self._versions)
            self._scattered = self._scatter()
        except (OSError, CancelledError, ValueError) as error:  # no scheduler, or no worker in time
            if isinstance(error, InvalidInput):
                raise
            raise self._lost(error) from error

    def n_workers(self) -> int:
        """Return the number of threads of all workers, looked up now and then."""
        now = time.perf_counter()
        if now > self._counted + _COUNT_EVERY:
            self._counted = now
            with suppress(OSError, CancelledError):  # what is wrong with the scheduler shows when a bundle is due
                self._n_workers = max(1, sum(self._client.nthreads().values()))
        return self._n_workers

    def send(self, bundle: Bundle, request: WorkRequest, *, with_problem: bool) -> None:
        """Submit a bundle; the scheduler brings the problem to workers that lack it."""
        bundle.attempts += 1
        try:
            bundle.future = self._client.submit(run_request, request, self._scattered, pure=False)
        except (OSError, RuntimeError, ValueError) as error:
            raise self._lost(error) from error

    def receive(self, bundle: Bundle, seconds: float) -> WorkResult | None:
        """Return the result if there is one; send the bundle again if its workers died."""
        try:
            if not bundle.future.done():
                _wait(bundle.future, seconds)
            result: WorkResult = bundle.future.result(timeout=max(seconds, _FETCH))  # of a worker that may be gone
            return result
        except TimeoutError:
            self._workers.are_there()
            return None
        except (distributed.KilledWorker, CancelledError) as error:
            if self._client.status != "running" or bundle.attempts > _ATTEMPTS:
                raise self._lost(error) from error
            if self._workers.are_there(again=True):
                self._send_again(bundle)
            else:
                time.sleep(min(seconds, _LOOK_EVERY / 4))
            return None
        except OSError as error:
            raise self._lost(error) from error

    def cancel(self, bundle: Bundle, seconds: float) -> None:
        """Cancel a bundle; a worker that explores it ends within about a second."""
        with suppress(OSError, TimeoutError, CancelledError, RuntimeError):
            if not bundle.future.done():
                _wait(bundle.future, seconds)
        with suppress(OSError, TimeoutError, CancelledError, RuntimeError):
            if not bundle.future.done():
                bundle.future.cancel()

    def _scatter(self) -> Any:
        return self._client.scatter(self._packed, broadcast=True, hash=False)

    def _send_again(self, bundle: Bundle) -> None:
        """Submit once more, with the problem scattered anew if all who had it are gone."""
        try:
            if self._scattered.status != "finished":
                self._scattered = self._scatter()
        except (OSError, CancelledError, ValueError) as error:
            if self._workers.are_there(again=True):
                raise self._lost(error) from error
            return  # the last worker has left meanwhile
        self.send(bundle, self._request(bundle), with_problem=True)

    def _lost(self, error: BaseException) -> WorkersLost:
        told = str(error).partition("\n")[0] or type(error).__name__
        return WorkersLost(
            f"the Dask cluster at {_address(self._client)} is gone or refuses work ({told}); with checkpoint=... the "
            "search resumes, on this machine or another cluster"
        )


def refuse_other_versions(client: Any, wanted: Mapping[str, str]) -> None:
    """Refuse workers that lack a package or have another version of it, by name, before anything is sent."""
    for worker, info in sorted(client.get_versions(packages=["partls", "scipy", "numba"])["workers"].items()):
        python = ".".join(str(info["host"]["python"]).split(".")[:2])
        refuse_versions(worker, {**info["packages"], "python": python}, wanted)


def _address(client: Any) -> str:
    return str(getattr(getattr(client, "scheduler", None), "address", "") or "an unknown address")


def _wait(future: Any, seconds: float) -> None:
    """Return when the future is done; raise TimeoutError if it is not after so many seconds."""
    distributed.wait(future, timeout=seconds)  # type: ignore[no-untyped-call]
