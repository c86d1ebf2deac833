"""The relaxations of the toolkit by name: a new one is one line here, and gets the tests of all."""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from importlib import import_module
from typing import Any, cast

from formulations.errors import InvalidInput, suggestion
from relaxations.protocol import Relaxation

# name -> (module, class); the module, and CVXPY with it, is imported when its relaxation is first used
MEMBERS = {
    "active-set": ("active_set", "ActiveSetRelaxation"),
    "perspective": ("perspective", "PerspectiveRelaxation"),
    "shor": ("shor", "ShorRelaxation"),
    "split-dnn": ("split_dnn", "SplitDNNRelaxation"),
    "strengthened": ("strengthened", "StrengthenedRelaxation"),
    "unconstrained": ("unconstrained", "UnconstrainedRelaxation"),
}

# every name of a search's bound: the members, and what chooses among them
SEARCHABLE = {"auto": ("policies.auto", "Auto"), **MEMBERS}


def named(name: str) -> Relaxation:
    """Return the relaxation of that name with its default options."""
    if name not in SEARCHABLE:
        allowed = list(SEARCHABLE)
        raise InvalidInput(f"relaxation={name!r} is not one of {allowed}{suggestion(name, allowed)}")
    module, member = SEARCHABLE[name]
    relaxation: Relaxation = getattr(import_module(f"relaxations.{module}"), member)()
    return relaxation


def as_relaxation(relaxation: Any) -> Relaxation:
    """Return a relaxation given by name, or the object itself."""
    if isinstance(relaxation, str):
        return named(relaxation)
    if isinstance(relaxation, type) or not isinstance(relaxation, Relaxation):
        raise InvalidInput(f"relaxation={relaxation!r} is neither a name nor an object with name and prepare(instance)")
    return relaxation


def through_cvxpy(relaxation: Any, solver: str | None = None) -> Relaxation:
    """Return the relaxation as its builder states it, solved by a solver of CVXPY: the usual ones, or this one.

    What the kernel computes otherwise, "active-set" and "strengthened", is the builder ``quadratic``.
    """
    from relaxations.active_set import ActiveSetRelaxation
    from relaxations.conic.solvers import installed_solver
    from relaxations.strengthened import StrengthenedRelaxation
    from relaxations.unconstrained import UnconstrainedRelaxation

    member: Relaxation = as_relaxation(relaxation)
    if isinstance(member, ActiveSetRelaxation | StrengthenedRelaxation):
        member = UnconstrainedRelaxation(strengthen=isinstance(member, StrengthenedRelaxation))
    name = member.name
    if hasattr(member, "members"):
        raise InvalidInput(f'backend="cvxpy" does not reach into the policy "{name}": give its members solvers')
    if solver is None:
        return member
    if not (is_dataclass(member) and hasattr(member, "solvers")):
        raise InvalidInput(f'solver={solver!r} does not apply to the relaxation "{name}": it takes no solvers')
    return cast(Relaxation, replace(cast(Any, member), solvers=(installed_solver(solver),)))
