"""What identifies a solved problem: its definition and a hash of every number in its data."""

from __future__ import annotations

from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.verification.data import Data
from partls.verification.problem import Problem
from partls.verification.verifier import spelled


def problem_of(instance: Instance, root: SignPattern) -> Problem:
    """Return the problem's definition under the given signs ``root``."""
    strengths = instance.strengths
    return Problem(
        n_rows=len(instance.y), n_columns=instance.n_columns, n_groups=instance.n_groups,
        eta=strengths.groups.tolist(), eta_intercept=strengths.intercept, ridge=strengths.ridge,
        penalty=instance.penalty, fit_intercept=instance.fit_intercept,
        penalize_intercept=instance.fit_intercept and instance.penalize_intercept,
        signs=spelled(root.values[: instance.n_groups]),
    )


def data_of(instance: Instance) -> Data:
    """Return the instance's numbers as the verifier sees them."""
    return Data(instance.X, instance.y, instance.partition, instance.sample_weight)
