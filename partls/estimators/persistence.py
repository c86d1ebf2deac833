"""Models as files: JSON that anyone can read, checked in full before a number of it is used.

The file is one JSON object (UTF-8), and no part of it is ever executed:

========================  ============================================================================
``format``, ``version``   ``"partls-model"`` and 2; version 1 is read too, other versions are refused
``libraries``             versions of partls, NumPy, scikit-learn and Python that wrote it
``columns``               column names in the order of the coefficients, or null if the data had none
``groups``                ``names`` of the K groups and ``labels``, the group of each column (-1: none)
``settings``              the estimator's parameters except ``groups``. ``eta`` is a number, or an object
                          with one for each group (and ``"(intercept)"`` where that is penalised);
                          ``ridge`` is a number; ``method`` is the name of a strategy, or an object with
                          this ``name`` and the strategy's options
``training``              ``rows``, ``columns`` (their number) and ``sha256`` of both and of the names
``several_targets``       whether y had two dimensions
``targets``               for each target ``coef``, ``intercept``, ``objective``, ``lower_bound``, ``gap``,
                          ``status``, ``nodes``, ``r_squared``, ``variance_shares``, ``certificate``
``preparation``           null, or in files of ``partls fit`` how DATA become the columns: ``features``,
                          ``target``, ``weights`` (names of columns of DATA; the last may be null),
                          ``levels`` (the values of each text column that have a 0/1 column), ``missing``,
                          ``means`` (what fills gaps, by column) and ``standardized``
========================  ============================================================================

Numbers are written with all their digits, so that a loaded model predicts the same to the last bit. Version 1 had no
``ridge``, one ``eta`` for all groups, ``method`` as a name alone, and no ``preparation`` where that is null now.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from formulations.equivalence import from_coef
from formulations.errors import InvalidInput, counted
from formulations.partition import Partition
from partls.estimators.checked_json import Checked, parsed
from partls.estimators.saved_settings import checked_settings, settings_of
from partls.explain.summary import Facts
from partls.result import Status
from partls.runtime.atomic_files import write_whole

FORMAT, VERSION = "partls-model", 2
_LIBRARIES = ("partls", "numpy", "scikit-learn")


@dataclass(frozen=True)
class SavedModel:
    """What a file holds: the groups, the settings and the fitted attributes of an estimator."""

    partition: Partition
    named_columns: bool
    settings: dict[str, Any]
    fitted: dict[str, Any]
    facts: tuple[Facts, ...]
    preparation: Any  # not checked: what the command line wrote, or None


def save_model(model: Any, path: str | os.PathLike[str], *, preparation: Mapping[str, Any] | None = None) -> None:
    """Write a fitted estimator, and how its data were prepared; the file appears complete or not at all."""
    partition, several = model.partition_, np.ndim(model.coef_) == 2
    columns = list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None
    facts = model._facts()
    document = {
        "format": FORMAT,
        "version": VERSION,
        "libraries": {**{name: version(name) for name in _LIBRARIES}, "python": platform.python_version()},
        "columns": columns,
        "groups": {"names": list(partition.names), "labels": partition.labels.tolist()},
        "settings": settings_of(model),
        "training": _training(facts[0].n_rows, partition.n_columns, columns),
        "several_targets": several,
        "targets": [_target(model, k, facts[k]) for k in range(len(facts))],
        "preparation": preparation,
    }
    write_whole(path, json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def load_model(path: str | os.PathLike[str]) -> SavedModel:
    """Return the model of a file, or refuse it with the reason."""
    try:
        document = Checked(parsed(Path(path)), "the file")
        return _read(document)
    except InvalidInput as error:
        raise InvalidInput(f"{os.fspath(path)} is not a usable model: {error}") from None


def _target(model: Any, k: int, facts: Facts) -> dict[str, Any]:
    def own(name: str) -> Any:
        return getattr(model, name)[k] if np.ndim(model.coef_) == 2 else getattr(model, name)

    return {
        "coef": own("coef_").tolist(),
        **{name: float(own(f"{name}_")) for name in ("intercept", "objective", "lower_bound", "gap")},
        "status": own("status_").value,
        "nodes": int(own("n_iter_")),
        "r_squared": facts.r_squared,
        "variance_shares": list(facts.variance_shares),
        "certificate": facts.certificate,
    }


def _training(n_rows: int, n_columns: int, columns: list[str] | None) -> dict[str, Any]:
    described = json.dumps([n_rows, n_columns, columns])
    return {"rows": n_rows, "columns": n_columns, "sha256": hashlib.sha256(described.encode()).hexdigest()}


def _read(document: Checked) -> SavedModel:
    if document.get("format", str) != FORMAT:
        raise InvalidInput(f'its format is not "{FORMAT}"')
    number = document.get("version", int)
    if number not in range(1, VERSION + 1):
        raise InvalidInput(f"it has version {number} of the format, and this release of partls reads 1 to {VERSION}")
    columns = None if document.get("columns", list, type(None)) is None else document.strings("columns")
    groups = document.part("groups")
    labels = groups.get("labels", list)
    names = groups.strings("names")
    if not all(type(label) is int and -1 <= label < len(names) for label in labels):
        raise InvalidInput('"labels" in "groups" should hold whole numbers from -1 to the number of names less one')
    if columns is not None and len(set(columns)) < len(columns):
        raise InvalidInput("a column name occurs twice")
    partition = Partition(tuple(names), np.array(labels, dtype=np.intp), _tuple(columns))
    training = document.part("training")
    n_rows = training.get("rows", int)
    if training.value != _training(n_rows, partition.n_columns, columns):
        raise InvalidInput("the hash of the training data's shape and columns does not fit its columns")
    several, listed = document.get("several_targets", bool), document.get("targets", list)
    if not listed or (not several and len(listed) > 1):
        raise InvalidInput(f"it has {counted(len(listed), 'target')}")
    targets = [Checked(target, f"target {k}") for k, target in enumerate(listed)]
    fitted = [_fitted(target, partition) for target in targets]
    facts = tuple(_facts(target, partition, n_rows) for target in targets)
    settings = checked_settings(document.part("settings"), number, partition)
    if number > 1:
        document.get("preparation", dict, type(None))
    return SavedModel(partition, columns is not None, settings, _joined(fitted, several), facts,
                      document.value.get("preparation"))


def _tuple(columns: list[str] | None) -> tuple[str, ...] | None:
    return None if columns is None else tuple(columns)


def _fitted(target: Checked, partition: Partition) -> dict[str, Any]:
    coef = np.array(target.numbers("coef", partition.n_columns), dtype=np.float64)
    alpha, beta = from_coef(coef, partition)
    numbers = {name: target.number(name) for name in ("intercept", "objective", "lower_bound", "gap")}
    if numbers["lower_bound"] > numbers["objective"] or numbers["gap"] < 0:
        raise InvalidInput(f"the lower bound in {target.place} lies above the objective")
    word = target.get("status", str)
    if word not in (status.value for status in Status):
        raise InvalidInput(f'"status" in {target.place} is {word!r}, not one of {[s.value for s in Status]}')
    return {
        "coef_": coef, "alpha_": alpha, "beta_": beta, "signs_": np.sign(beta).astype(np.int8),
        **{f"{name}_": value for name, value in numbers.items()}, "status_": Status(word),
        "n_iter_": target.get("nodes", int),
    }


def _facts(target: Checked, partition: Partition, n_rows: int) -> Facts:
    shares = tuple(target.numbers("variance_shares", partition.n_groups + 1))
    return Facts(n_rows, target.number("r_squared"), shares, target.get("certificate", str))


def _joined(fitted: list[dict[str, Any]], several: bool) -> dict[str, Any]:
    """Return the attributes of one target as they are, of several in arrays, as after a fit."""
    if not several:
        return fitted[0]
    return {
        name: tuple(one[name] for one in fitted) if name == "status_" else np.array([one[name] for one in fitted])
        for name in fitted[0]
    }
