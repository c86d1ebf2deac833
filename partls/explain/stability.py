"""How stable the signs and effects are: the model refitted, to proven optimality, on resampled rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations.data import Floats
from formulations.instance import Instance
from formulations.rows.blocks import RowBlocks, in_blocks
from formulations.rows.equivalent_rows import EquivalentRows
from formulations.rows.reweighted_blocks import resamples
from formulations.signs import SignPattern
from partls.explain.given_rows import matched, on_rows
from partls.explain.report import SIGN, Report, name, number, percent, table
from partls.result import Result, Status
from partls.runtime.blas_threads import single_threaded_blas
from partls.runtime.interrupts import Keyboard, lent
from partls.runtime.options import a_priori_signs, nonnegative
from partls.runtime.progress import counted
from partls.shortest import shortest
from partls.solve import solve_instance

_QUANTILES = (0.025, 0.5, 0.975)


@dataclass(frozen=True)
class GroupStability:
    """One group over all resamples: how often each sign, and the quantiles and spread of its effect."""

    group: str
    sign: int
    beta: float
    positive: float
    zero: float
    negative: float
    low: float
    median: float
    high: float
    deviation: float


@dataclass(frozen=True, eq=False)
class Stability(Report):
    """Shares of signs and quantiles of effects; ``betas`` has one row per resample.

    ``exact`` is False where the time limit left a single resample, whose refit is not proven optimal.
    """

    rows: tuple[GroupStability, ...]
    betas: Floats
    exact: bool = True

    def __str__(self) -> str:
        """Show one line per group."""
        lines = [
            [name(row.group), SIGN[row.sign], number(row.beta), percent(row.positive), percent(row.zero),
             percent(row.negative), number(row.low), number(row.median), number(row.high), number(row.deviation)]
            for row in self.rows
        ]
        headers = ("group", "sign", "beta", "+", "0", "-", "2.5%", "median", "97.5%", "deviation")
        n = len(self.betas)
        cut = "" if self.exact else ", refitted as far as the time limit allowed"
        return f"{n} resample{'s' * (n != 1)} of the rows{cut}\n\n" + table(headers, lines, left=(0, 1))


def bootstrap(result: Result, *, n_resamples: int = 200, X: Any = None, y: Any = None, sample_weight: Any = None,
              signs: Any = None, n_jobs: int | None = None, random_state: Any = None, progress: bool = False,
              time_limit: float | None = None) -> Stability:
    """Return the stability of a result under resampling of rows with replacement.

    Row n drawn c times counts c times its own weight, and of several optimal models the shortest is taken, as in a fit
    of the estimator. ``signs`` are kept; without any, those given to the fit are. The draws depend on ``random_state``
    alone, not on ``n_jobs``, the number of resamples fitted at the same time (threads). After ``time_limit`` seconds no
    further resample is begun, and those not yet refitted to proven optimality are left out; of the first one, the best
    model found is kept even so.

    A result on compressed rows needs the rows again: X, y and ``sample_weight`` as they were fitted, in memory, in
    Dask's blocks or in a Parquet folder. Blocks are drawn from and compressed on their workers, several resamples in
    one pass; the draws then depend on the sizes of the blocks too.
    """
    from joblib import Parallel, delayed
    from sklearn.utils import check_random_state

    n_resamples = int(nonnegative("n_resamples", n_resamples, integer=True) or 0)
    limit = nonnegative("time_limit", time_limit)
    end = time.perf_counter() + (np.inf if limit is None else limit)
    fixed = a_priori_signs(result.instance, result.given_signs if signs is None else signs)
    result = on_rows(result, X, y, sample_weight, call="bootstrap(X=X, y=y)")
    generator = check_random_state(random_state)
    if in_blocks(X):
        blocks = RowBlocks.of(matched(X, result.instance.partition.columns), y, sample_weight)
        drawn = _folded_draws(result.instance, resamples(blocks, n_resamples, generator, end))
    else:
        drawn = _draws(generator, result.instance, n_resamples, end)
    keys = Keyboard()
    # The limit on BLAS threads is the process's own: set it once, around all threads.
    with single_threaded_blas():
        fits = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(_refit)(result, instance, fixed, keys, end) for instance in drawn
        )
        with _ended_by_ctrl_c(fits, keys):
            fitted = list(counted(fits, n_resamples, "resamples", progress))
    rows = [beta for beta, is_complete in fitted if is_complete]
    exact = bool(rows) or not fitted
    betas = np.array(rows if exact else [fitted[0][0]]).reshape(-1, result.instance.n_groups)
    return Stability(tuple(_row(result, k, betas[:, k]) for k in range(result.instance.n_groups)), betas, exact)


def _folded_draws(instance: Instance, drawn: Iterable[EquivalentRows]) -> Iterator[Instance]:
    """Yield the problem of each resample that has been folded."""
    for rows in drawn:
        yield instance.replace(X=rows, y=None, sample_weight=None)


def _draws(generator: Any, instance: Instance, n_resamples: int, end: float) -> Iterator[Instance]:
    """Yield the problem of each resample, until the end; one of weightless rows alone is drawn again."""
    N, own = instance.n_rows, 1.0 if instance.sample_weight is None else instance.sample_weight
    for i in range(n_resamples):
        if i and time.perf_counter() >= end:
            return
        weights = np.zeros(N)
        while not weights.any():
            weights = generator.multinomial(N, np.full(N, 1.0 / N)) * own
        yield instance.replace(sample_weight=weights)


@contextmanager
def _ended_by_ctrl_c(fits: Generator[tuple[Floats, bool], None, None], keys: Keyboard) -> Iterator[None]:
    """Hand Ctrl-C on to the fits at work in threads, which would go on without it."""
    try:
        yield
    except KeyboardInterrupt:
        keys.press()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib's advice how to cancel fewer
            fits.close()
        raise


def _refit(result: Result, instance: Instance, fixed: SignPattern, keys: Keyboard, end: float) -> tuple[Floats, bool]:
    """Return the effects for one resample, and whether there was time to prove them optimal."""
    own = fixed.values[: result.instance.n_groups]
    left = None if end == np.inf else max(end - time.perf_counter(), 0.0)
    with lent(keys):
        found = solve_instance(instance, signs=own, warm_start=result, time_limit=left)
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return shortest(found, fixed, end).beta, found.status is not Status.TIME_LIMIT


def _row(result: Result, k: int, betas: Floats) -> GroupStability:
    low, median, high = np.quantile(betas, _QUANTILES)
    return GroupStability(
        result.groups[k], int(result.signs[k]), float(result.beta[k]), float((betas > 0).mean()),
        float((betas == 0).mean()), float((betas < 0).mean()), float(low), float(median), float(high),
        float(betas.std(ddof=1)) if len(betas) > 1 else np.nan,
    )
