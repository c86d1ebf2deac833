"""How strongly an instance penalises each group sum, the intercept and the coefficients themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from formulations.data import Floats
from formulations.errors import InvalidInput, counted, listing, suggestion
from formulations.partition import Partition

INTERCEPT = "(intercept)"  # what a mapping calls the intercept, where that is penalised


@dataclass(frozen=True, eq=False)
class Strengths:
    """The penalty ``sum_k eta_k beta_k^2`` ("l2") or ``sum_k eta_k |beta_k|`` ("l1")  ``+ ridge * ||w||_2^2``.

    Attributes
    ----------
    kind
        "l2" or "l1".
    groups
        eta_k of each group, read-only.
    intercept
        eta of the intercept, which counts as one more beta; 0 where it is not penalised.
    ridge
        Weight of the squared coefficients, grouped and free; the intercept is not among them.
    """

    kind: str
    groups: Floats
    intercept: float
    ridge: float

    @classmethod
    def of(
        cls, eta: Any, kind: str, ridge: Any, partition: Partition, *, fit_intercept: bool, penalize_intercept: bool
    ) -> Strengths:
        """Return the strengths of a number, of one number per group, or of ``{group: number}``."""
        own = fit_intercept and penalize_intercept
        if isinstance(eta, Mapping):
            groups, intercept = _of_mapping(eta, partition, own=own)
        elif isinstance(eta, list | tuple) or np.ndim(eta) > 0:
            groups, intercept = _of_sequence(list(eta), partition, own=own), 0.0
        else:
            value = _strength("eta", eta)
            groups, intercept = np.full(partition.n_groups, value), value if own else 0.0
        groups.setflags(write=False)
        return cls(kind, groups, intercept, _strength("ridge", ridge))

    def changed(self, eta: Any, ridge: Any, partition: Partition, *, fit_intercept: bool, penalize_intercept: bool
                ) -> Strengths:
        """Return other strengths of the same kind; what is None stays as it is."""
        new = Strengths.of(
            0.0 if eta is None else eta, self.kind, self.ridge if ridge is None else ridge, partition,
            fit_intercept=fit_intercept, penalize_intercept=penalize_intercept,
        )
        return new if eta is not None else replace(new, groups=self.groups, intercept=self.intercept)

    def by_name(self, partition: Partition, *, with_intercept: bool) -> dict[str, float]:
        """Return ``{group: eta}`` as ``of`` takes it, on demand with the intercept that is penalised."""
        named = dict(zip(partition.names, self.groups.tolist(), strict=True))
        return named | ({INTERCEPT: self.intercept} if with_intercept else {})

    @property
    def any_eta(self) -> bool:
        """Whether a group sum or the intercept is penalised."""
        return self.intercept > 0 or bool(self.groups.any())

    @property
    def intercept_has_sign(self) -> bool:
        """Whether the intercept is penalised by L1: that has a kink at zero, so the intercept is a group of one."""
        return self.kind == "l1" and self.intercept > 0

    def value(self, beta: Floats, coef: Floats, intercept: float) -> float:
        """Return the penalty of group sums, coefficients and intercept; a weight of zero counts nothing."""
        weights, sums = np.append(self.groups, self.intercept), np.append(beta, intercept)
        total, largest = 0.0, float(weights.max())
        if largest > 0:
            counted = weights > 0
            # Relative to the largest: one number for all groups then multiplies the sum once, as in the formula.
            relative, sums = weights[counted] / largest, sums[counted]
            size = (relative * sums) @ sums if self.kind == "l2" else (relative * np.abs(sums)).sum()
            total = largest * float(size)
        return total + self.ridge * float(coef @ coef) if self.ridge > 0 else total


def _of_mapping(eta: Mapping[Any, Any], partition: Partition, *, own: bool) -> tuple[Floats, float]:
    """Return (eta per group, eta of the intercept) once every group is named, and the intercept if penalised."""
    if own and INTERCEPT in partition.names:
        raise InvalidInput(f'eta: a group is called "{INTERCEPT}" as the penalised intercept is: rename the group')
    values: dict[int, float] = {}
    intercept = None
    for key, value in eta.items():
        if key == INTERCEPT and INTERCEPT not in partition.names:
            if not own:
                raise InvalidInput(f'eta names "{INTERCEPT}", which is not penalised: give penalize_intercept=True')
            intercept = _strength(f"eta[{key!r}]", value)
            continue
        k = _position(partition, key)
        if k in values:
            raise InvalidInput(f'eta gives group "{partition.names[k]}" twice: keep one of them')
        values[k] = _strength(f"eta[{key!r}]", value)
    missing: list[str] = [name for k, name in enumerate(partition.names) if k not in values]
    missing += [INTERCEPT] if own and intercept is None else []
    if missing:
        raise InvalidInput(f"eta misses {listing(missing)}: give each group a number, 0 for no penalty")
    return np.array([values[k] for k in range(partition.n_groups)], dtype=np.float64), intercept or 0.0


def _of_sequence(eta: list[Any], partition: Partition, *, own: bool) -> Floats:
    """Return one eta per group, in the order of the groups."""
    if len(eta) != partition.n_groups:
        raise InvalidInput(f"eta has {counted(len(eta), 'value')} but there are {counted(partition.n_groups, 'group')}")
    if own:
        raise InvalidInput(f'eta in a list has no place for the penalised intercept: map "{INTERCEPT}" to its eta')
    return np.array([_strength(f"eta[{k}]", value) for k, value in enumerate(eta)], dtype=np.float64)


def _position(partition: Partition, key: Any) -> int:
    """Return the group a key means: a name, or a position as in ``signs``."""
    names = partition.names
    if isinstance(key, str) and key in names:
        return names.index(key)
    if isinstance(key, int | np.integer) and not isinstance(key, bool) and 0 <= key < len(names):
        return int(key)
    near = suggestion(key, names) if isinstance(key, str) else ""
    raise InvalidInput(f"eta names group {key!r}, which does not exist: groups are {listing(names)}{near}")


def _strength(place: str, value: Any) -> float:
    """Return a finite number >= 0."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"{place}={value!r} is not a number") from None
    if not (np.isfinite(number) and number >= 0):
        raise InvalidInput(f"{place}={value!r} must be a finite number >= 0")
    return number

