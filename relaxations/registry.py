"""The relaxations of the toolkit by name: a new one is one line here, and gets the tests of all."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from typing import Any, cast

from formulations.errors import InvalidInput, suggestion
from relaxations.protocol import Relaxation

# name -> (module, class); the module, and CVXPY with it, is imported when its relaxation is first used
MEMBERS = {
    "active-set": ("active_set", "ActiveSetRelaxation"),
    "convexified": ("convexified", "ConvexifiedRelaxation"),
    "perspective": ("perspective", "PerspectiveRelaxation"),
    "shor": ("shor", "ShorRelaxation"),
    "split-dnn": ("split_dnn", "SplitDNNRelaxation"),
    "strengthened": ("strengthened", "StrengthenedRelaxation"),
    "unconstrained": ("unconstrained", "UnconstrainedRelaxation"),
}

# every name of a search's bound: the members, and what chooses among them
SEARCHABLE = {"auto": ("policies.auto", "Auto"), **MEMBERS}


def named(name: str) -> Relaxation:
    """Return the relaxation of that name with its default options.

    Parameters
    ----------
    name : str
        A name of ``relaxations.SEARCHABLE``.

    Returns
    -------
    Relaxation
        The relaxation.

    Raises
    ------
    InvalidInput
        If there is no such name; the message suggests the nearest one.

    Examples
    --------
    >>> from relaxations import named
    >>> named("shor")
    ShorRelaxation(cuts=True, accuracy=1e-05, solver='native', options={}, name='shor')
    """
    if name not in SEARCHABLE:
        allowed = list(SEARCHABLE)
        raise InvalidInput(f"relaxation={name!r} is not one of {allowed}{suggestion(name, allowed)}")
    module, member = SEARCHABLE[name]
    relaxation: Relaxation = getattr(import_module(f"relaxations.{module}"), member)()
    return relaxation


def as_relaxation(relaxation: Any) -> Relaxation:
    """Return a relaxation given by name, or the object itself.

    Parameters
    ----------
    relaxation : Relaxation or str
        A name of ``relaxations.SEARCHABLE``, or an object.

    Returns
    -------
    Relaxation
        The relaxation.

    Raises
    ------
    InvalidInput
        If it is no relaxation; the message suggests the nearest name.

    Examples
    --------
    >>> from relaxations import as_relaxation
    >>> as_relaxation("perspective").name
    'perspective'
    """
    if isinstance(relaxation, str):
        return named(relaxation)
    if isinstance(relaxation, type) or not isinstance(relaxation, Relaxation):
        raise InvalidInput(f"relaxation={relaxation!r} is neither a name nor an object with name and prepare(instance)")
    return relaxation


def through_cvxpy(relaxation: Any, solver: str | None = None) -> Relaxation:
    """Return the relaxation as its builder states it, solved by a solver of CVXPY.

    "active-set" and "strengthened", which the kernel computes otherwise, become the builder ``quadratic``; the native
    Shor bound becomes the builder ``shor``. Every member of a policy is changed in this way.

    Parameters
    ----------
    relaxation : Relaxation or str
        A relaxation, a policy, or a name.
    solver : str, optional
        A CVXPY solver; by default the usual ones of the relaxation.

    Returns
    -------
    Relaxation
        The same bound through CVXPY.

    Raises
    ------
    InvalidInput
        If a solver is named that is not installed, or that the relaxation cannot use.

    Examples
    --------
    >>> from relaxations import through_cvxpy
    >>> through_cvxpy("shor", "SCS").solver
    'SCS'
    """
    from relaxations.active_set import ActiveSetRelaxation
    from relaxations.conic.solvers import installed_solver
    from relaxations.strengthened import StrengthenedRelaxation
    from relaxations.unconstrained import UnconstrainedRelaxation

    member: Any = as_relaxation(relaxation)
    if isinstance(member, ActiveSetRelaxation | StrengthenedRelaxation):
        member = UnconstrainedRelaxation(strengthen=isinstance(member, StrengthenedRelaxation))
    changed: dict[str, Any] = {}
    if hasattr(member, "members"):
        changed = _members_through_cvxpy(member, solver)
    elif solver is not None and hasattr(member, "solvers"):
        changed = {"solvers": (installed_solver(solver),)}
    elif solver is not None and hasattr(member, "solver"):
        changed = {"solver": installed_solver(solver)}
    elif getattr(member, "solver", None) == "native":
        changed = {"solver": "cvxpy"}
    if solver is not None and not changed:
        raise InvalidInput(f'solver={solver!r} does not apply to the relaxation "{member.name}": it takes no solver')
    return cast(Relaxation, replace(member, **changed) if changed else member)


def _members_through_cvxpy(policy: Any, solver: str | None) -> dict[str, Any]:
    """Return the fields of a policy that hold relaxations, each of them through CVXPY."""

    def is_one(value: Any) -> bool:
        return value in SEARCHABLE if isinstance(value, str) else isinstance(value, Relaxation)

    changed: dict[str, Any] = {}
    for one in fields(policy) if is_dataclass(policy) else ():
        value = getattr(policy, one.name)
        if is_one(value):
            changed[one.name] = through_cvxpy(value, solver)
        elif isinstance(value, list | tuple) and value and all(map(is_one, value)):
            changed[one.name] = [through_cvxpy(each, solver) for each in value]
    return changed
