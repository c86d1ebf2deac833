"""Partitioned Least Squares: exact, provable linear regression in which the features of a group share one sign."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from formulations.errors import InvalidInput, PartLSError, VerificationError, WorkersLost
from formulations.instance import Instance
from formulations.lazy import lazy_names
from formulations.partition import Partition
from formulations.signs import SignPattern
from partls.result import Audit, Result, Solution, StartTrace, Status
from partls.search.task import Outcome, SearchTask
from partls.solve import solve, solve_instance
from partls.strategies.alternating import Alternating
from partls.strategies.branch_and_bound import BranchAndBound
from partls.strategies.enumeration import Enumeration, iterate_solutions
from partls.strategies.strategy import Strategy
from partls.tree_trace import NodeTrace, SearchTrace, TracedBound
from partls.verification import Verification, verify

if TYPE_CHECKING:
    from partls.estimators.encoding import encoded_groups
    from partls.estimators.regressor import PartLSRegressor
    from partls.estimators.regressor_cv import PartLSRegressorCV
    from partls.explain import partition_from_signs
    from partls.tree_sizes import tree_size

__version__ = version("partls")

__all__ = [
    "Alternating",
    "Audit",
    "BranchAndBound",
    "Enumeration",
    "Instance",
    "InvalidInput",
    "NodeTrace",
    "Outcome",
    "PartLSError",
    "PartLSRegressor",
    "PartLSRegressorCV",
    "Partition",
    "Result",
    "SearchTask",
    "SearchTrace",
    "SignPattern",
    "Solution",
    "StartTrace",
    "Status",
    "Strategy",
    "TracedBound",
    "Verification",
    "VerificationError",
    "WorkersLost",
    "encoded_groups",
    "iterate_solutions",
    "partition_from_signs",
    "solve",
    "solve_instance",
    "tree_size",
    "verify",
]

_LAZY = {  # loaded on first use, for they need scikit-learn or draw pictures
    "PartLSRegressor": "estimators.regressor",
    "PartLSRegressorCV": "estimators.regressor_cv",
    "encoded_groups": "estimators.encoding",
    "partition_from_signs": "explain",
    "tree_size": "tree_sizes",
}

if not TYPE_CHECKING:  # a checker that saw this function would accept any name
    __getattr__ = lazy_names(__name__, _LAZY)


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*__all__, "__version__"])
