"""Every message of an error is one line, but for the lists of problems that ``refuse`` makes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ERRORS = ("Error", "InvalidInput", "InvalidOption", "NotANumber", "WorkersLost", "LongRow", "OutOfTime")


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the literal text of each message that is raised, logged or printed on standard error."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called.endswith(ERRORS) or called in ("say", "say_to_people", "warning", "warn"):
            for part in node.args[:3]:
                pieces = (piece.value for piece in ast.walk(part) if isinstance(piece, ast.Constant))
                yield node.lineno, "".join(piece for piece in pieces if isinstance(piece, str))


@pytest.mark.parametrize("package", ["partls", "relaxations", "formulations"])
def test_messages_are_one_line_without_a_full_stop(package: str) -> None:
    found = [
        (str(path.relative_to(ROOT)), line, text)
        for path in sorted((ROOT / package).rglob("*.py")) for line, text in messages(path)
    ]
    assert len(found) > 30
    for where, line, text in found:
        assert "\n" not in text.replace("\\n", ""), f"{where}:{line}: {text!r}"
        assert not text.rstrip().endswith((".", "!")) or text.rstrip().endswith("..."), f"{where}:{line}: {text!r}"
