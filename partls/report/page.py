"""write_report: the figures, the script and the style in one HTML file that needs no network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from formulations.errors import InvalidInput
from partls.report.document import Units, document
from partls.report.subject import Subject
from partls.runtime.atomic_files import write_whole
from partls.runtime.options import nonnegative
from partls.runtime.progress import SearchState

_SCRIPTS = (
    "elements.js", "bars.js", "axes.js", "scatter.js", "histogram.js", "steps.js", "groups.js", "certainty.js",
    "price.js", "fit.js", "what_if.js", "table.js", "search.js", "page.js",
)


def write_report(
    model: Any, path: str | os.PathLike[str], *, title: str = "Partitioned Least Squares", target: str = "target",
    within: float = 0.01, time_limit: float | None = 30.0, history: Sequence[SearchState] | None = None,
    output: int | None = None, units: Units | None = None, X: Any = None, y: Any = None, sample_weight: Any = None,
) -> Path:
    """Write a self-contained page about a model, and return where it is.

    Parameters
    ----------
    model : PartLSRegressor or Result
        A fitted model. For a model that was fitted to compressed rows, or loaded from a file, give the rows again.
    path
        The HTML file to write; one of this name is replaced.
    title, target : str
        The page's heading and the name of what is predicted.
    within : float
        The share of the optimum within which sign patterns are listed as near ties.
    time_limit : float, optional
        Seconds for the certainty of the signs and for the course of the search; None is no limit. What is not exact by
        then is marked, and the price of the constraint, which takes as many searches again, is left out. A limit
        that is far too short leaves out both.
    history : sequence of SearchState, optional
        The course of the search, for a ``Result``; a fitted ``PartLSRegressor`` remembers its own.
    output : int, optional
        The target in question, where the model has several.
    units : (array, array), optional
        What was taken from each column and what it was divided by, where they were standardised: the what-if panel is
        then in the columns' own units.
    X, y, sample_weight : optional
        The rows of the fit, in memory; y as it was fitted, all its targets included.
    """
    limit = nonnegative("time_limit", time_limit)
    figures = document(
        Subject.of(model, output, history, X, y, sample_weight), title=title, target=target, within=within,
        time_limit=float("inf") if limit is None else limit, units=units,
    )
    where = Path(path)
    try:
        write_whole(where, page(figures))
    except OSError as error:
        raise InvalidInput(f"the report cannot be written to {where}: {error.strerror or error}") from error
    return where


def page(figures: dict[str, Any]) -> str:
    """Return the page; the only code a browser will run in it is the package's own, known by its hash."""
    script, style = "\n".join(_asset(name) for name in _SCRIPTS), _asset("page.css")
    return Template(_asset("page.html")).substitute(
        title=html.escape(figures["title"]), figures=_embedded(figures), script=script, style=style,
        script_hash=_hash(script), style_hash=_hash(style),
    )


def _asset(name: str) -> str:
    return files("partls.report").joinpath("assets", name).read_text(encoding="utf-8")


def _embedded(figures: dict[str, Any]) -> str:
    """Return JSON in which no name can end the script element that holds it, or begin another."""
    text = json.dumps(figures, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
