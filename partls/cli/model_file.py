"""model.json on the command line: what ``partls.estimators.persistence`` writes, and how the data were prepared."""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from formulations.equivalence import from_coef
from formulations.errors import InvalidInput, no_such_file
from partls.cli.preparation import MISSING, Preparation
from partls.cli.training_data import TrainingData

if TYPE_CHECKING:
    from partls.estimators.regressor import PartLSRegressor


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model in the units of the data, how data become its columns, and whether it was fitted to standardised ones."""

    model: PartLSRegressor
    preparation: Preparation
    standardized: bool


def save(model: PartLSRegressor, data: TrainingData, preparation: Preparation, path: Path) -> None:
    """Write a model fitted to these data."""
    from partls.estimators.persistence import save_model

    saved = copy.copy(model)
    saved._saved_facts = model._facts()
    del saved.result_
    if data.scale is not None:
        assert data.centre is not None
        saved.coef_ = model.coef_ / data.scale
        saved.intercept_ = float(model.intercept_ - data.centre @ saved.coef_)
        saved.alpha_, saved.beta_ = from_coef(saved.coef_, model.partition_)
    save_model(saved, path, preparation={**asdict(preparation), "standardized": data.scale is not None})


def load(path: Path) -> ModelFile:
    """Return the model of a file; one that was saved in Python takes the columns as they are."""
    from partls.estimators.persistence import load_model
    from partls.estimators.regressor import PartLSRegressor

    if path.is_dir():
        raise InvalidInput(f"{path} is a directory; give the file of the model")
    if not path.exists():
        raise InvalidInput(f"{path}: {no_such_file(path)}")
    saved = load_model(path)  # once: it may be a pipe
    model, written = PartLSRegressor._of(saved), saved.preparation
    if np.ndim(model.coef_) == 2:
        raise InvalidInput(f"{path} has several targets, which the command line does not handle")
    if written is None:
        if not hasattr(model, "feature_names_in_"):
            raise InvalidInput(f"{path}: the model has no column names to find in the data; use it in Python")
        return ModelFile(model, Preparation(tuple(model.feature_names_in_)), False)
    try:
        preparation, standardized = _preparation(written)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
        raise InvalidInput(f'{path}: "preparation" is not as partls fit writes it') from None
    if preparation.columns != tuple(getattr(model, "feature_names_in_", ())):
        raise InvalidInput(f'{path}: "preparation" makes other columns than the model has')
    return ModelFile(model, preparation, standardized)


def _preparation(written: dict[str, Any]) -> tuple[Preparation, bool]:
    def text(value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError
        return value

    if written["missing"] not in MISSING or not isinstance(written["standardized"], bool):
        raise ValueError
    preparation = Preparation(
        features=tuple(text(name) for name in written["features"]),
        target=text(written["target"]),
        weights=None if written["weights"] is None else text(written["weights"]),
        levels={name: tuple(text(level) for level in levels) for name, levels in written["levels"].items()},
        missing=written["missing"],
        means={name: float(value) for name, value in written["means"].items()},
    )
    return preparation, written["standardized"]
