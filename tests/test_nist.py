"""Certified answers: NIST's reference data sets through ``partls.solve``, under partitions that do not bind."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import partls
from tests.nist import ALL, FILIP, LONGLEY, WAMPLER1, WAMPLER2, CertifiedFit, correct_digits
from tests.tolerances import NIST_DIGITS, NIST_RESIDUAL_DIGITS

N_PARTITIONS = 24
PARTITIONED = (LONGLEY, WAMPLER1, WAMPLER2, FILIP)


def partitions(fit: CertifiedFit) -> list[tuple[int, ...]]:
    """Return different seeded partitions none of which mixes certified slopes of both signs."""
    rng = np.random.default_rng(1967)
    found: dict[tuple[int, ...], None] = {(0,) * len(fit.slopes): None} if np.ptp(np.sign(fit.slopes)) == 0 else {}
    while len(found) < N_PARTITIONS:
        drawn = rng.integers(0, rng.integers(1, len(fit.slopes) + 1), size=len(fit.slopes))
        keyed = list(zip(drawn.tolist(), np.sign(fit.slopes).tolist(), strict=True))
        order = {key: k for k, key in enumerate(dict.fromkeys(keyed))}
        found[tuple(order[key] for key in keyed)] = None
    return list(found)


def singletons(fit: CertifiedFit) -> tuple[int, ...]:
    return tuple(range(len(fit.slopes)))


@cache
def fitted(fit: CertifiedFit, labels: tuple[int, ...]) -> partls.Result:
    return partls.solve(fit.X, fit.y, labels)


def digits(fit: CertifiedFit, result: partls.Result) -> float:
    return correct_digits(np.append(result.intercept, result.coef), fit.coef)


CASES = [(fit, singletons(fit)) for fit in ALL]
CASES += [(fit, labels) for fit in PARTITIONED for labels in partitions(fit)]
NAMES = [f"{fit.name}-{''.join(map(str, labels))}" for fit, labels in CASES]
every_case = pytest.mark.parametrize(("fit", "labels"), CASES, ids=NAMES)


@every_case
def test_the_certified_coefficients_are_found(fit: CertifiedFit, labels: tuple[int, ...], record_property) -> None:
    reached = digits(fit, fitted(fit, labels))
    record_property("correct_digits", round(reached, 2))
    assert reached >= NIST_DIGITS[fit.name]


@every_case
def test_the_residuals_are_the_certified_ones(fit: CertifiedFit, labels: tuple[int, ...]) -> None:
    objective = fitted(fit, labels).objective
    if fit.residual_sum_of_squares == 0:  # the polynomial fits exactly: rounding of y is all that may be left
        assert objective <= (1e-12 * np.linalg.norm(fit.y)) ** 2
    else:
        assert correct_digits([objective], [fit.residual_sum_of_squares]) >= NIST_RESIDUAL_DIGITS[fit.name]


@every_case
def test_the_answer_is_proved_and_its_signs_hold(fit: CertifiedFit, labels: tuple[int, ...]) -> None:
    """Filip's condition of 1.8e15 leaves no room for a proof to nine digits: there the status may say so."""
    result = fitted(fit, labels)
    honest = {partls.Status.OPTIMAL, partls.Status.PRECISION_LIMIT} if fit is FILIP else {partls.Status.OPTIMAL}
    assert result.status in honest
    assert result.lower_bound <= result.objective
    assert result.audit().passed
    for k in set(labels):
        assert len({np.sign(w) for w, label in zip(result.coef, labels, strict=True) if label == k}) == 1


@pytest.mark.parametrize("fit", PARTITIONED, ids=lambda fit: fit.name)
def test_there_are_twenty_compatible_partitions(fit: CertifiedFit) -> None:
    chosen = partitions(fit)
    assert len(set(chosen)) >= 20
    for labels in chosen:
        for k in set(labels):
            assert len({np.sign(w) for w, label in zip(fit.slopes, labels, strict=True) if label == k}) == 1


def test_a_partition_that_binds_costs_accuracy_of_fit() -> None:
    """Longley's slopes have the signs + - - - - +: one group for all of them cannot keep the certified answer."""
    assert fitted(LONGLEY, (0,) * 6).objective > LONGLEY.residual_sum_of_squares * 1.01


def test_digits_reached(capsys: pytest.CaptureFixture[str]) -> None:
    """Print the worst digits over all partitions of each set (shown with ``pytest -s``)."""
    worst = {fit.name: min(digits(fit, fitted(fit, labels)) for other, labels in CASES if other is fit) for fit in ALL}
    with capsys.disabled():
        print("\n  correct digits:", ", ".join(f"{name} {value:.1f}" for name, value in worst.items()))
    assert all(worst[name] >= NIST_DIGITS[name] for name in worst)
