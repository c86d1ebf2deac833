"""A fitted model as scikit-learn's own linear regression, for code that expects one."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import LinearRegression


def to_linear_regression(model: Any) -> LinearRegression:
    """Return a fitted ``LinearRegression`` with the coefficients of a model."""
    plain = LinearRegression(fit_intercept=model.fit_intercept)
    plain.coef_, plain.intercept_ = model.coef_.copy(), model.intercept_
    plain.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        plain.feature_names_in_ = model.feature_names_in_
    return plain
