"""Every block of code of the guide runs, page by page, and prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.blocks import ROOT, check_page, pages

pytestmark = pytest.mark.docs


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT / "docs")))
def test_the_page_does_what_it_says(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    check_page(path, tmp_path)
