"""What each problem proves: certified lower bounds at a node of the search, behind one protocol."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from formulations.errors import InvalidInput, suggestion
from relaxations.active_set import ActiveSetRelaxation
from relaxations.bound import Bound, Bounder, BoundStatus, Relaxation

if TYPE_CHECKING:
    from relaxations.shor import BlockOnlyShorRelaxation, ShorRelaxation
    from relaxations.split_dnn import SplitDNNRelaxation
    from relaxations.unconstrained import UnconstrainedRelaxation

# name -> (module, class); a module is imported, and CVXPY with it, when its relaxation is first asked for
MEMBERS = {
    "active-set": ("active_set", "ActiveSetRelaxation"),
    "shor": ("shor", "ShorRelaxation"),
    "split-dnn": ("split_dnn", "SplitDNNRelaxation"),
    "unconstrained": ("unconstrained", "UnconstrainedRelaxation"),
}

__all__ = [
    "MEMBERS",
    "ActiveSetRelaxation",
    "BlockOnlyShorRelaxation",
    "Bound",
    "BoundStatus",
    "Bounder",
    "Relaxation",
    "ShorRelaxation",
    "SplitDNNRelaxation",
    "UnconstrainedRelaxation",
    "named",
]

_LAZY = {
    "BlockOnlyShorRelaxation": "shor",
    "ShorRelaxation": "shor",
    "SplitDNNRelaxation": "split_dnn",
    "UnconstrainedRelaxation": "unconstrained",
}


def named(name: str) -> Relaxation:
    """Return the relaxation of that name with its default options."""
    if name not in MEMBERS:
        allowed = list(MEMBERS)
        raise InvalidInput(f"relaxation={name!r} is not one of {allowed}{suggestion(name, allowed)}")
    module, member = MEMBERS[name]
    relaxation: Relaxation = getattr(import_module(f"{__name__}.{module}"), member)()
    return relaxation


if not TYPE_CHECKING:  # a checker that saw this function would accept any name

    def __getattr__(name: str) -> Any:
        """Load a relaxation on first use."""
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
