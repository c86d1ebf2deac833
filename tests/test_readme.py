"""The README does what it says: its Python blocks run, and its two set-up commands can be found and run by CI."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def python_script(text: str) -> str:
    """Return the Python blocks of a page as one script in which every line keeps its number."""
    script, end = "", 0
    for block in PYTHON_BLOCK.finditer(text):
        script += "\n" * text.count("\n", end, block.start(1)) + block.group(1)
        end = block.end(1)
    return script


def test_python_blocks_run_in_order(tmp_path):
    script = tmp_path / "README.py"
    script.write_text(python_script(README), encoding="utf-8")
    assert script.stat().st_size > 0, "the README has no Python block"
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_figures_are_those_of_the_benchmark():
    page = (ROOT / "benchmarks" / "results" / "exact.md").read_text(encoding="utf-8")
    figures = re.findall(r"[\d.,]+ (?:ms|s)\b|[\d.,]+x(?= )|0\.\d+ of its time", README)
    assert len(figures) >= 15
    assert [figure for figure in figures if f" {figure} " not in page] == []


def test_every_file_it_links_to_is_there():
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)|(?:href|src)=\"([^\"]+)\"", README)
    targets = {first or second for first, second in links}
    assert len(targets) > 15
    # Pictures of results are written by the benchmarks, some of which take an hour.
    missing = [name for name in targets if not (ROOT / name).exists() and not name.startswith("benchmarks/results/")]
    assert missing == []


@pytest.mark.parametrize("name", ["demo", "test"])
def test_setup_command_is_marked_once_and_is_one_line(name):
    blocks = re.findall(rf"^<!-- setup: {name} -->\n```bash\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    assert [block.count("\n") for block in blocks] == [1]
