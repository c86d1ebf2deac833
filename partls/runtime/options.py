"""Read the options of ``solve``: limits, signs, warm starts; refuse invalid values, and list the valid ones."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from formulations.errors import InvalidInput, InvalidOption, suggestion
from formulations.instance import Instance
from formulations.partition.given_signs import SIGN_WORDS, given_signs
from formulations.signs import SignPattern
from partls.runtime.atomic_files import is_read_only


def chosen(option: str, value: Any, allowed: Iterable[str]) -> str:
    """Return ``value`` if it is one of the allowed words."""
    allowed = list(allowed)
    if value not in allowed:
        near = suggestion(str(value), allowed)
        raise InvalidOption(
            option, value, f"is not one of {allowed}{near}", f"is not one of {', '.join(allowed)}{near}"
        )
    return str(value)


def nonnegative(option: str, value: Any, *, integer: bool = False, finite: bool = False) -> Any:
    """Return a limit that is None or a number >= 0."""
    if value is None:
        return None
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    endless = finite and is_number and np.isinf(value)
    if not is_number or not value >= 0 or (integer and value % 1 != 0) or endless:  # inf % 1 is NaN
        kind = "a whole number" if integer else "a finite number" if finite else "a number"
        raise InvalidOption(option, value, f"must be None or {kind} >= 0", f"must be {kind} >= 0")
    return int(value) if integer else float(value)


def flag(option: str, value: Any) -> bool:
    """Return an option that is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidOption(option, value, "must be True or False")
    return bool(value)


def at_least_one(option: str, value: Any) -> int:
    """Return a count that is a whole number >= 1."""
    if value is None or nonnegative(option, value, integer=True) < 1:
        raise InvalidOption(option, value, "must be a whole number >= 1")
    return int(value)


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return the root of all random numbers: the same for the same whole number, another one each time for None.

    NumPy's generators are accepted, as scikit-learn does: they are asked for a number.
    """
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31)
    elif isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**31))
    is_whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if random_state is not None and (not is_whole or random_state < 0):
        raise InvalidInput(f"random_state={random_state!r} must be None, a whole number >= 0 or a generator of NumPy")
    return np.random.SeedSequence(random_state)


def thread_count(n_jobs: Any) -> int:
    """Return the number of threads: None is 1, -1 is one per core."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise InvalidOption("n_jobs", n_jobs, "must be a whole number other than 0 (-1: one thread per core)")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def writable(option: str, value: Any) -> Path | None:
    """Return the path of a file that can be written, known before the work that will fill it."""
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike) or not os.fspath(value) or "\0" in str(value):
        raise InvalidInput(f"{option}={value!r} must be None or the path of a file to write")
    path = Path(value)
    try:
        writes = not path.is_dir() and path.parent.is_dir() and os.access(path.parent, os.W_OK)
    except OSError as error:  # a name that is too long, for instance
        raise InvalidInput(f"{option}={os.fspath(value)!r} cannot be written ({error.strerror})") from None
    if is_read_only(path):
        raise InvalidInput(f"{option}={os.fspath(value)!r} is read-only: give another name, or make it writable")
    if not writes:
        raise InvalidInput(f"{option}={os.fspath(value)!r} cannot be written: the folder has to exist and be writable")
    return path


def a_priori_signs(instance: Instance, signs: Any) -> SignPattern:
    """Return the root pattern from ``{group: "+" or "-"}`` or from one sign per group; None decides nothing."""
    beyond = instance.reduction.n_groups - instance.n_groups  # an L1-penalised intercept is an undecided group
    return SignPattern((*given_signs(signs, instance.partition), *[0] * beyond))


def starting_signs(instance: Instance, warm_start: Any, root: SignPattern) -> SignPattern | None:
    """Return a complete pattern from a result, a coefficient vector or signs; the root's signs take precedence."""
    if warm_start is None:
        return None
    pattern = a_priori_signs(instance, _signs_of(instance, warm_start))
    return SignPattern(tuple(fixed or sign or 1 for fixed, sign in zip(root, pattern, strict=True)))


def _signs_of(instance: Instance, warm_start: Any) -> Any:
    """Return what ``a_priori_signs`` reads: signs as they are, coefficients by the sign of each group's sum."""
    is_result = hasattr(warm_start, "coef")
    values = warm_start.coef if is_result else warm_start
    if isinstance(values, Mapping) or (not is_result and _all_signs(values) and len(values) == instance.n_groups):
        return values
    try:
        coef = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        coef = np.full(0, np.nan)
    if coef.shape != (instance.n_columns,) or not np.isfinite(coef).all():
        raise InvalidInput(
            f"warm_start has shape {np.shape(values)}: give a result, {instance.n_columns} finite coefficients "
            f"or {instance.n_groups} signs"
        )
    return np.sign(instance.group_sums(coef)).astype(int).tolist()


def _all_signs(values: Any) -> bool:
    """Return whether this is a sequence of signs, and not of coefficients."""
    words = [*SIGN_WORDS, None, -1, 0, 1]
    flat: Any = values
    return isinstance(values, Iterable) and np.ndim(flat) <= 1 and all(value in words for value in values)
