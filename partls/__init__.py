"""Partitioned Least Squares: exact, provable linear regression in which the features of a group share one sign."""

from importlib.metadata import version

from formulations.instance import Instance
from formulations.partition import Partition
from formulations.signs import SignPattern
from partls.enumeration import iterate_solutions
from partls.exceptions import InvalidInput, PartLSError, VerificationError
from partls.result import Audit, Result, Solution, Status
from partls.solve import solve, solve_instance
from partls.verify import Verification, verify
from relaxations.search_trees import search_with

__version__ = version("partls")

search_with(solve_instance)  # relaxations.tree_size measures this search, a layer above its own

__all__ = [
    "Audit",
    "Instance",
    "InvalidInput",
    "PartLSError",
    "Partition",
    "Result",
    "SignPattern",
    "Solution",
    "Status",
    "Verification",
    "VerificationError",
    "iterate_solutions",
    "solve",
    "solve_instance",
    "verify",
]
