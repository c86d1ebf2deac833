"""Ctrl-C while the command is still being imported: one word and exit code 130, as later, and no traceback.

``partls`` imports this first. It acts where the process is the command, ``partls`` or ``python -m partls``; a program
that imports the package keeps its own way.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from types import TracebackType


def _is_command() -> bool:
    started = sys.argv[0] if getattr(sys, "argv", None) else ""
    if started == "-m":  # Python has yet to find the module
        return ("-m", "partls") in pairwise(sys.orig_argv)
    return os.path.splitext(os.path.basename(started))[0] == "partls"


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    if sys.stderr is not None:
        print("interrupted", file=sys.stderr, flush=True)
    os._exit(130)  # Python would end by the signal, and nothing is open yet


if _is_command():
    sys.excepthook = _end
