"""The values of eta and ridge that cross-validation tries, and the pair of the least error."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.instance import Instance

_ENDS = (1e-4, 1e1)  # of the default grids beside 0, in units of the mean squared length of a centred column


def grid(option: str, given: Any, instance: Instance) -> Floats:
    """Return the values to try, the largest first; a number n stands for 0 and n - 1 values that fit the data."""
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and given >= 1:
        weights = instance.weights
        centred = instance.X - weights @ instance.X / weights.sum()
        unit = float((weights @ np.square(centred)).mean()) or 1.0
        return np.asarray(unit * np.append(np.geomspace(*_ENDS, int(given) - 1)[::-1], 0.0))
    try:
        values = np.asarray(None if isinstance(given, str | bool) else given, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim != 1 or not len(values) or not (np.isfinite(values).all() and (values >= 0).all()):
        raise InvalidInput(f"{option}={given!r} must be a number of values >= 1, or a list of finite values >= 0")
    return np.sort(values)[::-1]


def least(errors: Floats, weights: Floats) -> tuple[int, int]:
    """Return the eta and ridge of the least error over the folds that are complete, else over what the first one has.

    ``errors`` has an axis each for eta, ridge and fold; ``weights`` are those of the folds.
    """
    complete = ~np.isnan(errors).any(axis=(0, 1)) & (weights > 0)
    means = np.average(errors[..., complete], axis=-1, weights=weights[complete]) if complete.any() else errors[..., 0]
    e, r = divmod(0 if np.isnan(means).all() else int(np.nanargmin(means)), errors.shape[1])
    return e, r


def warn_at_ends(chosen: dict[str, tuple[Floats, int]], *, stacklevel: int) -> None:
    """Say in one line which of the values chosen lie at an end of their grid that is not 0."""
    ends = [
        f"{name} {values[i]:.6g} is the {'largest' if i == 0 else 'smallest'} of those tried"
        for name, (values, i) in chosen.items()
        if len(values) > 1 and i in (0, len(values) - 1) and values[i] > 0
    ]
    if ends:
        told = f"the best {' and the best '.join(ends)}: values beyond may be better, so widen the grid"
        warnings.warn(told, ConvergenceWarning, stacklevel=stacklevel + 1)
