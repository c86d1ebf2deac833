"""A report: rows of one kind that print as a table and turn into a data frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any

from partls.runtime.notebook import ShownAsText

SIGN = {1: "+", 0: "0", -1: "-"}
EXACT_FIT = "the data are fitted exactly (up to rounding)"
_LONGEST_NAME = 60
_HUGE = 1e5  # shares from here on are shown by their size


class Report(ShownAsText):
    """Rows (dataclasses) with a table for the eye and a frame for the machine."""

    rows: tuple[Any, ...]

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows], columns=[field.name for field in fields(self.rows[0])])


def table(headers: Sequence[str], lines: Iterable[Sequence[str]], left: Iterable[int] = (0,)) -> str:
    """Return aligned text columns under their headers: those in ``left`` to the left, numbers to the right."""
    cells = [list(headers), *(list(line) for line in lines)]
    widths = [max(len(line[j]) for line in cells) for j in range(len(headers))]
    to_left = set(left)
    spelled = [
        "  ".join(cell.ljust(w) if j in to_left else cell.rjust(w)
                  for j, (cell, w) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in cells
    ]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([spelled[0], rule, *spelled[1:], rule])


def name(text: str) -> str:
    """Return a name for the table: on one line, of a length that leaves room for the figures."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:_LONGEST_NAME])
    return shown if len(text) <= _LONGEST_NAME and len(shown) <= _LONGEST_NAME else f"{shown[: _LONGEST_NAME - 1]}…"


def percent(share: float) -> str:
    """Return a share for the table: two digits after the point of a per cent, or three digits of a huge one."""
    if abs(share) >= _HUGE:
        return f"{100 * share:.3g}%"
    return f"{100 * share:.2f}%".replace("-0.00%", "0.00%")


def number(value: float) -> str:
    """Return a figure for the table: six significant digits."""
    return f"{value:.6g}"
