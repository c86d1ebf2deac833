"""What each dependency of the bare installation costs: disk space, and the time of its import.

``python -m benchmarks.dependencies`` writes ``results/dependencies.md``. The space of a dependency is that of its own
files and of the packages that nothing else here needs. Times are processor seconds of new processes, medians of five,
less those of a process that imports nothing.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from statistics import median

from packaging.requirements import Requirement

from benchmarks.machine import machine, one_thread, versions

RESULTS = Path(__file__).parent / "results" / "dependencies.md"
IMPORTED = {"scikit-learn": "sklearn"}  # where the module has another name
USES = {
    "numpy": "arrays, everywhere",
    "scipy": "factorisations and linear programs, everywhere",
    "numba": "the compiled search, first loaded by a problem with more than 10 groups or 80 columns",
    "cvxpy": "the builders, and the relaxations that conic solvers solve",
    "clarabel": "the solver of quadratic and small conic programs",
    "scs": "the solver of large conic programs",
    "scikit-learn": "the estimators",
    "pyarrow": "tables read by the command line, and folders of Parquet files",
    "matplotlib": "the plots; the report draws without it",
    "rich": "tables and progress in a terminal",
    "typer": "the command line",
    "threadpoolctl": "one BLAS thread during a search, so that answers do not depend on the machine",
}
WORK = {
    "`import partls`": "import partls",
    "`partls.solve`, 60 rows, 20 columns, 5 groups": (
        "import numpy as np, partls; rng = np.random.default_rng(0);"
        "partls.solve(rng.normal(size=(60, 20)), rng.normal(size=60), [m % 5 for m in range(20)])"
    ),
    "`PartLSRegressor.fit`, the same": (
        "import numpy as np, partls; rng = np.random.default_rng(0);"
        "partls.PartLSRegressor([m % 5 for m in range(20)]).fit(rng.normal(size=(60, 20)), rng.normal(size=60))"
    ),
    "`partls demo`": "import os, sys, tempfile; os.chdir(tempfile.mkdtemp()); sys.argv = ['partls', 'demo', '--json'];"
                     "from partls.cli import main; main()",
}


def required(name: str) -> set[str]:
    """Return the packages that an installed package requires here, without its extras."""
    try:
        wanted = [Requirement(line) for line in distribution(name).requires or ()]
    except PackageNotFoundError:
        return set()
    return {one.name.lower() for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})}


def closure(names: set[str]) -> set[str]:
    """Return these packages and all that they require."""
    found: set[str] = set()
    while names:
        found |= names
        names = set().union(*(required(name) for name in names)) - found
    return found


def megabytes(names: set[str]) -> float:
    """Return the space that the files of these packages take."""
    total = 0
    for name in names:
        try:
            files = distribution(name).files or ()
        except PackageNotFoundError:
            continue
        total += sum(os.path.getsize(path) for one in files if os.path.exists(path := one.locate()))
    return total / 2**20


def seconds(code: str) -> float:
    """Return the processor seconds of a new process that runs this, the median of five."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, **one_thread()})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(times)


def page() -> str:
    """Return the measurements as a page."""
    direct = required("partls")
    empty = seconds("pass")
    lines = []
    for name in sorted(direct, key=list(USES).index):
        own = closure({name}) - closure(direct - {name})
        imported = seconds(f"import {IMPORTED.get(name, name)}") - empty
        lines.append(f"| {name} | {megabytes(own or {name}):.0f} | {imported:.2f} | {USES[name]} |")
    first = [f"| {what} | {seconds(code):.2f} |" for what, code in WORK.items()]
    return "\n".join([
        "# What the dependencies cost", "",
        f"{machine()}; {versions()}.", "",
        f"The bare installation takes {megabytes(closure(direct)):,.0f} MB. No dependency is imported before it is "
        "needed, so the last table holds what a user waits for.", "",
        "| dependency | MB | import, s | used for |", "|---|---:|---:|---|", *lines, "",
        "| a new process | processor s |", "|---|---:|", *first, "",
        "Printed by `python -m benchmarks.dependencies`.", "",
    ])


if __name__ == "__main__":
    RESULTS.write_text(page(), encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))
