"""The parameters of an estimator in the file of a model; ``persistence`` describes the format."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from formulations.errors import InvalidInput, listing
from formulations.partition import Partition
from formulations.strengths import Strengths
from partls.estimators.checked_json import Checked
from partls.estimators.saved_strategy import MOVED, strategy_document, strategy_of, with_strategy

SETTINGS = frozenset({  # the parameters of PartLSRegressor that describe a fit; a test compares them
    "eta", "fit_intercept", "gap_tol", "method", "n_jobs", "penalize_intercept", "penalty", "presolve", "random_state",
    "ridge", "signs", "time_limit", "ungrouped", "verbose",
})


def settings_of(model: Any) -> dict[str, Any]:
    """Return the parameters that describe the fit, as JSON has them; the groups are saved as they were paired."""
    # Where eta and ridge were chosen by cross-validation, the file holds the estimator with these.
    settings = {name: getattr(model, name) for name in sorted(SETTINGS - {"eta", "ridge"})} | model._strengths
    eta, partition = settings["eta"], model.partition_
    if np.ndim(eta) or isinstance(eta, Mapping):  # by the names of the groups, in whatever form it was given
        own = bool(settings["fit_intercept"] and settings["penalize_intercept"])
        settings["eta"] = _strengths(settings, partition).by_name(partition, with_intercept=own)
    plain = {name: _plain(name, value) for name, value in settings.items() if name != "method"}
    return {**plain, "method": strategy_document(model.method)}


def _strengths(settings: Mapping[str, Any], partition: Partition) -> Strengths:
    """Return the penalties that the settings state, checked."""
    return Strengths.of(
        settings["eta"], settings.get("penalty", "l2"), settings.get("ridge", 0.0), partition,
        fit_intercept=bool(settings.get("fit_intercept", True)),
        penalize_intercept=bool(settings.get("penalize_intercept", False)),
    )


def _plain(name: str, value: Any) -> Any:
    """Return a setting as JSON has it: objects that have a name by their name, a random generator as none."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(name, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(name, item) for item in value]
    if value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(getattr(value, "name", None), str):
        return value.name
    if name == "random_state":
        return None
    raise InvalidInput(f"{name}={value!r} cannot be written to a file")


def checked_settings(document: Checked, number: int, partition: Partition) -> dict[str, Any]:
    """Return the parameters of the estimator, from a file of any version of the format."""
    settings: dict[str, Any] = document.value
    known = SETTINGS if number > 1 else SETTINGS - {"presolve", "ridge"} | MOVED
    if unknown := sorted(set(settings) - known):
        raise InvalidInput(f'"settings" holds {listing(unknown)}, which this release of partls does not know')
    if number == 1:
        document.number("eta")
        return with_strategy(settings)
    eta = document.get("eta", int, float, dict)
    if isinstance(eta, dict):
        for name in eta:
            Checked(eta, '"eta"').number(name)
    document.number("ridge")
    _strengths(settings, partition)
    method = document.get("method", str, dict)
    if isinstance(method, dict):
        document.part("method").get("name", str)
    return {**settings, "method": strategy_of(method)}
