"""What each problem proves: safe lower bounds at a node of the search, behind one protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from formulations.lazy import lazy_names
from relaxations.active_set import ActiveSetRelaxation
from relaxations.price import Price
from relaxations.protocol import Bound, Bounder, BoundStatus, Relaxation
from relaxations.registry import MEMBERS, SEARCHABLE, as_relaxation, named, through_cvxpy

if TYPE_CHECKING:
    from relaxations.comparison.compare import compare
    from relaxations.comparison.result import Comparison
    from relaxations.comparison.sweep import sweep
    from relaxations.comparison.sweep_result import Sweep
    from relaxations.convexified import ConvexifiedRelaxation
    from relaxations.perspective import PerspectiveRelaxation
    from relaxations.plugged.builder_relaxation import BuilderRelaxation, from_builder
    from relaxations.policies.adaptive import Adaptive
    from relaxations.policies.auto import Auto
    from relaxations.policies.by_depth import ByDepth
    from relaxations.policies.cheap_then_strong import CheapThenStrong
    from relaxations.policies.fixed import Fixed
    from relaxations.policies.node import SPLIT, BoundBy, Decision, PolicyNode, SearchBy, Split, Trial, TryBy
    from relaxations.policies.policy import Policy
    from relaxations.shor import BlockOnlyShorRelaxation, ShorRelaxation
    from relaxations.split_dnn import SplitDNNRelaxation
    from relaxations.strengthened import StrengthenedRelaxation
    from relaxations.unconstrained import UnconstrainedRelaxation

__all__ = [
    "MEMBERS",
    "SEARCHABLE",
    "SPLIT",
    "ActiveSetRelaxation",
    "Adaptive",
    "Auto",
    "BlockOnlyShorRelaxation",
    "Bound",
    "BoundBy",
    "BoundStatus",
    "Bounder",
    "BuilderRelaxation",
    "ByDepth",
    "CheapThenStrong",
    "Comparison",
    "ConvexifiedRelaxation",
    "Decision",
    "Fixed",
    "PerspectiveRelaxation",
    "Policy",
    "PolicyNode",
    "Price",
    "Relaxation",
    "SearchBy",
    "ShorRelaxation",
    "Split",
    "SplitDNNRelaxation",
    "StrengthenedRelaxation",
    "Sweep",
    "Trial",
    "TryBy",
    "UnconstrainedRelaxation",
    "as_relaxation",
    "compare",
    "from_builder",
    "named",
    "sweep",
    "through_cvxpy",
]

_LAZY = {
    "Adaptive": "policies.adaptive",
    "Auto": "policies.auto",
    "BlockOnlyShorRelaxation": "shor",
    "BoundBy": "policies.node",
    "BuilderRelaxation": "plugged.builder_relaxation",
    "ByDepth": "policies.by_depth",
    "CheapThenStrong": "policies.cheap_then_strong",
    "compare": "comparison.compare",
    "Comparison": "comparison.result",
    "ConvexifiedRelaxation": "convexified",
    "Decision": "policies.node",
    "Fixed": "policies.fixed",
    "from_builder": "plugged.builder_relaxation",
    "PerspectiveRelaxation": "perspective",
    "Policy": "policies.policy",
    "PolicyNode": "policies.node",
    "SearchBy": "policies.node",
    "Sweep": "comparison.sweep_result",
    "sweep": "comparison.sweep",
    "ShorRelaxation": "shor",
    "Split": "policies.node",
    "SPLIT": "policies.node",
    "SplitDNNRelaxation": "split_dnn",
    "StrengthenedRelaxation": "strengthened",
    "Trial": "policies.node",
    "TryBy": "policies.node",
    "UnconstrainedRelaxation": "unconstrained",
}


if not TYPE_CHECKING:  # a checker that saw this function would accept any name
    __getattr__ = lazy_names(__name__, _LAZY)
