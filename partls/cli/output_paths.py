"""Where commands write: places that can be written to, and that hold no input, no other output and no earlier file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from formulations.errors import InvalidInput
from partls.runtime.atomic_files import is_read_only, is_stream

_STATE = "--checkpoint"  # a search resumes from this file, and updates it
_REPLACED = ("--certificate", "--checkpoint")  # their writers would put a file in the place of a device


def check_places(
    outputs: Mapping[str, Path | None], inputs: Mapping[str, Path] | None = None, *, force: bool = False
) -> None:
    """Refuse outputs (by option) that cannot be written, or that would replace an input, one another or a file.

    This comes before the work begins, and before an input is opened. With ``force`` a file may be replaced, unless it
    is an input or read-only.
    """
    taken = dict(inputs or {})
    for option, path in outputs.items():
        if path is None:
            continue
        _check_place(path, option)
        for owner, other in taken.items():
            if _same(path, other):
                raise InvalidInput(f"{option} {path} is the file of {owner}: give another name")
            if _part_of_folder(path, other):
                raise InvalidInput(f"{option} {path} lies in the folder of {owner}: give another place")
        taken[option] = path
    _refuse_files({option: path for option, path in outputs.items() if path is not None and _is_file(path)}, force)


def _refuse_files(there: Mapping[str, Path], force: bool) -> None:
    """Refuse to replace files, all at once."""
    for option, path in there.items():
        if is_read_only(path):
            raise InvalidInput(f"{option} {path} is read-only: give another name, or make it writable")
    old = [f"{option} {path}" for option, path in there.items() if option != _STATE]
    if old and not force:
        several = len(old) > 1
        told = ", ".join(old) + (" are there already; replace them" if several else " is there already; replace it")
        raise InvalidInput(f"{told} with --force, or give {'other names' if several else 'another name'}")


def _is_file(path: Path) -> bool:
    """Return whether there is a file at this place, which would be replaced."""
    return path.is_file() and not is_stream(path)


def _check_place(path: Path, option: str) -> None:
    if path.is_dir():
        raise InvalidInput(f"{option} {path} is a directory; give the name of a file")
    if _special(path):
        if option in _REPLACED:
            raise InvalidInput(f"{option} {path} is a device or a pipe; give the name of a file")
        if not os.access(path, os.W_OK):
            raise InvalidInput(f"{option} {path} cannot be written to")
        return
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not os.access(folder, os.W_OK):
        why = "cannot be written to" if folder.is_dir() else "does not exist"
        raise InvalidInput(f"{option} {path}: the directory {folder} {why}")


def _special(path: Path) -> bool:
    """Return whether this is a device or a pipe; writing to it replaces no file."""
    return path.exists() and not path.is_file()


def _same(path: Path, other: Path) -> bool:
    """Return whether two names are those of one file, which need not be there yet."""
    if _special(path):
        return False
    return os.path.realpath(path) == os.path.realpath(other) or (
        path.exists() and other.exists() and path.samefile(other)
    )


def _part_of_folder(path: Path, folder: Path) -> bool:
    """Return whether a file would be read with a folder of Parquet files."""
    if not folder.is_dir() or path.suffix not in (".parquet", ".parq"):
        return False
    return Path(os.path.realpath(folder)) in Path(os.path.realpath(path)).parents
