"""A report: rows of one kind that print as a table and turn into a data frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any

from partls.runtime.notebook import ShownAsText
from partls.runtime.screen import folded, screen_width

SIGN = {1: "+", 0: "0", -1: "-"}
EXACT_FIT = "the data are fitted exactly (up to rounding)"
_LONGEST_NAME = 60
_NARROWEST_TEXT = 12  # a column of names is not made narrower
_HUGE = 1e5  # shares from here on are shown by their size
_SMALLEST = 5e-5  # shares below are only said to be small


class Report(ShownAsText):
    """Rows (dataclasses) with a table for the eye and a frame for the machine."""

    rows: tuple[Any, ...]

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows], columns=[field.name for field in fields(self.rows[0])])


def table(headers: Sequence[str], lines: Iterable[Sequence[str]], left: Iterable[int] = (0,)) -> str:
    """Return aligned text columns under their headers: those in ``left`` to the left, numbers to the right.

    Where the screen is too narrow, headers and text take several lines; a table that is still too wide is shown as
    several, one below the other, with the first column in each. No figure is cut.
    """
    cells, to_left, room = [list(headers), *(list(line) for line in lines)], set(left), screen_width()
    widths = [max(len(line[j]) for line in cells) for j in range(len(headers))]
    if _total(widths) > room:
        figures = [max([len(word) for word in headers[j].split()] + [len(line[j]) for line in cells[1:]])
                   for j in range(len(headers))]
        widths = _narrowed(figures, to_left, room)
    blocks: list[list[int]] = [[0]]
    for j in range(1, len(headers)):
        if len(blocks[-1]) > 1 and _total([widths[i] for i in (*blocks[-1], j)]) > room:
            blocks.append([0])
        blocks[-1].append(j)
    return "\n\n".join(_block(cells, widths, block, to_left) for block in blocks)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _narrowed(widths: list[int], text: set[int], room: int) -> list[int]:
    """Return the widths with the columns of text narrowed, the widest first, as far as the room asks for."""
    widths = list(widths)
    while _total(widths) > room:
        widest = max(text, key=lambda j: widths[j])
        if widths[widest] <= _NARROWEST_TEXT:
            break
        widths[widest] -= 1
    return widths


def _block(cells: list[list[str]], widths: list[int], columns: list[int], to_left: set[int]) -> str:
    """Return some columns of a table, each line with as many lines as its longest cell."""
    spelled = []
    for i, line in enumerate(cells):
        parts = [folded(line[j], widths[j]) for j in columns]
        for k in range(max(map(len, parts))):
            row = [part[k] if k < len(part) else "" for part in parts]
            spelled.append("  ".join(
                cell.ljust(widths[j]) if j in to_left else cell.rjust(widths[j])
                for j, cell in zip(columns, row, strict=True)
            ).rstrip())
        if i == 0:
            rule = "-" * _total([widths[j] for j in columns])
            spelled.append(rule)
    return "\n".join([*spelled, rule])


def name(text: str) -> str:
    """Return a name for the table: on one line, of a length that leaves room for the figures."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:_LONGEST_NAME])
    return shown if len(text) <= _LONGEST_NAME and len(shown) <= _LONGEST_NAME else f"{shown[: _LONGEST_NAME - 1]}…"


def percent(share: float) -> str:
    """Return a share for the table: two digits after the point of a per cent, or three digits of a huge one.

    A share that is not zero is not shown as zero.
    """
    if abs(share) >= _HUGE:
        return f"{100 * share:.3g}%"
    if 0 < abs(share) < _SMALLEST:
        return "<0.01%" if share > 0 else ">-0.01%"
    return f"{100 * share:.2f}%"


def number(value: float) -> str:
    """Return a figure for the table: six significant digits."""
    return f"{value:.6g}"
