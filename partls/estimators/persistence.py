"""Models as files: JSON that anyone can read, checked in full before a number of it is used.

The file is one JSON object (UTF-8), and no part of it is ever executed:

========================  ============================================================================
``format``, ``version``   ``"partls-model"`` and 1; other versions are refused
``libraries``             versions of partls, NumPy, scikit-learn and Python that wrote it
``columns``               column names in the order of the coefficients, or null if the data had none
``groups``                ``names`` of the K groups and ``labels``, the group of each column (-1: none)
``settings``              the estimator's parameters except ``groups``
``training``              ``rows``, ``columns`` (their number) and ``sha256`` of both and of the names
``several_targets``       whether y had two dimensions
``targets``               for each target ``coef``, ``intercept``, ``objective``, ``lower_bound``, ``gap``,
                          ``status``, ``nodes``, ``r_squared``, ``variance_shares``, ``certificate``
``preparation``           in files of ``partls fit`` alone: how DATA become the columns
========================  ============================================================================

Numbers are written with all their digits, so that a loaded model predicts the same to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from formulations.equivalence import from_coef
from formulations.errors import InvalidInput, listing
from formulations.partition import Partition
from partls.estimators.saved_strategy import strategy_document, with_strategy
from partls.explain.summary import Facts
from partls.result import Status
from partls.runtime.atomic_files import write_whole

FORMAT, VERSION = "partls-model", 1
SETTINGS = frozenset({  # the parameters of PartLSRegressor that describe a fit; a test compares them
    "eta", "fit_intercept", "gap_tol", "method", "n_jobs", "penalize_intercept", "penalty", "random_state", "signs",
    "time_limit", "ungrouped", "verbose",
})
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
        "settings": {name: _plain(name, value) for name, value in _settings(model).items()},
        "training": _training(facts[0].n_rows, partition.n_columns, columns),
        "several_targets": several,
        "targets": [_target(model, k, facts[k]) for k in range(len(facts))],
    }
    if preparation is not None:
        document["preparation"] = preparation
    write_whole(path, json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def load_model(path: str | os.PathLike[str]) -> SavedModel:
    """Return the model of a file, or refuse it with the reason."""
    try:
        document = _Checked(_parsed(Path(path)), "the file")
        return _read(document)
    except InvalidInput as error:
        raise InvalidInput(f"{os.fspath(path)} is not a usable model: {error}") from None


def _settings(model: Any) -> dict[str, Any]:
    """Return the parameters that describe the fit; the groups are saved as they were paired."""
    # Where eta was chosen by cross-validation, the file holds the estimator with that eta.
    eta = model.eta_ if hasattr(model, "eta_") else model.eta
    plain = {name: getattr(model, name) for name in sorted(SETTINGS - {"eta", "method"})}
    return {"eta": eta, "method": strategy_document(model.method), **plain}


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


def _parsed(path: Path) -> Any:
    def no_constant(word: str) -> Any:
        raise InvalidInput(f"it holds {word}, and every number must be finite")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise InvalidInput(f"a key occurs twice among {listing(key for key, _ in pairs)}")
        return found

    try:
        document = json.loads(path.read_bytes(), parse_constant=no_constant, object_pairs_hook=unique)
        json.dumps(document, ensure_ascii=False).encode()  # half a character, which JSON can spell, is none
        return document
    except InvalidInput:
        raise
    except ValueError as error:  # no JSON, no Unicode, or a number of too many digits
        raise InvalidInput(f"it is not JSON ({error})") from None
    except RecursionError:
        raise InvalidInput("it is nested too deeply") from None


@dataclass(frozen=True)
class _Checked:
    """A JSON object whose members are looked up with their type."""

    value: Any
    place: str

    def get(self, key: str, *kinds: type) -> Any:
        if not isinstance(self.value, dict):
            raise InvalidInput(f"{self.place} should be a JSON object")
        if key not in self.value:
            raise InvalidInput(f'{self.place} has no "{key}"')
        found = self.value[key]
        if not isinstance(found, kinds) or (isinstance(found, bool) and bool not in kinds):
            wanted = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
            raise InvalidInput(f'"{key}" in {self.place} should be {wanted}, not {type(found).__name__}')
        return found

    def part(self, key: str) -> _Checked:
        return _Checked(self.get(key, dict), f'"{key}"')

    def number(self, key: str) -> float:
        return _finite(self.get(key, int, float), f'"{key}" in {self.place}')

    def numbers(self, key: str, length: int) -> list[float]:
        values = self.get(key, list)
        if len(values) != length:
            raise InvalidInput(f'"{key}" in {self.place} has {len(values)} value(s) instead of {length}')
        return [_finite(value, f'"{key}", value {i} in {self.place}') for i, value in enumerate(values)]

    def strings(self, key: str) -> list[str]:
        values = self.get(key, list)
        if not all(isinstance(value, str) for value in values):
            raise InvalidInput(f'"{key}" in {self.place} should hold strings')
        return values  # type: ignore[no-any-return]


def _finite(value: Any, place: str) -> float:
    try:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInput(f"{place} is {str(value)[:40]!r}, not a finite number")
    return number


def _read(document: _Checked) -> SavedModel:
    if document.get("format", str) != FORMAT:
        raise InvalidInput(f'its format is not "{FORMAT}"')
    number = document.get("version", int)
    if number != VERSION:
        raise InvalidInput(f"it has version {number} of the format, and this release of partls reads {VERSION}")
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
        raise InvalidInput(f"it has {len(listed)} target(s)")
    targets = [_Checked(target, f"target {k}") for k, target in enumerate(listed)]
    fitted = [_fitted(target, partition) for target in targets]
    facts = tuple(_facts(target, partition, n_rows) for target in targets)
    settings = _checked_settings(document.part("settings").value)
    return SavedModel(partition, columns is not None, settings, _joined(fitted, several), facts,
                      document.value.get("preparation"))


def _tuple(columns: list[str] | None) -> tuple[str, ...] | None:
    return None if columns is None else tuple(columns)


def _checked_settings(settings: dict[str, Any]) -> dict[str, Any]:
    settings = with_strategy(settings)
    if unknown := sorted(set(settings) - SETTINGS):
        raise InvalidInput(f'"settings" holds {listing(unknown)}, which this release of partls does not know')
    return settings


def _fitted(target: _Checked, partition: Partition) -> dict[str, Any]:
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


def _facts(target: _Checked, partition: Partition, n_rows: int) -> Facts:
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
