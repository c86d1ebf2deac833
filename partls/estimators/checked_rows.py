"""The rows that an estimator is given, as numbers: checked, named, and found by name when it predicts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from formulations.data import Floats, column_names, refuse_missing, refuse_other_kinds
from formulations.errors import InvalidInput, listing
from formulations.rows.equivalent_rows import EquivalentRows


class CheckedRowsMixin:
    """An estimator that refuses what is no number by row and column, and pairs columns by name."""

    def _validated(self, X: Any, y: Any) -> tuple[Any, Floats]:
        """Return X and y as numbers, column names noted; messages name the row and column of a frame."""
        with _explained(X=X, y=y):
            X_checked, y = validate_data(
                self, X, y, accept_sparse="csr", dtype=np.float64, multi_output=True, y_numeric=True
            )
        names = column_names(X)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)  # older scikit-learn does not see those of polars
        return X_checked, np.asarray(y, dtype=np.float64)

    def _checked(self, X: Any) -> Any:
        """Return new data as numbers; a frame's columns are put in the order of the fit, found by name."""
        if isinstance(X, str | os.PathLike | EquivalentRows):
            raise InvalidInput("X holds no rows: read the Parquet files first, or use the command partls predict")
        names, fitted = column_names(X), getattr(self, "feature_names_in_", None)
        if names is None or fitted is None:
            with _explained(X=X):
                return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        given, known = set(names), set(fitted)
        missing = [name for name in fitted if name not in given]
        unknown = [name for name in names if name not in known]
        if missing:
            raise InvalidInput(f"X lacks {listing(missing)}, which the model was fitted with")
        if unknown or len(names) > len(fitted):
            what = listing(unknown) if unknown else "a name twice"
            raise InvalidInput(f"X has {what}, unseen at fit time: leave the columns out that the model does not know")
        with _explained(X=X):
            select = getattr(X, "select", X.__getitem__)  # polars and Arrow, or pandas
            return check_array(X if list(names) == list(fitted) else select(list(fitted)), dtype=np.float64)


@contextmanager
def _explained(**given: Any) -> Iterator[None]:
    """Refuse what is no number before scikit-learn converts it; messages then name the row and column."""
    for name, values in given.items():
        refuse_other_kinds(values, name, column_names(values))
    try:
        yield
    except (TypeError, ValueError, OverflowError):
        for name, values in given.items():
            array = isinstance(values, np.ndarray) and values.dtype.kind != "O"
            if not (array or values is None or sparse.issparse(values)):
                refuse_missing(values, name)
        raise
