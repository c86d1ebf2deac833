"""The same problem with some groups free of their sign constraint: a relaxation of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from formulations.instance import Instance
from formulations.partition import Partition
from formulations.rows.freeing import with_free_columns
from formulations.signs import SignPattern
from formulations.strengths import INTERCEPT


def without_signs(instance: Instance, groups: Collection[int]) -> Instance:
    """Return the problem without the constraints of some groups that carry no penalty; the others keep theirs."""
    if not groups:
        return instance
    partition = instance.partition
    kept = kept_groups(instance, groups)
    place = np.full(partition.n_groups + 1, -1)
    place[kept] = np.arange(len(kept))
    fewer = Partition(tuple(partition.names[k] for k in kept), place[partition.labels], partition.columns)
    free = instance.replace(groups=fewer, eta=_eta(instance, kept))
    free.least_squares = replace(instance.least_squares, partition=free.partition, strengths=free.strengths)
    free.reduction = with_free_columns(instance.reduction, free.least_squares)
    return free


def kept_groups(instance: Instance, freed: Collection[int]) -> list[int]:
    """Return the groups that keep their constraint."""
    return [k for k in range(instance.n_groups) if k not in freed]


def within(signs: SignPattern, instance: Instance, freed: Collection[int]) -> SignPattern:
    """Return a pattern of the problem as one of the problem without some of its signs."""
    beyond = range(instance.n_groups, len(signs))  # an L1-penalised intercept
    return SignPattern(tuple(signs[k] for k in [*kept_groups(instance, freed), *beyond]))


def beside(signs: SignPattern, root: SignPattern, instance: Instance, freed: Collection[int]) -> SignPattern:
    """Return a pattern of the problem without some of its signs as one of the problem, these as in ``root``."""
    values = np.array(root.values)
    values[kept_groups(instance, freed)] = signs.values[: instance.n_groups - len(freed)]
    return SignPattern(tuple(values.tolist()))


def _eta(instance: Instance, kept: list[int]) -> object:
    """Return the penalties of the groups that are kept, as the constructor takes them."""
    strengths, names = instance.strengths, instance.partition.names
    if isinstance(instance.eta, float):
        return instance.eta
    named = {names[k]: float(strengths.groups[k]) for k in kept}
    if instance.fit_intercept and instance.penalize_intercept:
        return {**named, INTERCEPT: strengths.intercept}
    return [named[names[k]] for k in kept]
