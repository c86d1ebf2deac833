"""The kernel's cache: used when nothing has changed, and never after a change in any source it was compiled from."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from relaxations.kernel.compilation import cache_folder

KERNEL = Path(__file__).parents[1] / "relaxations" / "kernel"
SOURCES = sorted(KERNEL.glob("*.py"))
OURS = {"partls", "relaxations", "formulations"}

FIT = """
import sys, logging
logging.basicConfig(stream=sys.stdout)
import numpy as np, partls
X = np.random.default_rng(0).standard_normal((30, 6))
print(partls.solve(X, X[:, 0] - X[:, 1], groups=[0, 0, 1, 1, 2, 2], n_jobs=2).status.name)
from relaxations.kernel import pivoting, walk
print("inner functions compiled:", bool(pivoting.dual_steps.overloads))
print("cache hits:", sum(walk.walk.stats.cache_hits.values()))
"""


COMPILED = """
import sys
from relaxations import kernel
kernel.one_node
print(*sorted(name for name in sys.modules if name.startswith("relaxations.kernel.")))
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
    source = tmp_path / "part.py"
    source.write_text("a = 1\n")
    folders = {cache_folder.__wrapped__(tmp_path), cache_folder.__wrapped__(tmp_path)}
    assert len(folders) == 1 and Path(folders.copy().pop()).is_dir()
    source.write_text("a = 2\n")
    folders.add(cache_folder.__wrapped__(tmp_path))
    (tmp_path / "other.py").write_text("b = 1\n")
    folders.add(cache_folder.__wrapped__(tmp_path))
    assert len(folders) == 3


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_the_digest_covers_every_source_of_the_kernel(source, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    package = shutil.copytree(KERNEL, tmp_path / "kernel")
    before = cache_folder.__wrapped__(package)
    with (package / source.name).open("a") as file:
        file.write("\nA_CONSTANT = 1\n")
    assert cache_folder.__wrapped__(package) != before


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_the_kernel_imports_nothing_of_the_toolkit_from_outside_its_package(source):
    """A constant that stands elsewhere would be compiled in, and its change would leave stale machine code behind."""
    imports = [node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.ImportFrom)]
    own = {node.module for node in imports if not node.level and node.module.partition(".")[0] in OURS}
    assert not own - {"relaxations.kernel"} and all(node.level == 1 for node in imports if node.level), own


@pytest.mark.slow
def test_what_compiles_one_entry_compiles_all_and_says_so_once(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True, check=True, env=environment)
        for _ in range(2)
    ]
    assert all(f"relaxations.kernel.{entry}" in runs[0].stdout for entry in ("flips", "one_node", "patterns", "walk"))
    assert runs[0].stderr.count("compiling") == 1 and not runs[1].stderr
    assert "relaxations.kernel.walk" not in runs[1].stdout  # loaded when needed
