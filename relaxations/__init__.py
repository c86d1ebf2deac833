"""What each problem proves: certified lower bounds at a node of the search, behind one protocol."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from formulations.errors import InvalidInput, suggestion
from relaxations.active_set import ActiveSetRelaxation
from relaxations.bound import Bound, Bounder, BoundStatus, Relaxation

if TYPE_CHECKING:
    from relaxations.comparison import Comparison, compare
    from relaxations.perspective import PerspectiveRelaxation
    from relaxations.search_trees import TreeSizes, search_with, tree_size
    from relaxations.shor import BlockOnlyShorRelaxation, ShorRelaxation
    from relaxations.split_dnn import SplitDNNRelaxation
    from relaxations.strengthened import StrengthenedRelaxation
    from relaxations.switching import Adaptive, ByDepth, CheapThenStrong, Fixed
    from relaxations.unconstrained import UnconstrainedRelaxation

# name -> (module, class); a module is imported, and CVXPY with it, when its relaxation is first asked for
MEMBERS = {
    "active-set": ("active_set", "ActiveSetRelaxation"),
    "perspective": ("perspective", "PerspectiveRelaxation"),
    "shor": ("shor", "ShorRelaxation"),
    "split-dnn": ("split_dnn", "SplitDNNRelaxation"),
    "strengthened": ("strengthened", "StrengthenedRelaxation"),
    "unconstrained": ("unconstrained", "UnconstrainedRelaxation"),
}

__all__ = [
    "MEMBERS",
    "ActiveSetRelaxation",
    "Adaptive",
    "BlockOnlyShorRelaxation",
    "Bound",
    "BoundStatus",
    "Bounder",
    "ByDepth",
    "CheapThenStrong",
    "Comparison",
    "Fixed",
    "PerspectiveRelaxation",
    "Relaxation",
    "ShorRelaxation",
    "SplitDNNRelaxation",
    "StrengthenedRelaxation",
    "TreeSizes",
    "UnconstrainedRelaxation",
    "as_relaxation",
    "compare",
    "named",
    "search_with",
    "tree_size",
]

_LAZY = {
    "Adaptive": "switching",
    "ByDepth": "switching",
    "CheapThenStrong": "switching",
    "Comparison": "comparison",
    "Fixed": "switching",
    "PerspectiveRelaxation": "perspective",
    "TreeSizes": "search_trees",
    "UnconstrainedRelaxation": "unconstrained",
    "compare": "comparison",
    "search_with": "search_trees",
    "tree_size": "search_trees",
    "BlockOnlyShorRelaxation": "shor",
    "ShorRelaxation": "shor",
    "SplitDNNRelaxation": "split_dnn",
    "StrengthenedRelaxation": "strengthened",
}


def named(name: str) -> Relaxation:
    """Return the relaxation of that name with its default options."""
    if name not in MEMBERS:
        allowed = list(MEMBERS)
        raise InvalidInput(f"relaxation={name!r} is not one of {allowed}{suggestion(name, allowed)}")
    module, member = MEMBERS[name]
    relaxation: Relaxation = getattr(import_module(f"{__name__}.{module}"), member)()
    return relaxation


def as_relaxation(relaxation: Any) -> Relaxation:
    """Return a relaxation given by name, or the object itself."""
    if isinstance(relaxation, str):
        return named(relaxation)
    if isinstance(relaxation, type) or not isinstance(relaxation, Relaxation):
        raise InvalidInput(f"relaxation={relaxation!r} is neither a name nor an object with name and prepare(instance)")
    return relaxation


if not TYPE_CHECKING:  # a checker that saw this function would accept any name

    def __getattr__(name: str) -> Any:
        """Load a relaxation on first use."""
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
