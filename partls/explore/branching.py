"""Branching rules: which undecided group to split next. Small interchangeable objects.

The compiled search reads ``ranking`` and ``candidates``; the generic search calls ``choose``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.errors import InvalidInput, suggestion
from partls.explore.subtree import Try, violations


@runtime_checkable
class BranchingRule(Protocol):
    """Chooses among the undecided groups of a node."""

    @property
    def name(self) -> str:
        """The name by which ``partls.solve(branching=...)`` knows it."""
        ...

    @property
    def ranking(self) -> int:
        """0: by violation nu_k; 1: by the rise of the bound when one coefficient is forced to zero."""
        ...

    @property
    def candidates(self) -> int:
        """How many groups have both children bounded before one is chosen."""
        ...

    def choose(self, groups: list[int], v: Floats, labels: NDArray[np.intp], try_child: Try) -> int:
        """Return one of ``groups`` given the relaxed point v; ``try_child(group, sign)`` bounds a child."""
        ...


@dataclass(frozen=True)
class MaxViolation:
    """Branch on the group with the largest nu_k: Esposito, Cerrato and Locatelli (2024), Algorithm 3."""

    name: str = "max-violation"
    ranking: int = 0
    candidates: int = 1

    def choose(self, groups: list[int], v: Floats, labels: NDArray[np.intp], try_child: Try) -> int:
        """Return the group with the largest violation."""
        nu = violations(v, labels, int(labels.max()) + 1)
        return max(groups, key=lambda k: nu[k])


@dataclass(frozen=True)
class BoundScore:
    """The group whose cheaper side rises most if its largest wrong coefficient alone is forced to zero."""

    name: str = "bound-score"
    ranking: int = 1
    candidates: int = 1

    def choose(self, groups: list[int], v: Floats, labels: NDArray[np.intp], try_child: Try) -> int:
        """Return the group whose smaller side has the largest coefficient (columns have norm about one)."""
        return max(groups, key=lambda k: _smaller_side(v[labels == k]))


@dataclass(frozen=True)
class StrongBranching:
    """Bound both children of the best-ranked groups and split where the bound rises most.

    In the compiled search a child costs O(M) per pivot, so this is the default there; a side that is closed
    on the way fixes the other sign without branching. ``candidates=0`` chooses their number by the size of the
    groups: children of small groups need few pivots, so more of them are worth a look.
    """

    candidates: int = 0
    name: str = "strong"
    ranking: int = 1

    def choose(self, groups: list[int], v: Floats, labels: NDArray[np.intp], try_child: Try) -> int:
        """Return the group whose weaker child bound is highest."""
        wanted = number_of_candidates(self, labels)
        ranked = sorted(groups, key=lambda k: -_smaller_side(v[labels == k]))[:wanted]
        return max(ranked, key=lambda k: min(try_child(k, 1), try_child(k, -1)))


RULES: dict[str, BranchingRule] = {rule.name: rule for rule in (StrongBranching(), BoundScore(), MaxViolation())}


def number_of_candidates(rule: BranchingRule, labels: NDArray[np.intp]) -> int:
    """Return how many groups to bound at a node: the rule's number, or one that fits the size of the groups."""
    if rule.candidates:
        return rule.candidates
    size = len(labels) / (int(labels.max(initial=0)) + 1)
    return int(min(max(100.0 / max(size, 1.0) ** 2, 3), 16))


def branching_rule(rule: str | BranchingRule) -> BranchingRule:
    """Return a rule by name, or the object itself."""
    if isinstance(rule, type) or not isinstance(rule, str | BranchingRule):
        wanted = "an object with name, ranking, candidates and choose"
        raise InvalidInput(f"branching={rule!r} is neither a name nor {wanted}")
    if isinstance(rule, str):
        if rule not in RULES:
            raise InvalidInput(f"branching={rule!r} is not one of {list(RULES)}{suggestion(rule, RULES)}")
        return RULES[rule]
    if rule.candidates < 0:
        raise InvalidInput(f"branching={rule!r}: candidates must be >= 0 (0: chosen by the size of the groups)")
    return rule


def _smaller_side(v: Floats) -> float:
    return float(min(max(v.max(initial=0.0), 0.0), max(-v.min(initial=0.0), 0.0)))
