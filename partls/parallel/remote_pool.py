"""The part that all remote pools share: tasks are sent in bundles, and the problem once to each process.

Bundles are sized by the clock, so that messages cost little beside the work. Results do not depend on how tasks are
bundled.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from partls.explore.explorers import SearchProblem
from partls.explore.subtree import Exploration, Task
from partls.parallel.remote_worker import WorkRequest, WorkResult, versions

_BUNDLE_SECONDS = 0.5  # of work per bundle: a hundred times what it costs to send one
BUNDLES_EACH = 3  # sent per worker: one being explored, the others on their way
_LAST_MOMENT = 0.25  # seconds that an ending search waits for results that are nearly ready


@dataclass(eq=False)
class Bundle:
    """Tasks that are sent together, and their result."""

    tasks: list[Task] = field(default_factory=list)
    future: Any = None
    result: WorkResult | None = None
    attempts: int = 0


Handle = tuple[Bundle, int]  # a bundle and the position of the task in it


class RemotePool:
    """Workers that share no memory with the search; subclasses know how to reach them."""

    def __init__(self, problem: SearchProblem, deadline: float) -> None:
        self._key, self._versions = uuid.uuid4().hex, versions()
        self._deadline = deadline
        self._packed = problem.packed()
        self._filling = Bundle()
        self._sent: list[Bundle] = []
        self._n_waiting = 0
        self._seconds_per_task = _BUNDLE_SECONDS

    def submit(self, task: Task) -> Handle:
        """Put the task into a bundle, which is sent when it is full or waited for."""
        bundle = self._filling
        bundle.tasks.append(task)
        self._n_waiting += 1
        if len(bundle.tasks) >= self._bundle_size():
            self._send_filled()
        return bundle, len(bundle.tasks) - 1

    def wait(self, handle: Handle, seconds: float) -> Exploration | None:
        """Return one exploration of a bundle that has been explored."""
        bundle, position = handle
        if bundle is self._filling:
            self._send_filled()
        if bundle.result is None:
            result = None if bundle not in self._sent else self.receive(bundle, seconds)
            if result is None:
                return None
            if not result.explorations:  # the process had not seen the problem yet
                self.send(bundle, self._request(bundle), with_problem=True)
                return None
            bundle.result = result
            self._sent.remove(bundle)
            mean = sum(result.seconds) / len(result.seconds)
            self._seconds_per_task += 0.2 * (max(mean, 1e-4) - self._seconds_per_task)
        self._n_waiting -= 1
        return bundle.result.explorations[position]

    def close(self) -> None:
        """Wait a moment for what is nearly done and cancel the rest; the executor itself belongs to the user."""
        self._filling = Bundle()
        self._sent = [bundle for bundle in self._sent if bundle.future is not None]
        end = time.perf_counter() + _LAST_MOMENT
        for bundle in self._sent:
            self.cancel(bundle, max(end - time.perf_counter(), 0.0))

    def _bundle_size(self) -> int:
        """Return as many tasks as keep a worker busy for a while and leave some for every other worker."""
        enough = int(_BUNDLE_SECONDS / self._seconds_per_task)
        return max(1, min(enough, self._n_waiting // (BUNDLES_EACH * self.n_workers())))

    def _send_filled(self) -> None:
        bundle, self._filling = self._filling, Bundle()
        if bundle.tasks:
            self._sent.append(bundle)
            self.send(bundle, self._request(bundle), with_problem=False)

    def _request(self, bundle: Bundle) -> WorkRequest:
        return WorkRequest(self._key, bundle.tasks, self._deadline - time.perf_counter(), self._versions)

    # Each kind of pool defines:

    def n_workers(self) -> int:
        """Return the number of workers that run at the same time."""
        raise NotImplementedError

    def send(self, bundle: Bundle, request: WorkRequest, *, with_problem: bool) -> None:
        """Send a request to a worker."""
        raise NotImplementedError

    def receive(self, bundle: Bundle, seconds: float) -> WorkResult | None:
        """Return the result of a bundle, or None if there is none within ``seconds``."""
        raise NotImplementedError

    def cancel(self, bundle: Bundle, seconds: float) -> None:
        """Cancel a bundle that has no result within ``seconds``."""
        raise NotImplementedError
