"""solve(): the front door. Validate, choose a strategy, run it, and return a result that audits itself."""

from __future__ import annotations

import inspect
import logging
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern
from formulations.tolerances import ABSOLUTE_TOLERANCE, OPTIMAL_GAP
from partls.exact.answer import answered
from partls.exact.doubt import reach_of
from partls.presolve.presolve import Presolved
from partls.prove.proof_file import write_proof
from partls.result import Result, Status, relative_gap, target_size
from partls.runtime.blas_threads import single_threaded_blas
from partls.runtime.interrupts import keyboard
from partls.runtime.options import (
    a_priori_signs,
    flag,
    nonnegative,
    seed_sequence,
    starting_signs,
    thread_count,
    writable,
)
from partls.runtime.progress import Observer
from partls.search.task import SearchTask
from partls.strategies.alternating import Alternating
from partls.strategies.branch_and_bound import BranchAndBound
from partls.strategies.by_parts import can_run_by_parts, run_by_parts
from partls.strategies.choose import as_strategy
from partls.strategies.enumeration import Enumeration
from partls.strategies.strategy import Strategy
from relaxations.interpreter import interpreted_first, is_small

logger = logging.getLogger(__name__)

_SHARE = 0.1  # of the tolerances: what exact signs may cost


def solve(
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    eta: float | Mapping[Any, float] | Sequence[float] = 0.0,
    penalty: str = "l2",
    ridge: float = 0.0,
    fit_intercept: bool = True,
    penalize_intercept: bool = False,
    sample_weight: Any = None,
    ungrouped: str = "error",
    **options: Any,
) -> Result:
    """Return the global optimum, and its proof, of least squares with penalties and one sign per group.

    The objective is ``||X w + t - y||^2 + sum_k eta_k beta_k^2 + ridge ||w||^2``, beta the sums of the groups'
    coefficients.

    Parameters
    ----------
    X, y, groups, eta, penalty, ridge, fit_intercept, penalize_intercept, sample_weight, ungrouped
        The problem; see ``formulations.Instance``.
    method
        A strategy: ``BranchAndBound(...)``, ``Enumeration(...)``, ``Alternating(...)`` or one of your own. Or a name:
        "bnb", "enumerate", "alternating". "auto" enumerates when more than the best solution is to be
        kept, which only a full list can prove, and otherwise uses branch and bound; ``result.method`` says what ran.
    signs : mapping or sequence, optional
        Signs known beforehand, e.g. ``{"price": "+"}``.
    warm_start : Result, array or mapping, optional
        A first incumbent: a result, coefficients or signs.
    gap_tol : float
        Relative gap at which the search may stop.
    time_limit : float, optional
        Seconds after which the incumbent is returned with a valid lower bound.
    n_jobs : int
        Threads (-1: one per core). The answer does not depend on it.
    random_state : int, optional
        Seed of the starts of the alternation; the exact methods do not use it.
    progress : bool or callable
        Show a live line (log lines when standard error is not a terminal), or call this with a ``SearchState``
        after each round of the search; if it returns True, the search ends as after Ctrl-C.
    certificate : path, optional
        Where to write a proof of the answer that ``partls.verify`` checks against the data without any solver. JSON,
        gzipped if the name ends in ".gz"; a file of this name is replaced. Writing a proof may take 50 times as long
        as the search; it has ``time_limit`` seconds of its own. A search or a proof ended by a limit leaves a proof of
        the root's bound only, or none where the data are too large for that; Ctrl-C abandons the proof and returns the
        answer.
    presolve : bool
        Simplify the problem before the search: decide arbitrary signs, leave out columns that others replace, separate
        independent groups. The optimum is the same; ``result.presolve`` says what was done.
    **options
        Options of the strategies, where ``method`` is a name: those of ``BranchAndBound`` (``relaxation``,
        ``branching``, ``search``, ``node_limit``, ``executor``, ``checkpoint``, ``checkpoint_interval``,
        ``max_open_nodes``), ``Enumeration`` (``keep``, ``max_groups``) and ``Alternating`` (``n_starts``, ``max_iter``,
        ``tol``, ``starts``, ``halves``, ``polish``, ``trace``, ``relaxation``). All three: ``backend``, ``solver``.

    Returns
    -------
    Result
        The model with its lower bound.

    Raises
    ------
    InvalidInput
        If data, groups or an option cannot be used; the message names the row, column or option.
    WorkersLost
        If every worker of ``executor`` is gone.

    Notes
    -----
    Ctrl-C ends the search between two units of work, and the incumbent is returned with a valid lower bound; pressed
    again, it raises ``KeyboardInterrupt``. If a relaxation has not returned its bound when the time is up, or after
    Ctrl-C, the search stops waiting for its thread and counts the node as open.

    Where columns nearly depend on each other, so that rounding could spoil the bounds, small problems are solved again
    in exact arithmetic, within the time limit; ``counts["exact nodes"]`` is then positive. The lower bound holds for
    all real coefficients, unless columns depend on each other or differ by no more than rounding, about
    ``1e-16 sqrt(n_rows * n_columns)`` of their length: it then holds for coefficients up to a thousand times the
    target's length, or the largest met. If floating-point numbers cannot hold an optimal model, the status is
    PRECISION_LIMIT and the gap is the cost of rounding the coefficients.

    Examples
    --------
    >>> import partls
    >>> X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> partls.solve(X, [1.0, 2.0, 3.0], ["size", "size"]).status
    <Status.OPTIMAL: 'optimal'>
    """
    with keyboard():
        instance = Instance(
            X, y, groups, eta=eta, penalty=penalty, ridge=ridge, fit_intercept=fit_intercept,
            penalize_intercept=penalize_intercept, sample_weight=sample_weight, ungrouped=ungrouped,
        )
        return solve_instance(instance, **options)


def solve_instance(
    instance: Instance,
    *,
    method: str | Strategy = "auto",
    signs: Any = None,
    warm_start: Any = None,
    gap_tol: float = OPTIMAL_GAP,
    time_limit: float | None = None,
    n_jobs: int | None = 1,
    random_state: Any = None,
    progress: bool | Observer = False,
    certificate: str | os.PathLike[str] | None = None,
    presolve: bool = True,
    **options: Any,
) -> Result:
    """Return the global optimum of a validated instance, and its proof; the options are those of ``solve``.

    Parameters
    ----------
    instance : Instance
        The problem.
    method, signs, warm_start, gap_tol, time_limit, n_jobs, random_state, progress, certificate, presolve, **options
        As in ``solve``.

    Returns
    -------
    Result
        The model with its lower bound.

    Raises
    ------
    InvalidInput
        If an option cannot be used.

    Examples
    --------
    >>> import partls
    >>> from formulations import random_instance
    >>> partls.solve_instance(random_instance(M=6, group_size=3), time_limit=10.0).status.value
    'optimal'
    """
    strategy = as_strategy(method, options, _OWN)
    time_limit = nonnegative("time_limit", time_limit)
    gap_tol = nonnegative("gap_tol", 0.0 if gap_tol is None else gap_tol)
    jobs, seed = thread_count(n_jobs), seed_sequence(random_state)
    proof, settle = proof_path(certificate, strategy), flag("presolve", presolve)
    began = time.perf_counter()
    with keyboard() as keys, single_threaded_blas():
        root = a_priori_signs(instance, signs)
        task = SearchTask(
            instance=instance, root=root, start=starting_signs(instance, warm_start, root), gap_tol=gap_tol,
            time_limit=time_limit, n_jobs=jobs, seed=seed, progress=progress, keyboard=keys, began=began,
        )
        result = interpreted_first(
            lambda: _timed(task, strategy, settle=settle), small=_can_begin_anew(task, strategy) and is_small(instance)
        )
        if proof is not None and (problem := write_proof(result, root, proof, gap_tol, time_limit, keys).problem):
            logger.warning("%s", problem)
        return result


def _can_begin_anew(task: SearchTask, strategy: Strategy) -> bool:
    """Return whether nobody notices a run that is given up and begins anew: no observer, no file, no other process."""
    told = callable(task.progress) and not getattr(task.progress, "can_begin_anew", False)
    if told or not isinstance(strategy, BranchAndBound | Enumeration | Alternating):
        return False
    seen = [getattr(strategy, name, None) for name in ("checkpoint", "executor")]
    return seen == [None, None] and isinstance(getattr(strategy, "relaxation", ""), str) and task.n_jobs == 1


def _timed(task: SearchTask, strategy: Strategy, *, settle: bool) -> Result:
    """Return the result within the time limit, which does not count what loading the kernel takes."""
    if getattr(task.progress, "can_begin_anew", False):
        task.progress.begin()  # type: ignore[union-attr]
    if task.time_limit is not None:
        strategy.prepare()
        task = replace(task, began=time.perf_counter())
    return _solved(task, strategy, settle=settle)


def _whole_signature() -> inspect.Signature:
    """Return the signature of ``solve`` with the options it hands on, for ``help`` and editors."""
    problem, own = (list(inspect.signature(function).parameters.values()) for function in (solve, solve_instance))
    return inspect.Signature([*problem[:-1], *own[1:]], return_annotation=Result)


solve.__signature__ = _whole_signature()  # type: ignore[attr-defined]
_OWN = tuple(solve.__signature__.parameters)  # type: ignore[attr-defined]


def proof_path(certificate: Any, strategy: Strategy) -> Path | None:
    """Return the path of the proof, refused where there can be none, before the work begins."""
    path = writable("certificate", certificate)
    if path is None:
        return None
    if not strategy.proves:
        raise InvalidInput('certificate is for the exact methods: use method="bnb"')
    saved = getattr(strategy, "checkpoint", None)
    if saved is not None and os.path.realpath(path) == os.path.realpath(saved):
        raise InvalidInput(f"certificate and checkpoint are both {os.fspath(saved)!r}: give each a file of its own")
    return path


def _solved(task: SearchTask, strategy: Strategy, *, settle: bool) -> Result:
    """Return the result of what presolve has left to search, as one of the whole problem.

    A strategy that keeps more than the best solution is given the whole problem: every sign pattern counts. So is any
    other, again, if exact signs have cost more than rounding, or an answer without some columns is in doubt: columns
    then only nearly depend on each other.
    """
    whole = Presolved.nothing(task.instance, task.root)
    if not settle or getattr(strategy, "lists_patterns", False):
        result, _ = _searched(task, whole, strategy)
        return result if settle else replace(result, presolve=None)
    settled_first = Presolved.of(task.instance, task.root, in_parts=can_run_by_parts(strategy))
    result, paid = _searched(task, settled_first, strategy)
    if not result.presolve or task.is_over():
        return result
    negligible = max(OPTIMAL_GAP * result.objective, ABSOLUTE_TOLERANCE * target_size(task.instance))
    if paid <= _SHARE * negligible:
        return result
    again, _ = _searched(task, whole, strategy)
    if paid == inf and not task.is_over():
        return again
    return again if again.objective < result.objective or again.gap < result.gap else result


def _searched(task: SearchTask, problem: Presolved, strategy: Strategy) -> tuple[Result, float]:
    """Run the strategy on the presolved problem; return the result for the whole problem and the cost of presolve.

    That is what exact signs cost; it is unlimited where columns that were left out may count.
    """
    left = task
    if problem.report:
        left = replace(task, instance=problem.instance, root=problem.root, start=problem.inside(task.start))
    found = strategy.run(left) if problem.parts is None else run_by_parts(strategy, left, problem.parts)
    answer, limit = answered(left, found, proves=strategy.proves, whole=not problem.redundant)
    instance, objective, coef, intercept = task.instance, answer.objective, answer.coef, answer.intercept
    if problem.report:
        coef, intercept = problem.restored(coef, intercept)
        objective = instance.objective(coef, intercept)
    reduction = left.instance.reduction
    reach = reach_of(reduction, found.distance) if answer.in_doubt else 0.0
    margin = problem.redundant.margin(reach) * reduction.scale
    lower_bound, status = max(min(answer.lower_bound - margin, objective), 0.0), limit or Status.HEURISTIC
    if strategy.proves:
        status = _status(objective, lower_bound, target_size(instance), task.gap_tol, limit)
    result = Result(
        instance, coef, intercept, objective, lower_bound, status, strategy.name, found.counts["nodes"],
        time.perf_counter() - task.began, dict(found.counts), answer.solutions, found.trace,
        _given(instance, task.root), problem.report,
    )
    columns_may_count = answer.in_doubt or (bool(problem.redundant) and status is Status.PRECISION_LIMIT)
    return result, inf if columns_may_count else objective - answer.objective


def _given(instance: Instance, root: SignPattern) -> tuple[int, ...] | None:
    """Return the signs given for the instance's own groups; None if none was."""
    own = root.values[: instance.n_groups]
    return own if any(own) else None


def _status(objective: float, lower_bound: float, size: float, gap_tol: float, limit: Status | None) -> Status:
    gap = relative_gap(objective, lower_bound, size)
    if gap <= OPTIMAL_GAP:
        return Status.OPTIMAL
    if gap <= gap_tol:
        return Status.GAP_REACHED
    return limit or Status.PRECISION_LIMIT
