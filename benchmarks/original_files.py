"""Original data files: found in ``$PARTLS_DATA``, fetched from their official source when allowed, and checked.

A file lies in ``$PARTLS_DATA/<folder>/<name>``. ``python -m benchmarks --download`` (or ``PARTLS_DOWNLOAD=1``) fetches
what is missing. Every file is checked by its number of rows and columns. Where the hash of the original is known, it
must be that one; where it is not, the hash of the first file with the right shape is written beside it, and a file
that changes later is refused.
"""

from __future__ import annotations

import hashlib
import io
import os
import urllib.request
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.contract import MissingDataError, Problem

FOLDER, DOWNLOAD = "PARTLS_DATA", "PARTLS_DOWNLOAD"
CHUNK = 2**20


@dataclass(frozen=True)
class OriginalFile:
    """One file: its shape, and its hash where that is known. ``member`` is its path inside the source's archive."""

    name: str
    rows: int
    columns: int
    exact: bool = True  # otherwise there may be more rows than these, which are all that is used
    sha256: str = ""
    member: str = ""
    url: str = ""  # of the file itself, if it is not in an archive


@dataclass(frozen=True)
class Source:
    """Where the files of a data set come from. Without any address only a person can fetch them, from ``page``."""

    folder: str
    page: str
    files: tuple[OriginalFile, ...]
    archive: str = ""

    def path(self, file: OriginalFile) -> Path:
        """Return where a file lies, after fetching it if need be; say how to get it otherwise."""
        path = Path(os.environ.get(FOLDER, "")) / self.folder / file.name
        if os.environ.get(FOLDER) and path.exists():
            return path
        if not os.environ.get(FOLDER) or not os.environ.get(DOWNLOAD) or not (self.archive or file.url):
            raise MissingDataError(self.how_to_get())
        self._fetch(file, path)
        return path

    def how_to_get(self) -> str:
        names = " and ".join(file.name for file in self.files)
        automatic = self.archive or all(file.url for file in self.files)
        hint = ", or let `python -m benchmarks --download` fetch it" if automatic else ""
        return f"{names} not found: get it from {self.page}, put it in ${FOLDER}/{self.folder}{hint}"

    def _fetch(self, file: OriginalFile, path: Path) -> None:
        address = file.url or self.archive
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                data = answer.read()
            if not file.url:
                with zipfile.ZipFile(io.BytesIO(data)) as archive:
                    data = archive.read(file.member or file.name)
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise MissingDataError(f"{address} gave no {file.name} ({error}); {self.how_to_get()}") from error
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_bytes(data)
        part.replace(path)  # an interrupted download leaves no half file under the name


def checked(path: Path, file: OriginalFile, shape: tuple[int, int]) -> None:
    """Refuse a file whose shape or hash is not that of the original."""
    rows = shape[0] if file.exact else min(shape[0], file.rows)
    if (rows, shape[1]) != (file.rows, file.columns):
        raise MissingDataError(
            f"{path.name} has {shape[0]} rows and {shape[1]} columns, the original {file.rows}"
            f"{'' if file.exact else ' or more'} and {file.columns}: replace the file"
        )
    found, record = _sha256(path, path.stat().st_mtime_ns), path.with_name(path.name + ".sha256")
    known = file.sha256 or (record.read_text(encoding="ascii").strip() if record.exists() else "")
    if not known:
        with suppress(OSError):  # a folder that cannot be written to
            record.write_text(found + "\n", encoding="ascii")
    elif found != known:
        origin = "the original" if file.sha256 else f"the first one used here ({record.name})"
        raise MissingDataError(f"{path.name} differs from {origin}: SHA-256 {found}, not {known}; replace the file")


def numbers(source: Source, file: OriginalFile, *, header: bool) -> tuple[list[str], np.ndarray]:
    """Return the names and the values of a comma-separated file of numbers, checked."""
    path = source.path(file)
    names, values = _read(path, path.stat().st_mtime_ns, header)
    checked(path, file, values.shape)
    return names, values


@cache
def _read(path: Path, changed: int, header: bool) -> tuple[list[str], np.ndarray]:
    from pyarrow import ArrowInvalid, csv

    try:
        table = csv.read_csv(path, csv.ReadOptions(autogenerate_column_names=not header))
        values = np.column_stack([column.to_numpy().astype(float) for column in table.columns])
    except (ArrowInvalid, ValueError) as error:
        raise MissingDataError(f"{path.name} is no table of numbers ({error}): replace the file") from error
    return table.column_names, values


@cache
def _sha256(path: Path, changed: int) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(CHUNK):
            digest.update(block)
    return digest.hexdigest()


def split(
    X: np.ndarray, y: np.ndarray, sizes: Sequence[int], *, train: slice, test: slice, shuffle: int | None
) -> Problem:
    """Return the rows of a split, in the file's order or shuffled by a seed; groups of these sizes, in order."""
    order = np.arange(len(y)) if shuffle is None else np.random.default_rng(shuffle).permutation(len(y))
    fit, predict = order[train], order[test]
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return Problem(X[fit], y[fit], labels, fit_intercept=True, X_test=X[predict], y_test=y[predict])
