"""The model at a glance: effect, direction and weight of each group, the shares inside it, and the certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.data import Floats
from formulations.equivalence import from_coef
from formulations.errors import counted
from formulations.partition import Partition
from partls.explain.contributions import UNGROUPED, contributions
from partls.explain.report import EXACT_FIT, SIGN, Report, name, number, percent, table
from partls.result import Result
from partls.runtime.screen import wrapped

NEGATIVE_SHARE = (
    "a negative share of the variance: the group's part of the prediction moves against the other parts taken together"
)


@dataclass(frozen=True)
class FeatureRow:
    """One feature: its group, that group's sign, effect and part in the variance, its share and its coefficient.

    ``variance_share`` is ``cov(X_k w_k, prediction) / var(prediction)``: the shares of all groups sum to one, and a
    group that works against the others has a negative one.
    """

    group: str
    sign: int
    beta: float
    variance_share: float
    feature: str
    alpha: float
    coef: float


@dataclass(frozen=True)
class Summary(Report):
    """The table of a fitted model; ``rows`` has one line per feature, the larger shares first."""

    rows: tuple[FeatureRow, ...]
    intercept: float
    n_rows: int
    r_squared: float
    certificate: str
    max_features: int | None = None

    def __str__(self) -> str:
        """Show the groups, the features inside them and what was proved."""
        groups = dict.fromkeys(row.group for row in self.rows)
        lines = [line for group in groups for line in self._lines([row for row in self.rows if row.group == group])]
        head = (
            f"Partitioned Least Squares: {counted(self.n_rows, 'row')}, {counted(len(self.rows), 'feature')} in "
            f"{counted(len(groups), 'group')}, R^2 {self.r_squared:.4f}"
        )
        headers = ("group", "sign", "beta", "variance", "feature", "alpha", "coef")
        lines.append(["intercept", "", number(self.intercept), "", "", "", ""])
        notes = [NEGATIVE_SHARE] if any(row.variance_share < 0 for row in self.rows) else []
        shown = table(headers, lines, left=(0, 1, 4))
        return "\n".join([wrapped(head), "", shown, *map(wrapped, [*notes, self.certificate])])

    def _lines(self, members: list[FeatureRow]) -> list[list[str]]:
        first = members[0]
        shown = members[: self.max_features]
        lines = [["", "", "", "", name(row.feature), percent(row.alpha), number(row.coef)] for row in shown]
        lines[0][:4] = [name(first.group), SIGN[first.sign], number(first.beta), percent(first.variance_share)]
        if first.group == UNGROUPED:  # no sign, no effect, no shares
            lines = [[line[0], "", "", line[3], line[4], "", line[6]] for line in lines]
        if len(members) > len(shown):
            rest = members[len(shown) :]
            share = sum(row.alpha for row in rest)
            lines.append(["", "", "", "", f"({len(rest)} more)", percent(share), number(sum(r.coef for r in rest))])
        return lines


@dataclass(frozen=True)
class Facts:
    """What a summary needs beyond the coefficients: it takes the training data to know, and is saved with a model.

    ``variance_shares`` has one value per group and a last one for the columns without a group.
    """

    n_rows: int
    r_squared: float
    variance_shares: tuple[float, ...]
    certificate: str


def facts_of(result: Result) -> Facts:
    """Return the statistics of a result on its training data."""
    shares = tuple(variance_shares(result).tolist())
    return Facts(result.instance.n_rows, r_squared(result), shares, certificate(result))


def summarise(partition: Partition, coef: Floats, intercept: float, facts: Facts, max_features: int | None = None
              ) -> Summary:
    """Return the summary of a model; ``max_features`` cuts the printed list inside each group, not ``rows``."""
    alpha, beta = from_coef(coef, partition)
    names = partition.columns or tuple(f"x{j}" for j in range(partition.n_columns))
    rows = []
    for k, group in enumerate([*partition.names, UNGROUPED]):
        own = k < partition.n_groups
        members = partition.members(k) if own else partition.free
        effect = float(beta[k]) if own else 0.0
        order = members[np.argsort(-np.abs(coef[members]), kind="stable")]
        rows += [
            FeatureRow(group, int(np.sign(effect)), effect, facts.variance_shares[k], names[j], float(alpha[j]),
                       float(coef[j]))
            for j in order
        ]
    return Summary(tuple(rows), float(intercept), facts.n_rows, facts.r_squared, facts.certificate, max_features)


def certificate(result: Result) -> str:
    """Return what was proved and what it cost, what presolve did, and what the data leave open: a line each."""
    told = EXACT_FIT if result.rounded.vanishes else (
        f"objective {result.objective:.10g}, lower bound {result.lower_bound:.10g}, {result.told_gap}"
    )
    work = f"{counted(result.n_nodes, 'node')}, {result.seconds:.3g} s"
    settled = [str(result.presolve)] if result.presolve else []
    proved = f"{result.status.value} by {result.method}: {told}, {work}"
    return "\n".join([proved, *settled, *result.ambiguities.lines])


def variance_shares(result: Result) -> Floats:
    """Return ``cov(X_k w_k, prediction) / var(prediction)`` per group, then of the columns without one.

    All are 0 where the predictions are constant up to rounding.
    """
    instance = result.instance
    parts = contributions(instance.X, result.coef, result.intercept, instance.partition).values[:, :-1]
    weights = instance.weights
    centred = parts - weights @ parts / weights.sum()
    covariances = (weights * centred.sum(axis=1)) @ centred
    shares = np.zeros(instance.n_groups + 1)
    if covariances.sum() > result.rounded.residual**2:
        shares[: len(covariances)] = covariances / covariances.sum()
    return shares


def r_squared(result: Result) -> float:
    """Return one minus the squared error over that of the mean (both weighted); 0 for a constant target.

    An error and a variation of the target that are rounding alone count as zero.
    """
    instance = result.instance
    weights = instance.weights
    around_mean = weights @ np.square(instance.y - weights @ instance.y / weights.sum())
    error = instance.squared_error(result.coef, result.intercept)
    return float(1.0 - error / around_mean) if around_mean > result.rounded.residual**2 else 0.0
