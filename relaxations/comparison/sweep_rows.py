"""One relaxation on one instance of a sweep: its numbers, and the line of a file that holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import inf, isfinite, nan
from typing import Any, get_type_hints

import numpy as np

from formulations.errors import InvalidInput
from relaxations.comparison.gap import share_of

DERIVED = ("gap_closed", "estimate_closed", "total_seconds")  # further columns of the results
Factor = str | int | float | bool | None
Factors = tuple[tuple[str, Factor], ...]


@dataclass(frozen=True)
class SweepRow:
    """One relaxation at the root of one instance.

    Attributes
    ----------
    factors
        What tells the instance from others: names and values.
    relaxation
        The label of the relaxation.
    bound, estimate
        The certified bound, -inf if nothing is proved, and the solver's value.
    floor, reference
        The ends of the gap: the unconstrained optimum; the optimum or the best known solution.
    is_optimum, measured_against
        Whether the reference is the optimum, and where it comes from.
    tie
        Whether the two ends are equal up to rounding: there is no gap.
    seconds, prepare_seconds
        Wall-clock time of one bound, and of preparing the relaxation for the instance.
    status, note
        How the solve ended, and the error if there was one.
    digest, definition
        A digest of the instance's numbers and the options of the relaxation: what a file of results is checked by.
    """

    factors: Factors
    relaxation: str
    bound: float = -inf
    estimate: float = nan
    floor: float = nan
    reference: float = nan
    is_optimum: bool = False
    measured_against: str = ""
    tie: bool = False
    seconds: float = nan
    prepare_seconds: float = nan
    status: str = "not run"
    note: str = ""
    digest: str = ""
    definition: str = ""

    @property
    def gap_closed(self) -> float:
        """``(bound - floor) / (reference - floor)``; 0 for a bound that failed, NaN where there is no gap."""
        if not isfinite(self.bound) and self.was_run and self._has_gap:
            return 0.0
        return self._closed(self.bound)

    @property
    def estimate_closed(self) -> float:
        """The share that the solver's value would close, if it were proved."""
        return self._closed(self.estimate)

    @property
    def total_seconds(self) -> float:
        """Seconds of preparation and one bound."""
        return self.seconds + self.prepare_seconds

    @property
    def was_run(self) -> bool:
        """Whether there was time for it."""
        return self.status != "not run"

    @property
    def is_unproven(self) -> bool:
        """Whether there is an answer and no proof of it."""
        return not isfinite(self.bound) and isfinite(self.estimate) and self.status in ("optimal", "unproven")

    def _closed(self, value: float) -> float:
        if not self._has_gap or not isfinite(value):
            return nan
        return share_of(value, self.floor, self.reference)

    @property
    def _has_gap(self) -> bool:
        return not self.tie and self.reference > self.floor

    def document(self) -> dict[str, Any]:
        """Return the row as JSON has it: numbers that are none as text."""
        plain = {name: repr(value) if isinstance(value, float) and not isfinite(value) else value
                 for name, value in asdict(self).items()}
        return {**plain, "factors": dict(self.factors)}

    @classmethod
    def of(cls, document: Any) -> SweepRow:
        """Return the row of a document; raise ``ValueError`` that says what is wrong with it."""
        if not isinstance(document, Mapping):
            raise ValueError("is no row of a sweep")
        names, kinds = {one.name for one in fields(cls)}, get_type_hints(cls)
        if missing := sorted(names ^ set(document)):
            raise ValueError(f"lacks or does not know {', '.join(missing)}")
        if not isinstance(document["factors"], Mapping):
            raise ValueError("has factors that are no mapping")
        try:
            values = {name: _read(kinds[name], document[name]) for name in names - {"factors"}}
            return cls(factors=factors_of(document["factors"], None), **values)
        except (InvalidInput, TypeError) as error:
            raise ValueError(str(error)) from None


def _read(kind: Any, value: Any) -> Any:
    if kind is float and (isinstance(value, int | float) and not isinstance(value, bool)):
        return float(value)
    if kind is float and value in ("inf", "-inf", "nan"):
        return float(value)
    if kind is not float and isinstance(value, kind):
        return value
    raise ValueError(f"holds {value!r} where there should be a {kind.__name__}")


def factors_of(key: Any, names: tuple[str, ...] | None) -> Factors:
    """Return the names and values of a key: of a mapping, a named tuple, a tuple with ``names``, or a single value."""
    if isinstance(key, Mapping):
        pairs = list(key.items())
    elif hasattr(key, "_asdict"):
        pairs = list(key._asdict().items())
    elif isinstance(key, tuple):
        names = names or tuple(f"factor {i + 1}" for i in range(len(key)))
        if len(names) != len(key):
            raise InvalidInput(f"key {key!r} has {len(key)} value(s) but factors names {len(names)}: {list(names)}")
        pairs = list(zip(names, key, strict=True))
    else:
        pairs = [((names or ("instance",))[0], key)]
    return tuple((_checked_name(name), _plain(name, value)) for name, value in pairs)


def _checked_name(name: Any) -> str:
    taken = {one.name for one in fields(SweepRow)} | set(DERIVED)
    if not isinstance(name, str) or name in taken:
        raise InvalidInput(f"factor {name!r}: a factor needs a name that is text and no column of the results")
    return name


def _plain(name: Any, value: Any) -> Factor:
    value = value.item() if isinstance(value, np.generic) else value
    if value is not None and not isinstance(value, str | int | float):
        raise InvalidInput(f"factor {name!r} is {value!r}: give a number or text")
    return value


def without_time(row: SweepRow) -> SweepRow:
    """Return a row that says that there was no time for it."""
    return replace(row, status="not run", note="time limit")
