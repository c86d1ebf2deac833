"""Text files of cells between delimiters (CSV, TSV and the like), gzip or not, read by pyarrow."""

from __future__ import annotations

import codecs
import os
import re
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from formulations.errors import InvalidInput, counted
from formulations.rows.arrow import reaches
from formulations.whole_numbers import EXACT, refuse_rounded
from partls.cli.tables.spelling import (
    DECIMAL_COMMA,
    checked_delimiter,
    checked_encoding,
    found_delimiter,
    found_encoding,
    not_text,
)
from partls.cli.tables.table import EXPANSION, Table, dropped, kind_of, largest_unpacked

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import csv

_HEAD = 1 << 16  # bytes looked at to find out how the file is written
_LONGEST = 8 << 20  # bytes; no row, and so no cell, can be longer
_MOST_COLUMNS = 100_000
# Parsed at once: so many bytes, or the bytes of so many rows if that is more. Arrow reads 32 blocks ahead, so large
# blocks would fill the memory; with few rows in a block, a column takes longer to hand over than to parse.
_BLOCK, _BLOCK_ROWS = 1 << 20, 1024


class DelimitedTable(Table):
    """A text file with a header; a column is of numbers if its first rows are, or are empty.

    Its bytes pass through code and memory of Arrow alone, unpacked or not: Arrow's threads outlive a pass that ends
    early, and one that asks Python for bytes, or gives some back, when the interpreter ends takes the process down.
    """

    def __init__(
        self, path: str, *, delimiter: str | None, encoding: str | None, decimal: str, as_text: Iterable[str] = ()
    ) -> None:
        import pyarrow as pa

        self.path = self._source = path
        with open(path, "rb") as file:
            self._packed = file.read(2) == b"\x1f\x8b"
        head = self._start(_HEAD).to_pybytes()
        self._encoding = checked_encoding(encoding) if encoding else found_encoding(path, head)
        text = head.decode(self._encoding, errors="ignore").lstrip("\ufeff")
        if not text.strip():
            raise InvalidInput(f"{path} is empty")
        if "\0" in text:
            raise InvalidInput(f"{path} is neither text nor Parquet, Arrow, Feather or NPZ")
        self._delimiter = checked_delimiter(delimiter) if delimiter else found_delimiter(text)
        self._decimal = decimal
        self._position: Any = None
        self._names: list[str] | None = None
        self._blank_lines = len(text[: -len(text.lstrip("\r\n"))].splitlines())  # before the header
        self._types: dict[str, pa.DataType] = dict.fromkeys(as_text, pa.string())
        self._blank_rows = False
        self._exact: set[str] = set()  # columns whose whole numbers beyond 2^53 are known to be floats
        if len(head) < _HEAD and len(text.splitlines()) < 2:
            raise InvalidInput(f"{path} has a header but no rows")
        if self._encoding != "utf-8":
            self._source, self._packed = self._in_utf8(), False
        schema = self._found_schema()
        self._blank_rows = len(schema) == 1  # an empty cell of a single column is a blank line
        if any(pa.types.is_binary(dtype) for dtype in schema.types):
            raise not_text(path, self._encoding)
        super().__init__(path, zip(schema.names, map(kind_of, schema.types), strict=True))
        # A column that begins with whole numbers, or with empty cells, may contain other numbers further down.
        self._types = {
            field.name: pa.float64() if self.kinds[field.name] == "number" and not pa.types.is_boolean(field.type)
            and field.name not in self._long else field.type
            for field in schema
        }
        if decimal == "." and self._delimiter != "," and DECIMAL_COMMA.search(text):
            self.hint = "; if the comma is its decimal point, say --decimal ,"

    def _found_schema(self) -> pa.Schema:
        """Return the names and types that the first rows show; note how many bytes to parse at once."""
        import pyarrow as pa

        start = self._start(3 * _LONGEST)  # three blocks: tells a row that is too long from a last row
        self._refuse_wide(start.slice(0, min(start.size, _LONGEST)).to_pybytes())
        with self._opened(pa.BufferReader(start), block=_LONGEST) as reader:
            schema = reader.schema
            rows = next(iter(reader), pa.RecordBatch.from_pylist([], schema))
        self._block = min(max(_BLOCK, _BLOCK_ROWS * min(start.size, _LONGEST) // max(rows.num_rows, 1)), _LONGEST)
        self._long = {field.name for field, column in zip(schema, rows.columns, strict=True) if _is_long(column)}
        if "" in schema.names:  # as pandas writes its index
            self._names = [name or f"unnamed_{j}" for j, name in enumerate(schema.names, start=1)]
            schema = pa.schema(zip(self._names, schema.types, strict=True))
        return schema

    def _refuse_wide(self, start: bytes) -> None:
        """Refuse a header of far more columns than a model can have, before minutes are spent on it."""
        n_columns = start.lstrip().partition(b"\n")[0].count(self._delimiter.encode()) + 1
        if n_columns > _MOST_COLUMNS:
            raise InvalidInput(
                f"{self.path} has {n_columns:,} columns, more than the {_MOST_COLUMNS:,} that are read: if its rows "
                "are the columns of the data, write it the other way round; else leave columns out of the file"
            )

    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all batches; where a row is longer than a block, begin again with the largest, past the rows known."""
        n_known = 0
        while True:
            n_rows, largest = 0, self._block == _LONGEST
            try:
                for batch in self._pass(columns):
                    new = batch.slice(min(max(n_known - n_rows, 0), batch.num_rows))
                    n_rows += batch.num_rows
                    n_known = max(n_known, n_rows)
                    del batch  # before the next is decoded
                    yield new
                return
            except _LongRow:
                if largest:
                    raise
                self._block = _LONGEST

    def _pass(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the batches of one pass, one for each block; refuse a file that unpacks to more than it should."""
        with self._opened(self._stream(), columns, block=self._block) as reader:
            for n_blocks, batch in enumerate(reader):
                if self._packed:
                    self._refuse_bomb(n_blocks * self._block)
                for name in batch.schema.names:
                    if self._may_be_rounded(batch, name):
                        self._refuse_rounded(name)
                yield batch

    def _may_be_rounded(self, batch: pa.RecordBatch, name: str) -> bool:
        """Return whether a column of numbers, not yet looked at as text, has values beyond 2^53."""
        column = batch.column(name)
        return name not in self._exact and column.type == "double" and reaches(column, EXACT)

    def _refuse_rounded(self, name: str) -> None:
        """Refuse a column if its text has a whole number that no float equals."""
        import pyarrow as pa
        from pyarrow import compute

        with self._opened(self._stream(), [name], block=_LONGEST, types={name: pa.string()}) as reader:
            for batch in reader:
                cells = batch.column(name)
                long = cells.filter(compute.match_substring_regex(cells, r"^\s*[+-]?\d{16,400}\s*$")).to_pylist()
                refuse_rounded(map(int, filter(None, long)), f'column "{name}"', dropped(name))
        self._exact.add(name)

    @property
    def share_read(self) -> float | None:
        """The share of the file's bytes that were read."""
        if self._position is None or self._position.closed:
            return None
        return float(self._position.tell() / os.path.getsize(self._source))

    @contextmanager
    def _opened(self, source: Any, columns: Sequence[str] | None = None, *, block: int, threads: bool = True,
                invalid: Any = None, types: Mapping[str, pa.DataType] | None = None
                ) -> Iterator[csv.CSVStreamingReader]:
        """Parse a source of bytes; report its errors, and those raised while it is open, in the user's terms.

        The source is let go of, not closed: a thread of Arrow that is about to read would find the next file opened
        under the same number and take bytes of its beginning. The last to hold the source closes it.
        """
        import pyarrow as pa
        from pyarrow import csv

        read = csv.ReadOptions(block_size=block, use_threads=threads)
        if self._names is not None or self._blank_rows:
            read.skip_rows = self._blank_lines
        if self._names is not None:  # in place of the header, which may take several lines
            read.column_names, read.skip_rows_after_names = self._names, 1
        parse = csv.ParseOptions(
            delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=invalid,
            ignore_empty_lines=not self._blank_rows,
        )
        convert = csv.ConvertOptions(
            strings_can_be_null=True, decimal_point=self._decimal, column_types={**self._types, **(types or {})},
            include_columns=columns
        )
        try:
            with csv.open_csv(source, read, parse, convert) as reader:
                yield reader
        except (pa.ArrowInvalid, UnicodeDecodeError, OSError) as error:
            raise self._explained(error) from None
        finally:
            self._position = None

    def _stream(self) -> pa.NativeFile:
        """Return the bytes of the file, unpacked."""
        import pyarrow as pa

        self._position = pa.OSFile(self._source)
        return pa.CompressedInputStream(self._position, "gzip") if self._packed else self._position

    def _pieces(self, size: int) -> Iterator[pa.Buffer]:
        """Yield the bytes of the file, unpacked, so many at a time; at least one piece."""
        try:
            with self._stream() as stream:
                yield (piece := stream.read_buffer(size))
                while piece.size:
                    yield (piece := stream.read_buffer(size))
        except OSError as error:
            raise self._explained(error) from None

    def _start(self, size: int) -> pa.Buffer:
        """Return the first bytes of the file, unpacked."""
        return next(self._pieces(size))

    def _in_utf8(self) -> str:
        """Write the text once more, in the encoding that Arrow reads; return the name of a file that goes with this."""
        decoder = codecs.getincrementaldecoder(self._encoding)()
        unpacked = 0
        try:
            descriptor, name = tempfile.mkstemp(prefix="partls-")
            weakref.finalize(self, os.unlink, name)
            with open(descriptor, "wb") as copy:
                for piece in self._pieces(_BLOCK):
                    unpacked += piece.size
                    self._refuse_bomb(unpacked)
                    copy.write(decoder.decode(memoryview(piece)).encode())
                copy.write(decoder.decode(b"", final=True).encode())
        except UnicodeError:
            raise not_text(self.path, self._encoding) from None
        except OSError as error:
            folder = tempfile.gettempdir()
            raise InvalidInput(
                f"{self.path} cannot be copied to {folder} in UTF-8 ({error}); make room there, or name another folder "
                "in the environment variable TMPDIR"
            ) from None
        return name

    def _refuse_bomb(self, unpacked: int) -> None:
        limit = largest_unpacked(os.path.getsize(self.path))
        if unpacked > limit:
            raise InvalidInput(
                f"{self.path} unpacks to more than {limit >> 20:,} MiB, {EXPANSION} times its size: this looks "
                "like a zip bomb; if you trust it, unpack it yourself"
            )

    def _explained(self, error: Exception) -> InvalidInput:
        """Return what is wrong in the user's terms."""
        text = str(error)
        if isinstance(error, UnicodeDecodeError) or "UTF8" in text:
            return not_text(self.path, self._encoding)
        if isinstance(error, OSError) and self._packed:
            return InvalidInput(f"{self.path} is a damaged gzip file ({text})")
        if "straddling" in text:
            return _LongRow(
                f"{self.path} has a row longer than {_LONGEST >> 20} MiB: a quote that is not closed, or a giant cell"
            )
        if found := re.search(r"Expected (\d+) columns, got (\d+)", text):
            return InvalidInput(
                f"{self.path}, {self._ragged_row()} has {counted(int(found[2]), 'cell')}, the header has {found[1]}: "
                "complete it or take it out"
            )
        if found := re.search(r"column #(\d+): .*?invalid value '(.{0,40})", text, re.DOTALL):
            name = list(self.kinds)[int(found[1])]
            return InvalidInput(
                f'{self.path}, column "{name}": "{found[2].rstrip(chr(39))}" is not a number, and the first rows hold '
                f'numbers; correct it, or {dropped(name)}'
            )
        return InvalidInput(f"{self.path} cannot be read ({text})")

    def _ragged_row(self) -> str:
        """Find the number of the first row of a wrong length: pyarrow counts rows only without threads."""
        rows: list[int | None] = []

        def note(row: Any) -> str:
            rows.append(row.number)
            return "skip"

        source = self._stream()
        with suppress(InvalidInput), self._opened(source, block=_LONGEST, threads=False, invalid=note) as reader:
            for _ in reader:
                if rows:
                    break
        return f"line {rows[0]}" if rows and rows[0] is not None else "a row"


def _is_long(column: pa.Array) -> bool:
    """Return whether whole numbers are too long for floating point: they are left as they are, for others to judge."""
    import pyarrow as pa

    return pa.types.is_int64(column.type) and reaches(column, EXACT + 1)


class _LongRow(InvalidInput):
    """A row does not end within a block."""
