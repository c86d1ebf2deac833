"""The certificate as a file: JSON (gzipped if the name ends in .gz), sealed by a SHA-256 of its content.

Reading unpacks no more bytes than a limit allows, runs nothing, and ends in a ``Certificate`` whose every field has the
right type, length and range, or in one ``InvalidInput``. Version 3 has room for ridge, an eta of each group, and what
only informs (the strategy, the preparation of the data); version 2 is still read.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NoReturn

from formulations.errors import InvalidInput
from partls.runtime.atomic_files import whole_file
from partls.verification.fields import (
    MOST_BRACKETS,
    Malformed,
    informative,
    integer,
    integers,
    items,
    members,
    number,
    power,
    require,
    text,
)
from partls.verification.problem import Problem, of_version_2

FORMAT, VERSION = "partls certificate", 3
LOWEST_LIMIT = 10  # a claim about smaller contributions than 2^10 times the target is no proof of optimality
_MAX_BYTES, _EXPANSION = 2**28, 100  # unpacked: so many in all, and so many times the size of a packed file
_MAX_STRATEGY, _MAX_PREPARATION = 2**16, 2**20  # bytes
_LONGEST_NAME = 100  # characters, of a strategy
_SHORTEST_BOX = 50  # bytes, by the names of its fields
_FREE_BRACKETS = 2 * MOST_BRACKETS  # of strategy and preparation, whatever their length
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Box:
    """The solutions with these signs, the bound claimed for them, and its proof v = numerators / denominator.

    Without numerators the bound is zero: the objective is never negative. ``strengthened`` says that undecided groups
    pay their L2 penalty, where they have one, for the sum of the sizes of their coefficients.
    """

    signs: str
    bound: float
    denominator: int
    numerators: list[int] | None
    strengthened: bool = False


_BOX = [each.name for each in fields(Box)]


@dataclass(frozen=True)
class Strategy:
    """Which search found the model: information only, which the verification ignores."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Certificate:
    """The claim that no solution of a problem is below ``objective - tolerance``, and its proof.

    ``strategy`` and ``preparation`` (how the data were made from a table: any JSON object of up to 1 MiB) only inform.
    """

    problem: Problem
    data: str  # SHA-256
    objective: float
    tolerance: float
    coef: list[float]
    intercept: float
    eigenvalue: int | None  # k: Q_UU - 2^-k diag(Q_UU) is claimed to be positive definite
    limit: int | None  # the claim leaves out solutions in which a column contributes more than 2^limit ||b||
    boxes: list[Box]
    strategy: Strategy | None = None
    preparation: dict[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        """Return the sealed document, ready for JSON."""
        parts = {
            "problem": vars(self.problem), "boxes": [vars(box) for box in self.boxes],
            "strategy": None if self.strategy is None else vars(self.strategy),
        }
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
    content = json.dumps(certificate.document(), separators=(",", ":")).encode()
    if len(content) > _MAX_BYTES:
        raise TooLarge(f"it takes {len(content) >> 20:,} MiB, of which {_MAX_BYTES >> 20:,} would be read")
    if Path(path).suffix == ".gz":
        packed = gzip.compress(content, mtime=0)
        content = packed if len(content) <= _EXPANSION * len(packed) else gzip.compress(content, 0, mtime=0)
    with whole_file(path) as file:
        file.write(content)


def read_certificate(source: Any) -> Certificate:
    """Return the certificate in a file (or in the document read from one); refuse anything else."""
    if isinstance(source, Certificate):
        return source
    if isinstance(source, str | os.PathLike):
        return _parsed(_load(Path(source)), os.fspath(source))
    return _parsed(source, "certificate")


def _load(path: Path) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not a number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("duplicate keys")
        return found

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
        raise InvalidInput(f"{path}: larger than {limit} bytes, not a certificate of partls")
    if any(_SHORTEST_BOX * (content.count(b) - _FREE_BRACKETS) > len(content) for b in (b"{", b"[")):
        raise InvalidInput(f"{path}: too many brackets for a certificate of partls")  # each would take far more memory
    try:
        return json.loads(content, parse_constant=refuse, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path}: not a complete JSON document ({str(error)[:100]})") from None


def _parsed(document: Any, name: str) -> Certificate:
    """Return a document as a certificate, each field checked."""
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise InvalidInput(f"{name}: not a certificate of partls")
    version = document.get("version")
    if type(version) is not int or version not in (2, VERSION):
        raise InvalidInput(f"{name}: version {str(version)[:20]}; this program reads 2 and {VERSION}")
    try:
        intact = sealed(document)["digest"] == document.get("digest")
    except (TypeError, ValueError, RecursionError):
        intact = False
    if not intact:
        raise InvalidInput(f"{name}: damaged or altered, its digest does not match")
    content = {key: value for key, value in document.items() if key not in ("format", "version", "digest")}
    try:
        return _certificate(content if version == VERSION else _of_version_2(content))
    except Malformed as error:
        raise InvalidInput(f"{name}: {error}") from None


def _of_version_2(content: Any) -> dict[str, Any]:
    """Return what version 2 stated, which had no room for the strategy and the preparation, as that of today."""
    names = {each.name for each in fields(Certificate)} - {"strategy", "preparation"}
    content = members(content, names, "the document")
    return {**content, "problem": of_version_2(content["problem"]), "strategy": None, "preparation": None}


def _certificate(content: Any) -> Certificate:
    content = members(content, [each.name for each in fields(Certificate)], "the document")
    problem = Problem.read(content["problem"])
    width = problem.n_columns + problem.fit_intercept
    boxes = items(content["boxes"], "boxes")
    require(len(boxes) > 0, "boxes")
    require(content["eigenvalue"] is None or content["limit"] is None, "limit")
    return Certificate(
        problem=problem,
        data=text(content["data"], "data", 64, "0123456789abcdef"),
        objective=number(content["objective"], "objective", lowest=0.0),
        tolerance=number(content["tolerance"], "tolerance", lowest=0.0),
        coef=[number(value, "coef") for value in items(content["coef"], "coef", problem.n_columns)],
        intercept=number(content["intercept"], "intercept"),
        eigenvalue=power(content["eigenvalue"], "eigenvalue"),
        limit=power(content["limit"], "limit", LOWEST_LIMIT),
        boxes=[_box(box, problem, width, f"box {i}") for i, box in enumerate(boxes)],
        strategy=_strategy(content["strategy"]),
        preparation=_preparation(content["preparation"]),
    )


def _box(part: Any, problem: Problem, width: int, name: str) -> Box:
    part = members(part, _BOX, name)
    numerators = None if part["numerators"] is None else integers(items(part["numerators"], name, width), name)
    denominator = integer(part["denominator"], name)
    require(denominator > 0, name)
    signs, strengthened = text(part["signs"], name, problem.n_groups, "+-0"), part["strengthened"]
    require(strengthened is False or (strengthened is True and problem.can_strengthen(signs)), name)
    return Box(signs, number(part["bound"], name), denominator, numerators, strengthened)


def _strategy(part: Any) -> Strategy | None:
    if part is None:
        return None
    part = members(part, ["name", "options"], "strategy")
    require(isinstance(part["name"], str) and len(part["name"]) <= _LONGEST_NAME, "strategy")
    require(part["name"].isprintable(), "strategy")
    return Strategy(part["name"], informative(part["options"], "strategy", _MAX_STRATEGY))


def _preparation(part: Any) -> dict[str, Any] | None:
    return None if part is None else informative(part, "preparation", _MAX_PREPARATION)


def checked_preparation(value: Any) -> dict[str, Any] | None:
    """Return a preparation that a certificate has room for, or None; refuse any other."""
    try:
        return _preparation(value)
    except Malformed as error:
        raise InvalidInput(f"a certificate cannot hold this: {error}") from None
