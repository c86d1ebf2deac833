"""The problems: partitioned least squares and its relaxations as CVXPY problems, without any search.

``Instance`` holds the data, ``Partition`` the groups, ``SignPattern`` the decided signs. The builders take an
``Instance`` and return a ``Model``; CVXPY is imported when the first of them is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from formulations.equivalence import from_coef, to_coef, to_partls, to_partls_b
from formulations.errors import InvalidInput, PartLSError
from formulations.instance import Instance
from formulations.lazy import lazy_names
from formulations.partition import Partition
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from formulations.subset_sum import balanced_value, subset_sum
from formulations.synthetic import random_instance

if TYPE_CHECKING:
    from formulations.builders.best_curvature import best_curvature
    from formulations.builders.bilinear import bilinear
    from formulations.builders.coefficient_bounds import coefficient_bounds
    from formulations.builders.flat_directions import flat_directions
    from formulations.builders.miqp import miqp
    from formulations.builders.model import Model
    from formulations.builders.partls import alpha_fixed, beta_fixed
    from formulations.builders.partls_b import partls_b
    from formulations.builders.perspective import perspective
    from formulations.builders.quadratic import quadratic
    from formulations.builders.shor import shor, shor_block_only_as_printed
    from formulations.builders.shor_dual import shor_dual
    from formulations.builders.split_dnn import split_dnn

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
    "bilinear",
    "coefficient_bounds",
    "flat_directions",
    "from_coef",
    "miqp",
    "partls_b",
    "perspective",
    "quadratic",
    "random_instance",
    "shor",
    "shor_block_only_as_printed",
    "shor_dual",
    "split_dnn",
    "subset_sum",
    "to_coef",
    "to_partls",
    "to_partls_b",
]

_BUILDERS = {
    "Model": "model",
    "alpha_fixed": "partls",
    "best_curvature": "best_curvature",
    "beta_fixed": "partls",
    "bilinear": "bilinear",
    "coefficient_bounds": "coefficient_bounds",
    "flat_directions": "flat_directions",
    "miqp": "miqp",
    "partls_b": "partls_b",
    "perspective": "perspective",
    "quadratic": "quadratic",
    "shor": "shor",
    "shor_block_only_as_printed": "shor",
    "shor_dual": "shor_dual",
    "split_dnn": "split_dnn",
}

if not TYPE_CHECKING:  # a checker that saw this function would accept any name
    __getattr__ = lazy_names(__name__, {name: f"builders.{module}" for name, module in _BUILDERS.items()})


def __dir__() -> list[str]:
    """List the builders too, loaded or not."""
    return sorted({*globals(), *__all__})
