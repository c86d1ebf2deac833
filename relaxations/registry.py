"""The relaxations of the toolkit by name: a new one is one line here, and gets the tests of all."""

from __future__ import annotations

from importlib import import_module
from typing import Any

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


def named(name: str) -> Relaxation:
    """Return the relaxation of that name with its default options."""
    if name not in MEMBERS:
        allowed = list(MEMBERS)
        raise InvalidInput(f"relaxation={name!r} is not one of {allowed}{suggestion(name, allowed)}")
    module, member = MEMBERS[name]
    relaxation: Relaxation = getattr(import_module(f"relaxations.{module}"), member)()
    return relaxation


def as_relaxation(relaxation: Any) -> Relaxation:
    """Return a relaxation given by name, or the object itself."""
    if isinstance(relaxation, str):
        return named(relaxation)
    if isinstance(relaxation, type) or not isinstance(relaxation, Relaxation):
        raise InvalidInput(f"relaxation={relaxation!r} is neither a name nor an object with name and prepare(instance)")
    return relaxation
