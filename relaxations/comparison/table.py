"""A table of results that shows itself: in a terminal, in a notebook, and as a data frame where pandas is there."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from io import StringIO
from math import inf, isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from formulations.errors import PartLSError

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
    from rich.table import Table

_MARGIN = 3  # of a column, to the next
_LONGEST_WORD = 30  # characters of a name that are not broken between lines


class Column(NamedTuple):
    """A heading, what a row shows under it, and whether that is text, which may take several lines."""

    heading: str
    show: Callable[[Any], str]
    text: bool = False


class ResultTable:
    """Rows that are dataclasses of one kind, shown by ``columns``, with a ``caption`` below; a line between depths."""

    rows: Sequence[Any]

    @property
    def columns(self) -> Sequence[Column]:
        """The columns, in their order."""
        raise NotImplementedError

    @property
    def caption(self) -> str:
        """What the numbers are measured against."""
        raise NotImplementedError

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the table; where it is too wide, one below the other with the first column again, no figure cut."""
        from rich.text import Text

        for columns in self._blocks(options.max_width):
            yield self._table(columns)
        yield Text(self.caption, style="italic")

    def _blocks(self, width: int) -> list[list[Column]]:
        """Return the columns of each table that fits a width, the first column in all of them."""
        name, *others = self.columns
        blocks: list[list[Column]] = []
        room = 0
        for column in others:
            needed = self._width(column)
            if not blocks or needed > room:
                blocks.append([name])
                room = width - self._width(name) - 1
            blocks[-1].append(column)
            room -= needed
        return blocks

    def _width(self, column: Column) -> int:
        """Return what a column needs with its margin: a text may be broken between words, a figure may not."""
        cells = [column.heading, *(column.show(row) for row in self.rows)]
        if not column.text:
            return max(map(len, cells)) + _MARGIN
        return min(max(len(word) for cell in cells for word in cell.split()), _LONGEST_WORD) + _MARGIN

    def _table(self, columns: Sequence[Column]) -> Table:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD)
        for i, column in enumerate(columns):
            align: JustifyMethod = "left" if column.text else "right"
            width = None if i else self._width(column) - _MARGIN
            table.add_column(column.heading, justify=align, no_wrap=not column.text, overflow="fold", min_width=width)
        for row, following in zip(self.rows, [*self.rows[1:], None], strict=True):
            last = getattr(following, "depth", None) != getattr(row, "depth", None)
            table.add_row(*(column.show(row) for column in columns), end_section=last)
        return table

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(file=StringIO(), width=130, color_system=None)
        with console.capture() as capture:
            console.print(self)
        return "\n".join(line.rstrip() for line in capture.get().strip("\n").splitlines())

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(column.heading)}</th>" for column in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(column.show(row))}</td>" for column in self.columns) + "</tr>"
            for row in self.rows
        )
        caption = html.escape(self.caption)
        return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame, numbers unrounded."""
        try:
            import pandas as pd
        except ImportError as error:
            raise PartLSError("to_pandas() needs pandas, which is missing: python -m pip install pandas") from error
        return pd.DataFrame([asdict(row) for row in self.rows])


def number(value: float, form: str = ".6g") -> str:
    """Return a number for a table; a dash where there is none, and for the bound that says nothing."""
    if isnan(value) or value == -inf:
        return "–"  # noqa: RUF001
    shown = format(value, form)
    return shown[1:] if shown.startswith("-") and not shown.strip("-0.") else shown  # no minus zero


def duration(seconds: float) -> str:
    """Return a time with three digits and its unit."""
    if isnan(seconds):
        return "–"  # noqa: RUF001
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
