"""PartLSRegressor keeps scikit-learn's conventions, and its answers are those of brute force."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import check_estimator

from partls import PartLSRegressor

# What scikit-learn skips by itself: its array interface needs SCIPY_ARRAY_API=1 before the first import.
SKIPPED = {"check_array_api_input", "check_array_api_same_namespace"}


@pytest.mark.parametrize(
    "options", [{}, {"eta": 0.5}, {"eta": 0.5, "penalty": "l1"}, {"method": "enumerate", "fit_intercept": False}],
    ids=str,
)
def test_every_check_of_scikit_learn_passes(options):
    outcomes = check_estimator(PartLSRegressor(**options), on_skip=None, on_fail="raise")
    assert len(outcomes) > 40
    assert {outcome["status"] for outcome in outcomes} <= {"passed", "skipped"}
    assert {outcome["check_name"] for outcome in outcomes if outcome["status"] == "skipped"} <= SKIPPED
