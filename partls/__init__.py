"""Partitioned Least Squares: exact, provable linear regression in which the features of a group share one sign."""

from __future__ import annotations

from partls import early_interrupt as _early_interrupt  # noqa: F401  # before what takes time

# isort: split
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from formulations.instance import Instance
from formulations.partition import Partition
from formulations.signs import SignPattern
from partls.enumeration import iterate_solutions
from partls.exceptions import InvalidInput, PartLSError, VerificationError, WorkersLost
from partls.result import Audit, Result, Solution, StartTrace, Status
from partls.solve import solve, solve_instance
from partls.verify import Verification, verify
from relaxations.search_trees import search_with

if TYPE_CHECKING:
    from partls.encoding import encoded_groups
    from partls.estimator import PartLSRegressor
    from partls.estimator_cv import PartLSRegressorCV
    from partls.explain import partition_from_signs

__version__ = version("partls")

search_with(solve_instance)  # relaxations.tree_size measures this search, a layer above its own

__all__ = [
    "Audit",
    "Instance",
    "InvalidInput",
    "PartLSError",
    "PartLSRegressor",
    "PartLSRegressorCV",
    "Partition",
    "Result",
    "SignPattern",
    "Solution",
    "StartTrace",
    "Status",
    "Verification",
    "VerificationError",
    "WorkersLost",
    "encoded_groups",
    "iterate_solutions",
    "partition_from_signs",
    "solve",
    "solve_instance",
    "verify",
]

_LAZY = {  # loaded on first use, for they need scikit-learn
    "PartLSRegressor": "estimator",
    "PartLSRegressorCV": "estimator_cv",
    "encoded_groups": "encoding",
    "partition_from_signs": "explain",
}

if not TYPE_CHECKING:  # a checker that saw this function would accept any name

    def __getattr__(name: str) -> Any:
        """Load a name on first use."""
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the lazy names too, loaded or not."""
    return sorted({*globals(), *__all__})
