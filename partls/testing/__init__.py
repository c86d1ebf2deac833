"""Tests for bounds and strategies of your own: hostile problems, an independent oracle, and the laws to be obeyed.

Needs Hypothesis, which ``pip install 'partls[test]'`` brings. Nothing else in the toolkit imports this package.
"""

try:
    import hypothesis as _hypothesis  # noqa: F401
except ImportError as error:
    from formulations.errors import PartLSError

    raise PartLSError("partls.testing needs Hypothesis, which is missing: python -m pip install hypothesis") from error

from partls.testing.broken import LawBroken
from partls.testing.oracle import Kkt, Oracle, Solution, brute_force, kkt_residual, sign_constrained
from partls.testing.problems import Problem, instances, partitions, penalised, sign_patterns
from partls.testing.relaxation_laws import RELAXATION_LAWS, check_relaxation
from partls.testing.strategy_laws import STRATEGY_LAWS, check_strategy

__all__ = [
    "RELAXATION_LAWS",
    "STRATEGY_LAWS",
    "Kkt",
    "LawBroken",
    "Oracle",
    "Problem",
    "Solution",
    "brute_force",
    "check_relaxation",
    "check_strategy",
    "instances",
    "kkt_residual",
    "partitions",
    "penalised",
    "sign_constrained",
    "sign_patterns",
]
