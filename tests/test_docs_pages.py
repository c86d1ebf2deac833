"""Every block of code of the guide runs, page by page, and prints what the page says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from docs.blocks import ROOT, blocks, check_page, pages, run_bash

pytestmark = pytest.mark.docs


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT / "docs")))
def test_the_page_does_what_it_says(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    check_page(path, tmp_path)


def test_the_commands_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    rows = np.column_stack([X, X @ [1.0, 2.0, -1.0, 0.5] + rng.normal(size=40)])
    np.savetxt(tmp_path / "houses.csv", rows, delimiter=",", header="area,rooms,noise,age,price", comments="")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [block.code for block in blocks(text) if block.language == "bash" and block.code.startswith("partls ")]
    assert commands
    for code in commands:
        assert "no solution is below" in run_bash(code, "README.md")
    assert {"groups.toml", "model.json", "page.html", "proof.json"} <= {path.name for path in tmp_path.iterdir()}
