"""What each problem proves: safe lower bounds at a node of the search, behind one protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from formulations.lazy import lazy_names
from relaxations.active_set import ActiveSetRelaxation
from relaxations.protocol import Bound, Bounder, BoundStatus, Relaxation
from relaxations.registry import MEMBERS, as_relaxation, named, through_cvxpy

if TYPE_CHECKING:
    from relaxations.comparison.compare import compare
    from relaxations.comparison.result import Comparison
    from relaxations.perspective import PerspectiveRelaxation
    from relaxations.plugged.builder_relaxation import BuilderRelaxation, from_builder
    from relaxations.policies.adaptive import Adaptive
    from relaxations.policies.by_depth import ByDepth
    from relaxations.policies.cheap_then_strong import CheapThenStrong
    from relaxations.policies.fixed import Fixed
    from relaxations.shor import BlockOnlyShorRelaxation, ShorRelaxation
    from relaxations.split_dnn import SplitDNNRelaxation
    from relaxations.strengthened import StrengthenedRelaxation
    from relaxations.unconstrained import UnconstrainedRelaxation

__all__ = [
    "MEMBERS",
    "ActiveSetRelaxation",
    "Adaptive",
    "BlockOnlyShorRelaxation",
    "Bound",
    "BoundStatus",
    "Bounder",
    "BuilderRelaxation",
    "ByDepth",
    "CheapThenStrong",
    "Comparison",
    "Fixed",
    "PerspectiveRelaxation",
    "Relaxation",
    "ShorRelaxation",
    "SplitDNNRelaxation",
    "StrengthenedRelaxation",
    "UnconstrainedRelaxation",
    "as_relaxation",
    "compare",
    "from_builder",
    "named",
    "through_cvxpy",
]

_LAZY = {
    "Adaptive": "policies.adaptive",
    "BuilderRelaxation": "plugged.builder_relaxation",
    "ByDepth": "policies.by_depth",
    "CheapThenStrong": "policies.cheap_then_strong",
    "Comparison": "comparison.result",
    "Fixed": "policies.fixed",
    "PerspectiveRelaxation": "perspective",
    "UnconstrainedRelaxation": "unconstrained",
    "compare": "comparison.compare",
    "from_builder": "plugged.builder_relaxation",
    "BlockOnlyShorRelaxation": "shor",
    "ShorRelaxation": "shor",
    "SplitDNNRelaxation": "split_dnn",
    "StrengthenedRelaxation": "strengthened",
}


if not TYPE_CHECKING:  # a checker that saw this function would accept any name
    __getattr__ = lazy_names(__name__, _LAZY)
