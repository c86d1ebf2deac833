"""The guide is complete, and what runs it would notice if a page were wrong. ``-m docs`` runs and builds all of it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import formulations
import partls
import partls.testing
import relaxations
from docs.blocks import PageError, blocks, check_page, matches, pages

ROOT = Path(__file__).resolve().parents[1]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORDS = [*pages(), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
SHARED = {"Instance", "InvalidInput", "PartLSError", "Partition", "SignPattern"}  # described with partls


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Write a page and return its path; ``docs.blocks`` takes its folder for the repository."""
    monkeypatch.setattr("docs.blocks.ROOT", tmp_path)

    def write(text: str) -> Path:
        (tmp_path / "page.md").write_text(text, encoding="utf-8")
        return tmp_path / "page.md"

    return write


@pytest.mark.parametrize(
    "package", [partls, partls.testing, relaxations, formulations], ids=lambda package: package.__name__
)
def test_every_public_name_is_in_the_reference(package):
    text = (ROOT / "docs" / "reference" / f"{package.__name__.removeprefix('partls.')}.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\.\. (?:auto|py:)\w+:: ([\w.]+)$", text, re.MULTILINE))
    assert set(package.__all__) - listed == (SHARED if package is formulations else set())


def test_the_citation_names_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", text, re.MULTILINE) == [CONFIG["project"]["version"]]


def missing_files(text: str) -> set[str]:
    """Return the paths from the root on that do not exist: files anywhere in the text, folders in backticks."""
    folders = "|".join(path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != ".")
    named = re.findall(rf"\b(?:{folders})/[\w/.-]+\.(?:py|md|toml)\b|(?<=`)(?:{folders})/[\w/.-]*(?=`)", text)
    return {name for name in named if not (ROOT / name).exists()}


def test_every_file_that_the_words_name_is_there():
    texts = [path.read_text(encoding="utf-8") for path in WORDS]
    assert sum(len(re.findall(r"`[\w.-]+/[\w/.-]+\.py`", text)) for text in texts) > 100
    assert {path.name: names for path, text in zip(WORDS, texts, strict=True) if (names := missing_files(text))} == {}


def test_a_file_that_is_not_there_is_found():
    text = "`relaxations/_node.py`, `partls/solve.py`, `partls/nowhere/`, `partls/search/`, `your/own.py`"
    assert missing_files(text) == {"relaxations/_node.py", "partls/nowhere/"}


def test_the_drawing_and_the_tables_of_the_layers_show_every_module_of_the_contracts():
    drawn = set(re.findall(r"\w+", (ROOT / "docs" / "_static" / "layers.svg").read_text(encoding="utf-8")))
    tables = set(re.findall(r"`(\w+)/?`", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")))
    inside = [c["layers"] for c in CONFIG["tool"]["importlinter"]["contracts"] if "containers" in c]
    modules = {name for layers in inside for layer in layers for name in layer.split(" | ")} - {"__main__"}
    assert len(modules) > 40
    assert modules - drawn == modules - tables == set()


def test_the_gallery_has_at_least_ten_examples():
    assert len(list((ROOT / "examples" / "gallery").glob("plot_*.py"))) >= 10


def test_every_block_runs_or_says_why_not():
    found = [block for path in pages() for block in blocks(path.read_text(encoding="utf-8"))]
    fences = sum(len(re.findall(r"^```(?:python|bash)$", path.read_text(encoding="utf-8"), re.M)) for path in pages())
    assert len(found) == fences > 50
    assert sum(bool(block.not_run) for block in found) < 0.2 * len(found)


def test_a_page_shares_names_files_and_a_folder(page, tmp_path):
    text = (
        "```python\n# helper.py\nvalue = 2\n```\n\n```python\nimport helper\nx = helper.value + 1\n```\n\n"
        "```bash\necho 7 > seven.txt\n```\n\n"
        "```python\nfrom pathlib import Path\nprint(x, Path('seven.txt').read_text())\n```\n\n```text\n3 7\n```\n"
    )
    (tmp_path / "run").mkdir()
    assert check_page(page(text), tmp_path / "run") == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```python\n1 / 0\n```\n", "line 2: ZeroDivisionError"),
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "line 2 prints"),
        ("```python\nprint(1)\n```\n\n```text\n...\n```\n", "line 2 prints"),
        ("```bash\nexit 3\n```\n", "exit code 3"),
        ("```python\nimport warnings\nwarnings.warn('old')\n```\n", "UserWarning: old"),
    ],
)
def test_a_wrong_page_is_noticed(page, tmp_path, text, complaint):
    (tmp_path / "run").mkdir()
    with pytest.raises(PageError, match=complaint):
        check_page(page(text), tmp_path / "run")


def test_an_update_writes_what_is_printed_now(page, tmp_path):
    (tmp_path / "run").mkdir()
    path = page("```python\nprint('a', 1)\n```\n\n```text\nb\n```\n\nEnd\n")
    assert check_page(path, tmp_path / "run", update=True) == ["page.md, line 2"]
    assert path.read_text(encoding="utf-8") == "```python\nprint('a', 1)\n```\n\n```text\na 1\n```\n\nEnd\n"


def test_dots_stand_for_anything():
    assert matches("took ... ms", "took 12.5\nms\n")
    assert not matches("took ... ms", "took 12.5 s")
    assert not matches("...", "anything")
