"""The preparation of a table in a saved model and in a certificate: plain JSON, checked when it is read."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from partls.cli.preparation import MISSING, Preparation


def as_document(preparation: Preparation, *, standardized: bool) -> dict[str, Any]:
    """Return a preparation as JSON has it, and whether the columns were standardised afterwards."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(preparation)))  # lists for tuples
    return {**plain, "standardized": standardized}


def from_document(written: Any) -> tuple[Preparation, bool]:
    """Return what ``as_document`` wrote; raises ``ValueError`` for anything else."""
    try:
        return _read(written)
    except (TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ValueError(str(error)) from None


def _read(written: Any) -> tuple[Preparation, bool]:
    if written["missing"] not in MISSING or not isinstance(written["standardized"], bool):
        raise ValueError
    preparation = Preparation(
        features=names(written["features"]),
        target=text(written["target"]),
        weights=None if written["weights"] is None else text(written["weights"]),
        levels={name: names(levels) for name, levels in written["levels"].items()},
        missing=written["missing"],
        means={name: float(value) for name, value in written["means"].items()},
    )
    return preparation, written["standardized"]


def names(values: Any) -> tuple[str, ...]:
    """Return a list of texts, refused if it is anything else."""
    if not isinstance(values, list | tuple):
        raise TypeError
    return tuple(text(value) for value in values)


def text(value: Any) -> str:
    """Return a text, refused if it is anything else."""
    if not isinstance(value, str):
        raise TypeError
    return value
