"""The strategies of ``partls.testing``, by the names under which the tests know them."""

from partls.testing.problems import (
    MAX_COLUMNS,
    MAX_GROUPS,
    MAX_ROWS,
    entries,
    instances,
    integers,
    partitions,
    penalised,
    penalties,
    reals,
    tables,
    targets,
    weights,
)
from partls.testing.problems import Problem as Tiny

__all__ = [
    "MAX_COLUMNS",
    "MAX_GROUPS",
    "MAX_ROWS",
    "Tiny",
    "entries",
    "instances",
    "integers",
    "partitions",
    "penalised",
    "penalties",
    "reals",
    "tables",
    "targets",
    "weights",
]
