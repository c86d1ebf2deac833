"""The embedded example: what drives the progression of diabetes in 442 patients, by groups of measurements.

The data ship with scikit-learn (Efron, Hastie, Johnstone and Tibshirani, "Least Angle Regression", 2004).
"""

from __future__ import annotations

from formulations.instance import Instance

GROUPS = {
    "body": ["age", "sex", "bmi", "bp"],
    "cholesterol": ["total", "ldl", "hdl", "ratio"],
    "triglycerides": ["ltg"],
    "sugar": ["glucose"],
}
_COLUMNS = ("age", "sex", "bmi", "bp", "total", "ldl", "hdl", "ratio", "ltg", "glucose")


def diabetes() -> Instance:
    """Return the diabetes study as an instance with named columns and groups, features standardised."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    return Instance(X, y, GROUPS, columns=_COLUMNS)
