"""Policies: which relaxation bounds a node, and which one searches the subtree below it.

A policy is a description: it derives from :class:`Policy`, names its members and answers ``decide(node)``. The search
carries the decisions out (``partls/explore/switching.py``). A policy is itself a ``Relaxation``, so whatever takes a
relaxation takes a policy. Members are given by name or as objects, and may be policies. The bound of a node is the
highest of those computed for it; ``Bound.source`` names the member it came from and ``Bound.parts`` keeps the others.
A member that fails costs its bound, never the others', and is prepared only when it is first asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import ClassVar

from formulations.instance import Instance
from relaxations.policies.node import Decider, Decision, PolicyNode
from relaxations.policies.run import PolicyBounder, PolicyRun
from relaxations.price import Price
from relaxations.protocol import Bounder, Relaxation, is_sequential


class Policy:
    """Base class of policies: a subclass has a ``kind``, which is its name, ``members`` and ``decide``.

    A decision depends on the node alone, or on earlier nodes if ``begin`` returns a decider that learns; then the
    policy sets ``sequential = True``, and its nodes are bounded one after another.

    Examples
    --------
    >>> import partls
    >>> from dataclasses import dataclass
    >>> from formulations import random_instance
    >>> from relaxations import BoundBy, Policy, SearchBy, named
    >>> @dataclass(frozen=True)
    ... class StrongRoot(Policy):
    ...     kind = "strong-root"
    ...     members = named("perspective"), named("active-set")
    ...     def decide(self, node):
    ...         strong, fast = self.members
    ...         return SearchBy(fast) if node.bounds else BoundBy(strong)
    >>> partls.solve_instance(random_instance(M=12, group_size=3), relaxation=StrongRoot()).status.value
    'optimal'
    """

    kind: ClassVar[str]
    prices: Mapping[str, Price | float] | None = None

    def __post_init__(self) -> None:
        """Refuse an unknown member at once."""
        self.members  # noqa: B018

    @property
    def members(self) -> tuple[Relaxation, ...]:
        """The relaxations to choose from."""
        raise NotImplementedError

    def decide(self, node: PolicyNode) -> Decision:
        """Return what to do next at a node that no bound has closed yet."""
        raise NotImplementedError

    def begin(self, instance: Instance) -> Decider:
        """Return what decides in one search: the policy itself, unless it learns."""
        return self

    @property
    def constant(self) -> Relaxation | None:
        """The relaxation that searches every tree whole, if the policy has no other answer."""
        return None

    @property
    def name(self) -> str:
        """The policy and its members, e.g. ``by-depth(shor, active-set)``."""
        return f"{self.kind}({', '.join(member.name for member in self.members)})"

    @property
    def sequential(self) -> bool:
        """Whether a member learns from node to node."""
        return any(is_sequential(member) for member in self.members)

    @cached_property
    def leaves(self) -> dict[str, Relaxation]:
        """The members, and those of nested policies, by name; equal names are numbered."""
        found: dict[str, Relaxation] = {}
        for member in leaves_of(self):
            if not any(member is known or member == known for known in found.values()):
                number, label = 1, member.name
                while label in found:
                    number += 1
                    label = f"{member.name} #{number}"
                found[label] = member
        return found

    def prepare(self, instance: Instance) -> Bounder:
        """Return a bounder that follows the decisions at one node at a time; it searches no subtrees."""
        return PolicyBounder(PolicyRun(self, instance))


def leaves_of(relaxation: Relaxation) -> Iterator[Relaxation]:
    """Yield the relaxations that a policy may use, nested policies and their members included; any other itself."""
    if not isinstance(relaxation, Policy):
        yield relaxation
        return
    for member in relaxation.members:
        yield from leaves_of(member)
        if isinstance(member, Policy):
            yield member


def constant(relaxation: Relaxation) -> Relaxation:
    """Return the relaxation that a policy without choice stands for, and any other relaxation itself."""
    while isinstance(relaxation, Policy) and relaxation.constant is not None:
        relaxation = relaxation.constant
    return relaxation
