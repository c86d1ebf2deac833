"""The certificate as a file: JSON (gzipped if the name ends in .gz), sealed by a SHA-256 of its content.

Reading unpacks no more bytes than a limit allows, runs nothing, and ends in a ``Certificate`` whose every field has the
right type, length and range, or in one ``InvalidInput``.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

from formulations.errors import InvalidInput
from partls.runtime.atomic_files import whole_file

FORMAT, VERSION = "partls certificate", 2
LOWEST_LIMIT = 10  # a claim about smaller contributions than 2^10 times the target is no proof of optimality
_MAX_BYTES, _EXPANSION = 2**28, 100  # unpacked: so many in all, and so many times the size of a packed file
_MAX_BITS = 14_000  # of a whole number
_MAX_POWER = 512  # of two
_SHORTEST_BOX = 50  # bytes, by the names of its fields
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Problem:
    """What is minimised, apart from the numbers in the data."""

    n_rows: int
    n_columns: int
    n_groups: int
    eta: float
    penalty: str
    fit_intercept: bool
    penalize_intercept: bool
    signs: str  # what was known beforehand, one of +, -, 0 per group


@dataclass(frozen=True)
class Box:
    """The solutions with these signs, the bound claimed for them, and its proof v = numerators / denominator.

    Without numerators the bound is zero: the objective is never negative. ``strengthened`` says that undecided groups
    pay an L2 penalty for the sum of the sizes of their coefficients.
    """

    signs: str
    bound: float
    denominator: int
    numerators: list[int] | None
    strengthened: bool = False


@dataclass(frozen=True)
class Certificate:
    """The claim that no solution of a problem is below ``objective - tolerance``, and its proof."""

    problem: Problem
    data: str  # SHA-256
    objective: float
    tolerance: float
    coef: list[float]
    intercept: float
    eigenvalue: int | None  # k: Q_UU - 2^-k diag(Q_UU) is claimed to be positive definite
    limit: int | None  # the claim leaves out solutions in which a column contributes more than 2^limit ||b||
    boxes: list[Box]

    def document(self) -> dict[str, Any]:
        """Return the sealed document, ready for JSON."""
        parts = {"problem": vars(self.problem), "boxes": [vars(box) for box in self.boxes]}
        return sealed({"format": FORMAT, "version": VERSION, **vars(self), **parts})


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with the digest of everything else in it."""
    content = {name: value for name, value in document.items() if name != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return {**content, "digest": hashlib.sha256(text.encode()).hexdigest()}


class TooLarge(Exception):  # noqa: N818
    """No reader would accept a file of this size."""


def write_certificate(certificate: Certificate, path: str | os.PathLike[str]) -> None:
    """Write the file in one step: a reader finds all of it or none."""
    text = json.dumps(certificate.document(), separators=(",", ":")).encode()
    if len(text) > _MAX_BYTES:
        raise TooLarge(f"it takes {len(text) >> 20:,} MiB, of which {_MAX_BYTES >> 20:,} would be read")
    with whole_file(path) as file:
        file.write(gzip.compress(text, mtime=0) if Path(path).suffix == ".gz" else text)


def read_certificate(source: Any) -> Certificate:
    """Return the certificate in a file (or in the document read from one); refuse anything else."""
    if isinstance(source, str | os.PathLike):
        return _parsed(_load(Path(source)), os.fspath(source))
    return _parsed(source, "certificate")


def _load(path: Path) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not a number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            raise ValueError("a name stands twice")
        return members

    try:
        with path.open("rb") as raw:  # once: it may be a pipe
            content, limit = raw.read(_MAX_BYTES + 1), _MAX_BYTES
        if content.startswith(_GZIP):
            limit = min(limit, _EXPANSION * len(content))
            with gzip.open(io.BytesIO(content)) as file:
                content = file.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(f"{path}: cannot be read ({error})") from None
    if len(content) > limit:
        raise InvalidInput(f"{path}: larger than {limit} bytes, no certificate of ours")
    if any(_SHORTEST_BOX * content.count(bracket) > len(content) + _SHORTEST_BOX**2 for bracket in (b"{", b"[")):
        raise InvalidInput(f"{path}: too many brackets for a certificate of ours")  # each would take far more memory
    try:
        return json.loads(content, parse_constant=refuse, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path}: not a complete JSON document ({str(error)[:100]})") from None


def _parsed(document: Any, name: str) -> Certificate:
    """Return a document as a certificate, each field checked."""
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise InvalidInput(f"{name}: not a certificate of partls")
    if type(document.get("version")) is not int or document["version"] != VERSION:
        raise InvalidInput(f"{name}: version {str(document.get('version'))[:20]}; this program reads {VERSION}")
    try:
        intact = sealed(document)["digest"] == document.get("digest")
    except (TypeError, ValueError, RecursionError):
        intact = False
    if not intact:
        raise InvalidInput(f"{name}: damaged or altered, its digest does not match")
    content = {key: value for key, value in document.items() if key not in ("format", "version", "digest")}
    try:
        return _certificate(content)
    except _Malformed as error:
        raise InvalidInput(f"{name}: {error}") from None


class _Malformed(Exception):  # noqa: N818
    """A field with the wrong type, length or range."""


def _certificate(content: Any) -> Certificate:
    content = _members(content, Certificate, "the document")
    problem = _problem(_members(content["problem"], Problem, "problem"))
    width = problem.n_columns + problem.fit_intercept
    boxes = _list(content["boxes"], "boxes")
    _require(len(boxes) > 0, "boxes")
    _require(content["eigenvalue"] is None or content["limit"] is None, "limit")
    return Certificate(
        problem=problem,
        data=_text(content["data"], "data", 64, "0123456789abcdef"),
        objective=_number(content["objective"], "objective", lowest=0.0),
        tolerance=_number(content["tolerance"], "tolerance", lowest=0.0),
        coef=[_number(value, "coef") for value in _list(content["coef"], "coef", problem.n_columns)],
        intercept=_number(content["intercept"], "intercept"),
        eigenvalue=_power(content["eigenvalue"], "eigenvalue"),
        limit=_power(content["limit"], "limit", LOWEST_LIMIT),
        boxes=[_box(_members(box, Box, f"box {i}"), problem, width, i) for i, box in enumerate(boxes)],
    )


def _problem(part: Mapping[str, Any]) -> Problem:
    sizes = {name: _integer(part[name], name) for name in ("n_rows", "n_columns", "n_groups")}
    _require(0 < sizes["n_groups"] <= sizes["n_columns"], "n_groups")
    _require(part["penalty"] in ("l1", "l2"), "penalty")
    for name in ("fit_intercept", "penalize_intercept"):
        _require(isinstance(part[name], bool), name)
    _require(part["fit_intercept"] or not part["penalize_intercept"], "penalize_intercept")
    signs = _text(part["signs"], "signs", sizes["n_groups"], "+-0")
    return Problem(
        **sizes, eta=_number(part["eta"], "eta", lowest=0.0), penalty=part["penalty"], signs=signs,
        fit_intercept=part["fit_intercept"], penalize_intercept=part["penalize_intercept"],
    )


def _box(part: Mapping[str, Any], problem: Problem, width: int, position: int) -> Box:
    name = f"box {position}"
    numerators = None if part["numerators"] is None else _integers(_list(part["numerators"], name, width), name)
    denominator = _integer(part["denominator"], name)
    _require(denominator > 0, name)
    signs, strengthened = _text(part["signs"], name, problem.n_groups, "+-0"), part["strengthened"]
    to_strengthen = "0" in signs and problem.penalty == "l2" and problem.eta > 0
    _require(strengthened is False or (strengthened is True and to_strengthen), name)
    return Box(signs, _number(part["bound"], name), denominator, numerators, strengthened)


def _members(value: Any, kind: type, name: str) -> Mapping[str, Any]:
    _require(isinstance(value, Mapping), name)
    _require(set(value) == {field.name for field in fields(kind)}, name)
    members: Mapping[str, Any] = value
    return members


def _list(value: Any, name: str, length: int | None = None) -> list[Any]:
    _require(isinstance(value, list) and length in (None, len(value)), name)
    items: list[Any] = value
    return items


def _text(value: Any, name: str, length: int, alphabet: str) -> str:
    _require(isinstance(value, str) and len(value) == length and set(value) <= set(alphabet), name)
    return str(value)


def _number(value: Any, name: str, lowest: float = -math.inf) -> float:
    _require(isinstance(value, float) and math.isfinite(value) and value >= lowest, name)
    return float(value)


def _integer(value: Any, name: str) -> int:
    return _integers([value], name)[0]


def _integers(values: list[Any], name: str) -> list[int]:
    _require(all(type(value) is int for value in values), name)  # True is no number here
    _require(max(map(int.bit_length, values), default=0) <= _MAX_BITS, name)
    return values


def _power(value: Any, name: str, lowest: int = 0) -> int | None:
    if value is not None:
        _require(lowest <= _integer(value, name) <= _MAX_POWER, name)
    return None if value is None else int(value)


def _require(holds: bool, name: str) -> None:
    if not holds:
        raise _Malformed(f"{name} is malformed")
