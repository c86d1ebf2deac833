"""Phrases that readers stumbled over do not come back: in pages, docstrings, messages and the report."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
MADE = {"gallery", "_generated"}
FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
PHRASES = {  # a pattern, and what to write instead
    r"the paper('s)?\b": "Esposito, Cerrato and Locatelli (2024), with the equation, algorithm or section",
    r"(folded|drawn) where they (lie|stand)": "compressed on the workers that hold them",
    r"fold(ed|s)? (rows|ones|data)\b": "compressed rows",
    r"stands? twice": "duplicate, or: is split into two",
    r"(less|as small|as one) told|told (less|as)\b": "shown as",
    r"doubles nothing": "say what stays the same",
    r"do(es)? as well\b(?! as)": "also work",
    r"(on|by|than) a solver's own number": "on a solver's word",
    r"the solver's own number": "the solver's value",
    r"whatever else": "say what it is",
    r"was given out|are given out|is given out": "is dispatched",
    r"wrong in the second\b": "lose the second digit",
    r"for want of": "without",
    r"(goes|go|going|gone) on from (it|that file|there|where it was)\b": "resumes",
    r"(goes|go) on where (it|they) (was|were)": "resumes",
    r"(is|are|was) told by\b": "a warning reports it, or: is recognised by",
    r"divided by nothing": "not divided by the number of rows",
    r"says? it (themselves|itself)": "name what is detected",
    r"through the same door": "in the same way",
    r"put(s|ting)? (it|them|any \w+|a \w+) to the laws|is put to the": "check the laws on it",
    r"not to be forgotten": "number the rules",
    r"hold the two equal|holds (the two|them) equal": "compares them",
    r"(no|never the) last word": "is recomputed",
    r"of one's own": "of your own",
    r"and that is that": "stop earlier",
    r"in an? \w+ that is not theirs": "in the wrong group",
    r"of which it (was|is) made": "say of what",
    r"hopeless": "say what the bound proves",
    r"at what price\b": "at what cost",
    r"names that stand": "duplicate keys",
    r"no word about": "nothing about",
    r"look after (itself|themselves)": "housekeeping",
    r"do(es)? without (it|them|that)?\.": "does not need it",
    r"can be had\b": "is available",
    r"sign vectors?\b": "sign pattern: one term per concept",
    r"a-priori signs": "given signs: one term per concept",
    r"what (the )?data cannot\b": "what the data do not determine",
    r"(an?|the) others? of (the|its|their) group make": "other columns of the group replace them",
    r"\bdear(est|er)\b": "expensive",
    r"foreign code": "the user's code",
    r"(goes|go) on from (its|the|run|state)": "resumes from",
}
WANTED = re.compile("|".join(f"(?:{pattern})" for pattern in PHRASES), re.IGNORECASE)


def found(text: str) -> list[str]:
    return [" ".join(match[0].split()) for match in WANTED.finditer(" ".join(text.split()))]


def pages() -> list[Path]:
    return [path for path in PAGES if not MADE & set(path.parts)]


def strings(path: Path) -> Iterator[str]:
    """Yield docstrings and messages: every text of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_are_in_plain_words(path):
    assert found(FENCE.sub("", path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("package", ["formulations", "relaxations", "partls", "benchmarks", "examples"])
def test_docstrings_and_messages_are_in_plain_words(package):
    sources = sorted((ROOT / package).rglob("*.py"))
    wrong = {str(path): [phrase for text in strings(path) for phrase in found(text)] for path in sources}
    assert len(sources) > 2
    assert {name: phrases for name, phrases in wrong.items() if phrases} == {}


def test_the_report_is_in_plain_words():
    assets = [path for path in (ROOT / "partls" / "report" / "assets").iterdir() if path.suffix in (".html", ".js")]
    assert len(assets) > 5
    assert {path.name: found(path.read_text(encoding="utf-8")) for path in assets} == {path.name: [] for path in assets}


def test_each_change_is_one_line_in_the_changelog():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    body = [line for line in text.partition("## [Unreleased]")[2].splitlines() if line]
    assert re.findall(r"^### (\w+)$", text, re.MULTILINE) == ["Added", "Changed", "Fixed"]
    assert [line for line in body if not line.startswith(("- ", "### "))] == []
    assert [line for line in body if len(line) > 120] == []


def test_the_list_finds_what_it_names():
    assert found("They are folded where\nthey lie, and the paper's rule\nis given out.") == [
        "folded where they lie", "the paper's", "is given out",
    ]
