"""Presolved: the problem that is left to search, and the way back from its models to those of the whole problem."""

from __future__ import annotations

from dataclasses import dataclass

from formulations.data import Floats
from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.presolve.arbitrary_signs import Direction, arbitrary_signs
from partls.presolve.exact_signs import with_exact_signs
from partls.presolve.free_groups import within, without_signs
from partls.presolve.independent_parts import Parts, independent_parts
from partls.presolve.report import Presolve


@dataclass(frozen=True, eq=False)
class Presolved:
    """A problem, what of it is left to search, and what was settled.

    Attributes
    ----------
    whole, whole_root
        The problem and its a-priori signs.
    instance, root
        What is left to search: a relaxation of the problem with the same optimum.
    parts
        The independent parts of what is left to search; None if it is one, or its signs hold together.
    report
        What was settled.
    """

    whole: Instance
    whole_root: SignPattern
    instance: Instance
    root: SignPattern
    report: Presolve
    parts: Parts | None = None
    _directions: tuple[Direction, ...] = ()

    @classmethod
    def of(cls, instance: Instance, root: SignPattern, *, in_parts: bool = False) -> Presolved:
        """Return what is left to search once every rule has been applied; on demand in independent parts."""
        directions = arbitrary_signs(instance)
        freed = sorted(direction.group for direction in directions)
        left = without_signs(instance, freed)
        parts = independent_parts(left.reduction) if in_parts else None
        if not directions and parts is None:
            return cls.nothing(instance, root)
        told = [] if parts is None else [tuple(left.reduction.names[k] for k in groups) for groups in parts.groups]
        report = Presolve(tuple(instance.partition.names[k] for k in freed), tuple(told))
        return cls(instance, root, left, within(root, instance, freed), report, parts, directions)

    @classmethod
    def nothing(cls, instance: Instance, root: SignPattern) -> Presolved:
        """Return the problem as it is."""
        return cls(instance, root, instance, root, Presolve())

    def inside(self, signs: SignPattern | None) -> SignPattern | None:
        """Return a pattern of the problem as one of what is left of it."""
        return None if signs is None else within(signs, self.whole, self._freed)

    def restored(self, coef: Floats, intercept: float) -> tuple[Floats, float]:
        """Return the model of the problem for one of what is left of it: the same fit, every sign exact."""
        if not self._directions:
            return coef, intercept
        return with_exact_signs(self.whole, self.whole_root, self._directions, coef, intercept)

    @property
    def _freed(self) -> tuple[int, ...]:
        return tuple(direction.group for direction in self._directions)
