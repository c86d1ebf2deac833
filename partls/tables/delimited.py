"""Text files of cells between delimiters (CSV, TSV and the like), gzip or not, read by pyarrow."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from formulations.errors import InvalidInput
from partls.tables.table import EXPANSION, Table, kind_of, largest_unpacked

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import csv

DELIMITERS = (",", ";", "\t", "|")
_DECIMAL_COMMA = re.compile(r"(?<![\w,.])-?\d+,\d+(?![\w,.])")
_HEAD = 1 << 16  # bytes looked at to find out how the file is written
_BLOCK = 8 << 20  # bytes parsed at once; no row, and so no cell, can be longer


class DelimitedTable(Table):
    """A text file with a header; a column is of numbers if its first rows are, or are empty."""

    def __init__(self, path: str, *, delimiter: str | None, encoding: str | None, decimal: str) -> None:
        import pyarrow as pa

        self.path = path
        head = self._head()
        self._encoding = _checked_encoding(path, encoding) if encoding else _found_encoding(path, head)
        text = head.decode(self._encoding, errors="ignore").lstrip("\ufeff")
        first = next((line for line in text.splitlines() if line.strip()), "")
        if not first:
            raise InvalidInput(f"{path} is empty")
        if "\0" in text:
            raise InvalidInput(f"{path} is neither text nor Parquet, Arrow, Feather or NPZ")
        self._delimiter = _checked_delimiter(delimiter) if delimiter else _found_delimiter(first)
        self._decimal = decimal
        self._position: Any = None
        self._names: list[str] | None = None
        self._types: dict[str, pa.DataType] = {}
        if len(head) < _HEAD and len(text.splitlines()) < 2:
            raise InvalidInput(f"{path} has a header but no rows")
        with self._opened(most=2 * _BLOCK) as reader:
            schema = reader.schema
        if "" in schema.names:  # as pandas writes its index
            self._names = [name or f"unnamed_{j}" for j, name in enumerate(schema.names, start=1)]
            schema = pa.schema(zip(self._names, schema.types, strict=True))
        if any(pa.types.is_binary(dtype) for dtype in schema.types):
            raise _not_text(path, self._encoding)
        super().__init__(path, zip(schema.names, map(kind_of, schema.types), strict=True))
        # A column that begins with whole numbers, or with nothing, may go on with others.
        numbers = (name for name in schema.names if self.kinds[name] == "number")
        self._types = {name: pa.float64() for name in numbers if not pa.types.is_boolean(schema.field(name).type)}
        if decimal == "." and self._delimiter != "," and _DECIMAL_COMMA.search(text):
            self.hint = "; if the comma is its decimal point, say --decimal ,"

    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with self._opened(columns) as reader:
            yield from reader

    @property
    def share_read(self) -> float | None:
        """The share of the file's bytes that were read."""
        size = os.path.getsize(self.path)
        return self._position.tell() / size if self._position is not None and not self._position.closed else None

    @contextmanager
    def _opened(self, columns: Sequence[str] | None = None, *, threads: bool = True, invalid: Any = None,
                most: int | None = None
                ) -> Iterator[csv.CSVStreamingReader]:
        """Open the file for one pass; what goes wrong with it meanwhile is told in the user's terms."""
        import pyarrow as pa
        from pyarrow import csv

        read = csv.ReadOptions(block_size=_BLOCK, encoding=self._encoding, use_threads=threads)
        if self._names is not None:
            read.column_names, read.skip_rows = self._names, 1
        parse = csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=invalid)
        convert = csv.ConvertOptions(
            strings_can_be_null=True, decimal_point=self._decimal, column_types=self._types, include_columns=columns
        )
        try:
            with self._stream() as stream:
                in_python = most is not None and isinstance(stream, _Unpacked)
                source = pa.BufferReader(stream.read(most)) if in_python else stream
                with csv.open_csv(source, read, parse, convert) as reader:
                    yield reader
        except (pa.ArrowInvalid, UnicodeDecodeError, EOFError, zlib.error, OSError) as error:
            raise self._explained(error) from None

    def _stream(self) -> Any:
        """Return the file, unpacked: Arrow's own where that will do, for its threads outlive a pass that ends early.

        A thread that still asks Python for bytes when the interpreter ends takes the whole process down.
        """
        import pyarrow as pa

        with open(self.path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        self._position = open(self.path, "rb") if packed else pa.OSFile(self.path)  # noqa: SIM115 -- by the caller
        return _Unpacked(self._position, self.path) if packed else self._position

    def _head(self) -> bytes:
        try:
            with self._stream() as stream:
                return bytes(stream.read(_HEAD))
        except (EOFError, zlib.error, OSError) as error:
            raise InvalidInput(f"{self.path} is a damaged gzip file ({error})") from None

    def _explained(self, error: Exception) -> InvalidInput:
        """Return what is wrong in the user's terms."""
        text = str(error)
        if isinstance(error, UnicodeDecodeError) or "UTF8" in text:
            return _not_text(self.path, self._encoding)
        if isinstance(error, EOFError | zlib.error | gzip.BadGzipFile):
            return InvalidInput(f"{self.path} is a damaged gzip file ({text})")
        if "straddling" in text:
            return InvalidInput(
                f"{self.path} has a row longer than {_BLOCK >> 20} MiB: a quote that is not closed, or a giant cell"
            )
        if found := re.search(r"Expected (\d+) columns, got (\d+)", text):
            return InvalidInput(
                f"{self.path}, {self._ragged_row()} has {found[2]} cell(s), the header has {found[1]}: "
                "complete it or take it out"
            )
        if found := re.search(r"column #(\d+): .*?invalid value '(.{0,40})", text, re.DOTALL):
            name = list(self.kinds)[int(found[1])]
            return InvalidInput(
                f'{self.path}, column "{name}": "{found[2].rstrip(chr(39))}" is not a number, and the first rows hold '
                f'numbers; correct it, or leave the column out with --drop "{name}"'
            )
        return InvalidInput(f"{self.path} cannot be read ({text})")

    def _ragged_row(self) -> str:
        """Find the number of the first row of a wrong length: pyarrow counts rows only without threads."""
        rows: list[int | None] = []

        def note(row: Any) -> str:
            rows.append(row.number)
            return "skip"

        with suppress(InvalidInput), self._opened(threads=False, invalid=note) as reader:
            for _ in reader:
                if rows:
                    break
        return f"line {rows[0]}" if rows and rows[0] is not None else "a row"


class _Unpacked(io.RawIOBase):
    """A gzip stream that refuses to grow far beyond the file it comes from."""

    def __init__(self, file: IO[bytes], path: str) -> None:
        self._file, self._path = file, path
        self._unpacker = gzip.GzipFile(fileobj=file)
        self._limit = largest_unpacked(os.path.getsize(path))
        self._unpacked = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._unpacker.read(size if size >= 0 else _BLOCK)
        self._unpacked += len(data)
        if self._unpacked > self._limit:
            raise InvalidInput(
                f"{self._path} unpacks to more than {self._limit >> 20:,} MiB, {EXPANSION} times its size: this looks "
                "like a zip bomb; if you trust it, unpack it yourself"
            )
        return data

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _found_encoding(path: str, head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        raise _not_text(path, "utf-8") from None
    return "utf-8"


def _checked_encoding(path: str, encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise InvalidInput(f'--encoding "{encoding}" is unknown; common ones are utf-8, latin-1, cp1252') from None


def _not_text(path: str, encoding: str) -> InvalidInput:
    return InvalidInput(f"{path} is not {encoding.upper()} text; if an older program wrote it, try --encoding latin-1")


def _checked_delimiter(delimiter: str) -> str:
    spelled = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if len(spelled.encode()) != 1:
        raise InvalidInput(f'--delimiter "{delimiter}" must be one character (or "tab")')
    return spelled


def _found_delimiter(header: str) -> str:
    """Return the delimiter that the header has most of outside quotes: a blank only where there is no other."""
    plain = re.sub(r'"[^"]*"', "", header)
    visible = max(DELIMITERS, key=plain.count)
    return visible if visible in plain else " "
