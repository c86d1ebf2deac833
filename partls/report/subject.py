"""What a page is about: one fitted target, the search as it went, and the options of the fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations.errors import InvalidInput
from formulations.rows.blocks import in_blocks
from partls.explain import on_rows
from partls.result import Result
from partls.runtime.progress import SearchState


@dataclass(frozen=True)
class Subject:
    """A result with the facts that it does not store: its history, the signs given beforehand, the settings."""

    result: Result
    history: tuple[SearchState, ...]
    signs: Any
    settings: Mapping[str, Any]
    n_jobs: int | None = None

    @classmethod
    def of(cls, model: Any, output: int | None, history: Sequence[SearchState] | None, X: Any = None, y: Any = None,
           sample_weight: Any = None) -> Subject:
        """Return the subject of a fitted ``PartLSRegressor`` or of a ``Result``, on its rows or those given again."""
        if in_blocks(X):
            raise InvalidInput("a report shows single rows: give X and y in memory, for example X.compute()")
        if isinstance(model, Result):
            model = on_rows(model, X, y, sample_weight, call="write_report(result, path, X=X, y=y)")
            return cls(model, tuple(history or ()), model.given_signs, _problem(model))
        if not hasattr(model, "_result_for"):
            raise InvalidInput(f"a report shows a fitted PartLSRegressor or a Result, not a {type(model).__name__}")
        call = "report(path, X=X, y=y)"
        result, y = model._result_for(X, y, sample_weight, output, call=call)
        result = on_rows(result, X, y, sample_weight, call=call)
        recorded = getattr(model, "history_", ())  # a loaded model has none
        if recorded and np.ndim(model.coef_) == 2:
            recorded = recorded[model._target(output)]
        settings = {
            name: value for name, value in model.get_params(deep=False).items() if name not in ("groups", "checkpoint")
        }
        return cls(result, tuple(history or recorded), model.signs, {**settings, **_problem(result)}, model.n_jobs)


def _problem(result: Result) -> dict[str, Any]:
    """Return the settings that an instance remembers."""
    instance = result.instance
    return {
        "method": result.method,
        "eta": instance.eta if isinstance(instance.eta, float) else "by group",
        "penalty": instance.penalty,
        "ridge": instance.ridge,
        "fit_intercept": instance.fit_intercept,
        "penalize_intercept": instance.penalize_intercept,
        "sample_weight": "none" if instance.sample_weight is None else "given",
    }
