"""Small tables that are read at once: JSON lines, and the first sheet of an Excel workbook."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from formulations.errors import InvalidInput
from partls.cli.tables.table import BATCH_ROWS, Table, kind_of

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)


class TableInMemory(Table):
    """A table of Arrow."""

    def __init__(self, path: str, rows: pa.Table) -> None:
        self._rows = rows
        schema = rows.schema
        super().__init__(path, zip(schema.names, map(kind_of, schema.types), strict=True), rows.num_rows)

    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        yield from self._rows.select(list(columns)).combine_chunks().to_batches(max_chunksize=BATCH_ROWS)


def json_lines(path: str, as_text: Iterable[str] = ()) -> Table:
    """Return the records of a file that has one per line; some columns are known to hold text."""
    import pyarrow as pa
    from pyarrow import json

    try:
        rows = json.read_json(path)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(
            f"{path} looks like JSON and cannot be read as JSON lines ({_first_line(error)}): write one record per "
            "line, in pandas by to_json(path, orient='records', lines=True)"
        ) from None
    for name in set(as_text) & set(rows.column_names):
        j = rows.column_names.index(name)
        rows = rows.set_column(j, name, rows.column(j).cast(pa.string()))
    return TableInMemory(path, rows)


def workbook(path: str, as_text: Iterable[str] = ()) -> Table:
    """Return the first sheet of a workbook: a header, then rows; some columns are known to hold text."""
    import pyarrow as pa

    try:
        calamine: Any = import_module("python_calamine")
    except ImportError:
        raise InvalidInput(
            f"{path} is an Excel workbook: python -m pip install 'partls[excel]' to read it, or save the sheet as CSV"
        ) from None
    try:
        book = calamine.CalamineWorkbook.from_path(path)
        sheet = book.get_sheet_by_index(0)
        header, *rows = sheet.to_python(skip_empty_area=True) or [[]]
    except (calamine.CalamineError, OSError, ValueError, IndexError) as error:
        raise InvalidInput(f"{path} cannot be read as an Excel workbook ({_first_line(error)})") from None
    if len(book.sheet_names) > 1:
        logger.warning('%s: read "%s", the first of %d sheets', path, sheet.name, len(book.sheet_names))
    names = [str(name) or f"unnamed_{j}" for j, name in enumerate(header, start=1)]
    texts = set(as_text)
    columns = [_column([row[j] for row in rows], name in texts) for j, name in enumerate(names)]
    if not rows:
        raise InvalidInput(f"{path} has a header but no rows in its first sheet")
    return TableInMemory(path, pa.Table.from_arrays(columns, names=names))


def _column(cells: list[Any], is_text: bool) -> pa.Array:
    """Return the cells of a column: numbers, truth values or dates if all are, else text; an empty cell is missing."""
    import pyarrow as pa

    known = [None if cell == "" else cell for cell in cells]
    kinds = {type(cell) for cell in known if cell is not None}
    if not is_text:
        if kinds <= {bool}:
            return pa.array(known, pa.bool_() if kinds else pa.float64())
        if kinds <= {int, float}:
            return pa.array(known, pa.float64())
        if kinds <= {datetime.date, datetime.datetime}:
            days = [None if cell is None else datetime.datetime.fromisoformat(cell.isoformat()) for cell in known]
            return pa.array(days, pa.timestamp("us"))
        if kinds == {datetime.timedelta}:
            return pa.array(known, pa.duration("us"))
    return pa.array([None if cell is None else _spelled(cell) for cell in known], pa.string())


def _spelled(cell: Any) -> str:
    """Return a cell as Excel shows it: a whole number without a point."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
