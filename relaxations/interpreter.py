"""Whether the kernel is machine code or interpreted: the first answer to a small problem needs no compiler.

The same sources run either way, and take the same steps: only rounding differs, because the compiler may contract and
reorder sums. Loading the compiler takes about a second, and compiling the kernel on a new machine many; the
interpreter is some hundred times slower than machine code, and still answers small problems long before.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from formulations.instance import Instance
from relaxations import kernel as machine_code
from relaxations.interpreted import compilation

T = TypeVar("T")
ALLOWANCE = 1.0  # seconds that a process may spend in the interpreter: about what loading the compiler costs
MAX_GROUPS, MAX_COLUMNS = 10, 80

_interpreting: ContextVar[bool] = ContextVar("interpreting", default=False)
_spent = 0.0


class _Kernel:
    """The modules of the kernel, compiled unless ``interpreted_first`` is at work."""

    def __getattr__(self, name: str) -> Any:
        if not _interpreting.get():
            return getattr(machine_code, name)
        if name not in machine_code.__all__:
            raise AttributeError(f"the kernel has no module {name!r}")
        return import_module(f"relaxations.interpreted.{name}")


if TYPE_CHECKING:
    from relaxations import kernel as kernel
else:
    kernel = _Kernel()


def is_compiled() -> bool:
    """Return whether the compiled search is loaded, so that nothing is gained by interpreting it."""
    return "relaxations.kernel.walk" in sys.modules


def is_small(instance: Instance) -> bool:
    """Return whether the interpreter is likely to answer within its allowance."""
    return instance.n_groups <= MAX_GROUPS and instance.reduction.n_columns <= MAX_COLUMNS


def interpreted_first(call: Callable[[], T], *, small: bool) -> T:
    """Return what ``call`` returns, from the interpreted kernel if the work is small and nothing is compiled yet.

    If the interpreter's allowance is used up, ``call`` is made again with the compiled kernel: it must begin anew.
    """
    global _spent
    left = ALLOWANCE - _spent
    if not small or left <= 0 or is_compiled() or _interpreting.get():
        return call()
    began = time.process_time()
    compilation.deadline = began + left
    token = _interpreting.set(True)
    try:
        with np.errstate(all="ignore"):  # as in machine code
            return call()
    except compilation.TakesTooLong:
        pass
    finally:
        _interpreting.reset(token)
        _spent += time.process_time() - began
    return call()
