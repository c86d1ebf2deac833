"""Files of columns through one layer: CSV with any delimiter (gzip or not), Parquet, Arrow, NPZ, JSON lines, Excel.

The readers are pyarrow's and NumPy's; this layer finds out what a file is, says what is wrong with it in terms of
the command line, and bounds what a hostile file can cost.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable
from contextlib import suppress

from formulations.errors import InvalidInput, no_such_file
from partls.cli.tables.table import Table
from partls.cli.tables.unsupported import unsupported

__all__ = ["Table", "open_table"]

_PARQUET = (".parquet", ".parq")


def open_table(
    path: str | os.PathLike[str], *, delimiter: str | None = None, encoding: str | None = None, decimal: str = ".",
    as_text: Iterable[str] = (),
) -> Table:
    """Return the table in a file; its content says what it is, not its name.

    Parameters
    ----------
    path
        The file, or a folder of Parquet files.
    delimiter, encoding, decimal
        How a text file is written. By default the delimiter is the one its header has most of, and the encoding
        UTF-8, or UTF-16 if it begins with that mark.
    as_text
        Columns of a text file that hold text whatever it looks like.
    """
    name = os.fspath(path)
    if os.path.isdir(name) and any(file.endswith(_PARQUET) for _, _, files in os.walk(name) for file in files):
        from partls.cli.tables.columnar import ParquetFolder

        return ParquetFolder(name)
    start = _first_bytes(name)
    if told := unsupported(start):
        raise InvalidInput(f"{name} {told}")
    if start.startswith(b"PAR1"):
        from partls.cli.tables.columnar import ParquetTable

        return ParquetTable(name)
    if start.startswith(b"ARROW1"):
        from partls.cli.tables.columnar import ArrowTable

        return ArrowTable(name)
    if start.startswith(b"\xd0\xcf\x11\xe0") or (start.startswith(b"PK\x03\x04") and _is_workbook(name)):
        from partls.cli.tables.in_memory import workbook

        return workbook(name, as_text)
    if start.lstrip().startswith(b"{") or b"".join(start.split()).startswith(b"[{"):
        from partls.cli.tables.in_memory import json_lines

        return json_lines(name, as_text)
    if start.startswith(b"PK\x03\x04"):
        from partls.cli.tables.arrays import ArrayTable

        return ArrayTable(name)
    from partls.cli.tables.delimited import DelimitedTable

    return DelimitedTable(name, delimiter=delimiter, encoding=encoding, decimal=decimal, as_text=as_text)


def _is_workbook(path: str) -> bool:
    """Return whether a zip archive is an Excel workbook."""
    with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
        return any(name.startswith("xl/workbook") for name in archive.namelist())
    return False


def _first_bytes(path: str) -> bytes:
    if os.path.isdir(path):
        raise InvalidInput(f"{path} is a directory; give the file that holds the data, or a folder of Parquet files")
    if os.path.exists(path) and not os.path.isfile(path):
        raise InvalidInput(f"{path} is a pipe or a device, and data are read more than once: save them to a file first")
    try:
        with open(path, "rb") as file:
            start = file.read(8)
    except FileNotFoundError:
        raise InvalidInput(f"{path}: {no_such_file(path)}") from None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} cannot be read ({error})") from None
    if not start:
        raise InvalidInput(f"{path} is empty")
    return start
