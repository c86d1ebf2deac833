"""solve(): the front door. Validate, choose a strategy, run it, and return a result that audits itself."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.branch_and_bound import SearchOptions, branch_and_bound
from partls.enumeration import MAX_GROUPS, checked_keep, enumerate_patterns
from partls.options import a_priori_signs, chosen, nonnegative, starting_signs, thread_count, writable
from partls.result import ABSOLUTE_TOLERANCE, OPTIMAL_GAP, Result, Solution, Status, relative_gap, target_size
from partls.search.branching import branching_rule
from partls.search.checkpoint import Checkpoint
from partls.search.incumbents import leaf
from partls.search.subtree import Incumbent, round_to_signs
from partls.threads import single_threaded_blas
from relaxations import as_relaxation

logger = logging.getLogger(__name__)

METHODS = ("auto", "bnb", "enumerate")
SEARCHES = ("depth-first", "best-first")


def solve(
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    method: str = "auto",
    eta: float = 0.0,
    penalty: str = "l2",
    fit_intercept: bool = True,
    penalize_intercept: bool = False,
    sample_weight: Any = None,
    relaxation: Any = "active-set",
    search: str = "depth-first",
    branching: Any = "strong",
    gap_tol: float = 1e-9,
    time_limit: float | None = None,
    node_limit: int | None = None,
    n_jobs: int | None = 1,
    random_state: int | None = None,
    progress: bool = False,
    signs: Any = None,
    warm_start: Any = None,
    keep: str | int = "best",
    max_groups: int = MAX_GROUPS,
    ungrouped: str = "error",
    certificate: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_interval: float = 10.0,
) -> Result:
    """Return the proven global optimum of ``||X w + t - y||^2 + eta * penalty(beta)`` with one sign per group.

    Parameters
    ----------
    X, y, groups, eta, penalty, fit_intercept, penalize_intercept, sample_weight, ungrouped
        The problem; see ``formulations.Instance``.
    method : {"auto", "bnb", "enumerate"}
        Branch and bound, or all 2^K sign patterns. "auto" enumerates when more than the best solution is to be
        kept, which only a full list can prove, and otherwise uses branch and bound; ``result.method`` says what ran.
    relaxation
        The bound of branch and bound: a name, any ``Relaxation`` object, or a policy that switches between several
        (``relaxations.CheapThenStrong``, ``ByDepth``, ``Adaptive``). ``result.counts`` says how many nodes each closed.
    search : {"depth-first", "best-first"}
        Order of the open subtrees; "best-first" is the paper's lowest-first.
    branching : {"strong", "bound-score", "max-violation"} or a BranchingRule
        Which group to split.
    gap_tol : float
        Relative gap at which the search may stop.
    time_limit, node_limit
        Seconds and nodes after which the incumbent is returned with a valid lower bound.
    n_jobs : int
        Threads (-1: one per core). The answer does not depend on it.
    random_state
        Unused by the exact methods, which are deterministic.
    progress : bool
        Show a live line (log lines when standard error is not a terminal).
    signs : mapping or sequence, optional
        A-priori signs, e.g. ``{"price": "+"}``.
    warm_start : Result, coefficients or signs, optional
        Where to look for a first incumbent.
    keep : {"best", "all"} or int
        How many of the 2^K solutions ``method="enumerate"`` returns in ``result.solutions``.
    max_groups : int
        Largest K that ``method="enumerate"`` accepts.
    certificate : path, optional
        Where to write a proof of the answer that ``partls.verify`` checks against the data without any solver. JSON,
        gzipped if the name ends in ".gz". A search ended by a limit leaves a proof of the root's bound only. Writing a
        proof usually takes 50 to 100 times as long as the search, which ``time_limit`` does not count; Ctrl-C gives it
        up and returns the answer.
    checkpoint : path, optional
        Where branch and bound writes its open subtrees and its incumbent, every ``checkpoint_interval`` seconds and at
        its end. If the file exists, the search goes on from there; counts and ``node_limit`` go on too.

    Examples
    --------
    >>> import numpy as np, partls
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> partls.solve(X, [1.0, 2.0, 3.0], ["size", "size"]).status
    <Status.OPTIMAL: 'optimal'>
    """
    instance = Instance(
        X, y, groups, eta=eta, penalty=penalty, fit_intercept=fit_intercept, penalize_intercept=penalize_intercept,
        sample_weight=sample_weight, ungrouped=ungrouped,
    )
    return solve_instance(
        instance, method=method, relaxation=relaxation, search=search, branching=branching, gap_tol=gap_tol,
        time_limit=time_limit, node_limit=node_limit, n_jobs=n_jobs, random_state=random_state, progress=progress,
        signs=signs, warm_start=warm_start, keep=keep, max_groups=max_groups, certificate=certificate,
        checkpoint=checkpoint, checkpoint_interval=checkpoint_interval,
    )


def solve_instance(
    instance: Instance, *, method: str = "auto", relaxation: Any = "active-set", search: str = "depth-first",
    branching: Any = "strong", gap_tol: float = 1e-9, time_limit: float | None = None, node_limit: int | None = None,
    n_jobs: int | None = 1, random_state: int | None = None, progress: bool = False, signs: Any = None,
    warm_start: Any = None, keep: str | int = "best", max_groups: int = MAX_GROUPS,
    certificate: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None, checkpoint_interval: float = 10.0,
) -> Result:
    """Return the proven global optimum of a validated instance; the options are those of ``solve``."""
    began = time.perf_counter()
    method, search = chosen("method", method, METHODS), chosen("search", search, SEARCHES)
    time_limit = nonnegative("time_limit", time_limit)
    gap_tol = nonnegative("gap_tol", 0.0 if gap_tol is None else gap_tol)
    node_limit = nonnegative("node_limit", node_limit, integer=True)
    max_groups = nonnegative("max_groups", MAX_GROUPS if max_groups is None else max_groups, integer=True)
    checked_keep(keep)
    proof, saved = writable("certificate", certificate), writable("checkpoint", checkpoint)
    interval = nonnegative("checkpoint_interval", 0.0 if checkpoint_interval is None else checkpoint_interval)
    jobs, rule, bound = thread_count(n_jobs), branching_rule(branching), as_relaxation(relaxation)
    with single_threaded_blas():
        root = a_priori_signs(instance, signs)
        start = starting_signs(instance, warm_start, root)
        if method == "enumerate" or (method == "auto" and keep != "best"):
            if saved is not None:
                raise InvalidInput('checkpoint is for branch and bound: use method="bnb" and keep="best"')
            listed = enumerate_patterns(instance, root=root, keep=keep, time_limit=time_limit, max_groups=max_groups)
            result = _finish(
                instance, root, listed.incumbent, listed.lower_bound, listed.limit, listed.counts, method="enumerate",
                gap_tol=gap_tol, began=began, solutions=listed.solutions,
            )
            return _certified(result, root, proof, gap_tol)
        if keep != "best":
            raise InvalidInput(f'keep={keep!r}: branch and bound keeps the best solution only; use method="enumerate"')
        options = SearchOptions(
            relaxation=bound, branching=rule, best_first=search == "best-first", gap_tol=gap_tol,
            time_limit=time_limit, node_limit=node_limit, n_jobs=jobs, progress=progress, root=root, start=start,
            checkpoint=None if saved is None else Checkpoint.of(saved, instance, root, interval),
        )
        found = branch_and_bound(instance, options)
        result = _finish(
            instance, root, found.incumbent, found.lower_bound, found.limit, found.counts, method="bnb",
            gap_tol=gap_tol, began=began,
        )
        return _certified(result, root, proof, gap_tol)


def _certified(result: Result, root: SignPattern, path: Path | None, gap_tol: float) -> Result:
    """Return the result, its proof written if one is wanted."""
    if path is not None:
        from partls.certificate import certify  # only those who ask for a proof load what writes it

        try:
            certify(result, root, path, gap_tol)
        except (KeyboardInterrupt, OSError) as error:  # the answer outlives its proof
            logger.warning("certificate %s not written: %s", path, error or "interrupted")
    return result


def _finish(
    instance: Instance, root: SignPattern, incumbent: Incumbent, lower: float, limit: Status | None,
    counts: Counter[str], *, method: str, gap_tol: float, began: float, solutions: tuple[Solution, ...] = (),
) -> Result:
    """Re-solve the answer by orthogonal factorisation, score it on the original data and say what was proved."""
    v = _polish(instance, root, incumbent)
    coef, intercept = instance.reduction.restore(v)
    objective = instance.objective(coef, intercept)
    lower_bound = min(lower * instance.reduction.scale, objective)
    status = _status(objective, lower_bound, target_size(instance), gap_tol, limit)
    return Result(
        instance, coef, intercept, objective, lower_bound, status, method, counts["nodes"],
        time.perf_counter() - began, dict(counts), solutions,
    )


def _polish(instance: Instance, root: SignPattern, incumbent: Incumbent) -> Floats:
    reduction = instance.reduction
    if incumbent.value <= ABSOLUTE_TOLERANCE**2 * float(reduction.z @ reduction.z):
        return incumbent.v  # the residual is rounding alone already
    again = leaf(reduction, round_to_signs(incumbent.v, reduction.labels, root), incumbent)
    return again.v if again.value <= incumbent.value * (1 + 1e-12) else incumbent.v


def _status(objective: float, lower_bound: float, size: float, gap_tol: float, limit: Status | None) -> Status:
    gap = relative_gap(objective, lower_bound, size)
    if gap <= OPTIMAL_GAP:
        return Status.OPTIMAL
    if gap <= gap_tol:
        return Status.GAP_REACHED
    return limit or Status.PRECISION_LIMIT
