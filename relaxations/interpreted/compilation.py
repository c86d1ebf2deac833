"""What the kernel's sources ask of a compiler, answered without one: types without meaning, functions as they are.

The functions that call others watch the time, so that work which is too long for the interpreter can be given up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from math import inf
from typing import Any


class TakesTooLong(BaseException):
    """The interpreter's time is up. No ``Exception``: nothing that recovers from faults may swallow it."""


class _NoType:
    """Stands for every type of numba, also as an array of it, or called with others."""

    def __getitem__(self, axes: Any) -> _NoType:
        return self

    def __call__(self, *types: Any) -> _NoType:
        return self


real = integer = flag = nothing = vector = matrix = cube = _NoType()
signs_t = signs_table = integers = bytes_t = tuple_of = named_tuple_of = real
deadline = inf  # in seconds of the process


def compiled(result: Any, *arguments: Any, entry: bool = False, glue: bool = False, finite: bool = False) -> Any:
    """Return the function itself; one that calls others looks at the clock first."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        if not (entry or glue):
            return function

        @wraps(function)
        def in_time(*values: Any) -> Any:
            if time.process_time() > deadline:
                raise TakesTooLong
            return function(*values)

        return in_time

    return declare
