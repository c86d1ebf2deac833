"""The same search by one thread, by threads, by processes of a Dask cluster, and recorded for a replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.contract import Answer, Problem
from benchmarks.methods.ours import Bnb
from benchmarks.schedule import Recorder


@dataclass
class BnbThreads(Bnb):
    """Threads of this process."""

    name = "bnb_threads"

    n_jobs: int = 2

    def options(self) -> dict:
        return {**super().options(), "n_jobs": self.n_jobs}


@dataclass
class BnbDask(Bnb):
    """Worker processes of a Dask cluster on this machine."""

    name = "bnb_dask"
    requires = ("distributed",)

    workers: int = 2

    def set_up(self, problem: Problem, time_limit: float) -> None:
        from benchmarks.clusters import client

        super().set_up(problem, time_limit)
        self._client = client(self.workers)
        self._options["executor"] = self

    def make_pool(self, problem: Any, explore: Any, deadline: float) -> Any:
        """Return a pool that also counts its bundles."""
        from partls.parallel.dask_cluster import DaskPool

        class Counting(DaskPool):
            seconds: tuple[float, ...] = ()
            n_bundles = 0

            def receive(self, bundle: Any, seconds: float) -> Any:
                result = super().receive(bundle, seconds)
                if result is not None:
                    self.seconds, self.n_bundles = self.seconds + result.seconds, self.n_bundles + 1
                return result

        self._pool = Counting(self._client, problem, deadline)
        return self._pool

    def answer(self) -> Answer:
        answer = super().answer()
        pool = getattr(self, "_pool", None)  # a small tree never leaves this process
        if pool is not None:
            answer.notes.update(subtrees=len(pool.seconds), busy=sum(pool.seconds), bundles=pool.n_bundles)
        return answer


@dataclass
class BnbRecorded(Bnb):
    """One thread, every task written down in the notes, from which the page replays them on many workers."""

    name = "bnb_recorded"

    def set_up(self, problem: Problem, time_limit: float) -> None:
        super().set_up(problem, time_limit)
        self._recorder = Recorder()
        self._options["executor"] = self._recorder

    def answer(self) -> Answer:
        answer, recorder = super().answer(), self._recorder
        answer.notes.update(
            subtrees=len(recorder.steps), busy=sum(step.seconds for step in recorder.steps),
            before=self._result.seconds - recorder.seconds,
            steps=[[step.after, round(step.seconds, 6)] for step in recorder.steps],
        )
        return answer
