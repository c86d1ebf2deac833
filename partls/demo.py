"""The embedded example: what drives the progression of diabetes in 442 patients, by groups of measurements.

The data ship with scikit-learn (Efron, Hastie, Johnstone and Tibshirani, "Least Angle Regression", 2004).
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from formulations.data import Floats
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
    X, y = _rows()
    return Instance(X, y, GROUPS, columns=_COLUMNS)


def _rows() -> tuple[Floats, Floats]:
    """Return features of mean zero and length one, and the target, as scikit-learn's ``load_diabetes`` does.

    Its files are read without it where they are found: importing scikit-learn takes longer than the fit.
    """
    spec = find_spec("sklearn")
    files = Path(spec.origin).parent / "datasets" / "data" if spec and spec.origin else Path()
    try:
        raw, y = (np.loadtxt(files / f"diabetes_{name}.csv.gz") for name in ("data_raw", "target"))
    except OSError:
        from sklearn.datasets import load_diabetes

        X, y = load_diabetes(return_X_y=True)
        return np.asarray(X), np.asarray(y)
    centred = raw - raw.mean(axis=0)
    return centred / np.linalg.norm(centred, axis=0), y
