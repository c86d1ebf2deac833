"""What a page is about: one fitted target, the search as it went, and the options of the fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from formulations.errors import InvalidInput
from partls.result import Result
from partls.runtime.progress import SearchState


@dataclass(frozen=True)
class Subject:
    """A result with what it does not remember itself: its history, the signs given beforehand, the settings."""

    result: Result
    history: tuple[SearchState, ...]
    signs: Any
    settings: Mapping[str, Any]
    n_jobs: int | None = None

    @classmethod
    def of(cls, model: Any, output: int | None, history: Sequence[SearchState] | None) -> Subject:
        """Return the subject of a fitted ``PartLSRegressor`` or of a ``Result``."""
        if isinstance(model, Result):
            return cls(model, tuple(history or ()), None, _problem(model))
        if not hasattr(model, "_one_result"):
            raise InvalidInput(f"a report shows a fitted PartLSRegressor or a Result, not a {type(model).__name__}")
        result = model._one_result(output)
        several = isinstance(model.result_, tuple)
        recorded = model.history_[model._target(output)] if several else model.history_
        settings = {
            name: value for name, value in model.get_params(deep=False).items() if name not in ("groups", "checkpoint")
        }
        return cls(result, tuple(history or recorded), model.signs, {**settings, **_problem(result)}, model.n_jobs)


def _problem(result: Result) -> dict[str, Any]:
    """Return the settings that an instance remembers."""
    instance = result.instance
    return {
        "method": result.method,
        "eta": instance.eta,
        "penalty": instance.penalty,
        "fit_intercept": instance.fit_intercept,
        "penalize_intercept": instance.penalize_intercept,
        "sample_weight": "none" if instance.sample_weight is None else "given",
    }
