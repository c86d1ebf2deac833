"""Solve with a certificate, and check what it proves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import partls
from partls import InvalidInput, VerificationError
from tests.oracles import brute_force
from tests.strategies import Tiny
from tests.tolerances import same_optimum

MODES = ("rounding", "exact")
REFUSALS = (InvalidInput, VerificationError)


def certified(case: Tiny, path: Path, **options: Any) -> partls.Result:
    return partls.solve(
        case.X, case.y, case.labels, **{"ungrouped": "free", **case.options, **options, "certificate": path}
    )


def check(case: Tiny, certificate: Any, **options: Any) -> partls.Verification:
    weights = case.options.get("sample_weight")
    return partls.verify(
        certificate, case.X, case.y, case.labels, **{"sample_weight": weights, "ungrouped": "free", **options}
    )


def proved(case: Tiny, path: Path) -> partls.Verification:
    """Solve, certify and verify in both modes; what is proved holds by brute force."""
    result = certified(case, path)
    answers = [check(case, path, mode=mode) for mode in MODES]
    optimum = brute_force(case.X, case.y, case.labels, **case.options).objective
    for answer in answers:
        assert answer.objective == same_optimum(result.objective, case.weighted_y)
        assert answer.objective == same_optimum(optimum, case.weighted_y)
        assert answer.lower_bound <= answer.objective
    return answers[0]
