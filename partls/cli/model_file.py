"""model.json on the command line: what ``partls.estimators.persistence`` writes, and how the data were prepared."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from formulations.equivalence import from_coef
from formulations.errors import InvalidInput, no_such_file
from partls.cli.preparation import Preparation
from partls.cli.preparation_file import as_document, from_document
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
    save_model(saved, path, preparation=as_document(preparation, standardized=data.scale is not None))


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
        preparation, standardized = from_document(written)
    except ValueError:
        raise InvalidInput(f'{path}: "preparation" is not as partls fit writes it') from None
    if preparation.columns != tuple(getattr(model, "feature_names_in_", ())):
        raise InvalidInput(f'{path}: "preparation" makes other columns than the model has')
    return ModelFile(model, preparation, standardized)

