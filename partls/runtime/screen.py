"""How wide the screen is, and text folded to fit it."""

from __future__ import annotations

import re
import shutil
import textwrap

_NARROWEST = 40
_AFTER = re.compile(r"[ _./,]|(?<=[a-z])(?=[A-Z])")  # where a long name is broken


def screen_width() -> int:
    """Return the columns of the terminal, or of ``COLUMNS``; 80 where there is neither."""
    return max(shutil.get_terminal_size((80, 24)).columns, _NARROWEST)


def wrapped(text: str, width: int | None = None) -> str:
    """Return each line of a text on as many lines as the screen needs, no word broken; the further ones indented."""
    room = width or screen_width()
    options = {"subsequent_indent": "  ", "break_long_words": False, "break_on_hyphens": False}
    return "\n".join(textwrap.fill(line, room, **options) for line in text.split("\n"))  # type: ignore[arg-type]


def folded(text: str, width: int) -> list[str]:
    """Return a cell of a table on lines of a width: broken after a space or a mark, or else anywhere."""
    lines = []
    while len(text) > width:
        cut = max((mark.end() for mark in _AFTER.finditer(text, 0, width)), default=width)
        lines.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return [*lines, text]
