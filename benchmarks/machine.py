"""Where and with what a run was made, and how much memory the process holds."""

from __future__ import annotations

import os
import platform
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("partls", "numpy", "scipy", "numba", "scikit-learn", "cvxpy", "gurobipy", "pyscipopt", "daqp")
ELSEWHERE = "another machine, as published"  # stands where other rows have machine()
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@cache
def machine() -> str:
    """Return processor model, cores and memory."""
    return f"{_processor()}, {os.cpu_count()} cores, {_memory()}, {platform.system()}"


@cache
def versions() -> str:
    """Return the versions of Python and of the packages compared."""
    found = [f"python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def one_thread() -> dict[str, str]:
    """Return environment variables that keep numerical libraries on one thread, if set before they are loaded."""
    return dict.fromkeys(THREAD_VARIABLES, "1")


def resident_mb() -> float:
    """Return the resident memory of this process in MiB."""
    return _status_mb("VmRSS")


def peak_mb() -> float:
    """Return the largest resident memory since the last reset in MiB.

    Read from the process's own memory map: ``getrusage`` would count the parent's memory after a fork.
    """
    return _status_mb("VmHWM")


def reset_peak() -> None:
    """Forget the largest resident memory so far; where the system does not allow it, the peak is since the start."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _status_mb(field: str) -> float:
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return _rusage_mb()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(field + ":"))


def _rusage_mb() -> float:
    try:
        import resource
    except ImportError:
        return float("nan")
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / 2**20 if sys.platform == "darwin" else size / 1024


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (AttributeError, ValueError, OSError):
        return "memory unknown"
