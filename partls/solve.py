"""solve(): the front door. Validate, choose a strategy, run it, and return a result that audits itself."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.explore.branching import branching_rule
from partls.explore.incumbents import leaf
from partls.explore.subtree import Incumbent, round_to_signs
from partls.parallel.make_pool import checked_executor
from partls.result import (
    ABSOLUTE_TOLERANCE,
    OPTIMAL_GAP,
    Result,
    Solution,
    StartTrace,
    Status,
    relative_gap,
    target_size,
)
from partls.runtime.blas_threads import single_threaded_blas
from partls.runtime.interrupts import Keyboard, keyboard, raising
from partls.runtime.options import (
    a_priori_signs,
    at_least_one,
    chosen,
    nonnegative,
    seed_sequence,
    starting_signs,
    thread_count,
    writable,
)
from partls.runtime.progress import Observer
from partls.search.checkpoint import Checkpoint
from partls.search.options import SearchOptions
from partls.strategies.alternating import HALVES, POLISHES, AlternatingOptions, alternate
from partls.strategies.branch_and_bound import branch_and_bound
from partls.strategies.enumeration import MAX_GROUPS, checked_keep, enumerate_patterns
from partls.strategies.starts import strategies
from relaxations import as_relaxation, kernel
from relaxations.active_set import ActiveSetRelaxation
from relaxations.clock import FINISHING, OutOfTime, until
from relaxations.protocol import Relaxation

logger = logging.getLogger(__name__)

METHODS = ("auto", "bnb", "enumerate", "alternating")
SEARCHES = ("depth-first", "best-first")


def solve(
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    method: str = "auto",
    eta: float | Mapping[Any, float] | Sequence[float] = 0.0,
    penalty: str = "l2",
    ridge: float = 0.0,
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
    executor: Any = None,
    random_state: int | None = None,
    progress: bool | Observer = False,
    signs: Any = None,
    warm_start: Any = None,
    keep: str | int = "best",
    max_groups: int = MAX_GROUPS,
    n_starts: int = 20,
    max_iter: int = 100,
    tol: float = 1e-9,
    starts: Any = "mixed",
    halves: str = "nnls",
    polish: str = "flips",
    trace: bool = False,
    ungrouped: str = "error",
    certificate: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_interval: float = 10.0,
    max_open_nodes: int | None = None,
) -> Result:
    """Return the global optimum, and its proof, of least squares with penalties and one sign per group.

    That is, of ``||X w + t - y||^2 + sum_k eta_k beta_k^2 + ridge ||w||^2``, beta the sums of the groups' coefficients.

    Parameters
    ----------
    X, y, groups, eta, penalty, ridge, fit_intercept, penalize_intercept, sample_weight, ungrouped
        The problem; see ``formulations.Instance``.
    method : {"auto", "bnb", "enumerate", "alternating"}
        Branch and bound, all 2^K sign patterns, or alternating least squares from many starts, which proves nothing
        but a gap. "auto" enumerates when more than the best solution is to be
        kept, which only a full list can prove, and otherwise uses branch and bound; ``result.method`` says what ran.
    relaxation
        The bound of branch and bound, and the root's bound of the alternation: a name, any ``Relaxation`` object, or
        a policy that switches between several (``relaxations.CheapThenStrong``, ``ByDepth``, ``Adaptive``).
        ``result.counts`` says how many nodes each closed.
    search : {"depth-first", "best-first"}
        Order of the open subtrees; "best-first" is the paper's lowest-first.
    branching : {"strong", "bound-score", "max-violation"} or a BranchingRule
        Which group to split.
    gap_tol : float
        Relative gap at which the search may stop.
    time_limit, node_limit
        Seconds and nodes after which the incumbent is returned with a valid lower bound. Data are factored once
        however short the time; of large data (beyond some 170 columns) the incumbent may then be no optimum for its
        signs, and the bound may be zero.
    n_jobs : int
        Threads (-1: one per core). The answer does not depend on it.
    executor : optional
        Who explores large trees of branch and bound instead of threads: a ``dask.distributed.Client``, an executor of
        ``concurrent.futures``, or "loky" (``n_jobs`` processes of joblib). Tree and answer do not depend on it; small
        trees stay in this process.
    random_state : int, optional
        Seed of the starts of the alternation; the exact methods are deterministic and do without.
    progress : bool or callable
        Show a live line (log lines when standard error is not a terminal), or call this with a ``SearchState``
        after each round of the search; an answer of True ends it as Ctrl-C does.
    signs : mapping or sequence, optional
        A-priori signs, e.g. ``{"price": "+"}``.
    warm_start : Result, coefficients or signs, optional
        Where to look for a first incumbent.
    keep : {"best", "all"} or int
        How many of the 2^K solutions ``method="enumerate"`` returns in ``result.solutions``.
    max_groups : int
        Largest K that ``method="enumerate"`` accepts.
    n_starts, max_iter, tol
        Of the alternation: the number of starts, and for each the most iterations and the relative decrease of the
        objective at which it ends.
    starts : {"mixed", "least-squares", "relaxation", "random"} or list of names
        Where the alternation starts: alpha and beta drawn as in the paper ("random"), the signs of least squares or
        of the relaxation, perturbed after the first; all of them, or those listed, in turn.
    halves : {"nnls", "simplex"}
        Alpha by nonnegative least squares, its scale moved into beta; or on the simplex, both halves by CVXPY.
    polish : {"flips", "signs", "none"}
        How each start is finished: flips of single signs while they pay, the exact solution for its signs, or not at
        all. The best start is always solved again for its signs, which can only improve it.
    trace : bool
        Keep objective and time of every iteration of every start in ``result.trace``.
    certificate : path, optional
        Where to write a proof of the answer that ``partls.verify`` checks against the data without any solver. JSON,
        gzipped if the name ends in ".gz"; a file of this name is replaced. Writing a proof may take 50 times as long
        as the search; it has ``time_limit`` seconds of its own. A search or a proof ended by a limit leaves a proof of
        the root's bound only, or none where the data are too large for that; Ctrl-C gives the proof up and returns the
        answer.
    checkpoint : path, optional
        Where branch and bound writes its open subtrees and its incumbent, every ``checkpoint_interval`` seconds and at
        its end. If the file exists, the search goes on from there; counts and ``node_limit`` go on too.
    max_open_nodes : int, optional
        Bounds the memory of ``search="best-first"``: while more subtrees are open than this, the search goes on
        depth-first, which leaves few. Its bound stays valid; it rises later.

    Notes
    -----
    Ctrl-C ends the search between two units of work, and the incumbent is returned with a valid lower bound; pressed
    again, it raises ``KeyboardInterrupt``. A relaxation whose bound has not returned when the time is up, or after
    Ctrl-C, is left behind in its thread: its box counts as open.

    Examples
    --------
    >>> import numpy as np, partls
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> partls.solve(X, [1.0, 2.0, 3.0], ["size", "size"]).status
    <Status.OPTIMAL: 'optimal'>
    """
    with keyboard():
        instance = Instance(
            X, y, groups, eta=eta, penalty=penalty, ridge=ridge, fit_intercept=fit_intercept,
            penalize_intercept=penalize_intercept, sample_weight=sample_weight, ungrouped=ungrouped,
        )
        return solve_instance(
            instance, method=method, relaxation=relaxation, search=search, branching=branching, gap_tol=gap_tol,
            time_limit=time_limit, node_limit=node_limit, n_jobs=n_jobs, executor=executor, random_state=random_state,
            progress=progress, signs=signs, warm_start=warm_start, keep=keep, max_groups=max_groups, n_starts=n_starts,
            max_iter=max_iter, tol=tol, starts=starts, halves=halves, polish=polish, trace=trace,
            certificate=certificate, checkpoint=checkpoint, checkpoint_interval=checkpoint_interval,
            max_open_nodes=max_open_nodes,
        )


def solve_instance(
    instance: Instance, *, method: str = "auto", relaxation: Any = "active-set", search: str = "depth-first",
    branching: Any = "strong", gap_tol: float = 1e-9, time_limit: float | None = None, node_limit: int | None = None,
    n_jobs: int | None = 1, executor: Any = None, random_state: int | None = None, progress: bool | Observer = False,
    signs: Any = None, warm_start: Any = None, keep: str | int = "best", max_groups: int = MAX_GROUPS,
    n_starts: int = 20, max_iter: int = 100, tol: float = 1e-9, starts: Any = "mixed", halves: str = "nnls",
    polish: str = "flips", trace: bool = False,
    certificate: str | os.PathLike[str] | None = None, checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_interval: float = 10.0, max_open_nodes: int | None = None,
) -> Result:
    """Return the global optimum of a validated instance and its proof; the options are those of ``solve``."""
    method, search = chosen("method", method, METHODS), chosen("search", search, SEARCHES)
    time_limit = nonnegative("time_limit", time_limit)
    gap_tol = nonnegative("gap_tol", 0.0 if gap_tol is None else gap_tol)
    node_limit = nonnegative("node_limit", node_limit, integer=True)
    max_open_nodes = nonnegative("max_open_nodes", max_open_nodes, integer=True)
    max_groups = nonnegative("max_groups", MAX_GROUPS if max_groups is None else max_groups, integer=True)
    checked_keep(keep)
    proof, saved = writable("certificate", certificate), writable("checkpoint", checkpoint)
    if proof is not None and saved is not None and os.path.realpath(proof) == os.path.realpath(saved):
        raise InvalidInput(f"certificate and checkpoint are both {str(saved)!r}: give each a file of its own")
    interval = nonnegative("checkpoint_interval", 0.0 if checkpoint_interval is None else checkpoint_interval)
    jobs, rule, bound = thread_count(n_jobs), branching_rule(branching), as_relaxation(relaxation)
    alternating = AlternatingOptions(
        n_starts=at_least_one("n_starts", n_starts), max_iter=at_least_one("max_iter", max_iter),
        tol=nonnegative("tol", 0.0 if tol is None else tol), seed=seed_sequence(random_state),
        starts=strategies(starts), halves=chosen("halves", halves, HALVES), polish=chosen("polish", polish, POLISHES),
        relaxation=bound, time_limit=time_limit, n_jobs=jobs, progress=progress,
    )
    if time_limit is not None:
        _load_kernel(method, bound)
    began = time.perf_counter()
    deadline = inf if time_limit is None else began + time_limit
    with keyboard() as keys, single_threaded_blas():
        root = a_priori_signs(instance, signs)
        start = starting_signs(instance, warm_start, root)
        if method == "enumerate" or (method == "auto" and keep != "best"):
            if saved is not None:
                raise InvalidInput('checkpoint is for branch and bound: use method="bnb" and keep="best"')
            listed = enumerate_patterns(
                instance, root=root, keep=keep, deadline=deadline, max_groups=max_groups, keyboard=keys
            )
            result = _finish(
                instance, root, listed.incumbent, listed.lower_bound, listed.limit, listed.counts, method="enumerate",
                gap_tol=gap_tol, began=began, deadline=deadline, solutions=listed.solutions,
            )
            return _certified(result, root, proof, gap_tol, time_limit, keys)
        if keep != "best":
            name = "branch and bound" if method == "bnb" else "the alternation"
            raise InvalidInput(f'keep={keep!r}: {name} keeps the best solution only; use method="enumerate"')
        if method == "alternating":
            for name, path in (("certificate", proof), ("checkpoint", saved)):
                if path is not None:
                    raise InvalidInput(f'{name} is for the exact methods: use method="bnb"')
            best = alternate(instance, replace(alternating, root=root, start=start, keyboard=keys), began)
            return _finish(
                instance, root, best.incumbent, best.lower_bound, best.limit, best.counts, method="alternating",
                gap_tol=gap_tol, began=began, deadline=deadline, trace=best.trace if trace else (),
            )
        options = SearchOptions(
            relaxation=bound, branching=rule, best_first=search == "best-first", gap_tol=gap_tol,
            time_limit=time_limit and max(deadline - time.perf_counter(), 0.0), node_limit=node_limit, n_jobs=jobs,
            executor=checked_executor(executor),
            progress=progress, root=root, start=start,
            checkpoint=None if saved is None else Checkpoint.of(saved, instance, root, interval),
            max_open_nodes=max_open_nodes, keyboard=keys,
        )
        found = branch_and_bound(instance, options)
        result = _finish(
            instance, root, found.incumbent, found.lower_bound, found.limit, found.counts, method="bnb",
            gap_tol=gap_tol, began=began, deadline=deadline,
        )
        return _certified(result, root, proof, gap_tol, time_limit, keys)


def _load_kernel(method: str, bound: Relaxation) -> None:
    """Load what the method will run: compiling it, once per installation, does not count towards a time limit."""
    if method == "enumerate":
        _ = kernel.patterns
    if method == "alternating" or isinstance(bound, ActiveSetRelaxation):
        _ = kernel.one_node, kernel.flips
    if method in ("auto", "bnb") and isinstance(bound, ActiveSetRelaxation):
        _ = kernel.walk


def _certified(
    result: Result, root: SignPattern, path: Path | None, gap_tol: float, time_limit: float | None, keys: Keyboard
) -> Result:
    """Return the result, its proof written if one is wanted."""
    if path is not None:
        try:
            with raising(keys):
                from partls.prove.certificate import certify  # only those who ask for a proof load what writes it

                if less := certify(result, root, path, gap_tol, time_limit):
                    logger.warning("certificate %s proves %s", path, less)
        except (KeyboardInterrupt, OSError) as error:  # the answer outlives its proof
            logger.warning("certificate %s not written: %s", path, str(error) or "interrupted")
    return result


def _finish(
    instance: Instance, root: SignPattern, incumbent: Incumbent, lower: float, limit: Status | None,
    counts: Counter[str], *, method: str, gap_tol: float, began: float, deadline: float,
    solutions: tuple[Solution, ...] = (), trace: tuple[StartTrace, ...] = (),
) -> Result:
    """Re-solve the answer by orthogonal factorisation, score it on the original data and say what was proved.

    A large problem whose time is up keeps the answer as it is.
    """
    v = _polish(instance, root, incumbent, deadline)
    coef, intercept = instance.reduction.restore(v)
    objective = instance.objective(coef, intercept)
    # What the reduced problem thinks of the answer shows what rounding did to it, and so to its bounds.
    doubt = abs(instance.reduction.objective(v) - objective)
    lower_bound = max(min(lower * instance.reduction.scale, objective) - doubt, 0.0)
    status = limit or Status.HEURISTIC
    if method != "alternating":
        status = _status(objective, lower_bound, target_size(instance), gap_tol, limit)
    return Result(
        instance, coef, intercept, objective, lower_bound, status, method, counts["nodes"],
        time.perf_counter() - began, dict(counts), solutions, trace, _given(instance, root),
    )


def _given(instance: Instance, root: SignPattern) -> tuple[int, ...] | None:
    """Return the signs given for the instance's own groups; None if none was."""
    own = root.values[: instance.n_groups]
    return own if any(own) else None


def _polish(instance: Instance, root: SignPattern, incumbent: Incumbent, deadline: float) -> Floats:
    reduction = instance.reduction
    if incumbent.value <= ABSOLUTE_TOLERANCE**2 * float(reduction.z @ reduction.z):
        return incumbent.v  # the residual is rounding alone already
    try:
        with until(deadline + FINISHING):
            again = leaf(reduction, round_to_signs(incumbent.v, reduction.labels, root), incumbent)
    except OutOfTime:
        return incumbent.v
    return again.v if again.value <= incumbent.value * (1 + 1e-12) else incumbent.v


def _status(objective: float, lower_bound: float, size: float, gap_tol: float, limit: Status | None) -> Status:
    gap = relative_gap(objective, lower_bound, size)
    if gap <= OPTIMAL_GAP:
        return Status.OPTIMAL
    if gap <= gap_tol:
        return Status.GAP_REACHED
    return limit or Status.PRECISION_LIMIT
