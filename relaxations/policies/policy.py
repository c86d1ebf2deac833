"""Policies that choose a relaxation for each node: a cheap bound where it is enough, a strong one where it pays.

A policy is itself a ``Relaxation``, so whatever takes one takes a policy: ``partls.solve(..., relaxation=policy)``.
Its members are given by name or as objects, and may be policies themselves. The bound of a node is the highest of
those computed for it; ``Bound.source`` names the member it came from and ``Bound.parts`` keeps the others. A member
that fails costs its bound, never the others', and is prepared only when it is first asked.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import ClassVar

from formulations.instance import Instance
from formulations.signs import SignPattern
from relaxations.policies.work import nominal_work
from relaxations.protocol import Bound, Bounder, Relaxation, ask, is_sequential


class Policy:
    """What every policy derives from its members."""

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        """Refuse an unknown member at once."""
        self.members  # noqa: B018

    @property
    def members(self) -> tuple[Relaxation, ...]:
        """The relaxations to choose from."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The policy and its members, e.g. ``by-depth(shor, active-set)``."""
        return f"{self.kind}({', '.join(member.name for member in self.members)})"

    @property
    def sequential(self) -> bool:
        """Whether a member learns from node to node."""
        return any(is_sequential(member) for member in self.members)

    def work(self, instance: Instance) -> float:
        """Return the nominal cost of a node on which every member is asked."""
        return sum(nominal_work(member, instance) for member in self.members)


class PolicyMember:
    """A relaxation of a policy on one instance, prepared when it is first asked."""

    def __init__(self, relaxation: Relaxation, instance: Instance) -> None:
        self.name, self.work = relaxation.name, nominal_work(relaxation, instance)
        self._prepare: Callable[[], Bounder] = lambda: relaxation.prepare(instance)
        self._bounder: Bounder | None = None
        self._broken: Exception | None = None

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        """Return the member's bound, or raise what its preparation raised."""
        if self._broken is not None:
            raise self._broken
        if self._bounder is None:
            try:
                self._bounder = self._prepare()
            except Exception as error:  # once is enough: preparing can be the dearest part
                self._broken = error
                raise
        return self._bounder.bound(signs, cutoff=cutoff)

    def ask(self, signs: SignPattern, cutoff: float) -> Bound:
        """Return the member's bound under its name, whatever happens."""
        return ask(self, signs, cutoff=cutoff, source=self.name)
