"""What identifies a solved problem: its definition and a hash of every number in its data."""

from __future__ import annotations

from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.verification.document import Problem
from partls.verification.exact_bounds import Data
from partls.verification.verifier import spelled


def problem_of(instance: Instance, root: SignPattern) -> Problem:
    """Return the problem's definition under the a-priori signs ``root``."""
    refuse_unwritten(instance)
    assert isinstance(instance.eta, float)
    return Problem(
        len(instance.y), instance.n_columns, instance.n_groups, instance.eta, instance.penalty, instance.fit_intercept,
        instance.fit_intercept and instance.penalize_intercept, spelled(root.values[: instance.n_groups]),
    )


def refuse_unwritten(instance: Instance) -> None:
    """Refuse penalties that certificates and checkpoints cannot state."""
    if instance.ridge or not isinstance(instance.eta, float):
        given = "ridge" if instance.ridge else "eta by group"
        raise InvalidInput(f"certificates and checkpoints cannot state {given}: leave out {given}, or the file")


def data_of(instance: Instance) -> Data:
    """Return the instance's numbers as the verifier sees them."""
    return Data(instance.X, instance.y, instance.partition, instance.sample_weight)
