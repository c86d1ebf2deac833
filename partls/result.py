"""Results that audit themselves: all that is claimed but the bound is recomputed from the original data on request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.equivalence import from_coef
from formulations.errors import counted
from formulations.instance import Instance
from formulations.rounding import Rounded, rounded
from formulations.rows.residual import residual
from formulations.signs import SignPattern
from formulations.tolerances import ABSOLUTE_TOLERANCE, OPTIMAL_GAP, ROUNDING
from partls.ambiguities.ambiguities import Ambiguities
from partls.ambiguities.analysis import ambiguities_of
from partls.presolve.report import Presolve
from partls.runtime.notebook import ShownAsText
from partls.tree_trace import SearchTrace
from relaxations.interpreter import interpreted_first, is_small


class Status(Enum):
    """Why the search ended, and what its answer proves.

    Examples
    --------
    >>> import partls
    >>> [status.value for status in partls.Status]
    ['optimal', 'gap reached', 'time limit', 'node limit', 'interrupted', 'precision limit', 'heuristic']
    """

    OPTIMAL = "optimal"  # proved: the gap is at most 1e-9 (or zero to working precision)
    GAP_REACHED = "gap reached"  # proved to the requested gap_tol, looser than 1e-9
    TIME_LIMIT = "time limit"
    NODE_LIMIT = "node limit"
    INTERRUPTED = "interrupted"
    PRECISION_LIMIT = "precision limit"  # searched in full; ill-conditioned data, or coefficients rounded, leave a gap
    HEURISTIC = "heuristic"  # no proof was attempted


PROVEN = (Status.OPTIMAL, Status.GAP_REACHED)


@dataclass(frozen=True)
class Solution:
    """One sign pattern and the best coefficients under it.

    Attributes
    ----------
    signs
        The sign pattern: -1 or +1 for each group.
    objective
        Squared residuals plus penalties, in original units.
    coef, intercept
        The coefficients and the intercept.

    Examples
    --------
    >>> import partls
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [1.0, 2.0, 4.0, 5.0]
    >>> best = partls.solve(X, y, ["a", "b"], method=partls.Enumeration(keep="all")).solutions[0]
    >>> best.signs.values, best.coef.round(4).tolist()
    ((1, 1), [1.5, 2.6667])
    """

    signs: SignPattern
    objective: float
    coef: Floats
    intercept: float


@dataclass(frozen=True, eq=False)
class StartTrace:
    """The course of one start of the alternation.

    Over all starts in the order of their times, the running minimum of the objectives is the curve of objective against
    time.

    Attributes
    ----------
    strategy
        How the start was chosen.
    objectives
        The objective at the start, after each iteration and after its polish.
    seconds
        The time of each of them since the beginning of the call.

    Examples
    --------
    >>> import partls
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [1.0, 2.0, 4.0, 5.0]
    >>> trace = partls.solve(X, y, ["a", "b"], method=partls.Alternating(n_starts=2, trace=True), random_state=0).trace
    >>> len(trace), len(trace[0].objectives) == len(trace[0].seconds)
    (2, True)
    """

    strategy: str
    objectives: Floats
    seconds: Floats


@dataclass(frozen=True)
class Audit:
    """The check of a result against the original data, with NumPy alone; only the lower bound is taken from the search.

    Attributes
    ----------
    objective
        The objective recomputed from the data.
    objective_error
        Its relative difference from the result's objective.
    kkt_residual
        The largest violation of the optimality conditions under the result's signs, relative to ``||x_j|| ||y||``; the
        rows of the penalties count in ``x_j``.
    sign_violations
        The number of coefficients of the wrong sign.
    alpha_error
        The largest ``|sum(alpha_k) - 1|`` over the groups.
    gap
        ``(objective - lower_bound) / objective``, with the recomputed objective.

    Examples
    --------
    >>> import partls
    >>> audit = partls.solve([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 4.0], ["a", "a"]).audit()
    >>> audit.passed, audit.sign_violations
    (True, 0)
    """

    objective: float
    objective_error: float
    kkt_residual: float
    sign_violations: int
    alpha_error: float
    gap: float

    @property
    def passed(self) -> bool:
        """Whether the objective is reproduced, the signs hold exactly and the point is optimal for its signs."""
        return (
            self.objective_error <= 1e-9
            and self.kkt_residual <= 1e-9
            and self.sign_violations == 0
            and self.alpha_error <= 1e-12
        )


@dataclass(frozen=True, eq=False)
class Result(ShownAsText):
    """A fitted Partitioned Least Squares model with its proof.

    Beside the attributes below, ``alpha`` and ``beta`` are the shares and effects, ``signs`` the signs of the groups,
    ``gap`` the certified gap, and ``ambiguities`` what the data do not determine.

    Attributes
    ----------
    instance
        The problem that was solved.
    coef
        (M,) array: the coefficients w. Those of a group are all >= 0 or all <= 0, exactly; that of a free column may
        have either sign.
    intercept
        The intercept t; 0.0 without one. It may have either sign.
    objective
        Squared residuals plus penalties at ``coef``: >= 0, in the squared units of the target, not divided by the
        number of rows.
    lower_bound
        Certified: no model with one sign per group, within the given signs, has a smaller objective. At most
        ``objective`` up to rounding; 0.0 if nothing better was proved.
    status
        Why the search ended; only ``Status.OPTIMAL`` and ``Status.GAP_REACHED`` are proofs of the requested gap.
    method
        The strategy that ran: "bnb", "enumerate", "alternating" or the name of yours; never "auto".
    n_nodes
        The number of nodes; of the enumeration, sign patterns; of the alternation, starts are in ``counts``.
    seconds
        Wall-clock time of the solve.
    counts
        The work by kind: how nodes were closed ("prunes", "tight", "leaves") and, for relaxations other than
        "active-set", how many bounds each gave ("bounds by shor") and how many nodes it closed ("closed by shor").
        "subtrees to active-set" were given to its search by a policy; "switched to diagonal" is a change by "auto".
        "exact nodes" were solved in exact arithmetic, because columns are nearly dependent. A kind that did not
        occur is missing.
    solutions
        The solutions kept by ``method="enumerate", keep=...``, best first; else empty.
    trace
        With ``BranchAndBound(trace=True)`` a ``SearchTrace``, one row per node. With ``Alternating(trace=True)`` one
        ``StartTrace`` for each start. Else an empty tuple.
    given_signs
        The signs that were given beforehand, one of -1, 0 (not given) and +1 for each group; None if none were given.
    presolve
        What presolve did; None with ``presolve=False``.

    Examples
    --------
    >>> import partls
    >>> X = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [2.0, 1.0, 1.0]]
    >>> result = partls.solve(X, [1.0, 2.0, 4.0, 5.0], {"size": [0, 1], "age": [2]})
    >>> result.signs.tolist(), result.beta.round(4).tolist(), result.alpha.round(4).tolist()
    ([1, -1], [4.0, -0.5], [0.375, 0.625, 1.0])
    >>> result.is_optimal(), result.given_signs
    (True, None)
    """

    instance: Instance
    coef: Floats
    intercept: float
    objective: float
    lower_bound: float
    status: Status
    method: str
    n_nodes: int
    seconds: float
    counts: Mapping[str, int] = field(default_factory=dict)
    solutions: tuple[Solution, ...] = ()
    trace: tuple[StartTrace, ...] | SearchTrace = ()
    given_signs: tuple[int, ...] | None = None
    presolve: Presolve | None = None

    @cached_property
    def _parts(self) -> tuple[Floats, Floats]:
        return from_coef(self.coef, self.instance.partition)

    @property
    def alpha(self) -> Floats:
        """The share of each feature in its group, >= 0; shares of a group sum to one, and free columns have zero."""
        return self._parts[0]

    @property
    def beta(self) -> Floats:
        """The effect of each group, the sum of its coefficients; positive if the group raises the prediction."""
        return self._parts[1]

    @property
    def signs(self) -> NDArray[np.int8]:
        """The sign of each group; +1, -1, or 0 for a group whose coefficients are all zero."""
        return np.sign(self.beta).astype(np.int8)

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups, in the order of ``beta`` and ``signs``."""
        return self.instance.partition.names

    @cached_property
    def rounded(self) -> Rounded:
        """The objective with the error that rounding leaves in it; ``rounded.vanishes`` tells an exact fit."""
        return rounded(self.instance, self.coef, self.intercept, self.objective)

    @cached_property
    def ambiguities(self) -> Ambiguities:
        """Arbitrary and tied signs, coefficients that are not unique, empty columns; what the data do not determine."""
        return interpreted_first(
            lambda: ambiguities_of(self.instance, self.coef, self.intercept, self.given_signs, self.rounded),
            small=is_small(self.instance),
        )

    @property
    def gap(self) -> float:
        """``(objective - lower_bound) / objective``; zero when the difference is below 1e-12 of ``||y||^2``."""
        return relative_gap(self.objective, self.lower_bound, target_size(self.instance))

    @property
    def told_gap(self) -> str:
        """The gap in words, relative to the objective, or to the target where it is zero only beside the target."""
        missing = self.objective - self.lower_bound
        if self.gap == 0 and missing > OPTIMAL_GAP * self.objective:
            return f"gap {missing / target_size(self.instance):.0e} of ||y||^2"
        return f"gap {self.gap:.1e}"

    def is_optimal(self, tol: float = OPTIMAL_GAP) -> bool:
        """Return whether the certified gap is at most ``tol``.

        Parameters
        ----------
        tol : float
            The largest gap to accept, relative to the objective.

        Returns
        -------
        bool
            True if it is proved.
        """
        return self.gap <= tol

    def predict(self, X: object) -> Floats:
        """Return ``X coef + intercept``.

        Parameters
        ----------
        X : (n, M) array
            Rows to predict, with the columns of the fit in their order.

        Returns
        -------
        (n,) array
            The predictions.
        """
        return np.asarray(np.asarray(X, dtype=np.float64) @ self.coef + self.intercept)

    def audit(self) -> Audit:
        """Recompute objective, optimality conditions, signs and gap from the original data.

        Returns
        -------
        Audit
            The recomputed values and their differences; ``passed`` is True if all agree.
        """
        instance, labels = self.instance, self.instance.partition.labels
        objective = instance.objective(self.coef, self.intercept)
        size = max(target_size(instance), np.finfo(float).tiny)
        wrong = int(sum(_mixed(self.coef[labels == k]) for k in range(instance.n_groups)))
        alpha = self.alpha if not wrong else np.full(len(labels), np.inf)  # mixed signs have no alpha
        sums = np.bincount(labels[labels >= 0], alpha[labels >= 0], instance.n_groups)
        return Audit(
            objective=objective,
            objective_error=abs(objective - self.objective) / max(objective, ABSOLUTE_TOLERANCE * size),
            kkt_residual=kkt_residual(instance, self.coef, self.intercept),
            sign_violations=wrong,
            alpha_error=float(np.abs(sums - 1.0).max(initial=0.0)),
            gap=relative_gap(objective, self.lower_bound, size),
        )

    def __str__(self) -> str:
        """Show status, objective, bound and one line per group."""
        work = counted(*((self.counts["starts"], "start") if "starts" in self.counts else (self.n_nodes, "node")))
        fit = "an exact fit (up to rounding)" if self.rounded.vanishes else self.told_gap
        lines = [
            f"{self.status.value} by {self.method}: objective {self.objective:.10g}, {fit}, {work}, "
            f"{self.seconds:.3g} s"
        ]
        width = max(len(name) for name in self.groups)
        lines += [f"  {name:{width}}  beta {value: .6g}" for name, value in zip(self.groups, self.beta, strict=True)]
        return "\n".join(lines)


def target_size(instance: Instance) -> float:
    """Return ||y||^2 after weighting and centring: the scale of absolute tolerances.

    What the intercept and free columns explain is gone from it, but its rounding, (eps ||y||)^2, is not.
    """
    reduction = instance.reduction
    weighted = instance.y if instance.sample_weight is None else instance.y * instance.sample_weight
    return float((reduction.z @ reduction.z + reduction.rest) * reduction.scale + ROUNDING * (weighted @ instance.y))


def relative_gap(objective: float, lower_bound: float, size: float) -> float:
    """Return the gap relative to the objective; a gap that vanishes beside the target's size is none."""
    gap = objective - lower_bound
    return gap / objective if gap > ABSOLUTE_TOLERANCE * size else 0.0


def kkt_residual(instance: Instance, coef: Floats, intercept: float) -> float:
    """Return the largest violation of first-order optimality under the signs of ``coef``, relative to ||x_j|| ||y||.

    The slope of the objective must vanish on nonzero and free coefficients and point outwards on zero ones; a
    group whose coefficients are all zero may take either sign.
    """
    weights = instance.weights
    weighted = residual(instance.X, instance.y, coef, intercept) * weights
    beta, labels = instance.group_sums(coef), instance.partition.labels
    slope = instance.X.T @ weighted
    eta, ridge = np.append(instance.strengths.groups, 0.0), instance.ridge
    pull = eta[:-1] * (beta if instance.penalty == "l2" else np.sign(beta) / 2)
    slope = slope - np.append(pull, 0.0)[labels] - ridge * coef
    norms = np.sqrt(weights @ np.square(instance.X)) + np.sqrt(eta)[labels] + np.sqrt(ridge)
    target = np.sqrt(weights @ np.square(instance.y)) or 1.0
    slope = slope / np.maximum(norms * target, np.finfo(float).tiny)
    worst = np.abs(slope[(coef != 0) | (labels < 0)]).max(initial=0.0)
    for k in range(instance.n_groups):
        outside = slope[(labels == k) & (coef == 0)]
        slack = eta[k] / 2 if instance.penalty == "l1" and beta[k] == 0 else 0.0
        if beta[k] == 0:
            allowed = slack / np.maximum(norms[(labels == k) & (coef == 0)] * target, np.finfo(float).tiny)
            worst = max(worst, min((outside - allowed).max(), (-outside - allowed).max()))
        else:
            worst = max(worst, (np.sign(beta[k]) * outside).max(initial=0.0))
    if instance.fit_intercept:
        norm = np.sqrt(weights.sum()) + np.sqrt(instance.strengths.intercept)
        worst = max(worst, _intercept_slope(instance, weighted, intercept) / (norm * target))
    return float(worst)


def _intercept_slope(instance: Instance, weighted: Floats, intercept: float) -> float:
    slope, eta = float(weighted.sum()), instance.strengths.intercept
    if instance.penalty == "l2":
        return abs(slope - eta * intercept)
    if intercept == 0:
        return max(abs(slope) - eta / 2, 0.0)
    return float(abs(slope - eta / 2 * np.sign(intercept)))


def _mixed(coef: Floats) -> int:
    """Return how many coefficients would have to change sign for the group to be consistent."""
    return int(min((coef > 0).sum(), (coef < 0).sum()))
