"""Standard output and standard error in any state: closed, narrow, full, or with no reader."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, TextIO

import typer

_troubles: list[OSError] = []  # of standard output, until the command ends


def make_usable() -> None:
    """Let a closed stream ignore output, and escape characters that its encoding lacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, open(nowhere, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def telling() -> Iterator[None]:
    """Let a block print on standard output: a reader that has gone, such as head, or a full disk ends no work."""
    try:
        yield
    except OSError as error:
        _discard(sys.stdout)
        _troubles.append(error)


def print_stdout(text: str) -> None:
    """Print on standard output."""
    with telling():
        print(text, flush=True)


def print_stderr(text: str) -> None:
    """Print on standard error, if anybody listens."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)


@contextmanager
def answerable() -> Iterator[None]:
    """Raise at the end of a command the error that stopped its output, unless the reader closed the pipe."""
    _troubles.clear()
    try:
        yield
    except typer.Exit:
        _raise_trouble()
        raise
    _raise_trouble()


@contextmanager
def raw_output() -> Iterator[IO[bytes]]:
    """Open standard output for bytes; the command ends well when their reader has seen enough."""
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _discard(sys.stdout)
        raise typer.Exit(0) from None
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        _discard(sys.stdout)
        raise _named(error) from None


def speaks_unicode() -> bool:
    """Return whether standard output has every character."""
    return (sys.stdout.encoding or "").lower().replace("-", "") in ("utf8", "utf16", "utf32")


def _discard(stream: TextIO) -> None:
    """Discard the rest of a stream; otherwise Python would try to write it again when it exits."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _raise_trouble() -> None:
    for trouble in _troubles:
        if not isinstance(trouble, BrokenPipeError):
            raise _named(trouble)


def _named(error: OSError) -> OSError:
    return OSError(error.errno, error.strerror, "standard output")
