"""What the problems are: partitioned least squares and its relaxations as CVXPY problems, without any search.

``Instance`` holds the data, ``Partition`` the groups, ``SignPattern`` the decided signs. The builders take an
``Instance`` and return a ``Model``; CVXPY is imported when the first of them is used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from formulations.equivalence import from_coef, to_coef, to_partls, to_partls_b
from formulations.errors import InvalidInput, PartLSError
from formulations.instance import Instance
from formulations.partition import Partition
from formulations.reduction import Reduction
from formulations.signs import SignPattern
from formulations.subset_sum import balanced_value, subset_sum

if TYPE_CHECKING:
    from formulations.best_curvature import best_curvature
    from formulations.model import Model
    from formulations.partls import alpha_fixed, beta_fixed
    from formulations.partls_b import partls_b
    from formulations.perspective import perspective
    from formulations.quadratic import quadratic
    from formulations.shor import shor, shor_block_only_as_printed
    from formulations.split_dnn import split_dnn

__all__ = [
    "Instance",
    "InvalidInput",
    "Model",
    "PartLSError",
    "Partition",
    "Reduction",
    "SignPattern",
    "alpha_fixed",
    "balanced_value",
    "best_curvature",
    "beta_fixed",
    "from_coef",
    "partls_b",
    "perspective",
    "quadratic",
    "shor",
    "shor_block_only_as_printed",
    "split_dnn",
    "subset_sum",
    "to_coef",
    "to_partls",
    "to_partls_b",
]

_LAZY = {
    "Model": "model",
    "alpha_fixed": "partls",
    "best_curvature": "best_curvature",
    "beta_fixed": "partls",
    "partls_b": "partls_b",
    "perspective": "perspective",
    "quadratic": "quadratic",
    "shor": "shor",
    "shor_block_only_as_printed": "shor",
    "split_dnn": "split_dnn",
}


class _Package(ModuleType):
    """The package, where a builder's name means the builder although its module bears the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Bind the builder where the import system binds the module it has just loaded."""
        if isinstance(value, ModuleType) and _LAZY.get(name) == name:
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

if not TYPE_CHECKING:  # a checker that saw this function would accept any name

    def __getattr__(name: str) -> Any:
        """Load a builder on first use."""
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the builders too, loaded or not."""
    return sorted({*globals(), *__all__})
