"""The kernel's cache: used when nothing has changed, and never after a change in any source it was compiled from."""

import subprocess
import sys
from pathlib import Path

from relaxations._compile import cache_folder

FIT = """
import sys, logging
logging.basicConfig(stream=sys.stdout)
import numpy as np, partls
X = np.random.default_rng(0).standard_normal((30, 6))
print(partls.solve(X, X[:, 0] - X[:, 1], groups=[0, 0, 1, 1, 2, 2]).status.name)
from partls.search import _walk
from relaxations import _pivoting
print("inner functions compiled:", bool(_pivoting.dual_steps.overloads))
print("cache hits:", sum(_walk.walk.stats.cache_hits.values()))
"""


def fit_in_a_new_process():
    return subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True).stdout


def test_a_cached_entry_needs_nothing_else():
    first = fit_in_a_new_process()  # compiles if no test has done so before
    second = fit_in_a_new_process()
    assert "OPTIMAL" in first and "OPTIMAL" in second
    assert "compiling" not in second and "inner functions compiled: False" in second and "cache hits: 1" in second


def test_a_change_in_any_kernel_source_gets_another_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "_part.py"
    source.write_text("a = 1\n")
    folders = {cache_folder.__wrapped__(tmp_path), cache_folder.__wrapped__(tmp_path)}
    assert len(folders) == 1 and Path(folders.copy().pop()).is_dir()
    source.write_text("a = 2\n")
    folders.add(cache_folder.__wrapped__(tmp_path))
    (tmp_path / "_other.py").write_text("b = 1\n")
    folders.add(cache_folder.__wrapped__(tmp_path))
    assert len(folders) == 3
