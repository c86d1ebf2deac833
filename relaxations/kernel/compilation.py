"""How the kernel is compiled and cached: explicit types, and a cache that notices a change in any kernel source."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

logger = logging.getLogger("partls")

njit: Any = numba.njit
config: Any = numba.config
real, integer, flag, nothing = numba.float64, numba.int64, numba.boolean, numba.void
vector, matrix, cube = real[::1], real[:, ::1], real[:, :, ::1]
signs_t, signs_table, integers, bytes_t = numba.int8[::1], numba.int8[:, ::1], integer[::1], numba.uint8[::1]
tuple_of, named_tuple_of = numba.types.Tuple, numba.types.NamedTuple

_inner: list[tuple[Any, Any, bool]] = []  # what only other kernel functions call, its types, whether it is glue


class _LinkedLibrary(JITCodeLibrary):
    """LLVM code that goes into the machine code of its callers, and gets none of its own: a quarter of the time."""

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return the null pointer: there is nothing to run."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """What would tell machine code where its Python objects are."""
        return SimpleNamespace(set_env=lambda name, environment: None)


class _InnerCompiler(Compiler):
    """Numba's own pipeline, into a library without machine code."""

    def define_pipelines(self) -> Any:
        """Return the steps of the compilation."""
        self.state.library = _LinkedLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()


def compiled(result: Any, *arguments: Any, entry: bool = False, glue: bool = False, finite: bool = False) -> Any:
    """Declare a kernel function of these types; an ``entry`` is compiled, or loaded from the cache, at once.

    Explicit types keep numba from compiling a variant per literal argument. Only an ``entry`` can be called from
    Python, and its machine code holds all it calls. ``glue`` has no hot loop of its own: it is optimised as part of
    an entry only. ``finite`` promises that no NaN matters inside, which lets minima and maxima run in vector
    registers.
    """
    options: dict[str, Any] = {
        "nogil": True, "error_model": "numpy", "no_cpython_wrapper": not entry, "no_cfunc_wrapper": True,
        "fastmath": {"contract", "nsz", "arcp", "reassoc"} | ({"nnan"} if finite else set()),
    }

    def declare(function: Any) -> Any:
        if entry:
            return _compile_entry(function, result(*arguments), options)
        dispatcher = njit(pipeline_class=_InnerCompiler, **options)(function)
        _inner.append((dispatcher, result(*arguments), glue))
        return dispatcher

    return declare


@cache
def announce_compilation() -> None:
    """Say, once, that the kernel is being compiled."""
    logger.warning("compiling the search kernel: about 15 seconds, once per installation")


def has_compiled() -> bool:
    """Return whether this process had to compile part of the kernel."""
    return announce_compilation.cache_info().currsize > 0


def _compile_entry(function: Any, signature: Any, options: dict[str, Any]) -> Any:
    """Load an entry from the cache or compile it; what it calls is needed, and so compiled, only in the second case."""
    folder = cache_folder(Path(__file__).parent)
    if folder is None or not any(Path(folder).rglob(f"*.{function.__name__}-*.nbi")):
        announce_compilation()
        while _inner:  # in the order in which they call each other
            dispatcher, types, glue = _inner.pop(0)
            with _setting("OPT", 0 if glue else config.OPT):
                dispatcher.compile(types)
            dispatcher.disable_compile()
    with _setting("CACHE_DIR", folder or config.CACHE_DIR):
        return njit(signature, cache=folder is not None, **options)(function)


@cache
def cache_folder(package: Path) -> str | None:
    """Return where to cache the compiled functions of a package, or None if no folder can be written.

    Numba looks for changes in a function's own file only, so the machine code of a caller would outlive a change in
    what it calls. The folder's name is therefore a digest of all sources of the package and of what numba itself
    looks at: whatever is found there can be used. Constants that the kernel compiles in must stand in the package.
    """
    sources = sorted(package.glob("*.py"))
    seen = [f"{sys.version} {numba.__version__} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"]
    seen += [f"{source.stat().st_mtime_ns} {source.read_text(encoding='utf-8')}" for source in sources]
    digest = hashlib.sha256("".join(seen).encode()).hexdigest()[:16]
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or str(Path.home() / ".cache")
    own = os.environ.get("NUMBA_CACHE_DIR")
    for base in [own] if own else [str(package / "__pycache__"), str(Path(home) / "partls")]:
        folder = Path(base) / f"kernel-{digest}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return str(folder)
    return None


@contextmanager
def _setting(name: str, value: Any) -> Iterator[None]:
    """Change one entry of numba's configuration for a while."""
    before = getattr(config, name)
    setattr(config, name, value)
    try:
        yield
    finally:
        setattr(config, name, before)
