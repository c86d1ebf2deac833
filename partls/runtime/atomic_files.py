"""Files written in one step: a reader finds the file as it was or as it will be, never a part of it."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_STREAM_FOLDERS = ("/dev", "/dev/fd", "/proc/self/fd")  # names of streams that are open; none on Windows
_ABANDONED = 60.0  # seconds without a byte


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file to write; it appears under its name if the block succeeds, and is removed otherwise.

    A file that is there is replaced, unless it is read-only, and the new one gets its permissions. The file that a link
    points to is replaced, not the link. A device or a pipe is no file to replace: it gets the bytes as they come. An
    error of the system names the file.
    """
    try:
        if is_stream(path):
            with open(path, "ab") as stream:
                yield stream
        else:
            with _replacing(Path(os.path.realpath(path))) as file:
                yield file
    except OSError as error:
        if error.errno is None or (error.filename is not None and not str(error.filename).endswith(".part")):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a text in UTF-8, in one step."""
    with whole_file(path) as file:
        file.write(text.encode())


def remove_remains(path: str | os.PathLike[str]) -> None:
    """Remove what programs that were killed while they wrote this file have left beside it."""
    target = Path(os.path.realpath(path))
    part = re.compile(re.escape(target.name[:50]) + r"\.[0-9a-f]{8}\.part")
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            with suppress(OSError):  # it may be in its place by now
                if part.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > _ABANDONED:
                    os.unlink(entry.path)


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Return whether this is a device, a pipe or a name for what is open already: it gets bytes and is not replaced."""
    if not os.path.exists(path):
        return False
    return not os.path.isfile(path) or os.path.dirname(os.path.abspath(path)) in _STREAM_FOLDERS


def is_read_only(path: str | os.PathLike[str]) -> bool:
    """Return whether there is a file that is not to be written to; root, who may write to any, is asked by its mode."""
    return os.path.exists(path) and not (os.stat(path).st_mode & 0o222 and os.access(path, os.W_OK))


@contextmanager
def _replacing(target: Path) -> Iterator[IO[bytes]]:
    if is_read_only(target):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    # Nobody else's, not even another run's, and no longer than a name may be.
    part = target.with_name(f"{target.name[:50]}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            if target.exists():
                part.chmod(stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())  # or a power cut might leave the name without the content
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
