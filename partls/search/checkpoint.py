"""Checkpoints: the open subtrees and the incumbent of a search, written so that a killed run can resume.

A file is JSON with a SHA-256 of its content and of the data it belongs to. It is replaced in one step, so that a crash
leaves the previous one, and of two runs that share a path by mistake the last to write; it is parsed and checked, never
executed. Of the incumbent it holds the signs alone: its coefficients are solved for again. What cannot be recomputed is
the bound of the boxes already closed: a checkpoint is as trustworthy as the folder it lies in, and a certificate proves
the answer to those who do not trust it.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.explore.subtree import Subtree
from partls.runtime.atomic_files import remove_remains, whole_file
from partls.verification.document import sealed
from partls.verification.fingerprint import data_of, problem_of

FORMAT, VERSION = "partls checkpoint", 2
_MAX_BYTES = 2**28
_FIELDS = {"format", "version", "data", "incumbent", "closed", "gap_tol", "strong_penalty", "proved", "counts", "open"}
_SIGNS = {"-": -1, "0": 0, "+": 1}

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Snapshot:
    """Where a search is: the signs of its incumbent, the bound of what is closed, and all that is open.

    ``gap_tol`` is how near to the incumbent boxes were closed, ``strong_penalty`` whether by the bound of that name.
    ``proved`` is the bound that earlier runs have certified for the whole: it never falls.
    """

    signs: SignPattern
    closed: float
    gap_tol: float
    strong_penalty: bool
    proved: float
    counts: Counter[str]
    open: list[Subtree]


@dataclass
class Checkpoint:
    """The file of one search; ``save`` writes once per ``interval`` seconds, one result early rather than late."""

    path: Path
    data: str
    interval: float = 10.0
    _due: float = field(default_factory=time.monotonic)
    _asked: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, path: Path, instance: Instance, root: SignPattern, interval: float) -> Checkpoint:
        """Return the checkpoint of a problem; refuse what is no file, and would never end or be replaced."""
        if path.exists() and not path.is_file():
            raise InvalidInput(f"checkpoint={str(path)!r} is not a file: choose another path")
        checkpoint = cls(path, data_of(instance).digest(problem_of(instance, root)), interval)
        checkpoint._due += interval
        return checkpoint

    def save(self, state: Snapshot, *, now: bool = False) -> None:
        """Write the state if it is time; a disk that is full costs the checkpoint, not the search."""
        before, self._asked = self._asked, time.monotonic()
        apart = self._asked - before
        if not now and self._asked + apart < self._due:
            return
        self._due = self._asked + self.interval
        content = json.dumps(sealed(self._document(state)), separators=(",", ":")).encode()
        try:
            if len(content) > _MAX_BYTES:
                raise OSError(f"it takes more than the {_MAX_BYTES >> 20} MiB that would be read; set max_open_nodes")
            with whole_file(self.path) as file:
                file.write(content)
        except OSError as error:
            logger.warning("checkpoint %s not written, the search goes on: %s", self.path, error)

    def load(self, root: SignPattern) -> Snapshot | None:
        """Return the state in the file, or None if there is no file yet; refuse any other file."""
        remove_remains(self.path)
        if not self.path.exists():
            return None
        try:
            with self.path.open("rb") as file:
                content = file.read(_MAX_BYTES + 1)
        except OSError as error:
            raise InvalidInput(f"checkpoint={str(self.path)!r} cannot be read ({error}): choose another path") from None
        if len(content) > _MAX_BYTES:
            raise InvalidInput(f"checkpoint={str(self.path)!r} is larger than {_MAX_BYTES} bytes: choose another path")
        try:
            document = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"checkpoint={str(self.path)!r} is damaged ({str(error)[:80]}): delete it") from None
        try:
            return self._state(document, root)
        except _Refused as reason:
            raise InvalidInput(f"checkpoint={str(self.path)!r} {reason}: delete it or choose another path") from None
        except (AttributeError, TypeError, ValueError, KeyError, OverflowError, RecursionError):
            raise InvalidInput(f"checkpoint={str(self.path)!r} is malformed: delete it") from None

    def _document(self, state: Snapshot) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "data": self.data,
            "incumbent": str(state.signs),
            "closed": repr(float(state.closed)),  # may be infinite, which JSON cannot represent
            "gap_tol": repr(float(state.gap_tol)),
            "strong_penalty": bool(state.strong_penalty),
            "proved": repr(float(state.proved)),
            "counts": {name: int(count) for name, count in state.counts.items()},
            "open": [_entry(tree) for tree in state.open],
        }

    def _state(self, document: Any, root: SignPattern) -> Snapshot:
        if not isinstance(document, Mapping) or document.get("format") != FORMAT:
            raise _Refused("is not a checkpoint of partls")
        version = document.get("version")
        if type(version) is not int or version != VERSION or document.keys() ^ _FIELDS != {"digest"}:
            raise _Refused(f"has another version than {VERSION}")
        if sealed(document)["digest"] != document["digest"]:
            raise _Refused("is damaged or altered")
        if document["data"] != self.data:
            raise _Refused("belongs to other data, options or given signs")
        signs = _pattern(document["incumbent"], root)
        if not signs.is_complete:
            raise _Refused("is malformed")
        counts = Counter({str(name): int(count) for name, count in document["counts"].items()})
        trees = [_subtree(entry, root) for entry in document["open"]]
        closed, gap_tol, proved = (float(document[name]) for name in ("closed", "gap_tol", "proved"))
        if math.isnan(closed) or not 0 <= gap_tol < math.inf or not 0 <= proved < math.inf:
            raise _Refused("is malformed")
        if min(counts.values(), default=0) < 0 or not isinstance(document["strong_penalty"], bool):
            raise _Refused("is malformed")
        return Snapshot(signs, closed, gap_tol, document["strong_penalty"], proved, counts, trees)


class _Refused(Exception):  # noqa: N818
    """Why a file is no checkpoint of this search."""


def _entry(tree: Subtree) -> list[Any]:
    """Return an open subtree as a list; what a policy has decided about it stands at the end, if there is anything."""
    entry = [str(tree.signs), repr(float(tree.bound)), bool(tree.doubtful)]
    return [*entry, tree.search, repr(float(tree.floor))] if tree.search else entry


def _subtree(entry: Any, root: SignPattern) -> Subtree:
    spelled, bound, doubtful, search, floor = entry if len(entry) == 5 else (*entry, "", "-inf")
    if not isinstance(doubtful, bool) or not isinstance(search, str) or math.isnan(float(floor)):
        raise _Refused("is malformed")
    return Subtree(_pattern(spelled, root), float(bound), doubtful, search, float(floor))


def _pattern(spelled: Any, root: SignPattern) -> SignPattern:
    signs = SignPattern(tuple(_SIGNS[sign] for sign in spelled))
    if len(signs) != len(root) or not root.contains(signs):
        raise _Refused("holds signs outside of this search")
    return signs
