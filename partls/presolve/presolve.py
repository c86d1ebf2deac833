"""Presolved: the problem that is left to search, and the way back from its models to those of the whole problem."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.presolve.arbitrary_signs import Direction, arbitrary_signs, has_dependent_columns
from partls.presolve.exact_signs import with_exact_signs
from partls.presolve.fewer_columns import with_zeros, without_columns
from partls.presolve.free_groups import within, without_signs
from partls.presolve.independent_parts import Parts, independent_parts, is_linked
from partls.presolve.redundant_columns import Redundant, redundant_columns
from partls.presolve.report import Presolve

_NOTHING, _NO_COLUMNS = Presolve(), Redundant()


@dataclass(frozen=True, eq=False)
class Presolved:
    """A problem, what of it is left to search, and what was settled.

    Attributes
    ----------
    whole, whole_root
        The problem and its given signs.
    instance, root
        What is left to search: a relaxation of the problem with the same optimum.
    parts
        The independent parts of what is left to search; None if it is one, or its signs hold together.
    report
        What was settled.
    redundant
        The columns that were left out.
    """

    whole: Instance
    whole_root: SignPattern
    instance: Instance
    root: SignPattern
    report: Presolve
    parts: Parts | None = None
    redundant: Redundant = _NO_COLUMNS
    _directions: tuple[Direction, ...] = ()
    _left_out: NDArray[np.intp] = field(default_factory=lambda: _NO_COLUMNS.columns)

    @classmethod
    def of(cls, instance: Instance, root: SignPattern, *, in_parts: bool = False) -> Presolved:
        """Return what is left to search once every rule has been applied; on demand in independent parts."""
        dependent = has_dependent_columns(instance.reduction)  # most are not, and a small problem takes little time
        if not dependent and (not in_parts or is_linked(instance.reduction)):
            return cls.nothing(instance, root)
        directions = arbitrary_signs(instance)
        freed = sorted(direction.group for direction in directions)
        left = without_signs(instance, freed)
        redundant = redundant_columns(left.reduction)
        left_out = left.reduction.original_columns[redundant.columns]
        names = [left.reduction.column_names[j] for j in redundant.columns]
        left = without_columns(left, left_out) if len(left_out) else left
        parts = independent_parts(left.reduction) if in_parts else None
        report = Presolve(tuple(instance.partition.names[k] for k in freed), tuple(names), _named(left, parts))
        if not report:
            return cls.nothing(instance, root)
        return cls(
            instance, root, left, within(root, instance, freed), report, parts, redundant, directions, left_out
        )

    @classmethod
    def nothing(cls, instance: Instance, root: SignPattern) -> Presolved:
        """Return the problem as it is."""
        return cls(instance, root, instance, root, _NOTHING)

    def inside(self, signs: SignPattern | None) -> SignPattern | None:
        """Return a pattern of the problem as one of what is left of it."""
        return None if signs is None else within(signs, self.whole, self._freed)

    def restored(self, coef: Floats, intercept: float) -> tuple[Floats, float]:
        """Return the model of the problem for one of what is left of it: the same fit, every sign exact."""
        if len(self._left_out):
            coef = with_zeros(coef, self.whole.n_columns, self._left_out)
        if not self._directions:
            return coef, intercept
        return with_exact_signs(self.whole, self.whole_root, self._directions, coef, intercept)

    @property
    def _freed(self) -> tuple[int, ...]:
        return tuple(direction.group for direction in self._directions)


def _named(instance: Instance, parts: Parts | None) -> tuple[tuple[str, ...], ...]:
    """Return the names of the groups of each part."""
    names = instance.reduction.names
    return () if parts is None else tuple(tuple(names[k] for k in groups) for groups in parts.groups)
