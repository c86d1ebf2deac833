"""Certificates of every combination of penalties, against the optimum in rational arithmetic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import partls
from partls import InvalidInput, SignPattern, VerificationError
from partls.verification.data import Data
from partls.verification.document import Box, read_certificate, sealed
from partls.verification.exact_bounds import SIGNS, Checker
from partls.verification.fingerprint import data_of, problem_of
from partls.verification.problem import Problem
from tests.oracles import brute_force
from tests.proofs import MODES, REFUSALS
from tests.rational_optimum import every_candidate, optimum
from tests.strategies import Tiny
from tests.test_penalties import made, penalised
from tests.tolerances import same_optimum

ETAS: dict[str, Any] = {"no eta": 0.0, "one eta": 0.75, "eta by group": [2.0, 0.0, 0.3]}
INTERCEPTS: dict[str, dict[str, Any]] = {
    "no intercept": {"fit_intercept": False}, "intercept": {}, "penalised": {"penalize_intercept": True},
}
COMBINATIONS = list(product(
    ("l2", "l1"), ETAS, (0.0, 0.4), INTERCEPTS, (False, True), (False, True), (False, True), (9, 3)
))


def drawn(number: int) -> tuple[Tiny, list[int] | None]:
    """One combination of penalties, free columns, weights and known signs, and numbers of its own."""
    penalty, eta, ridge, intercept, free, weighted, known, n_rows = COMBINATIONS[number]
    rng = np.random.default_rng([71, number])
    labels = (0, 1, 0, 2, -1) if free else (0, 1, 0, 2, 1)
    X = rng.normal(size=(n_rows, 5)).round(2)
    y = (X @ rng.normal(size=5) + rng.normal(size=n_rows) + 1.0).round(2)
    options = {"penalty": penalty, "eta": ETAS[eta], "ridge": ridge, "sample_weight": None, **INTERCEPTS[intercept]}
    if options.get("penalize_intercept") and eta == "eta by group":
        options["eta_intercept"] = 0.5
    if weighted:
        options["sample_weight"] = rng.choice([0.25, 1.0, 3.0], n_rows)
    return Tiny(X, y, labels, options), [1, 0, -1] if known else None


def verified(case: Tiny, path: Path, signs: Any = None) -> list[partls.Verification]:
    """Solve, certify and verify in both modes."""
    partls.solve_instance(made(case), certificate=path, signs=signs)
    weights = case.options.get("sample_weight")
    return [
        partls.verify(path, case.X, case.y, case.labels, sample_weight=weights, ungrouped="free", signs=signs, mode=mode)
        for mode in MODES
    ]


def hold(case: Tiny, path: Path, signs: Any = None) -> None:
    """Check every bound of a certificate that is accepted: none is above the optimum of its box."""
    answers = verified(case, path, signs)
    candidates = every_candidate(case.X, case.y, case.labels, **case.options)
    best = optimum(candidates, signs or [0] * case.n_groups)
    for answer in answers:
        assert answer.contribution_limit is None
        assert Fraction(answer.lower_bound) <= best
        assert answer.objective == same_optimum(float(best), case.weighted_y)
        assert float(best) - answer.lower_bound <= answer.tolerance + 1e-9 * float(best) + 1e-15
    claim = read_certificate(path)
    for box in claim.boxes:
        within = optimum(candidates, [SIGNS[sign] for sign in box.signs])
        assert Fraction(box.bound) <= within or within >= Fraction(claim.objective)


@pytest.mark.parametrize("part", range(8))
def test_no_accepted_bound_is_above_the_rational_optimum(part: int, tmp_path: Path) -> None:
    for number in range(part, len(COMBINATIONS), 8 * 5):  # every fifth; 5 and the numbers of options have no divisor
        hold(*(drawn(number)[:1]), tmp_path / "c.json", drawn(number)[1])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_no_accepted_bound_of_any_combination_is_above_the_rational_optimum(part: int, tmp_path: Path) -> None:
    for number in range(part, len(COMBINATIONS), 8):
        hold(*(drawn(number)[:1]), tmp_path / "c.json", drawn(number)[1])
