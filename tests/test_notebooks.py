"""The notebooks run from beginning to end."""

from __future__ import annotations

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples" / "notebooks").glob("*.ipynb"))


def test_there_is_one_for_a_scientist_and_one_for_a_researcher() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["researcher", "scientist"]


@pytest.mark.docs
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    assert not [cell for cell in notebook.cells if cell.cell_type == "code" and cell.outputs], "saved with outputs"
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in shown if output.output_type == "error"]
    assert len(shown) >= 4
