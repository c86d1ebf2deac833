"""How the kernel is compiled and cached: explicit types, and a cache that notices a change in any kernel source."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba

from relaxations.kernel import announce_compilation

njit: Any = numba.njit
real, integer, flag = numba.float64, numba.int64, numba.boolean
vector, matrix, cube = real[::1], real[:, ::1], real[:, :, ::1]
signs_t, signs_table, integers, bytes_t = numba.int8[::1], numba.int8[:, ::1], integer[::1], numba.uint8[::1]


def compiled(result: Any, *arguments: Any, entry: bool = False, finite: bool = False) -> Any:
    """Compile a function for these types when its module is imported, or load it from the cache.

    Explicit types keep numba from compiling a variant per literal argument, and only an ``entry`` can be
    called from Python: both cut the first start to a third. ``finite`` promises that no NaN matters inside,
    which lets minima and maxima run in vector registers.
    """
    options: dict[str, Any] = {
        "nogil": True, "error_model": "numpy", "no_cpython_wrapper": not entry, "no_cfunc_wrapper": True,
        "fastmath": {"contract", "nsz", "arcp", "reassoc"} | ({"nnan"} if finite else set()),
    }

    def compile_cached(function: Any) -> Any:
        folder = cache_folder(Path(function.__code__.co_filename).parent)
        with _caching_in(folder):
            dispatcher = njit(result(*arguments), cache=folder is not None, **options)(function)
        if not dispatcher.stats.cache_hits:
            announce_compilation()  # after the first function of many
        return dispatcher

    return compile_cached


@cache
def cache_folder(package: Path) -> str | None:
    """Return where to cache the kernel functions of a package, or None if no folder can be written.

    Numba looks for changes in a function's own file only; machine code of a caller would outlive a change in
    what it calls. So the folder's name is a digest of all kernel sources the package can see.
    """
    sources = sorted({*package.glob("_*.py"), *Path(__file__).parent.glob("_*.py")})
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
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
def _caching_in(folder: str | None) -> Iterator[None]:
    """Point numba's cache to a folder while one function is decorated."""
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = folder or before
    try:
        yield
    finally:
        config.CACHE_DIR = before
